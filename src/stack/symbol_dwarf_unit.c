/* symbol_dwarf_unit.c -- the functions and inlined calls of one compilation
 * unit
 *
 * The DIEs are read once, when the first address falls into the unit.  Every
 * function and inlined call that has code becomes a node; the map gives the
 * deepest node for an address and `parent` leads outwards (.rej.scopes).
 *
 * .inv.parent  A node's parent has a smaller index: chains end.
 * .inv.tree    A DIE's parent is the last one reported at the depth above: the
 *              scan reports nothing inside what it does not report.
 *
 * Keeps .inv.bound: LEVELS_MAX levels, NODES_MAX nodes and RANGES_MAX ranges
 * are kept; what lies beyond stays unnamed. */
#include "stack/symbol_dwarf_unit.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "stack/symbol_array.h"
#include "stack/symbol_dwarf_scan.h"

enum {
    LEVELS_MAX = ALQI_SYMBOL_LEVELS_MAX,
    NODES_MAX = 1 << 23,
    RANGES_MAX = 1 << 23
};

bool
alqi_symbol_unit_ranges(struct alqi_symbol_ranges *ranges, Dwarf_Die *die,
                        uint64_t text_lo, uint64_t text_hi, uint64_t rank,
                        uint32_t id)
{
    struct alqi_symbol_range range = {.rank = rank, .id = id};
    Dwarf_Addr base, lo, hi;
    ptrdiff_t at = 0;

    while ((at = dwarf_ranges(die, at, &base, &lo, &hi)) > 0) {
        if (lo < text_lo || hi > text_hi)
            continue;
        range.lo = lo;
        range.hi = hi;
        if (!alqi_symbol_ranges_add(ranges, &range))
            return false;
    }
    return true;
}

struct walk {
    struct alqi_symbol_unit *unit;
    struct alqi_symbol_ranges ranges;
    uint64_t text_lo, text_hi;
    struct alqi_symbol_scan scan;
    /* The node that holds the children of the last DIE met at this depth. */
    uint32_t inside[LEVELS_MAX];
};

/* The node that holds the DIE's children. */
static uint32_t
node_add(struct walk *w, uint32_t parent)
{
    struct alqi_symbol_unit *u = w->unit;
    bool is_inlined = w->scan.tag == DW_TAG_inlined_subroutine;
    uint32_t outside = is_inlined ? parent : ALQI_SYMBOL_NO_NODE;
    size_t before = w->ranges.count;
    void *at = (void *)(uintptr_t)w->scan.die;
    Dwarf_Die die;

    if (!w->scan.has_code || /* a declaration, or what copies are made of */
        dwarf_die_addr_die(dwarf_cu_getdwarf(u->full_die.cu), at, &die) ==
            NULL ||
        !ALQI_SYMBOL_ARRAY_FIT(u->nodes, u->count, u->capacity, NODES_MAX))
        return outside;
    alqi_symbol_unit_ranges(&w->ranges, &die, w->text_lo, w->text_hi,
                            w->scan.depth, (uint32_t)u->count);
    if (w->ranges.count == before)
        return outside;
    u->nodes[u->count].die = at;
    u->nodes[u->count].parent = outside;
    u->nodes[u->count].is_inlined = is_inlined;
    return (uint32_t)u->count++;
}

/* Makes the nodes of the unit, with their ranges. */
static void
tree_walk(struct walk *w)
{
    struct alqi_symbol_scan *s = &w->scan;
    uint32_t inside;

    while (alqi_symbol_scan_next(s)) {
        if (s->depth >= LEVELS_MAX)
            continue;
        inside = s->depth > 0 ? w->inside[s->depth - 1] : ALQI_SYMBOL_NO_NODE;
        if (s->tag == DW_TAG_subprogram || s->tag == DW_TAG_inlined_subroutine)
            inside = node_add(w, inside);
        w->inside[s->depth] = inside;
    }
}

void
alqi_symbol_unit_index(struct alqi_symbol_unit *unit, uint64_t text_lo,
                       uint64_t text_hi)
{
    struct walk *w;
    void *fit;

    if (unit->is_indexed)
        return;
    unit->is_indexed = true;
    w = calloc(1, sizeof *w);
    if (w == NULL)
        return;
    w->unit = unit;
    w->ranges.limit = RANGES_MAX;
    w->text_lo = text_lo;
    w->text_hi = text_hi;
    if (alqi_symbol_scan_start(&w->scan, &unit->full_die))
        tree_walk(w);
    alqi_symbol_scan_end(&w->scan);
    alqi_symbol_map_make(&unit->map, &w->ranges);
    alqi_symbol_ranges_drop(&w->ranges);
    free(w);
    fit = realloc(unit->nodes, (unit->count + 1) * sizeof *unit->nodes);
    unit->nodes = fit != NULL ? fit : unit->nodes;
}

void
alqi_symbol_unit_drop(struct alqi_symbol_unit *unit)
{
    free(unit->nodes);
    alqi_symbol_map_drop(&unit->map);
    if (unit->lines != NULL)
        alqi_symbol_lines_drop(unit->lines);
    free(unit->lines);
}
