/* gc_trace.c -- aliquot gc-trace: a recording of the collector as JSON or text
 *
 * The verb parses its options, guards the recording against being overwritten,
 * and picks the writer: json.c or summary.c. What could be read before damage
 * is written all the same; the exit status shows the damage. */
#include <stdbool.h>

#include "cli/tool/cli.h"
#include "cli/gc/gc_trace.h"
#include "cli/tool/output.h"

/* What the options say. */
struct gc_trace {
    /* "-" is standard output */
    const char *out;
    bool overwrites;
    bool is_summary;
};

const struct alqi_cli_option alqi_cli_gc_trace_options[] = {
    {'o', "output", "OUT", NULL, "write to OUT instead of standard output",
     ALQI_CLI_TEXT(struct gc_trace, out)},
    {'f', "force", NULL, NULL, "overwrite OUT",
     ALQI_CLI_FLAG(struct gc_trace, overwrites)},
    {0, "summary", NULL, NULL, "text with pauses and totals instead of JSON",
     ALQI_CLI_FLAG(struct gc_trace, is_summary)},
    {0},
};

/* Writes the output. A failure of writing counts for more than damage. */
static int
write_all(const struct gc_trace *g, struct alqi_cli_gc_events *events)
{
    struct alqi_cli_output out;
    int status = alqi_cli_output_open(&out, g->out, g->overwrites), closed;

    if (status >= 0)
        return status;
    status = g->is_summary ? alqi_cli_gc_summary(events, out.file)
                           : alqi_cli_gc_json(events, out.file);
    closed = alqi_cli_output_close(&out);
    return closed != ALQI_CLI_OK ? closed : status;
}

int
alqi_cli_gc_trace(int argc, char **argv)
{
    struct gc_trace g = {"-", false, false};
    struct alqi_cli_gc_events *events;
    const char *path;
    int first, status;

    status = alqi_cli_parse("gc-trace", argc, argv, &g, &first);
    if (status < 0)
        status = alqi_cli_one_operand("gc-trace", "recording of a collector",
                                      argc, argv, first, &path);
    if (status < 0 && alqi_cli_output_is(path, g.out))
        return alqi_cli_usage("gc-trace",
                              "gc-trace: %s is the recording itself", path);
    if (status < 0)
        status = alqi_cli_gc_open(path, &events);
    if (status >= 0)
        return status;
    status = write_all(&g, events);
    alqi_cli_gc_drop(events);
    return status;
}
