/* census.c -- which files of a tree the unwinder can read
 *
 * usage: unwind_census [--each] FILE...
 *
 * Each ELF file is mapped as the linker would map it, its unwind sections are
 * read by the unwinder's own reader (src/stack), and of each function's
 * entry the last address, the first and some between are looked up.  A file
 * is found if all of these have a rule and no code lies outside of all
 * entries.  Prints a line for each file that is not, with every reason; --each
 * prints the others, too:
 *
 *   found FILE
 *   miss FILE: REASON; REASON
 *   left FILE: what it is instead of a program or library of this machine
 *
 * Code outside of all entries counts from GAP_BYTES on, padding left out: in
 * each file the compiler's startup code (_init, frame_dummy) is shorter, and
 * where it calls anything keeps a frame pointer.
 *
 * .inv.as_linked  A program's headers are where the kernel would say, and its
 *                 extent is one segment; a library is mapped in one piece. */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "stack/dwarf_encoded.h"
#include "stack/elf_module.h"
#include "stack/unwind_rules.h"
#include "stack/symbol_elf.h"

enum {
    PAGE_BYTES = 4096,
    GAP_BYTES = 320,
    PROBES = 8, /* addresses of an entry, besides its last */
    HALF_BYTES = 4
};

struct range {
    uintptr_t lo, hi;
};

struct file {
    const char *path;
    struct alqi_symbol_elf *elf;
    Elf64_Ehdr eh;
    const Elf64_Phdr *phdr; /* in the file */
    uintptr_t vaddr_lo, vaddr_hi;
    uint8_t *map;
    size_t map_bytes;
    uintptr_t bias;
    struct alqi_stack_sections sections;
    struct range *entries; /* of code, sorted */
    size_t n_entries;
    uint64_t n_unread, first_unread; /* addresses without a rule */
    uint64_t n_bare_bytes, n_bare;   /* code outside of all entries */
    struct range largest;
};

static bool is_each;

/* ---- mapping ------------------------------------------------------------- */

/* NULL, or what the file is. */
static const char *
headers_read(struct file *f)
{
    memcpy(&f->eh, f->elf->bytes, sizeof f->eh);
    if (f->eh.e_type != ET_EXEC && f->eh.e_type != ET_DYN)
        return "an object file";
    if (f->eh.e_machine != EM_X86_64 && f->eh.e_machine != EM_AARCH64)
        return "of another machine";
    if (f->elf->is_damaged || f->eh.e_phnum == 0 ||
        f->eh.e_phoff % _Alignof(Elf64_Phdr) != 0)
        return "damaged, or without program headers";
    f->phdr = (const Elf64_Phdr *)(f->elf->bytes + f->eh.e_phoff);
    f->vaddr_lo = UINTPTR_MAX;
    for (unsigned i = 0; i < f->eh.e_phnum; i++) {
        const Elf64_Phdr *p = &f->phdr[i];

        if (p->p_type != PT_LOAD)
            continue;
        if (p->p_offset > f->elf->size_bytes ||
            p->p_filesz > f->elf->size_bytes - p->p_offset)
            return "a file that is cut short";
        if (p->p_vaddr < f->vaddr_lo)
            f->vaddr_lo = p->p_vaddr & ~(uintptr_t)(PAGE_BYTES - 1);
        if (p->p_vaddr + p->p_memsz > f->vaddr_hi)
            f->vaddr_hi = p->p_vaddr + p->p_memsz;
    }
    return f->vaddr_lo < f->vaddr_hi ? NULL : "a file that is never loaded";
}

