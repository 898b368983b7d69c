/* symbol_dwarf.c -- functions, inlined calls and lines from DWARF
 *
 * Opening lists the units with their ranges; a unit's tree and line table are
 * read when the first address falls into it.  Ranges come from the unit's own
 * DIE, because .debug_aranges is optional and clang leaves it out; a unit
 * without ranges there gets those of its line table (.def.unit).
 *
 * Of an address: its unit, the deepest node there, its parents; names from
 * each node's DIE or what that was made from, places from the line table and
 * the call sites (.def.chain, .def.name).  Keeps .inv.bound. */
#include "stack/symbol_dwarf.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "stack/symbol_array.h"
#include "stack/symbol_elf_image.h"
#include "stack/symbol_dwarf_unit.h"

/* One frame for a function and one for each call around it. */
_Static_assert((int)ALQI_SYMBOL_DEPTH_MAX >= (int)ALQI_SYMBOL_LEVELS_MAX,
               "a chain of nodes fits");

enum {
    UNITS_MAX = 1 << 20,
    ORIGINS_MAX = 16,
    EAGER_MAX = 256,
    ROWS_MAX = 1 << 27
};

/* A file's image as libdw has it open; dwarf NULL: not opened. */
struct opened {
    struct alqi_symbol_image image;
    Elf *elf;
    Dwarf *dwarf;
};

struct alqi_symbol_dwarf {
    struct opened main, shared; /* shared: dwz's file */
    struct alqi_base_arena *arena;
    struct alqi_stack_bytes line, line_str, str; /* sections */
    size_t rows_count; /* of the line tables read so far */
    uint64_t text_lo, text_hi;
    struct alqi_symbol_unit *units;
    size_t count, capacity;
    struct alqi_symbol_map map; /* address to unit */
    bool is_split;              /* a unit is a skeleton */
};

static void
opened_drop(struct opened *o)
{
    if (o->dwarf != NULL)
        dwarf_end(o->dwarf);
    if (o->elf != NULL)
        elf_end(o->elf);
    alqi_symbol_image_drop(&o->image);
}

/* Makes the file's image and opens it with libdw; false: there is nothing to
 * open. */
static bool
opened_make(struct opened *o, struct alqi_symbol_elf *elf)
{
    elf_version(EV_CURRENT);
    if (alqi_symbol_image_make(&o->image, elf) != NULL)
        return false;
    alqi_symbol_elf_close_fd(elf);
    o->elf = elf_memory((char *)o->image.bytes, o->image.size_bytes);
    if (o->elf != NULL)
        o->dwarf = dwarf_begin_elf(o->elf, DWARF_C_READ, NULL);
    if (o->dwarf != NULL)
        return true;
    opened_drop(o);
    memset(o, 0, sizeof *o);
    return false;
}

/* Adds a unit, which has no split part as long as none is found; false: no
 * memory, or too many units. */
static bool
unit_add(struct alqi_symbol_dwarf *d, const Dwarf_Die *die)
{
    if (!ALQI_SYMBOL_ARRAY_FIT(d->units, d->count, d->capacity, UNITS_MAX))
        return false;
    memset(&d->units[d->count], 0, sizeof d->units[0]);
    d->units[d->count].die = *die;
    d->units[d->count].full_die = *die;
    d->count++;
    return true;
}

/* Units of types and dwz's partial units have no code. */
static bool
units_list(struct alqi_symbol_dwarf *d)
{
    Dwarf_CU *cu = NULL;
    Dwarf_Die die;
    uint8_t type;

    while (dwarf_get_units(d->main.dwarf, cu, &cu, NULL, &type, &die, NULL) ==
           0) {
        d->is_split |= type == DW_UT_skeleton;
        if ((type == DW_UT_compile || type == DW_UT_skeleton) &&
            dwarf_tag(&die) != DW_TAG_partial_unit && !unit_add(d, &die))
            break;
    }
    return d->count > 0;
}

/* Reads the unit's line table, once. */
static void
lines_load(struct alqi_symbol_dwarf *d, struct alqi_symbol_unit *u)
{
    struct alqi_symbol_line_input input = {.line = d->line,
                                           .line_str = d->line_str,
                                           .str = d->str,
                                           .text_lo = d->text_lo,
                                           .text_hi = d->text_hi,
                                           .rows_max =
                                               ROWS_MAX - d->rows_count};
    Dwarf_Attribute attr;
    Dwarf_Word offset;

    if (u->lines != NULL)
        return;
    u->lines = calloc(1, sizeof *u->lines);
    if (u->lines == NULL ||
        dwarf_attr(&u->die, DW_AT_stmt_list, &attr) == NULL ||
        dwarf_formudata(&attr, &offset) != 0)
        return;
    input.offset = offset;
    input.comp_dir =
        dwarf_formstring(dwarf_attr(&u->die, DW_AT_comp_dir, &attr));
    alqi_symbol_lines_read(u->lines, &input);
    d->rows_count += u->lines->rows_count;
}

