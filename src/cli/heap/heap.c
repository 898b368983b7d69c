/* heap.c -- aliquot heap: what a snapshot's heap holds, and who holds it
 *                                               [doc/design/heap-snapshot]
 *
 * Phases: options -> opened -> solved -> one page, or the export.  A path is
 * asked of an opened snapshot alone, with leaves as nodes. */
#include "cli/heap/heap.h"

#include "cli/tool/cli.h"
#include "cli/tool/proc.h"

enum { TOP_DEFAULT = 10, DEPTH_DEFAULT = 4 };

#define RUN struct alqi_cli_heap_run

const struct alqi_cli_option alqi_cli_heap_options[] = {
    {'n', "top", "N", NULL, "rows of each table; 0: all; default 10",
     ALQI_CLI_COUNT(RUN, top)},
    {0, "histogram", NULL, NULL, "kinds of blocks alone",
     ALQI_CLI_FLAG(RUN, is_histogram)},
    {0, "tree", NULL, NULL, "blocks below the blocks that hold them alone",
     ALQI_CLI_FLAG(RUN, is_tree)},
    {0, "holders", NULL, NULL,
     "the same by kind, with the sites of sampled blocks",
     ALQI_CLI_FLAG(RUN, is_holders)},
    {0, "depth", "N", NULL, "levels of --tree and --holders; default 4",
     ALQI_CLI_COUNT(RUN, depth), .least = 1, .most = 64},
    {0, "below", "WHAT", NULL, "the tree of ADDRESS, or of a root by its name",
     ALQI_CLI_TEXT(RUN, below)},
    {0, "path", "WHAT", NULL,
     "the shortest way from a root to ADDRESS, kind:TEXT or site:TEXT",
     ALQI_CLI_TEXT(RUN, path)},
    {0, "export", "OUT", NULL,
     "write OUT for Chrome DevTools (Memory panel): *.heapsnapshot",
     ALQI_CLI_TEXT(RUN, export)},
    {'f', "force", NULL, NULL, "overwrite OUT", ALQI_CLI_FLAG(RUN, overwrites)},
    {0, "no-pager", NULL, NULL, "do not page the output",
     ALQI_CLI_FLAG(RUN, has_no_pager)},
    {0, "json", NULL, NULL, "print JSON", ALQI_CLI_FLAG(RUN, is_json)},
    {0},
};

static void
solve(struct alqi_cli_heap_run *r)
{
    uint64_t since_us = alqi_cli_mono_us();

    alqi_cli_heap_solve(&r->snapshot);
    r->solve_us = alqi_cli_mono_us() - since_us;
}

/* Of an opened snapshot. */
static int
show(struct alqi_cli_heap_run *r)
{
    if (r->path != NULL)
        return alqi_cli_heap_path(r);
    solve(r);
    if (r->export != NULL)
        return alqi_cli_heap_export(r);
    if (r->is_histogram)
        alqi_cli_heap_histogram(r);
    else if (r->is_holders)
        alqi_cli_heap_holders(r);
    else if (r->is_tree || r->below != NULL)
        return alqi_cli_heap_tree(r);
    else
        alqi_cli_heap_page(r);
    return ALQI_CLI_OK;
}

static int
one(struct alqi_cli_heap_run *r, const char *path)
{
    int rc = alqi_cli_heap_open(&r->snapshot, path, r->path != NULL);

    if (rc < 0) {
        alqi_cli_term_start(&r->term, 0, !r->is_json && !r->has_no_pager);
        rc = show(r);
        alqi_cli_term_stop(&r->term);
        if (rc == ALQI_CLI_OK && r->snapshot.damage != NULL)
            rc = ALQI_CLI_UNREADABLE;
    }
    alqi_cli_heap_close(&r->snapshot);
    return rc;
}

static int
two(struct alqi_cli_heap_run *r, char **paths)
{
    int rc;

    if (r->path != NULL || r->export != NULL || r->is_tree ||
        r->below != NULL || r->is_holders || r->is_histogram)
        return alqi_cli_usage("heap",
                              "heap: of two snapshots there is the difference "
                              "alone: give one file, or no --path, --export, "
                              "--tree, --below, --holders, --histogram");
    alqi_cli_term_start(&r->term, 0, !r->is_json && !r->has_no_pager);
    rc = alqi_cli_heap_diff(r, paths[0], paths[1]);
    alqi_cli_term_stop(&r->term);
    return rc;
}

int
alqi_cli_heap(int argc, char **argv)
{
    struct alqi_cli_heap_run r = {.top = TOP_DEFAULT, .depth = DEPTH_DEFAULT};
    const char *path;
    int first, rc = alqi_cli_parse("heap", argc, argv, &r, &first);

    if (rc < 0 && argc - first == 2)
        return two(&r, argv + first);
    if (rc < 0)
        rc = alqi_cli_one_operand("heap", "snapshot of a managed heap", argc,
                                  argv, first, &path);
    if (rc >= 0)
        return rc;
    return one(&r, path);
}
