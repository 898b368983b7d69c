/* print.h -- lines and members that the pages of `aliquot heap` share */
#ifndef ALQI_CLI_HEAP_PRINT_H
#define ALQI_CLI_HEAP_PRINT_H

#include "cli/heap/heap.h"
#include "cli/heap/rows.h"
#include "cli/tool/json.h"

enum { ALQI_CLI_HEAP_BYTES = 11, ALQI_CLI_HEAP_BLOCKS = 10 };

/* What is printed or named at most. */
enum { ALQI_CLI_HEAP_TEXT = 2048 };

/* Bytes and blocks, right-aligned. */
void alqi_cli_heap_figures(const struct alqi_cli_term *term, uint64_t words,
                           uint64_t n_blocks);
/* A dim line of headings: the two, then text. */
void alqi_cli_heap_heads(const struct alqi_cli_term *term, const char *text);
/* A bold title with a plain explanation. */
void alqi_cli_heap_title(const struct alqi_cli_term *term, const char *title,
                         const char *meaning);
/* "  12 more (--top=0 shows all)", if there are. */
void alqi_cli_heap_more(const struct alqi_cli_term *term, uint64_t n);
/* Text in what is left of the line after `used` columns, and its end. */
void alqi_cli_heap_rest(const struct alqi_cli_term *term,
                        enum alqi_cli_style style, int used, const char *text);

/* Process, moment, totals. */
void alqi_cli_heap_head(struct alqi_cli_heap_run *run);
/* Of a snapshot that is damaged: what the figures below it cannot say. */
void alqi_cli_heap_cut_say(const struct alqi_cli_term *term,
                           const struct alqi_cli_heap_snapshot *snapshot);
json_t *alqi_cli_heap_head_json(struct alqi_cli_heap_run *run);

/* A row that is known, with what it retains; of a block what holds it, too. */
json_t *alqi_cli_heap_row_json(struct alqi_cli_heap_run *run,
                               const struct alqi_cli_heap_facts *facts,
                               const struct alqi_cli_heap_row *row);
/* Kind, address, bytes, site. */
void alqi_cli_heap_block_json(struct alqi_cli_heap_snapshot *snapshot,
                              const struct alqi_cli_heap_fact *fact,
                              json_t *to);
/* Prints the tree to stdout, and frees it; or a server takes it. */
void alqi_cli_heap_json_end(struct alqi_cli_heap_run *run, json_t *to);

/* Says why there is no answer, or makes it one for the server, as "error".
 * is_usage: a word of the command line is to blame. Returns the exit status. */
int alqi_cli_heap_refuse(struct alqi_cli_heap_run *run, bool is_usage,
                         const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
