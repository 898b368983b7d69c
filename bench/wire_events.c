/* wire_events.c -- writes or reads a long trace and says how fast
 *
 *   wire_events write FILE EVENTS     allocations and frees of a made-up
 *                                     program, stacks of 6 to 11 frames
 *   wire_events read FILE             every event, without printing
 *   wire_events dump FILE             with printing, to nowhere
 *
 * Prints "events seconds-of-CPU peak-KiB". */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/base.h"
#include "wire/ctf_dump.h"

enum { FRAMES_MIN = 6, FRAMES_MAX = 12 };

static double
cpu_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* getrusage's peak would count the program that started this one, too. */
static long
peak_kib(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long kib = -1;

    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "VmHWM: %ld", &kib) == 1)
            break;
    if (file != NULL)
        fclose(file);
    return kib;
}

static bool
put_packet(void *arg, const void *bytes, size_t n)
{
    return fwrite(bytes, 1, n, arg) == n;
}

static ptrdiff_t
get_bytes(void *arg, void *bytes, size_t n)
{
    return (ptrdiff_t)fread(bytes, 1, n, arg);
}

static bool
lose_text(void *arg, const char *text, size_t n)
{
    (void)arg;
    (void)text;
    (void)n;
    return true;
}

static void
look_up(void *arg, uint64_t code, struct alqi_ctf_location *out)
{
    static char function[32];
    static const struct alqi_ctf_entry entry = {"prog.c", function, 1, 1, 1};

    (void)arg;
    snprintf(function, sizeof function, "f%llx", (unsigned long long)code);
    out->n_entries = 1;
    out->entries = &entry;
}

static bool
pair_write(struct alqi_ctf_writer *w, uint64_t i, uint64_t *codes)
{
    uint64_t r = alqi_base_mix(i);
    uint32_t n = FRAMES_MIN + (uint32_t)(r % (FRAMES_MAX - FRAMES_MIN));
    uint64_t time_us = 1700000000000000 + i, id;

    for (uint32_t k = (uint32_t)(r >> 8) % n; k < FRAMES_MAX; k++)
        codes[k] = 0x400000 + k * 4096 + (r >> (20 + k)) % 64 * 16;
    return alqi_ctf_write_alloc(w, time_us, (r >> 40) % 5000, 1,
                                ALQI_CTF_EXTERNAL, codes, n, &id) == ALQ_OK &&
           alqi_ctf_write_collect(w, time_us, id - (id > 20 ? r % 20 : 0)) ==
               ALQ_OK;
}

static uint64_t
trace_write(FILE *file, uint64_t n_events)
{
    struct alqi_ctf_info info = {
        .version = 2,
        .word_bits = 8,
        .rate = 1e-5,
        .start_us = 1700000000000000,
        .executable = "",
        .host = "",
        .params = "",
        .context = "",
    };
    uint64_t codes[FRAMES_MAX];
    struct alqi_ctf_writer *w;

    for (uint32_t k = 0; k < FRAMES_MAX; k++)
        codes[k] = 0x400000 + k * 4096;
    if (alqi_ctf_writer_open(&info, put_packet, file, look_up, NULL, &w) !=
        ALQ_OK)
        return 0;
    for (uint64_t i = 0; i < n_events / 2; i++)
        if (!pair_write(w, i, codes))
            return 0;
    return alqi_ctf_writer_close(w) == ALQ_OK ? n_events : 0;
}

static uint64_t
trace_read(FILE *file, bool is_dumping)
{
    struct alqi_ctf_reader *reader;
    struct alqi_ctf_event event;
    uint64_t n = 0;
    int got = -1;

    if (alqi_ctf_reader_open(get_bytes, file, NULL, NULL, &reader) == ALQ_OK)
        while ((got = alqi_ctf_reader_next(reader, &event)) > 0) {
            n++;
            if (is_dumping)
                alqi_ctf_dump_event(reader, &event, lose_text, NULL);
        }
    if (got < 0) {
        fprintf(stderr, "%s\n", alqi_ctf_reader_error(reader));
        n = 0;
    }
    alqi_ctf_reader_drop(reader);
    return n;
}

int
main(int argc, char **argv)
{
    bool is_writing = argc == 4 && strcmp(argv[1], "write") == 0;
    double start_s;
    uint64_t n;
    FILE *file;

    if (argc != 3 + is_writing)
        return 2;
    file = fopen(argv[2], is_writing ? "wb" : "rb");
    if (file == NULL)
        return 1;
    start_s = cpu_s();
    n = is_writing ? trace_write(file, strtoull(argv[3], NULL, 10))
                   : trace_read(file, strcmp(argv[1], "dump") == 0);
    if (fclose(file) != 0 || n == 0)
        return 1;
    printf("%llu %.3f %ld\n", (unsigned long long)n, cpu_s() - start_s,
           peak_kib());
    return 0;
}
