/* clock.c -- nanoseconds of the monotonic clock, and of the calling thread's
 * own time, for the OCaml programs of bench/ocaml */
#include <stdint.h>
#include <time.h>

#include <caml/mlvalues.h>

static intnat
read_ns(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (intnat)t.tv_sec * 1000000000 + t.tv_nsec;
}

intnat
bench_wall_ns(value unit)
{
    (void)unit;
    return read_ns(CLOCK_MONOTONIC);
}

intnat
bench_cpu_ns(value unit)
{
    (void)unit;
    return read_ns(CLOCK_THREAD_CPUTIME_ID);
}

value
bench_wall_ns_byte(value unit)
{
    return Val_long(bench_wall_ns(unit));
}

value
bench_cpu_ns_byte(value unit)
{
    return Val_long(bench_cpu_ns(unit));
}
