/* growth_trace.c -- makes up a trace whose sites grow, each in its own way
 *
 *   growth_trace OUT exact|sampled
 *
 * It lasts 100 s. Sites by the name of their function: leaks (by two ways),
 * frees_late (as leaks, but all go at the end), starts (up to 8 s), stops (up
 * to 50 s), churns, saws, and big, one block at 97 s. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "wire/ctf.h"

enum {
    START = 1700000000,
    MODULE = 0x400000,
    STEP_US = 10000,
    STEPS = 10000, /* 100 s */
    HELD_MOST = 4096
};

enum site { MAIN, WORK, LEAKS, FREES_LATE, STARTS, STOPS, CHURNS, SAWS, BIG };

static const char *const names[] = {"main",       "work",   "leaks",
                                    "frees_late", "starts", "stops",
                                    "churns",     "saws",   "big"};

static FILE *out;
static struct alqi_ctf_writer *writer;
static uint64_t now_us, random_state = 7;
static bool is_exact;

/* Blocks that are to be freed, at that step. */
static struct {
    uint64_t id, step;
} held[HELD_MOST];
static size_t n_held;

static void
must(enum alq_status st)
{
    if (st == ALQ_OK)
        return;
    fprintf(stderr, "growth_trace: %s\n", alq_status_text(st));
    exit(1);
}

static bool
put_packet(void *arg, const void *bytes, size_t n)
{
    (void)arg;
    return fwrite(bytes, 1, n, out) == n;
}

static void
look_up(void *arg, uint64_t code, struct alqi_ctf_location *location)
{
    static struct alqi_ctf_entry entry;

    (void)arg;
    entry = (struct alqi_ctf_entry){"grows.c", names[(code - MODULE) / 16],
                                    (int32_t)(code - MODULE), 1, 2};
    location->n_entries = 1;
    location->entries = &entry;
}

static bool
is_chance(unsigned one_in)
{
    random_state = alqi_base_mix(random_state + 0x9E3779B97F4A7C15u);
    return random_state % one_in == 0;
}

/* A block that goes at that step; 0: it stays. */
static void
alloc(enum site site, uint64_t bytes, uint64_t step, bool is_by_work)
{
    uint64_t codes[] = {MODULE + 16 * MAIN, MODULE + 16 * WORK,
                        MODULE + 16 * (uint64_t)site};
    uint64_t id;

    if (!is_by_work)
        codes[1] = codes[2];
    must(alqi_ctf_write_alloc(
        writer, now_us, bytes, is_exact ? alqi_base_malloc_words(bytes) : 1,
        ALQI_CTF_EXTERNAL, codes, is_by_work ? 3 : 2, &id));
    if (step == 0)
        return;
    if (n_held == HELD_MOST)
        abort();
    held[n_held].id = id;
    held[n_held++].step = step;
}

static void
due_free(uint64_t step)
{
    size_t n = 0;

    for (size_t i = 0; i < n_held; i++)
        if (held[i].step == step)
            must(alqi_ctf_write_collect(writer, now_us, held[i].id));
        else
            held[n++] = held[i];
    n_held = n;
}

static void
step_write(uint64_t step)
{
    due_free(step);
    if (is_chance(50))
        alloc(LEAKS, 1000, 0, is_chance(2));
    if (is_chance(50))
        alloc(FREES_LATE, 300, STEPS - 1, false);
    if (step < STEPS * 8 / 100 && is_chance(4))
        alloc(STARTS, 2000, 0, false);
    if (step < STEPS / 2 && is_chance(20))
        alloc(STOPS, 500, 0, false);
    if (is_chance(2))
        alloc(CHURNS, 700, step + 20, true);
    if (is_chance(10))
        alloc(SAWS, 400, step + 1200 - step % 1200, false);
    if (step == STEPS * 97 / 100)
        alloc(BIG, 10000000, 0, false);
}

int
main(int argc, char **argv)
{
    struct alqi_ctf_info info = {
        .version = 2,
        .word_bits = 8,
        .rate = 1e-5,
        .start_us = (uint64_t)START * 1000000,
        .pid = 4711,
        .executable = "/usr/bin/grows",
        .host = "host",
        .params = "",
        .context = "made up",
    };

    if (argc != 3 || (out = fopen(argv[1], "wb")) == NULL)
        return 2;
    is_exact = strcmp(argv[2], "exact") == 0;
    if (is_exact)
        info.rate = 0.125;
    must(alqi_ctf_writer_open(&info, put_packet, NULL, look_up, NULL, &writer));
    for (uint64_t step = 0; step < STEPS; step++) {
        now_us = (uint64_t)START * 1000000 + step * STEP_US;
        step_write(step);
    }
    must(alqi_ctf_writer_close(writer));
    return fclose(out) == 0 ? 0 : 1;
}
