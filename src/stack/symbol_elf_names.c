/* symbol_elf_names.c -- ELF symbols by address
 *
 * One sorted map over .symtab (of the program, its debug file or its packed
 * .gnu_debugdata), .dynsym and the PLT (.def.name, .rej.dwfl): all symbols of
 * code are listed, sorted, one is chosen of each set of aliases, and the
 * ranges become a map.
 *
 * .inv.alias  One name for each (start, end): the global one before the weak
 *             before the local, without leading underscore before with, the
 *             first in the file before later ones.
 *
 * A symbol without a size (assembly) reaches to the next symbol or the end of
 * its section, and any symbol with a size that holds the address wins. */
#include "stack/symbol_elf_names.h"

#include <stdlib.h>
#include <string.h>

#include "stack/symbol_array.h"
#include "stack/symbol_elf_image.h"

enum { SYMBOLS_MAX = 1 << 24 };

struct entry {
    uint64_t lo, hi, section_end; /* hi == lo: no size */
    const char *name;
    uint32_t worth; /* the lowest of several aliases is shown */
    uint32_t order; /* in the file; then: 1 with a size, 0 without */
};

struct list {
    struct entry *at;
    size_t count, capacity;
};

/* Adds a symbol; left out without memory, or beyond SYMBOLS_MAX. */
static void
list_add(struct list *list, const struct entry *e)
{
    if (!ALQI_SYMBOL_ARRAY_FIT(list->at, list->count, list->capacity,
                               SYMBOLS_MAX))
        return;
    list->at[list->count] = *e;
    list->at[list->count].order = (uint32_t)list->count;
    list->count++;
}

/* The rank among aliases, lowest first (.inv.alias). */
static uint32_t
worth_of(const Elf64_Sym *sym, const char *name)
{
    unsigned bind = ELF64_ST_BIND(sym->st_info);
    uint32_t worth = bind == STB_GLOBAL ? 0 : bind == STB_WEAK ? 2 : 4;

    if (ELF64_ST_TYPE(sym->st_info) == STT_NOTYPE)
        worth += 8;
    return worth + (name[0] == '_');
}

/* The text lies in `names` and ends there, or NULL. */
static const char *
name_at(const struct alqi_symbol_section *names, uint64_t offset)
{
    if (offset == 0 || offset >= names->size_bytes ||
        names->bytes[offset] == '\0' ||
        memchr(names->bytes + offset, '\0', names->size_bytes - offset) == NULL)
        return NULL;
    return (const char *)names->bytes + offset;
}

/* Whether the symbol names code of this file. */
static bool
is_code(const Elf64_Sym *sym, const char *name)
{
    unsigned type = ELF64_ST_TYPE(sym->st_info);

    if (sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS ||
        sym->st_shndx == SHN_COMMON)
        return false;
    /* A label of assembly code; aarch64 marks code and data with $x, $d. */
    if (type == STT_NOTYPE)
        return name[0] != '$' && name[0] != '.';
    return type == STT_FUNC || type == STT_GNU_IFUNC;
}

/* Adds a symbol of code, cut to the program's text. */
static void
symbol_add(struct list *list, const struct alqi_symbol_elf *elf,
           const struct alqi_symbol_elf *program, const Elf64_Sym *sym,
           const char *name)
{
    struct entry e = {.lo = sym->st_value,
                      .hi = sym->st_value + sym->st_size,
                      .section_end = program->text_hi,
                      .name = name,
                      .worth = worth_of(sym, name)};
    const struct alqi_symbol_section *s;

    if (e.lo < program->text_lo || e.lo >= program->text_hi || e.hi < e.lo)
        return;
    if (e.hi > program->text_hi)
        e.hi = program->text_hi;
    if (sym->st_shndx < elf->section_count) {
        s = &elf->sections[sym->st_shndx];
        if ((s->flags & SHF_EXECINSTR) == 0)
            return;
        if (s->address <= e.lo && e.lo - s->address < s->memory_bytes)
            e.section_end = s->address + s->memory_bytes;
    }
    list_add(list, &e);
}

/* Adds the symbols of code of all tables of that type. */
static void
table_read(struct list *list, const struct alqi_symbol_elf *elf,
           const struct alqi_symbol_elf *program, uint32_t type)
{
    uint32_t i;
    uint64_t k;
    Elf64_Sym sym;
    const char *name;

    for (i = 0; i < elf->section_count; i++) {
        const struct alqi_symbol_section *s = &elf->sections[i];

        if (s->type != type || s->link >= elf->section_count ||
            (s->flags & SHF_COMPRESSED) != 0)
            continue;
        for (k = 1; k < s->size_bytes / sizeof sym; k++) {
            memcpy(&sym, s->bytes + k * sizeof sym, sizeof sym);
            name = name_at(&elf->sections[s->link], sym.st_name);
            if (name != NULL && is_code(&sym, name))
                symbol_add(list, elf, program, &sym, name);
        }
    }
}

/* Slot i of the PLT jumps where relocation i of .rela.plt says.  With
 * .plt.sec (x86-64 with IBT) that section has the slots and no header. */
static void
plt_read(struct list *list, const struct alqi_symbol_elf *elf,
         struct alqi_base_arena *arena)
{
    enum { SLOT_BYTES = 16 };
    const struct alqi_symbol_section *plt, *rela, *syms;
    const struct alqi_symbol_section *sec =
        alqi_symbol_elf_find(elf, ".plt.sec");
    uint64_t first, i;
    Elf64_Rela r;
    Elf64_Sym sym;
    struct entry e = {.worth = 16};
    const char *name;

