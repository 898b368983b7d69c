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

/* "cache (libfoo.so)", "libfoo.so .bss+0x40", "stack of thread 4711",
 * "register of thread 4711", "memory at 0x7f..". */
void alqi_cli_leak_place(struct alqi_cli_leak_places *places, uint64_t at,
                         char *out, size_t capacity);

#endif
