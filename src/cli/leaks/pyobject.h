/* pyobject.h -- pointers to objects of CPython        [doc/design/leaks.md] */
#ifndef ALQI_CLI_LEAKS_PYOBJECT_H
#define ALQI_CLI_LEAKS_PYOBJECT_H

#include "base/map.h"
#include "cli/leaks/memory.h"

/* What addresses that were met as types are (pyobject.c); all zeros: none yet.
 * The map is the caller's to clear. */
struct alqi_cli_leak_pytypes {
    struct alqi_base_map map;
};

/* Whether an object of a type that the collector manages is there, which its
 * block begins in front of with the collector's header, and where has_before
 * with two words more.  w: the object's words, of which two are read; those in
 * front of it, too. */
bool alqi_cli_leak_is_pyobject(struct alqi_cli_leak_pytypes *types,
                               struct alqi_cli_leak_memory *memory,
                               uint64_t object, const uint64_t *w,
                               bool has_before);

/* Whether the block of so many bytes, which begins with the words, has an
 * instance's values behind so many bytes of their order (3.11 and 3.12). */
bool alqi_cli_leak_is_pyvalues(const uint64_t *w, unsigned offset_bytes,
                               uint64_t block_bytes);

#endif
