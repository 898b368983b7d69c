/* merge.c -- aliquot merge -o OUT: one trace from several
 *
 * The verb only parses its options, guards the output file, and calls join.h.
 * A trace is written whole or not at all: on failure OUT is abandoned. */
#include <inttypes.h>

#include "cli/tool/cli.h"
#include "cli/merge/join.h"
#include "cli/tool/output.h"

#define FORMAT_CHOICES "2 3"

/* What the options say. */
struct request {
    /* OUT; "-" is standard output; NULL until given */
    const char *path;
    bool overwrites;
    /* format of the new trace */
    int version;
};

const struct alqi_cli_option alqi_cli_merge_options[] = {
    {'o', "output", "OUT", NULL, "file to write; '-' is standard output",
     ALQI_CLI_TEXT(struct request, path)},
    {'f', "force", NULL, NULL, "overwrite OUT",
     ALQI_CLI_FLAG(struct request, overwrites)},
    {0, "format", "N", FORMAT_CHOICES,
     "2 (default): for all memtrace tools; 3: streams",
     ALQI_CLI_CHOICE(struct request, version), .number = 2},
    {0},
};

/* OUT is among the traces to read: it would be emptied before. */
static bool
is_output_read(const struct request *r, const struct alqi_cli_paths *paths)
{
    for (uint32_t i = 0; i < paths->n_paths; i++)
        if (alqi_cli_output_is(r->path, paths->paths[i].path))
            return true;
    return false;
}

/* Merges into OUT. Returns the exit status. */
static int
merge(const struct request *r, const struct alqi_cli_paths *paths)
{
    struct alqi_cli_join_result result;
    struct alqi_cli_trace_out trace = {0};
    struct alqi_cli_output out;
    int rc;

    if (is_output_read(r, paths))
        return alqi_cli_usage("merge",
                              "merge: %s is among the traces to read; write "
                              "to another file",
                              r->path);
    rc = alqi_cli_output_open(&out, r->path, r->overwrites);
    if (rc >= 0)
        return rc;
    trace.file = out.file;
    trace.name = out.file == stdout ? "standard output" : r->path;
    rc = alqi_cli_join(paths, (uint16_t)r->version, &trace, &result);
    if (rc >= 0) {
        alqi_cli_output_abandon(&out);
        return rc;
    }
    rc = alqi_cli_output_close(&out);
    if (rc != ALQI_CLI_OK)
        return rc;
    alqi_cli_say("%u trace%s, %" PRIu64 " sampled block%s -> %s",
                 result.n_traces, result.n_traces == 1 ? "" : "s",
                 result.n_allocs, result.n_allocs == 1 ? "" : "s", r->path);
    return result.status;
}

int
alqi_cli_merge(int argc, char **argv)
{
    struct request r = {.version = 2};
    struct alqi_cli_paths paths;
    int first;
    int rc = alqi_cli_parse("merge", argc, argv, &r, &first);

    if (rc < 0 && r.path == NULL)
        rc = alqi_cli_usage("merge", "merge: where to? Write -o OUT, or -o -");
    if (rc < 0)
        rc = alqi_cli_paths_from(&paths, "merge", argc, argv, first);
    if (rc >= 0)
        return rc;
    rc = merge(&r, &paths);
    alqi_cli_paths_free(&paths);
    return rc;
}
