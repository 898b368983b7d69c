/* convert.c -- what `aliquot record` does when the program has ended
 *
 *   convert RECORDING OUT [ROUNDS [STEP_US]]
 *
 * Makes the trace OUT (compressed if it ends in .zst) of a raw recording,
 * ROUNDS times, symbols included, and prints of the quickest round
 * "EVENTS CPU-SECONDS PEAK-MIB".  STEP_US is --time-step. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "cli/convert/convert.h"
#include "cli/tool/pack.h"

static bool
put(void *arg, const void *bytes, size_t n)
{
    return fwrite(bytes, 1, n, arg) == n;
}

static double
cpu_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool
convert(const char *raw, const char *path, uint64_t step_us,
        struct alqi_cli_convert_result *result)
{
    char error[200] = "";
    struct alqi_symbol_table *symbols = alqi_symbol_table_new(true);
    struct alqi_cli_recording *recording =
        alqi_cli_recording_open(raw, error, sizeof error);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    FILE *out = fd >= 0 ? alqi_cli_pack_fdopen(fd, path) : NULL;
    enum alq_status status = ALQ_EIO;

    if (recording != NULL && symbols != NULL && out != NULL)
        status = alqi_cli_convert(recording, "exit", step_us, NULL, symbols,
                                  put, out, result);
    else
        fprintf(stderr, "convert: %s, %s: %s\n", raw, path, error);
    if (out != NULL && fclose(out) != 0)
        status = ALQ_EIO;
    alqi_cli_recording_drop(recording);
    alqi_symbol_table_drop(symbols);
    return status == ALQ_OK;
}

int
main(int argc, char **argv)
{
    struct alqi_cli_convert_result result;
    struct rusage usage;
    double least = 1e30;
    uint64_t step_us;
    int rounds;

    if (argc < 3 || argc > 5)
        return 2;
    rounds = argc > 3 ? atoi(argv[3]) : 1;
    step_us = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
    setenv("ALIQUOT_CACHE", "", 1); /* each round reads the names itself */
    for (int i = 0; i < rounds; i++) {
        double start = cpu_s();

        if (!convert(argv[1], argv[2], step_us, &result))
            return 1;
        if (cpu_s() - start < least)
            least = cpu_s() - start;
    }
    getrusage(RUSAGE_SELF, &usage);
    printf("%llu %.4f %.1f\n",
           (unsigned long long)(result.n_allocs + result.n_frees), least,
           (double)usage.ru_maxrss / 1024);
    return 0;
}
