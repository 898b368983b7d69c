/* growing.c -- converts a recording as it grows, and again at once
 *
 *   growing RECORDING GROWN AT_ONCE
 *
 * GROWN gets the trace of a conversion that took up what the recording had got
 * as often as it could until its process had ended, AT_ONCE that of the whole
 * recording. Prints how often the recording had grown, and the counts of both
 * conversions. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/convert/convert.h"
#include "cli/tool/output.h"

enum { STEP_EVENTS = 4096 };

static void
must(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "growing: %s\n", what);
    exit(1);
}

static struct alqi_cli_trace_out
out_open(const char *path)
{
    struct alqi_cli_trace_out out = {.file = fopen(path, "w")};

    must(out.file != NULL, path);
    return out;
}

static void
step(struct alqi_cli_conversion *c)
{
    bool is_more = true;

    while (is_more)
        must(alqi_cli_conversion_step(c, STEP_EVENTS, &is_more) == ALQ_OK,
             "a step failed");
}

/* Takes up what there is. False: the process had ended before. */
static bool
grow(struct alqi_cli_recording *r, struct alqi_cli_conversion *c)
{
    bool is_live = alqi_cli_recording_is_live(r);

    must(alqi_cli_recording_grow(r, alqi_cli_recording_pid(r)),
         "the recording cannot be read");
    must(alqi_cli_conversion_more(c) == ALQ_OK, "there is no memory");
    if (!is_live || alqi_cli_conversion_has_times(c))
        step(c);
    return is_live;
}

static void
print(const struct alqi_cli_convert_result *r)
{
    printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
           " %" PRIu64 "\n",
           r->n_allocs, r->n_frees, r->n_damaged_chunks, r->n_orphan_frees,
           r->n_unseen_frees, r->n_unknown_frees);
}

static struct alqi_cli_recording *
recording_open(const char *path)
{
    struct alqi_cli_recording *r = NULL;
    char why[200] = "";

    while (r == NULL) {
        while (alqi_cli_recording_is_unbegun(path))
            continue;
        r = alqi_cli_recording_open_behind(path, why, sizeof why);
    }
    return r;
}

int
main(int argc, char **argv)
{
    struct alqi_symbol_table *symbols = alqi_symbol_table_new(false);
    struct alqi_cli_convert_result result;
    struct alqi_cli_conversion *c;
    struct alqi_cli_trace_out out;
    struct alqi_cli_recording *r;
    unsigned n_grown = 0;

    must(argc == 4, "RECORDING GROWN AT_ONCE");
    out = out_open(argv[2]);
    r = recording_open(argv[1]);
    must(alqi_cli_conversion_open(r, 0, symbols, alqi_cli_trace_put, &out,
                                  &result, &c) == ALQ_OK,
         "no conversion");
    while (grow(r, c))
        n_grown++;
    must(alqi_cli_conversion_is_alike(c), "it is not alike");
    printf("%u\n", n_grown);
    must(alqi_cli_conversion_end(c, "exit") == ALQ_OK &&
             alqi_cli_conversion_close(c) == ALQ_OK && fclose(out.file) == 0,
         "the trace is not whole");
    print(&result);
    out = out_open(argv[3]);
    must(alqi_cli_convert(r, "exit", 0, NULL, symbols, alqi_cli_trace_put, &out,
                          &result) == ALQ_OK &&
             fclose(out.file) == 0,
         "no conversion at once");
    print(&result);
    alqi_cli_recording_drop(r);
    alqi_symbol_table_drop(symbols);
    return 0;
}