/* A unit that does not say where its code is: old producers, and the units of
 * link-time optimisation, which have none.  The line table knows. */
static void
lines_add(struct alqi_symbol_dwarf *d, struct alqi_symbol_ranges *ranges,
          size_t unit)
{
    struct alqi_symbol_unit *u = &d->units[unit];
    struct alqi_symbol_range range = {.id = (uint32_t)unit};
    size_t i;

    lines_load(d, u);
    for (i = 0; u->lines != NULL && i + 1 < u->lines->map.count; i++) {
        range.lo = u->lines->map.start[i];
        range.hi = u->lines->map.start[i + 1];
        if (u->lines->map.id[i] != ALQI_SYMBOL_NO_ID)
            alqi_symbol_ranges_add(ranges, &range);
    }
}

/* Which unit holds an address (.def.unit). */
static void
units_map(struct alqi_symbol_dwarf *d)
{
    struct alqi_symbol_ranges ranges = {.limit = (size_t)1 << 24};
    Dwarf_Die *die;
    size_t i;

    for (i = 0; i < d->count; i++) {
        die = &d->units[i].die;
        if (dwarf_hasattr(die, DW_AT_ranges) ||
            dwarf_hasattr(die, DW_AT_high_pc))
            alqi_symbol_unit_ranges(&ranges, die, d->text_lo, d->text_hi, 0,
                                    (uint32_t)i);
        else
            lines_add(d, &ranges, i);
    }
    alqi_symbol_map_make(&d->map, &ranges);
    alqi_symbol_ranges_drop(&ranges);
}

struct alqi_symbol_dwarf *
alqi_symbol_dwarf_open(const struct alqi_symbol_files *files,
                       struct alqi_base_arena *arena)
{
    struct alqi_symbol_elf *elf = alqi_symbol_files_dwarf(files);
    struct alqi_symbol_dwarf *d;

    if (elf == NULL)
        return NULL;
    d = calloc(1, sizeof *d);
    if (d == NULL)
        return NULL;
    if (!opened_make(&d->main, elf))
        goto fail;
    if (files->shared != NULL && opened_make(&d->shared, files->shared))
        dwarf_setalt(d->main.dwarf, d->shared.dwarf);
    if (files->program != NULL) /* its segments are the ones in memory */
        elf = files->program;
    d->arena = arena;
    d->line = alqi_symbol_image_section(&d->main.image, ".debug_line");
    d->line_str = alqi_symbol_image_section(&d->main.image, ".debug_line_str");
    d->str = alqi_symbol_image_section(&d->main.image, ".debug_str");
    d->text_lo = elf->text_lo;
    d->text_hi = elf->text_hi;
    if (!units_list(d))
        goto fail;
    units_map(d);
    return d;

fail:
    alqi_symbol_dwarf_drop(d);
    return NULL;
}

/* The tree of a split unit is in a file of its own. */
static void
unit_complete(struct alqi_symbol_unit *u)
{
    Dwarf_Die full;
    uint8_t type;

    if (u->is_indexed || dwarf_cu_info(u->die.cu, NULL, &type, NULL, &full,
                                       NULL, NULL, NULL) != 0)
        return;
    if (type == DW_UT_skeleton && full.addr != NULL)
        u->full_die = full;
}

/* A string attribute of the DIE that is not empty, or NULL. */
static const char *
text_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attr;
    const char *text = dwarf_formstring(dwarf_attr(die, name, &attr));

    return text != NULL && text[0] != '\0' ? text : NULL;
}

/* The mangled name if one of the DIEs it was made from has it: only that is
 * unique and has namespaces and parameters. */
static void
name_find(Dwarf_Die die, struct alqi_symbol_location *location)
{
    static const unsigned origins[] = {DW_AT_abstract_origin,
                                       DW_AT_specification};
    Dwarf_Attribute attr;
    Dwarf_Die next;
    const char *linkage;
    unsigned i, k;

    for (i = 0; i < ORIGINS_MAX; i++) {
        linkage = text_of(&die, DW_AT_linkage_name);
        if (linkage == NULL)
            linkage = text_of(&die, DW_AT_MIPS_linkage_name);
        if (linkage != NULL) {
            location->function = linkage;
            location->is_linkage_name = true;
            return;
        }
        if (location->function == NULL)
            location->function = text_of(&die, DW_AT_name);
        for (k = 0; k < ALQI_COUNT_OF(origins); k++) {
            if (dwarf_attr(&die, origins[k], &attr) != NULL &&
                dwarf_formref_die(&attr, &next) != NULL)
                break;
        }
        if (k == ALQI_COUNT_OF(origins))
            return;
        die = next;
    }
}

