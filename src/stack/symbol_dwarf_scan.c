/* symbol_dwarf_scan.c -- the DIEs of one unit that may hold code, in one pass
 *
 * An abbreviation is learned through libdw from the first DIE that uses it
 * (libdw 0.188 cannot list a table that has DW_FORM_implicit_const); from then
 * on the bytes are read straight through.  Most kinds of DIE have a fixed
 * size, added up when they are learned.
 *
 * Keeps .inv.forward: DW_AT_sibling is followed only past the end of the DIE
 * that has it. */
#include "stack/symbol_dwarf_scan.h"

#include <dwarf.h>
#include <limits.h>
#include <stdlib.h>

#include "stack/symbol_array.h"

enum { VARIABLE = UINT32_MAX, CODES_MAX = 1 << 20, FORMS_MAX = 1 << 24 };

/* A kind of DIE: its tag, the forms of its attributes, and their size. */
struct alqi_symbol_abbrev {
    uint32_t tag;
    uint32_t bytes; /* of all attributes, or VARIABLE */
    uint32_t first; /* of its forms                   */
    uint32_t count;
    uint32_t sibling; /* which of them, if any          */
    bool has_children, has_code, may_hold_code;
};

/* Whether code may lie in the DIE or below it. */
static bool
may_hold_code(unsigned tag)
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
    case DW_TAG_compile_unit:
        return true;
    default:
        return false;
    }
}

/* ---- forms ----------------------------------------------------------- */

/* Bytes of an attribute of that form; VARIABLE: they must be read. */
static uint32_t
form_bytes(const struct alqi_symbol_scan *s, unsigned form)
{
    switch (form) {
    case DW_FORM_flag_present:
    case DW_FORM_implicit_const:
        return 0;
    case DW_FORM_data1:
    case DW_FORM_flag:
    case DW_FORM_ref1:
    case DW_FORM_strx1:
    case DW_FORM_addrx1:
        return 1;
    case DW_FORM_data2:
    case DW_FORM_ref2:
    case DW_FORM_strx2:
    case DW_FORM_addrx2:
        return 2;
    case DW_FORM_strx3:
    case DW_FORM_addrx3:
        return 3;
    case DW_FORM_data4:
    case DW_FORM_ref4:
    case DW_FORM_ref_sup4:
    case DW_FORM_strx4:
    case DW_FORM_addrx4:
        return 4;
    case DW_FORM_data8:
    case DW_FORM_ref8:
    case DW_FORM_ref_sup8:
    case DW_FORM_ref_sig8:
        return 8;
    case DW_FORM_data16:
        return 16;
    case DW_FORM_addr:
        return s->address_bytes;
    case DW_FORM_ref_addr:
        return s->version == 2 ? s->address_bytes : s->offset_bytes;
    case DW_FORM_strp:
    case DW_FORM_line_strp:
    case DW_FORM_strp_sup:
    case DW_FORM_sec_offset:
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_GNU_strp_alt:
        return s->offset_bytes;
    default:
        return VARIABLE;
    }
}

/* Reads past an attribute of that form; an unknown form is damage. */
static void
form_skip(struct alqi_symbol_scan *s, unsigned form)
{
    struct alqi_stack_bytes *b = &s->bytes;
    uint32_t bytes = form_bytes(s, form);

    if (bytes != VARIABLE) {
        alqi_stack_bytes_skip(b, bytes);
        return;
    }
    switch (form) {
    case DW_FORM_sdata:
    case DW_FORM_udata:
    case DW_FORM_ref_udata:
    case DW_FORM_strx:
    case DW_FORM_addrx:
    case DW_FORM_loclistx:
    case DW_FORM_rnglistx:
    case DW_FORM_GNU_addr_index:
    case DW_FORM_GNU_str_index:
        alqi_stack_bytes_uleb(b);
        break;
    case DW_FORM_string:
        alqi_stack_bytes_text(b);
        break;
    case DW_FORM_block:
    case DW_FORM_exprloc:
        alqi_stack_bytes_skip(b, alqi_stack_bytes_uleb(b));
        break;
    case DW_FORM_block1:
        alqi_stack_bytes_skip(b, alqi_stack_bytes_uint(b, 1));
        break;
    case DW_FORM_block2:
        alqi_stack_bytes_skip(b, alqi_stack_bytes_uint(b, 2));
        break;
    case DW_FORM_block4:
        alqi_stack_bytes_skip(b, alqi_stack_bytes_uint(b, 4));
        break;
    case DW_FORM_indirect:
        form = (unsigned)alqi_stack_bytes_uleb(b);
        if (form != DW_FORM_indirect && form != DW_FORM_implicit_const) {
            form_skip(s, form);
            break;
        }
        b->is_bad = true;
        break;
    default:
        b->is_bad = true;
    }
}

