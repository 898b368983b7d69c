/* heap_snapshot.c -- how long the world stands still for a snapshot
 *
 *   heap_snapshot MILLIONS    of blocks: half of them pairs of a list, the rest
 *                             what the pairs hold: vectors, strings, doubles
 *
 * Prints, for each way, the medians of five snapshots into a file in memory:
 * the stop, as the file says, the caller's own time by its clock, which leaves
 * out what the machine does meanwhile, and all of the call. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <aliquot/aliquot.h>

#include "wire/dump_decode.h"

enum { ROUNDS = 5 };

static uint64_t
now_ns(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* What a pair holds. */
static alq_value
held(struct alq_domain *d, long i)
{
    switch (i % 3) {
    case 0:
        return alq_alloc(d, 3, 1);
    case 1:
        return alq_alloc_string(d, 20);
    default:
        return alq_alloc_double(d, (double)i);
    }
}

static alq_value
list(struct alq_domain *d, long n)
{
    ALQ_FRAME(d, f, list, pair, held);

    f.list = ALQ_UNIT;
    for (long i = 0; i < n; i++) {
        f.held = held(d, i);
        f.pair = alq_alloc(d, 2, 0);
        if (alq_is_null(f.held) || alq_is_null(f.pair))
            exit(1);
        alq_init(d, f.pair, 0, f.held);
        alq_init(d, f.pair, 1, f.list);
        f.list = f.pair;
    }
    return f.list;
}

/* The END record of a file. */
static void
end_read(int fd, struct alqi_dump_record *r)
{
    struct alqi_dump_decoder in;
    struct stat st;
    void *bytes;

    if (fstat(fd, &st) != 0)
        exit(1);
    bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED ||
        !alqi_dump_decode(&in, bytes, (size_t)st.st_size))
        exit(1);
    while (alqi_dump_next(&in, r) > 0)
        continue;
    if (in.error != NULL || r->kind != ALQI_DUMP_END)
        exit(1);
    munmap(bytes, (size_t)st.st_size);
}

static int
by_size(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

static void
measure(struct alq_domain *d, unsigned flags, const char *what)
{
    uint64_t stop_ns[ROUNDS], all_ns[ROUNDS], cpu_ns[ROUNDS];
    struct alqi_dump_record r;
    double millions;
    off_t bytes;

    for (int i = 0; i < ROUNDS; i++) {
        int fd = memfd_create("heap", MFD_CLOEXEC);
        uint64_t began = now_ns(CLOCK_MONOTONIC);
        uint64_t cpu_began = now_ns(CLOCK_THREAD_CPUTIME_ID);

        if (fd < 0 || alq_heap_snapshot(d, fd, flags) != ALQ_OK)
            exit(1);
        all_ns[i] = now_ns(CLOCK_MONOTONIC) - began;
        cpu_ns[i] = now_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_began;
        end_read(fd, &r);
        stop_ns[i] = r.numbers[5];
        bytes = lseek(fd, 0, SEEK_END);
        close(fd);
    }
    qsort(stop_ns, ROUNDS, sizeof *stop_ns, by_size);
    qsort(all_ns, ROUNDS, sizeof *all_ns, by_size);
    qsort(cpu_ns, ROUNDS, sizeof *cpu_ns, by_size);
    millions = (double)r.numbers[0] / 1e6;
    printf("%-10s %6.2f million blocks  stop %7.2f ms, %6.2f a million  "
           "caller's cpu %7.2f a million  all %8.2f ms  %4.1f bytes a "
           "block%s\n",
           what, millions, (double)stop_ns[ROUNDS / 2] / 1e6,
           (double)stop_ns[ROUNDS / 2] / 1e6 / millions,
           (double)cpu_ns[ROUNDS / 2] / 1e6 / millions,
           (double)all_ns[ROUNDS / 2] / 1e6,
           (double)bytes / (double)r.numbers[0],
           r.numbers[6] == 1 ? "" : "  (no copy)");
}

int
main(int argc, char **argv)
{
    double millions = argc > 1 ? atof(argv[1]) : 1;
    struct alq_domain *d;

    if (alq_domain_new(NULL, &d) != ALQ_OK)
        return 1;
    {
        ALQ_FRAME(d, f, list);

        f.list = list(d, (long)(millions * 1e6 / 2));
        if (alq_gc_full_major(d) != ALQ_OK)
            return 1;
        measure(d, 0, "copied");
        measure(d, ALQ_SNAPSHOT_STOP, "stopped");
    }
    return alq_domain_drop(d) != ALQ_OK;
}
