/* view_index.h -- an index (view/index.h) made of a trace
 *
 * Either at once, or by a caller that runs an analysis anyway: it makes an
 * indexer, gives its watch to the analysis, and finishes it when all is
 * read.  A caller that goes through the blocks after the analysis has the index
 * in memory (struct alqi_cli_rows). */
#ifndef ALQI_CLI_ANALYSIS_VIEW_INDEX_H
#define ALQI_CLI_ANALYSIS_VIEW_INDEX_H

#include <stdio.h>

#include "cli/analysis/analysis.h"
#include "view/index.h"

/* Reads the input to its end and writes its index to out. name is displayed
 * for the trace, key identifies it; its stacks are marked that suppress, which
 * may be NULL, takes. NULL, or what went wrong. */
const char *alqi_cli_view_index_write(struct alqi_cli_input *input,
                                      const char *name,
                                      const unsigned char *key,
                                      struct alqi_cli_suppress *suppress,
                                      FILE *out);

/* ---- for those who read it themselves -------------------------------- */

struct alqi_cli_view_indexer;

/* The indexer observes the analysis while it reads: its options get `watch`. */
struct alqi_cli_view_indexer *
alqi_cli_view_indexer_new(struct alqi_cli_analysis *analysis, FILE *out,
                          struct alqi_cli_watch *watch);
/* To be called before anything is read: each block is taken with this chance
 * alone, and stands for as many more. */
void alqi_cli_view_indexer_thin(struct alqi_cli_view_indexer *indexer,
                                double share);
/* Blocks met so far, taken or not. */
uint64_t alqi_cli_view_indexer_met(const struct alqi_cli_view_indexer *indexer);
/* What an index says of its trace beside the events. */
struct alqi_cli_view_label {
    const char *name;         /* as it is displayed */
    const unsigned char *key; /* identifies it */
    const char *damage;       /* "", or why the rest was not read */
    uint64_t n_warnings;      /* of the reader */
    const char *ended; /* how, of a snapshot that has no end record yet */
};

/* Damage and warnings as an input that was read has them. */
void alqi_cli_view_label_take(struct alqi_cli_view_label *label,
                              struct alqi_cli_input *input);

/* When all is read; NULL, or what went wrong. */
const char *
alqi_cli_view_indexer_finish(struct alqi_cli_view_indexer *indexer,
                             const struct alqi_cli_view_label *label);
/* The node in the analysis of a stack of the index. */
uint32_t alqi_cli_view_indexer_node(const struct alqi_cli_view_indexer *indexer,
                                    uint32_t stack);
void alqi_cli_view_indexer_drop(struct alqi_cli_view_indexer *indexer);

/* ---- for those who go through the blocks ------------------------------ */

/* An index in memory of what an analysis reads. All zeros is none. */
struct alqi_cli_rows {
    /* calls of the indexer, for the analysis */
    struct alqi_cli_watch watch;
    /* makes the index while the trace is read; owned */
    struct alqi_cli_view_indexer *indexer;
    /* writes the index to memory; NULL before begin */
    FILE *out;
    /* the index, when all is written; out allocates it */
    char *bytes;
    size_t n_bytes;
    /* open after end; points into bytes */
    struct alqi_view_index index;
};

/* The key of an index that is never stored. */
extern const unsigned char alqi_cli_rows_key[ALQI_VIEW_KEY_BYTES];

/* Prepares the options for an analysis that is to be run. Ends the command
 * without memory. */
void alqi_cli_rows_begin(struct alqi_cli_rows *rows,
                         struct alqi_cli_analysis *analysis,
                         struct alqi_cli_analysis_options *options);
/* When the analysis has run: opens the index. NULL, or what went wrong. */
const char *alqi_cli_rows_end(struct alqi_cli_rows *rows,
                              struct alqi_cli_input *input);
void alqi_cli_rows_free(struct alqi_cli_rows *rows);

/* The index of a snapshot of the running analysis that these rows observe, in
 * *bytes, which the caller frees; the label needs no key. Functions have the
 * same numbers in each. NULL, or what went wrong: then there is nothing to
 * free. */
const char *alqi_cli_rows_picture(struct alqi_cli_rows *rows,
                                  const struct alqi_cli_view_label *label,
                                  char **bytes, size_t *n_bytes);

#endif