/* ---- abbreviations --------------------------------------------------- */

static bool
form_add(struct alqi_symbol_scan *s, unsigned form)
{
    if (!ALQI_SYMBOL_ARRAY_FIT(s->forms, s->forms_count, s->forms_capacity,
                               FORMS_MAX))
        return false;
    s->forms[s->forms_count++] = form <= UINT16_MAX ? (uint16_t)form : 0;
    return true;
}

/* An abbreviation in the making. */
struct learning {
    struct alqi_symbol_scan *scan;
    struct alqi_symbol_abbrev *abbrev;
    bool has_failed;
};

/* Takes one attribute into the abbreviation. */
static int
attribute_learn(Dwarf_Attribute *attr, void *arg)
{
    struct learning *l = arg;
    struct alqi_symbol_abbrev *a = l->abbrev;
    unsigned name = dwarf_whatattr(attr), form = dwarf_whatform(attr);
    uint32_t bytes = form_bytes(l->scan, form);

    if (!form_add(l->scan, form)) {
        l->has_failed = true;
        return DWARF_CB_ABORT;
    }
    if (name == DW_AT_sibling)
        a->sibling = a->count;
    a->count++;
    a->has_code |= name == DW_AT_low_pc || name == DW_AT_ranges;
    a->bytes =
        a->bytes == VARIABLE || bytes == VARIABLE ? VARIABLE : a->bytes + bytes;
    return DWARF_CB_OK;
}

/* Room for an abbreviation with that code. */
static bool
abbrevs_grow(struct alqi_symbol_scan *s, uint64_t code)
{
    size_t capacity = s->codes_count != 0 ? s->codes_count : 128;
    uint32_t *codes;

    if (code >= CODES_MAX)
        return false;
    for (; capacity <= code; capacity *= 2)
        ;
    if (capacity > s->codes_count) {
        codes = realloc(s->codes, capacity * sizeof *codes);
        if (codes == NULL)
            return false;
        memset(codes + s->codes_count, 0,
               (capacity - s->codes_count) * sizeof *codes);
        s->codes = codes;
        s->codes_count = capacity;
    }
    return ALQI_SYMBOL_ARRAY_FIT(s->abbrevs, s->abbrevs_count,
                                 s->abbrevs_capacity, SIZE_MAX);
}

/* Learns an abbreviation from the first DIE that uses it. */
static const struct alqi_symbol_abbrev *
abbrev_learn(struct alqi_symbol_scan *s, uint64_t code)
{
    struct learning l = {.scan = s};
    struct alqi_symbol_abbrev *a;
    Dwarf_Die die;

    if (!abbrevs_grow(s, code) ||
        dwarf_die_addr_die(s->dwarf, (void *)(uintptr_t)s->die, &die) == NULL)
        return NULL;
    a = l.abbrev = &s->abbrevs[s->abbrevs_count];
    memset(a, 0, sizeof *a);
    a->tag = (uint32_t)dwarf_tag(&die);
    a->has_children = dwarf_haschildren(&die) == 1;
    a->may_hold_code = may_hold_code(a->tag);
    a->first = (uint32_t)s->forms_count;
    a->sibling = UINT32_MAX;
    if (dwarf_getattrs(&die, attribute_learn, &l, 0) != 1 || l.has_failed)
        return NULL;
    s->codes[code] = (uint32_t)++s->abbrevs_count;
    return a;
}