static bool
segment_map(struct file *f, const Elf64_Phdr *p)
{
    uint8_t *at = (uint8_t *)(f->bias + p->p_vaddr);
    size_t before = p->p_vaddr % PAGE_BYTES;
    uint8_t *base = at - before;

    if (p->p_memsz == 0)
        return true;
    if (mmap(base, before + p->p_memsz, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
        return false;
    if (p->p_filesz == 0)
        return true;
    return p->p_offset % PAGE_BYTES == before &&
           mmap(base, before + p->p_filesz, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_FIXED, f->elf->fd,
                (off_t)(p->p_offset - before)) != MAP_FAILED;
}

/* As the linker does: one reservation, segments into it. */
static bool
image_map(struct file *f)
{
    void *wanted = f->eh.e_type == ET_EXEC ? (void *)f->vaddr_lo : NULL;
    void *at;

    f->map_bytes = f->vaddr_hi - f->vaddr_lo;
    at = mmap(wanted, f->map_bytes, PROT_NONE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
                  (wanted != NULL ? MAP_FIXED_NOREPLACE : 0),
              -1, 0);
    if (at == MAP_FAILED)
        return false;
    f->map = at;
    f->bias = (uintptr_t)at - f->vaddr_lo;
    for (unsigned i = 0; i < f->eh.e_phnum; i++)
        if (f->phdr[i].p_type == PT_LOAD && !segment_map(f, &f->phdr[i]))
            return false;
    return true;
}

/* ---- what the linker would say ------------------------------------------- */

static const Elf64_Phdr *
header_of(const struct file *f, uint32_t type)
{
    for (unsigned i = 0; i < f->eh.e_phnum; i++)
        if (f->phdr[i].p_type == type)
            return &f->phdr[i];
    return NULL;
}

/* A library may have PT_INTERP, too: DF_1_PIE tells. */
static bool
is_program(const struct file *f)
{
    const Elf64_Phdr *p = header_of(f, PT_DYNAMIC);

    if (f->eh.e_type == ET_EXEC || p == NULL)
        return f->eh.e_type == ET_EXEC;
    for (const Elf64_Dyn *d = (const Elf64_Dyn *)(f->bias + p->p_vaddr);
         d->d_tag != DT_NULL; d++)
        if (d->d_tag == DT_FLAGS_1)
            return (d->d_un.d_val & DF_1_PIE) != 0;
    return false;
}

/* Where the kernel says that the program headers are: in the segment that has
 * them. */
static const Elf64_Phdr *
headers_in_memory(const struct file *f)
{
    for (unsigned i = 0; i < f->eh.e_phnum; i++) {
        const Elf64_Phdr *p = &f->phdr[i];

        if (p->p_type == PT_LOAD && f->eh.e_phoff >= p->p_offset &&
            f->eh.e_phoff - p->p_offset < p->p_filesz)
            return (const Elf64_Phdr *)(f->bias + p->p_vaddr +
                                        (f->eh.e_phoff - p->p_offset));
    }
    return NULL;
}

static void
place_make(const struct file *f, struct alqi_stack_mapping *place)
{
    const Elf64_Phdr *hdr = header_of(f, PT_GNU_EH_FRAME);

    *place = (struct alqi_stack_mapping){
        .start = (uintptr_t)f->map,
        .end = (uintptr_t)f->map + f->map_bytes,
        .bias = f->bias,
        .path = f->path,
        .hdr = hdr != NULL ? (const uint8_t *)(f->bias + hdr->p_vaddr) : NULL,
    };
    if (!is_program(f))
        return;
    place->phdr = headers_in_memory(f);
    place->n_phdr = f->eh.e_phnum;
}

/* ---- entries ------------------------------------------------------------- */

static int
range_order(const void *a, const void *b)
{
    const struct range *x = a, *y = b;

    return (x->lo > y->lo) - (x->lo < y->lo);
}

static uintptr_t
table_start(const struct file *f, uint64_t i)
{
    unsigned half = alqi_stack_encoded_bytes(f->sections.table_encoding);
    const uint8_t *at = f->sections.table + 2 * i * half;
    struct alqi_stack_bytes b = {at, at + half, false};

    return alqi_stack_encoded(&b, f->sections.table_encoding,
                              (uintptr_t)f->sections.hdr_at);
}

static bool
has_rule(const struct file *f, uintptr_t at)
{
    struct alqi_stack_unwind u;
    struct alqi_stack_scratch room;

    if (!alqi_stack_ehframe_find(&f->sections, at, ALQI_STACK_NO_REG, &u))
        return false;
    alqi_stack_rule_of(&u, &room);
    return room.rule.kind != ALQI_STACK_KIND_NONE;
}

/* The first address from `at` on, before `hi`, that is in no entry of `at`'s:
 * entries do not say their length to who asks for an address. */
static uintptr_t
entry_end(const struct file *f, uintptr_t at, uintptr_t hi)
{
    struct alqi_stack_unwind u;
    uintptr_t lo = at;

    while (lo + 1 < hi) {
        uintptr_t mid = lo + (hi - lo) / 2;

        if (alqi_stack_ehframe_find(&f->sections, mid, ALQI_STACK_NO_REG, &u) &&
            u.start == at)
            lo = mid;
        else
            hi = mid;
    }
    return lo + 1;
}

static void
unread(struct file *f, uintptr_t at)
{
    if (f->n_unread++ == 0)
        f->first_unread = at - f->bias;
}

static void
entry_look(struct file *f, struct range *e)
{
    uintptr_t step = (e->hi - e->lo) / PROBES;

    for (unsigned i = 0; i < PROBES; i++)
        if (!has_rule(f, e->lo + i * step))
            unread(f, e->lo + i * step);
    if (!has_rule(f, e->hi - 1))
        unread(f, e->hi - 1);
}

static bool
entries_read(struct file *f, uintptr_t code_hi)
{
    uint64_t n = f->sections.n_table;

    f->entries = calloc(n + 1, sizeof *f->entries);
    if (f->entries == NULL)
        return false;
    for (uint64_t i = 0; i < n; i++)
        f->entries[i].lo = table_start(f, i);
    qsort(f->entries, n, sizeof *f->entries, range_order);
    f->n_entries = n;
    for (uint64_t i = 0; i < n; i++) {
        struct range *e = &f->entries[i];
        uintptr_t next = i + 1 < n ? f->entries[i + 1].lo : code_hi;

        e->hi = e->lo;
        if (e->lo >= next)
            continue; /* of no bytes, or of code that was dropped */
        e->hi = entry_end(f, e->lo, next);
        entry_look(f, e);
    }
    return true;
}

/* ---- code outside of all entries ----------------------------------------- */

/* Bytes of one instruction of padding at `p`, or 0. */
static unsigned
padding_bytes(const uint8_t *p, size_t n)
{
    unsigned prefixes = 0;

    if (p[0] == 0x90 || p[0] == 0xCC || p[0] == 0)
        return 1;
    while (prefixes < n && (p[prefixes] == 0x66 || p[prefixes] == 0x2E))
        prefixes++;
    p += prefixes;
    n -= prefixes;
    if (n >= 1 && p[0] == 0x90)
        return prefixes + 1;
    if (n < 3 || p[0] != 0x0F || p[1] != 0x1F)
        return 0;
    return prefixes + 3 + ((p[2] & 7) == 4) +
           (p[2] >> 6 == 1   ? 1
            : p[2] >> 6 == 2 ? 4
                             : 0);
}

static void
gap_look(struct file *f, uintptr_t lo, uintptr_t hi)
{
    size_t n = 1;

    while (lo < hi && n > 0) {
        n = padding_bytes((const uint8_t *)lo, hi - lo);
        lo += n;
    }
    while (lo < hi && (((const uint8_t *)hi)[-1] == 0 ||
                       ((const uint8_t *)hi)[-1] == 0xCC ||
                       ((const uint8_t *)hi)[-1] == 0x90))
        hi--;
    if (lo >= hi || hi - lo < GAP_BYTES)
        return;
    f->n_bare++;
    f->n_bare_bytes += hi - lo;
    if (hi - lo > f->largest.hi - f->largest.lo)
        f->largest = (struct range){lo, hi};
}

/* Of one stretch of code: what lies between the entries. */
static void
code_look(struct file *f, struct range code)
{
    uintptr_t at = code.lo;

    for (size_t i = 0; i < f->n_entries; i++) {
        const struct range *e = &f->entries[i];

        if (e->hi <= at)
            continue;
        if (e->lo >= code.hi)
            break;
        if (e->lo > at)
            gap_look(f, at, e->lo);
        at = e->hi;
    }
    if (at < code.hi)
        gap_look(f, at, code.hi);
}

/* By sections where there are any: a segment has read-only data, too. */
static bool
has_code_sections(struct file *f)
{
    bool has = false;

    for (uint32_t i = 0; i < f->elf->section_count; i++) {
        const struct alqi_symbol_section *s = &f->elf->sections[i];

        if ((s->flags & SHF_EXECINSTR) == 0 || s->size_bytes == 0)
            continue;
        has = true;
        code_look(f, (struct range){f->bias + s->address,
                                    f->bias + s->address + s->size_bytes});
    }
    return has;
}

static struct range
code_segments(const struct file *f)
{
    return f->elf->text_lo < f->elf->text_hi
               ? (struct range){f->bias + f->elf->text_lo,
                                f->bias + f->elf->text_hi}
               : (struct range){0, 0};
}

/* The function symbol nearest below an address of the file. */
static const char *
name_at(const struct file *f, uint64_t address)
{
    const char *best = "?";
    uint64_t best_at = 0;

    for (uint32_t i = 0; i < f->elf->section_count; i++) {
        const struct alqi_symbol_section *s = &f->elf->sections[i];
        const struct alqi_symbol_section *names;

        if ((s->type != SHT_SYMTAB && s->type != SHT_DYNSYM) ||
            s->link >= f->elf->section_count)
            continue;
        names = &f->elf->sections[s->link];
        for (uint64_t k = 0; k + sizeof(Elf64_Sym) <= s->size_bytes;
             k += sizeof(Elf64_Sym)) {
            Elf64_Sym y;

            memcpy(&y, s->bytes + k, sizeof y);
            if (y.st_value > address || y.st_value < best_at ||
                y.st_shndx == SHN_UNDEF ||
                ELF64_ST_TYPE(y.st_info) > STT_FUNC ||
                y.st_name >= names->size_bytes)
                continue;
            best = (const char *)names->bytes + y.st_name;
            best_at = y.st_value;
        }
    }
    return best;
}

/* ---- one file ------------------------------------------------------------ */

/* With a reason that says it all, or the sum of what was found. */
static void
judge(struct file *f, const char *wrong)
{
    const char *joint = ":";

    if (wrong != NULL) {
        printf("miss %s: %s%s\n", f->path, wrong,
               header_of(f, PT_DYNAMIC) == NULL
                   ? "; it is static, so nothing is preloaded into it"
                   : "");
        return;
    }
    if (f->n_unread == 0 && f->n_bare == 0) {
        if (is_each)
            printf("found %s\n", f->path);
        return;
    }
    printf("miss %s", f->path);
    if (f->n_unread != 0) {
        printf("%s %lu addresses have an entry without a rule, the first at "
               "0x%lx",
               joint, f->n_unread, f->first_unread);
        joint = ";";
    }
    if (f->n_bare != 0)
        printf("%s %lu bytes of code without an entry in %lu places, most at "
               "0x%lx (%lu bytes, %s)",
               joint, f->n_bare_bytes, f->n_bare, f->largest.lo - f->bias,
               f->largest.hi - f->largest.lo,
               name_at(f, f->largest.lo - f->bias));
    printf("\n");
}

/* Entries that nothing leads to: more than the terminator. */
static bool
has_lost_entries(const struct file *f)
{
    const struct alqi_symbol_section *s =
        alqi_symbol_elf_find(f->elf, ".eh_frame");

    return s != NULL && s->size_bytes > 8 && f->n_entries == 0;
}

/* Its code is in another file. */
static bool
is_debug_file(const struct file *f)
{
    for (uint32_t i = 0; i < f->elf->section_count; i++) {
        const struct alqi_symbol_section *s = &f->elf->sections[i];

        if ((s->flags & SHF_EXECINSTR) != 0)
            return s->type == SHT_NOBITS;
    }
    return false;
}

/* NULL, or why the file's entries cannot be had. */
static const char *
entries_find(struct file *f, uintptr_t code_hi)
{
    struct alqi_stack_mapping place;

    place_make(f, &place);
    if (place.hdr == NULL)
        return "it has no .eh_frame_hdr";
    if (!alqi_stack_module_sections(&place, &f->sections))
        return "its unwind sections cannot be read";
    if (f->sections.table == NULL)
        return "its .eh_frame_hdr has no table of entries";
    return entries_read(f, code_hi) ? NULL : "no memory";
}

static void
look(struct file *f)
{
    const char *wrong;
    struct range code;

    if (!image_map(f)) {
        printf("left %s: it cannot be mapped as its headers say\n", f->path);
        return;
    }
    code = code_segments(f);
    wrong = code.lo == code.hi ? NULL : entries_find(f, code.hi);
    if (!has_code_sections(f) && code.lo < code.hi)
        code_look(f, code);
    judge(f, f->n_bare > 0 || has_lost_entries(f) ? wrong : NULL);
}

static void
file_look(const char *path)
{
    struct file f = {.path = path};
    const char *wrong = alqi_symbol_elf_open(&f.elf, path);

    if (wrong == NULL)
        wrong = headers_read(&f);
    if (wrong == NULL && is_debug_file(&f))
        wrong = "a file of debugging information";
    if (wrong == NULL)
        look(&f);
    else if (is_each)
        printf("left %s: %s\n", path, wrong);
    if (f.map != NULL)
        munmap(f.map, f.map_bytes);
    free(f.entries);
    alqi_symbol_elf_drop(f.elf);
}

int
main(int argc, char **argv)
{
    int first = 1;

    if (argc > 1 && strcmp(argv[1], "--each") == 0)
        is_each = ++first == 2;
    for (int i = first; i < argc; i++)
        file_look(argv[i]);
    return fflush(stdout) != 0;
}
