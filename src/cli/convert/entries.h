/* entries.h -- the names of one place, cut to what a record of a trace holds */
#ifndef ALQI_CLI_CONVERT_ENTRIES_H
#define ALQI_CLI_CONVERT_ENTRIES_H

#include <stddef.h>

#include "base/arena.h"
#include "wire/ctf.h"

enum { ALQI_CLI_ENTRIES_MAX = 255 /* of one location record */ };

/* A record that is too long would be written as an unknown place.  Deeply
 * inlined C++ reaches that: names lose their arguments then, and if that is
 * not enough, callers between the outermost function and the site go.  Short
 * names are kept in the arena.  Returns how many entries, outermost first, are
 * left of n. */
size_t alqi_cli_entries_fit(struct alqi_ctf_entry *entries, size_t n,
                            struct alqi_base_arena *names);

#endif
