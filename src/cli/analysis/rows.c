/* rows.c -- an index in memory, for those who go through the blocks
 *
 *   none --begin--> made while the trace is read --end--> open --free--> none
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/analysis/view_index.h"
#include "cli/tool/cli.h"
#include "cli/tool/memory.h"

/* An index that is never stored has no key. */
const unsigned char alqi_cli_rows_key[ALQI_VIEW_KEY_BYTES];

void
alqi_cli_rows_begin(struct alqi_cli_rows *r, struct alqi_cli_analysis *analysis,
                    struct alqi_cli_analysis_options *options)
{
    r->out = alqi_cli_memory_open(&r->bytes, &r->n_bytes);
    if (r->out == NULL)
        alqi_cli_die("out of memory for the index");
    r->indexer = alqi_cli_view_indexer_new(analysis, r->out, &r->watch);
    options->watch = &r->watch;
}

/* The index gets an empty name and key: it is never stored. */
const char *
alqi_cli_rows_end(struct alqi_cli_rows *r, struct alqi_cli_input *input)
{
    struct alqi_cli_view_label label = {.name = "", .key = alqi_cli_rows_key};
    const char *error;

    alqi_cli_view_label_take(&label, input);
    error = alqi_cli_view_indexer_finish(r->indexer, &label);
    if (error == NULL && fflush(r->out) != 0)
        error = strerror(errno);
    return error != NULL
               ? error
               : alqi_view_index_open(&r->index, r->bytes, r->n_bytes);
}

void
alqi_cli_rows_free(struct alqi_cli_rows *r)
{
    if (r->out == NULL)
        return;
    alqi_view_index_close(&r->index);
    alqi_cli_view_indexer_drop(r->indexer);
    fclose(r->out);
    free(r->bytes);
    r->out = NULL;
}
