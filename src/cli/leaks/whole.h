/* whole.h -- pointers into blocks that hold the whole [doc/design/leaks.md] */
#ifndef ALQI_CLI_LEAKS_WHOLE_H
#define ALQI_CLI_LEAKS_WHOLE_H

#include "cli/leaks/memory.h"
#include "cli/leaks/pyobject.h"
#include "cli/leaks/table.h"

struct alqi_cli_leak_whole {
    struct alqi_cli_leak_memory *memory;     /* the caller's */
    const struct alqi_cli_leak_table *table; /* the caller's */
    uint8_t *answers;                        /* by block (whole.c); owned */
    struct alqi_cli_leak_pytypes types;
};

void alqi_cli_leak_whole_open(struct alqi_cli_leak_whole *whole,
                              struct alqi_cli_leak_memory *memory,
                              const struct alqi_cli_leak_table *table);
void alqi_cli_leak_whole_close(struct alqi_cli_leak_whole *whole);

/* Whether a pointer to that place in the block holds the whole of it; `whole`
 * is a struct alqi_cli_leak_whole: for graph.h. */
bool alqi_cli_leak_is_whole(void *whole, uint32_t block,
                            enum alqi_cli_leak_into into);

#endif
