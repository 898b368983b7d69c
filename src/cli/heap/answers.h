/* answers.h -- what `aliquot heap --json` says, as answers of a server
 *                                               [doc/design/heap-snapshot]
 *
 * NAME     keys                     the object is that of
 * page     top (30)                 aliquot heap --json; of kinds the first 500
 * tree     below, depth (12)        ... --tree, or --below
 * holders  depth (16)               ... --holders
 * path     what, top (3)            ... --path
 *
 * Trees list all of a level but what is too small to be seen: less than 1 of
 * PARTS of the whole, and of fewer parts where the text would be too large. */
#ifndef ALQI_CLI_HEAP_ANSWERS_H
#define ALQI_CLI_HEAP_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>

struct alqi_cli_heap_answers;

/* It is a regular file that begins as a snapshot does, packed or not. */
bool alqi_cli_heap_answers_is(const char *path);
/* Reads and solves the snapshot.  -1, or the exit status: why has been said.
 * To be dropped in either case. */
int alqi_cli_heap_answers_open(struct alqi_cli_heap_answers **answers,
                               const char *path);
void alqi_cli_heap_answers_drop(struct alqi_cli_heap_answers *answers);

/* HTTP's status, and the object's text, to be freed: that of an error has
 * "error" alone. */
unsigned alqi_cli_heap_answer(struct alqi_cli_heap_answers *answers,
                              const char *name, const char *query, char **text,
                              size_t *n_bytes);

#endif
