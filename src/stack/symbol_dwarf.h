/* symbol_dwarf.h -- functions, inlined calls and lines from DWARF
 *
 * An address has a chain of locations: the function, and each call inlined at
 * the address, outermost first (.def.chain). */
#ifndef ALQI_STACK_SYMBOL_DWARF_H
#define ALQI_STACK_SYMBOL_DWARF_H

#include <stddef.h>
#include <stdint.h>

#include "stack/symbol_find.h"

enum { ALQI_SYMBOL_DEPTH_MAX = 200 };

struct alqi_symbol_dwarf;

struct alqi_symbol_location {
    const char *function; /* NULL when unknown                          */
    bool is_linkage_name; /* else the name in the source, unqualified   */
    const char *file;     /* NULL when unknown                          */
    uint32_t line, column;
};

/* NULL when the files have no DWARF that can be read. */
struct alqi_symbol_dwarf *
alqi_symbol_dwarf_open(const struct alqi_symbol_files *files,
                       struct alqi_base_arena *arena);

/* Fills `locations` outermost first and returns how many; 0 when no unit holds
 * the address.  Texts live as long as `dwarf` and the arena. */
size_t alqi_symbol_dwarf_find(
    struct alqi_symbol_dwarf *dwarf, uint64_t address,
    struct alqi_symbol_location locations[static ALQI_SYMBOL_DEPTH_MAX]);
/* Whether a part of it may be in .dwo files (.limit.split). */
bool alqi_symbol_dwarf_is_split(const struct alqi_symbol_dwarf *dwarf);
void alqi_symbol_dwarf_drop(struct alqi_symbol_dwarf *dwarf);

#endif
