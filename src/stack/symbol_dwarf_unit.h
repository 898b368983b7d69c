/* symbol_dwarf_unit.h -- the functions and inlined calls of one compilation
 * unit */
#ifndef ALQI_STACK_SYMBOL_DWARF_UNIT_H
#define ALQI_STACK_SYMBOL_DWARF_UNIT_H

#include <elfutils/libdw.h>
#include <stdbool.h>

#include "stack/symbol_dwarf_lines.h"

/* Levels of the tree of DIEs that are looked at. */
enum { ALQI_SYMBOL_LEVELS_MAX = 200 };

#define ALQI_SYMBOL_NO_NODE UINT32_MAX

/* A function or an inlined call that has code. */
struct alqi_symbol_node {
    void *die;       /* its place in .debug_info                          */
    uint32_t parent; /* where it is inlined; NO_NODE for a whole function */
    bool is_inlined;
};

struct alqi_symbol_unit {
    Dwarf_Die die;      /* of the unit; a skeleton when it is split   */
    Dwarf_Die full_die; /* its split part, else the same              */
    bool is_indexed;
    struct alqi_symbol_node *nodes;
    size_t count, capacity;
    struct alqi_symbol_map map;      /* address to the innermost node      */
    struct alqi_symbol_lines *lines; /* NULL: not met yet             */
};

/* Fills nodes and map on the first call; ranges outside [text_lo, text_hi),
 * left by functions the linker dropped, are ignored. */
void alqi_symbol_unit_index(struct alqi_symbol_unit *unit, uint64_t text_lo,
                            uint64_t text_hi);
void alqi_symbol_unit_drop(struct alqi_symbol_unit *unit);

/* Adds the code ranges of a DIE; false when there is no capacity for more. */
bool alqi_symbol_unit_ranges(struct alqi_symbol_ranges *ranges, Dwarf_Die *die,
                             uint64_t text_lo, uint64_t text_hi, uint64_t rank,
                             uint32_t id);

#endif
