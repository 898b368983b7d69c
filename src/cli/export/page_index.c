/* page_index.c -- the index that an exported page carries
 *
 * The index is made while the export's own analysis reads, by a watch on it, in
 * a temporary file. If it then has more blocks than the page may have, the
 * trace is read once more and each block is taken with a fixed chance: the
 * first pass says how many there are, which the chance needs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_name.h"
#include "cli/tool/cli.h"
#include "cli/export/again.h"
#include "cli/export/page_index.h"
#include "cli/analysis/view_index.h"

struct alqi_cli_page_index {
    /* temporary and without a name; replaced by the thinned one */
    FILE *file;
    /* filled by the indexer; the analysis calls it */
    struct alqi_cli_watch watch;
    /* writes to file; anew when the trace is thinned */
    struct alqi_cli_view_indexer *indexer;
};

/* A file that goes with its stream; NULL, and said. */
static FILE *
file_new(void)
{
    FILE *file = tmpfile();

    if (file == NULL)
        alqi_cli_say("cannot make a file for the page's data: %s",
                     strerror(errno));
    return file;
}

/* Requires an analysis that is not begun: the watch goes into its options. */
struct alqi_cli_page_index *
alqi_cli_page_index_new(struct alqi_cli_analysis *analysis,
                        struct alqi_cli_analysis_options *options)
{
    struct alqi_cli_page_index *p;
    FILE *file = file_new();

    if (file == NULL)
        return NULL;
    p = alqi_cli_realloc(NULL, 1, sizeof *p);
    p->file = file;
    p->indexer = alqi_cli_view_indexer_new(analysis, file, &p->watch);
    options->watch = &p->watch;
    options->is_held_wanted = true;
    return p;
}

FILE *
alqi_cli_page_index_file(const struct alqi_cli_page_index *p)
{
    rewind(p->file);
    return p->file;
}

void
alqi_cli_page_index_drop(struct alqi_cli_page_index *p)
{
    if (p == NULL)
        return;
    alqi_cli_view_indexer_drop(p->indexer);
    fclose(p->file);
    free(p);
}

/* The trace's name is that of its file. */
static int
finish(struct alqi_cli_page_index *p, struct alqi_cli_input *input)
{
    static const unsigned char no_key[ALQI_VIEW_KEY_BYTES];
    const char *path = alqi_cli_input_name(input);
    struct alqi_cli_view_label label = {.name = alqi_base_file_name(path),
                                        .key = no_key};
    const char *error;

    alqi_cli_view_label_take(&label, input);
    error = alqi_cli_view_indexer_finish(p->indexer, &label);
    if (error == NULL && fflush(p->file) != 0)
        error = strerror(errno);
    if (error == NULL)
        return -1;
    return alqi_cli_unreadable("%s: the page's data cannot be made: %s", path,
                               error);
}

/* ---- once more, thinned -------------------------------------------------- */

/* Reads again into a new file. Requires that the first indexer has not been
 * finished. Without a file the status is UNREADABLE, and an indexer is left to
 * be dropped. */
static int
read_thinned(struct alqi_cli_page_index *p, struct alqi_cli_input *input,
             double share)
{
    struct alqi_cli_analysis *a = alqi_cli_realloc(NULL, 1, sizeof *a);
    struct alqi_cli_analysis_options options = {.watch = &p->watch,
                                                .is_held_wanted = true};
    FILE *file = file_new();
    int rc = ALQI_CLI_UNREADABLE;

    alqi_cli_view_indexer_drop(p->indexer);
    p->indexer =
        alqi_cli_view_indexer_new(a, file != NULL ? file : p->file, &p->watch);
    if (file != NULL) {
        fclose(p->file);
        p->file = file;
        alqi_cli_view_indexer_thin(p->indexer, share);
        alqi_cli_analysis_run(a, input, &options);
        rc = finish(p, input);
        alqi_cli_analysis_free(a);
    }
    free(a);
    return rc;
}

int
alqi_cli_page_index_finish(struct alqi_cli_page_index *p,
                           struct alqi_cli_input *input, uint64_t max_rows)
{
    uint64_t n = alqi_cli_view_indexer_met(p->indexer);
    struct alqi_cli_input *again;
    int rc;

    if (max_rows == 0 || n <= max_rows)
        return finish(p, input);
    rc = alqi_cli_export_again(input,
                               "a page of some of its blocks needs: write "
                               "--max-samples=0, or export from a file",
                               &again);
    if (rc >= 0)
        return rc;
    rc = read_thinned(p, again, (double)max_rows / (double)n);
    alqi_cli_input_drop(again);
    return rc;
}