static const struct alqi_symbol_abbrev *
abbrev_find(struct alqi_symbol_scan *s, uint64_t code)
{
    if (code < s->codes_count && s->codes[code] != 0)
        return &s->abbrevs[s->codes[code] - 1];
    return abbrev_learn(s, code);
}

/* ---- the pass -------------------------------------------------------- */

bool
alqi_symbol_scan_start(struct alqi_symbol_scan *s, Dwarf_Die *unit)
{
    struct alqi_stack_bytes b;
    uint64_t length;
    uint8_t address_bytes, offset_bytes;
    Dwarf_Half version;

    memset(s, 0, sizeof *s);
    if (dwarf_cu_info(unit->cu, &version, NULL, NULL, NULL, NULL,
                      &address_bytes, &offset_bytes) != 0)
        return false;
    s->hidden_depth = UINT_MAX;
    s->version = version;
    s->address_bytes = address_bytes;
    s->offset_bytes = offset_bytes;
    /* libdw has checked that the unit's length stays inside its section. */
    s->unit = (const uint8_t *)unit->addr - dwarf_cuoffset(unit);
    b = (struct alqi_stack_bytes){s->unit, unit->addr, false};
    length = alqi_stack_bytes_uint(&b, 4);
    if (offset_bytes == 8)
        length = alqi_stack_bytes_uint(&b, 8);
    if (b.is_bad || length > PTRDIFF_MAX)
        return false;
    s->bytes.end = b.at + length;
    s->bytes.at = unit->addr;
    s->dwarf = dwarf_cu_getdwarf(unit->cu);
    return s->bytes.at <= s->bytes.end;
}

/* Reads past the attributes; where the next sibling is, or NULL. */
static const uint8_t *
attributes_skip(struct alqi_symbol_scan *s, const struct alqi_symbol_abbrev *a)
{
    const uint16_t *forms = s->forms + a->first;
    struct alqi_stack_bytes at, *b = &s->bytes;
    uint64_t offset = 0;
    uint32_t i;

    if (a->bytes != VARIABLE && (a->may_hold_code || !a->has_children)) {
        alqi_stack_bytes_skip(b, a->bytes);
        return NULL;
    }
    for (i = 0; i < a->count && !b->is_bad; i++) {
        at = *b;
        form_skip(s, forms[i]);
        if (i != a->sibling)
            continue;
        if (forms[i] == DW_FORM_ref_udata)
            offset = alqi_stack_bytes_uleb(&at);
        else if (form_bytes(s, forms[i]) <= 8)
            offset = alqi_stack_bytes_uint(&at, form_bytes(s, forms[i]));
    }
    if (offset <= (uint64_t)(b->at - s->unit) ||
        offset > (uint64_t)(b->end - s->unit))
        return NULL;
    return s->unit + offset;
}

bool
alqi_symbol_scan_next(struct alqi_symbol_scan *s)
{
    struct alqi_stack_bytes *b = &s->bytes;
    const struct alqi_symbol_abbrev *a;
    const uint8_t *sibling;
    uint64_t code;

    while (b->at < b->end && !b->is_bad) {
        if (s->next_depth <= s->hidden_depth)
            s->hidden_depth = UINT_MAX;
        s->die = b->at;
        code = alqi_stack_bytes_uleb(b);
        if (code == 0) {
            if (s->next_depth <= 1)
                return false;
            s->next_depth--;
            continue;
        }
        a = abbrev_find(s, code);
        if (a == NULL)
            return false;
        s->depth = s->next_depth;
        sibling = attributes_skip(s, a);
        if (a->has_children && !a->may_hold_code && sibling != NULL)
            b->at = sibling;
        else if (a->has_children)
            s->next_depth++;
        if (s->hidden_depth != UINT_MAX || b->is_bad)
            continue;
        if (!a->may_hold_code && s->next_depth > s->depth)
            s->hidden_depth = s->depth;
        if (a->may_hold_code) {
            s->tag = a->tag;
            s->has_code = a->has_code;
            return true;
        }
    }
    return false;
}

void
alqi_symbol_scan_end(struct alqi_symbol_scan *s)
{
    free(s->abbrevs);
    free(s->forms);
    free(s->codes);
}