/* The number that an attribute has; 0: none, or more than 32 bits. */
static uint32_t
number_of(Dwarf_Die *die, unsigned name)
{
    Dwarf_Attribute attr;
    Dwarf_Word value;

    if (dwarf_attr(die, name, &attr) == NULL ||
        dwarf_formudata(&attr, &value) != 0 || value > UINT32_MAX)
        return 0;
    return (uint32_t)value;
}

/* The innermost location's file and line: the line table's row. */
static void
line_find(struct alqi_symbol_dwarf *d, struct alqi_symbol_unit *u,
          uint64_t address, struct alqi_symbol_location *location)
{
    const struct alqi_symbol_row *row;

    row = u->lines != NULL ? alqi_symbol_lines_find(u->lines, address) : NULL;
    if (row == NULL)
        return;
    location->file = alqi_symbol_lines_path(u->lines, d->arena, row->file);
    location->line = row->line;
    location->column = row->column;
}

/* Where the inlined call `die` stands in the function around it. */
static void
call_find(struct alqi_symbol_dwarf *d, struct alqi_symbol_unit *u,
          Dwarf_Die *die, struct alqi_symbol_location *location)
{
    uint32_t file = number_of(die, DW_AT_call_file);

    location->line = number_of(die, DW_AT_call_line);
    location->column = number_of(die, DW_AT_call_column);
    if (u->lines != NULL)
        location->file = alqi_symbol_lines_path(u->lines, d->arena, file);
}

/* Innermost first; the caller turns it round. */
static size_t
chain_find(struct alqi_symbol_dwarf *d, struct alqi_symbol_unit *u,
           uint32_t node, struct alqi_symbol_location *locations)
{
    Dwarf *dwarf = dwarf_cu_getdwarf(u->full_die.cu);
    size_t n = 0;
    Dwarf_Die die;

    for (;;) {
        ALQI_ASSERT(node < u->count);
        if (dwarf_die_addr_die(dwarf, u->nodes[node].die, &die) == NULL)
            return n > 0 ? n : 1;
        name_find(die, &locations[n++]);
        if (!u->nodes[node].is_inlined || n == ALQI_SYMBOL_DEPTH_MAX)
            return n;
        call_find(d, u, &die, &locations[n]);
        node = u->nodes[node].parent;
        if (node == ALQI_SYMBOL_NO_NODE)
            return n + 1; /* an inlined call outside any function */
    }
}

size_t
alqi_symbol_dwarf_find(
    struct alqi_symbol_dwarf *d, uint64_t address,
    struct alqi_symbol_location locations[static ALQI_SYMBOL_DEPTH_MAX])
{
    uint32_t id = alqi_symbol_map_find(&d->map, address);
    struct alqi_symbol_unit *u;
    struct alqi_symbol_location swap;
    size_t n = 1, i;

    if (id == ALQI_SYMBOL_NO_ID)
        return 0;
    memset(locations, 0, ALQI_SYMBOL_DEPTH_MAX * sizeof locations[0]);
    u = &d->units[id];
    unit_complete(u);
    alqi_symbol_unit_index(u, d->text_lo, d->text_hi);
    lines_load(d, u);
    line_find(d, u, address, &locations[0]);
    id = alqi_symbol_map_find(&u->map, address);
    if (id != ALQI_SYMBOL_NO_ID)
        n = chain_find(d, u, id, locations);
    for (i = 0; i < n / 2; i++) {
        swap = locations[i];
        locations[i] = locations[n - 1 - i];
        locations[n - 1 - i] = swap;
    }
    return n;
}

bool
alqi_symbol_dwarf_is_split(const struct alqi_symbol_dwarf *d)
{
    return d->is_split;
}

void
alqi_symbol_dwarf_drop(struct alqi_symbol_dwarf *d)
{
    size_t i;

    for (i = 0; i < d->count; i++)
        alqi_symbol_unit_drop(&d->units[i]);
    free(d->units);
    alqi_symbol_map_drop(&d->map);
    opened_drop(&d->main);
    opened_drop(&d->shared);
    free(d);
}
