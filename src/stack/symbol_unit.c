/* symbol_unit.c -- the functions and inlined calls of one compilation unit
 *
 * The tree of DIEs is walked once, when the first address falls into the
 * unit.  Every function and inlined call that has code becomes a node; the
 * map gives the deepest node for an address and `parent` leads outwards.
 * dwarf_getscopes would walk the tree for each address instead and lose
 * nested inlining after the first abstract origin.
 *
 * .inv.parent  A node's parent has a smaller index: chains end.
 *
 * Hostile input: at most LEVELS_MAX levels, VISITS_MAX DIEs and RANGES_MAX
 * ranges are read; what lies beyond stays unnamed. */
#include "stack/symbol_unit.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

enum { VISITS_MAX = 1 << 26, NODES_MAX = 1 << 23, RANGES_MAX = 1 << 23 };

bool
alqi_symbol_unit_ranges(struct alqi_symbol_spans *spans, Dwarf_Die *die,
                        uint64_t text_lo, uint64_t text_hi, uint64_t rank,
                        uint32_t id)
{
    struct alqi_symbol_span span = {.rank = rank, .id = id};
    Dwarf_Addr base, lo, hi;
    ptrdiff_t at = 0;

    while ((at = dwarf_ranges(die, at, &base, &lo, &hi)) > 0) {
        if (lo < text_lo || hi > text_hi)
            continue;
        span.lo = lo;
        span.hi = hi;
        if (!alqi_symbol_spans_add(spans, &span))
            return false;
    }
    return true;
}

struct walk {
    struct alqi_symbol_unit *unit;
    struct alqi_symbol_spans spans;
    uint64_t text_lo, text_hi;
    struct {
        Dwarf_Die die;
        uint32_t parent;
    } level[ALQI_SYMBOL_LEVELS_MAX];
};

static bool
nodes_grow(struct alqi_symbol_unit *u)
{
    size_t room = u->room != 0 ? 2 * u->room : 64;
    struct alqi_symbol_node *grown =
        room > NODES_MAX ? NULL : realloc(u->nodes, room * sizeof *grown);

    if (grown == NULL)
        return false;
    u->nodes = grown;
    u->room = room;
    return true;
}

/* The node that holds the DIE's children. */
static uint32_t
node_add(struct walk *w, Dwarf_Die *die, uint32_t parent, unsigned depth)
{
    struct alqi_symbol_unit *u = w->unit;
    bool is_inlined = dwarf_tag(die) == DW_TAG_inlined_subroutine;
    size_t before = w->spans.count;

    if (u->count == u->room && !nodes_grow(u))
        return parent;
    alqi_symbol_unit_ranges(&w->spans, die, w->text_lo, w->text_hi, depth,
                            (uint32_t)u->count);
    if (w->spans.count == before) /* a declaration, or no code of its own */
        return is_inlined ? parent : ALQI_SYMBOL_NO_NODE;
    u->nodes[u->count].die = die->addr;
    u->nodes[u->count].parent = is_inlined ? parent : ALQI_SYMBOL_NO_NODE;
    u->nodes[u->count].is_inlined = is_inlined;
    return (uint32_t)u->count++;
}

static bool
may_hold_code(int tag)
{
    switch (tag) {
    case DW_TAG_subprogram:
    case DW_TAG_inlined_subroutine:
    case DW_TAG_lexical_block:
    case DW_TAG_try_block:
    case DW_TAG_catch_block:
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_class_type:
    case DW_TAG_structure_type:
    case DW_TAG_union_type:
        return true;
    default:
        return false;
    }
}

static void
tree_walk(struct walk *w)
{
    unsigned depth = 0, visits;
    uint32_t inside;
    Dwarf_Die *die;
    int tag;

    w->level[0].parent = ALQI_SYMBOL_NO_NODE;
    if (dwarf_child(&w->unit->full_die, &w->level[0].die) != 0)
        return;
    for (visits = 0; visits < VISITS_MAX; visits++) {
        die = &w->level[depth].die;
        tag = dwarf_tag(die);
        inside = w->level[depth].parent;
        if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine)
            inside = node_add(w, die, inside, depth);
        if (may_hold_code(tag) && depth + 1 < ALQI_SYMBOL_LEVELS_MAX &&
            dwarf_child(die, &w->level[depth + 1].die) == 0) {
            w->level[++depth].parent = inside;
            continue;
        }
        while (dwarf_siblingof(&w->level[depth].die, &w->level[depth].die) !=
               0) {
            if (depth-- == 0)
                return;
        }
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
    w->spans.limit = RANGES_MAX;
    w->text_lo = text_lo;
    w->text_hi = text_hi;
    tree_walk(w);
    alqi_symbol_map_make(&unit->map, &w->spans);
    alqi_symbol_spans_drop(&w->spans);
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
