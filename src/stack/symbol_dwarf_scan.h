/* symbol_dwarf_scan.h -- the DIEs of one unit that may hold code, in one pass
 *
 * libdw walks a tree by child and sibling; each step decodes a DIE again, and
 * without DW_AT_sibling a subtree of depth d is decoded d times.  This reads
 * every byte of a unit at most once, whatever the tree looks like. */
#ifndef ALQI_STACK_SYMBOL_DWARF_SCAN_H
#define ALQI_STACK_SYMBOL_DWARF_SCAN_H

#include <elfutils/libdw.h>

#include "stack/dwarf_bytes.h"

struct alqi_symbol_scan {
    /* the DIE that was found */
    const uint8_t *die;
    unsigned tag, depth; /* depth: 1 for a child of the unit */
    bool has_code;       /* DW_AT_low_pc or DW_AT_ranges     */
    /* where the pass is */
    struct alqi_stack_bytes bytes;
    const uint8_t *unit;
    unsigned next_depth;
    unsigned hidden_depth; /* inside a DIE that holds no code, or UINT_MAX */
    unsigned address_bytes, offset_bytes, version;
    Dwarf *dwarf;
    struct alqi_symbol_abbrev *abbrevs;
    size_t abbrevs_count, abbrevs_capacity;
    uint32_t *codes; /* code to 1 + index of abbrevs; 0: not met yet */
    size_t codes_count;
    uint16_t *forms;
    size_t forms_count, forms_capacity;
};

/* False when the unit cannot be read. */
bool alqi_symbol_scan_start(struct alqi_symbol_scan *scan, Dwarf_Die *unit);
/* The next function, inlined call, block, namespace or class; false at the
 * end of the unit or at damage. */
bool alqi_symbol_scan_next(struct alqi_symbol_scan *scan);
void alqi_symbol_scan_end(struct alqi_symbol_scan *scan);

#endif