    plt = sec != NULL ? sec : alqi_symbol_elf_find(elf, ".plt");
    rela = alqi_symbol_elf_find(elf, ".rela.plt");
    if (plt == NULL || rela == NULL || rela->link >= elf->section_count)
        return;
    syms = &elf->sections[rela->link];
    if (syms->link >= elf->section_count)
        return;
    first = sec != NULL ? 0 : elf->machine == EM_AARCH64 ? 32 : SLOT_BYTES;
    for (i = 0; i < rela->size_bytes / sizeof r &&
                first + (i + 1) * SLOT_BYTES <= plt->size_bytes;
         i++) {
        memcpy(&r, rela->bytes + i * sizeof r, sizeof r);
        if (ELF64_R_SYM(r.r_info) >= syms->size_bytes / sizeof sym)
            continue;
        memcpy(&sym, syms->bytes + ELF64_R_SYM(r.r_info) * sizeof sym,
               sizeof sym);
        name = name_at(&elf->sections[syms->link], sym.st_name);
        if (name == NULL)
            continue;
        e.lo = plt->address + first + i * SLOT_BYTES;
        e.hi = e.lo + SLOT_BYTES;
        e.name = alqi_base_arena_printf(arena, "%s@plt", name);
        if (e.name != NULL && e.lo >= elf->text_lo && e.hi <= elf->text_hi)
            list_add(list, &e);
    }
}

/* By start, longer first, best alias first, then as in the file. */
static int
entry_compare(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    if (x->lo != y->lo)
        return x->lo < y->lo ? -1 : 1;
    if (x->hi != y->hi)
        return x->hi > y->hi ? -1 : 1;
    if (x->worth != y->worth)
        return x->worth < y->worth ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* Keeps one entry for each range (.inv.alias), and gives an end to those
 * without a size. */
static void
list_dedup(struct list *list)
{
    size_t i, kept = 0;
    uint64_t next_lo = UINT64_MAX;

    qsort(list->at, list->count, sizeof *list->at, entry_compare);
    for (i = 0; i < list->count; i++) {
        if (kept > 0 && list->at[i].lo == list->at[kept - 1].lo &&
            list->at[i].hi == list->at[kept - 1].hi)
            continue;
        list->at[kept++] = list->at[i];
    }
    list->count = kept;
    for (i = kept; i-- > 0;) {
        struct entry *e = &list->at[i];

        if (i + 1 < kept && list->at[i + 1].lo != e->lo)
            next_lo = list->at[i + 1].lo;
        e->order = e->hi > e->lo;
        if (e->order == 0)
            e->hi = next_lo < e->section_end ? next_lo : e->section_end;
    }
}

/* Ranks: with a size before without, later start before earlier, and of two
 * that start together the shorter: the order of the list. */
static void
map_make(struct alqi_symbol_names *names, const struct list *list)
{
    struct alqi_symbol_ranges ranges = {.limit = SYMBOLS_MAX};
    struct alqi_symbol_range range;
    size_t i;

    names->name = calloc(list->count + 1, sizeof *names->name);
    if (names->name == NULL)
        return;
    for (i = 0; i < list->count; i++) {
        range.lo = list->at[i].lo;
        range.hi = list->at[i].hi;
        range.rank = (uint64_t)list->at[i].order << 32 | i;
        range.id = (uint32_t)i;
        names->name[i] = list->at[i].name;
        if (!alqi_symbol_ranges_add(&ranges, &range))
            break;
    }
    names->count = list->count;
    alqi_symbol_map_make(&names->map, &ranges);
    alqi_symbol_ranges_drop(&ranges);
}

/* Unpacks .gnu_debugdata, a small ELF file of symbols (MiniDebugInfo). */
static void
mini_read(struct alqi_symbol_names *names, const struct alqi_symbol_elf *elf)
{
    const struct alqi_symbol_section *s =
        alqi_symbol_elf_find(elf, ".gnu_debugdata");
    uint8_t *bytes;
    size_t size_bytes;

    if (s == NULL || (s->flags & SHF_COMPRESSED) != 0)
        return;
    bytes = alqi_symbol_unpack_xz(s->bytes, s->size_bytes, &size_bytes);
    if (bytes != NULL)
        alqi_symbol_elf_take(&names->mini, bytes, size_bytes);
}

void
alqi_symbol_names_load(struct alqi_symbol_names *names,
                       const struct alqi_symbol_files *files,
                       struct alqi_base_arena *arena)
{
    const struct alqi_symbol_elf *program = files->program;
    struct list list = {0};

    memset(names, 0, sizeof *names);
    if (program == NULL)
        program = files->debug;
    if (program == NULL)
        return;
    table_read(&list, program, program, SHT_SYMTAB);
    if (list.count == 0 && files->debug != NULL)
        table_read(&list, files->debug, program, SHT_SYMTAB);
    if (list.count == 0) {
        mini_read(names, program);
        if (names->mini != NULL)
            table_read(&list, names->mini, program, SHT_SYMTAB);
    }
    table_read(&list, program, program, SHT_DYNSYM);
    plt_read(&list, program, arena);
    if (list.count > 0) {
        list_dedup(&list);
        map_make(names, &list);
    }
    free(list.at);
}

const char *
alqi_symbol_names_find(const struct alqi_symbol_names *names, uint64_t address)
{
    uint32_t i = alqi_symbol_map_find(&names->map, address);

    return i == ALQI_SYMBOL_NO_ID ? NULL : names->name[i];
}

void
alqi_symbol_names_drop(struct alqi_symbol_names *names)
{
    alqi_symbol_map_drop(&names->map);
    free(names->name);
    alqi_symbol_elf_drop(names->mini);
    memset(names, 0, sizeof *names);
}
