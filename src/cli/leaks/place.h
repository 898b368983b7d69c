/* place.h -- what a root is called                   [doc/design/leaks.md] */
#ifndef ALQI_CLI_LEAKS_PLACE_H
#define ALQI_CLI_LEAKS_PLACE_H

#include <stddef.h>

#include "cli/attach/core.h"

struct alqi_cli_leak_places;

/* Names of the process's variables, by its modules' symbols.  Never NULL. */
struct alqi_cli_leak_places *
alqi_cli_leak_places_open(const struct alqi_cli_core *core);
void alqi_cli_leak_places_drop(struct alqi_cli_leak_places *places);

/* "cache+0x8 (libfoo.so)", "libfoo.so .bss+0x40", "stack of thread 4711",
 * "thread-local memory of thread 4711", "register of thread 4711", "memory at
 * 0x7f..". */
void alqi_cli_leak_place(struct alqi_cli_leak_places *places, uint64_t at,
                         char *out, size_t capacity);

/* What all of a holder's words are called, from look to look: the variable
 * without an offset, or its section; "stacks of threads", registers too, and
 * "thread-local memory", for threads come and go; a mapping without its
 * address, which is another when the mapping grows: "mapped memory", or the
 * file's name.
 */
struct alqi_cli_leak_holder {
    uint64_t from, to; /* words there have the same name; others may, too */
    char name[512];
};
void alqi_cli_leak_holder_at(struct alqi_cli_leak_places *places, uint64_t at,
                             struct alqi_cli_leak_holder *holder);

/* The path of the first module that exports the name; NULL: none does. */
const char *alqi_cli_leak_places_exporter(struct alqi_cli_leak_places *places,
                                          const char *name);

/* Bytes of the process's thread-local variables. */
uint64_t alqi_cli_leak_places_tls_bytes(struct alqi_cli_leak_places *places);

#endif
