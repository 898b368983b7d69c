/* page_index.h -- the index that an exported page carries */
#ifndef ALQI_CLI_EXPORT_PAGE_INDEX_H
#define ALQI_CLI_EXPORT_PAGE_INDEX_H

#include <stdio.h>

#include "cli/analysis/analysis.h"
#include "cli/read/input.h"

struct alqi_cli_page_index;

/* Looks on while analysis reads, by its options.  NULL: no file can be made for
 * it; said. */
struct alqi_cli_page_index *
alqi_cli_page_index_new(struct alqi_cli_analysis *analysis,
                        struct alqi_cli_analysis_options *options);

/* When all is read.  With more than max_rows sampled blocks (0: any number is
 * fine) the trace is read once more, and about so many are taken by chance.
 * -1 to go on, or the exit status; the reason has been said. */
int alqi_cli_page_index_finish(struct alqi_cli_page_index *index,
                               struct alqi_cli_input *input, uint64_t max_rows);

/* Its bytes, from the first on. */
FILE *alqi_cli_page_index_file(const struct alqi_cli_page_index *index);

void alqi_cli_page_index_drop(struct alqi_cli_page_index *index);

#endif
