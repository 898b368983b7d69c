/* elf_module.c -- finding modules, reading their program headers
 *
 * The table is sorted by start; its ranges never overlap: a new module drives
 * out those whose place it has taken.
 *
 * Keeps .inv.extent and .inv.headers: a library's own headers are asked for
 * (is_readable_range) before they are read; segments come from the headers
 * that the linker has mapped the file by. */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/base.h"
#include "plat/plat.h"
#include "stack/elf_module.h"

enum {
    MODULES_MAX = 2048,
    SEGMENTS_MAX = 32,
    PROBE_BYTES = 4096,
    ENTRY_BYTES = 64 /* no entry's code is longer */
};

/* The table, under the lock of unwind_rules.c. */
static struct {
    uint32_t n;
    alqi_stack_module_fn *fn;
    void *arg;
    struct alqi_stack_module_entry entries[MODULES_MAX];
} modules;

/* Program headers, and the segments that a reader may touch. */
struct image {
    const ElfW(Phdr) * phdr;
    uint32_t n_phdr;
    uint32_t n_segments;
    uintptr_t bias;
    struct alqi_stack_extent segments[SEGMENTS_MAX];
};

/* Whether each page of [at, at + n) can be read. */
static bool
is_readable_range(uintptr_t at, size_t n)
{
    uintptr_t last = (at + n - 1) & ~(uintptr_t)(PROBE_BYTES - 1);

    for (uintptr_t p = at; p <= last; p = (p | (PROBE_BYTES - 1)) + 1)
        if (!alqi_plat_is_readable_sigsafe(p & ~(uintptr_t)7))
            return false;
    return true;
}

/* The readable segments inside [start, end). */
static void
image_segments(uintptr_t start, uintptr_t end, struct image *im)
{
    im->n_segments = 0;
    for (uint32_t i = 0; i < im->n_phdr; i++) {
        const ElfW(Phdr) *p = &im->phdr[i];
        uintptr_t lo = im->bias + p->p_vaddr;

        if (p->p_type != PT_LOAD || (p->p_flags & PF_R) == 0 || lo < start ||
            lo > end || p->p_memsz > end - lo || im->n_segments == SEGMENTS_MAX)
            continue;
        im->segments[im->n_segments].lo = (const uint8_t *)lo;
        im->segments[im->n_segments++].hi = (const uint8_t *)lo + p->p_memsz;
    }
}

/* Whether the headers say of themselves that they are mapped where they were
 * found: `offset` in the file. */
static bool
is_mapped_by_itself(const struct image *im, uint64_t offset)
{
    uint64_t n_bytes = im->n_phdr * sizeof(ElfW(Phdr));

    for (uint32_t i = 0; i < im->n_phdr; i++) {
        const ElfW(Phdr) *p = &im->phdr[i];

        if (p->p_type == PT_LOAD && (p->p_flags & PF_R) != 0 &&
            offset >= p->p_offset && n_bytes <= p->p_filesz &&
            offset - p->p_offset <= p->p_filesz - n_bytes)
            return im->bias + p->p_vaddr + (offset - p->p_offset) ==
                   (uintptr_t)im->phdr;
    }
    return false;
}

/* Reads a library, which the linker maps in one piece: its first page has the
 * ELF header.  False: its headers make no sense (.inv.headers). */
static bool
image_read_library(const struct alqi_stack_mapping *mapping, struct image *im)
{
    const ElfW(Ehdr) *eh = (const ElfW(Ehdr) *)mapping->start;
    size_t room = mapping->end - mapping->start;

    if (room < sizeof *eh || !is_readable_range(mapping->start, sizeof *eh) ||
        memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0 ||
        eh->e_phentsize != sizeof(ElfW(Phdr)) || eh->e_phnum == 0 ||
        eh->e_phoff > room ||
        eh->e_phnum > (room - eh->e_phoff) / sizeof(ElfW(Phdr)) ||
        !is_readable_range(mapping->start + eh->e_phoff,
                           eh->e_phnum * sizeof(ElfW(Phdr))))
        return false;
    im->phdr = (const ElfW(Phdr) *)(mapping->start + eh->e_phoff);
    im->n_phdr = eh->e_phnum;
    return is_mapped_by_itself(im, eh->e_phoff);
}

/* .inv.headers */
static bool
image_read(const struct alqi_stack_mapping *mapping, struct image *im)
{
    im->bias = mapping->bias;
    if (mapping->phdr != NULL) {
        im->phdr = mapping->phdr;
        im->n_phdr = mapping->n_phdr;
        image_segments(0, UINTPTR_MAX, im);
        return true;
    }
    if (!image_read_library(mapping, im))
        return false;
    image_segments(mapping->start, mapping->end, im);
    return true;
}

/* The build-id among the notes in [b.at, b.end), or NULL.  Their parts begin
 * at multiples of 4, whatever the segment's alignment: the one kind that wants
 * 8 (GNU_PROPERTY) is a multiple of that long, and linkers put both kinds into
 * one segment. */
static const uint8_t *
notes_build_id(struct alqi_stack_bytes b, uint32_t *n_bytes)
{
    enum { NOTE_MASK = 3 };

    while (alqi_stack_bytes_left(&b) >= sizeof(ElfW(Nhdr))) {
        uint32_t n_name = (uint32_t)alqi_stack_bytes_uint(&b, 4);
        uint32_t n_desc = (uint32_t)alqi_stack_bytes_uint(&b, 4);
        uint32_t type = (uint32_t)alqi_stack_bytes_uint(&b, 4);
        const uint8_t *name = alqi_stack_bytes_take(
            &b, ((uint64_t)n_name + NOTE_MASK) & ~(uint64_t)NOTE_MASK);
        const uint8_t *desc = alqi_stack_bytes_take(&b, n_desc);

        if (b.is_bad)
            return NULL;
        if (type == NT_GNU_BUILD_ID && n_name == 4 &&
            memcmp(name, "GNU", 4) == 0 && n_desc > 0) {
            *n_bytes = n_desc;
            return desc;
        }
        alqi_stack_bytes_take(&b, -(uint64_t)n_desc & NOTE_MASK);
    }
    return NULL;
}

/* The module's build-id, read from its note segments; NULL: none. */
static const uint8_t *
image_build_id(const struct image *im, uint32_t *n_bytes)
{
    for (uint32_t i = 0; i < im->n_phdr; i++) {
        const ElfW(Phdr) *p = &im->phdr[i];
        const uint8_t *at = (const uint8_t *)(im->bias + p->p_vaddr), *id;

        if (p->p_type != PT_NOTE)
            continue;
        for (uint32_t k = 0; k < im->n_segments; k++) {
            const struct alqi_stack_extent *e = &im->segments[k];

            if (at < e->lo || at > e->hi || p->p_memsz > (size_t)(e->hi - at))
                continue;
            id = notes_build_id(
                (struct alqi_stack_bytes){at, at + p->p_memsz, false}, n_bytes);
            if (id != NULL)
                return id;
        }
    }
    return NULL;
}

/* Out of line: its image must not stand on the stack beside
 * report_module_locked's. */
ALQI_NOINLINE bool
alqi_stack_module_sections(const struct alqi_stack_mapping *mapping,
                           struct alqi_stack_sections *out)
{
    struct image im;

    return mapping->hdr != NULL && image_read(mapping, &im) &&
           alqi_stack_sections_read(mapping->hdr, im.segments, im.n_segments,
                                    out);
}

/* Index of the first entry that ends after `address`; n: none. */
static uint32_t
table_find(uintptr_t address)
{
    uint32_t lo = 0, hi = modules.n;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;

        if (modules.entries[mid].mapping.end > address)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

/* Drops entries that overlap `mapping` and opens a gap for it. */
static struct alqi_stack_module_entry *
table_gap(uint32_t at, const struct alqi_stack_mapping *mapping)
{
    uint32_t stop = at;

    while (stop < modules.n &&
           modules.entries[stop].mapping.start < mapping->end)
        stop++;
    if (stop == at && modules.n == MODULES_MAX)
        return NULL;
    memmove(&modules.entries[at + 1], &modules.entries[stop],
            (modules.n - stop) * sizeof modules.entries[0]);
    modules.n = modules.n - (stop - at) + 1;
    return &modules.entries[at];
}

/* Calls the callback with a new module, under the lock. */
static ALQI_COLD void
report_module_locked(const struct alqi_stack_mapping *mapping)
{
    struct alqi_stack_module m = {
        .start = mapping->start,
        .end = mapping->end,
        .bias = mapping->bias,
        .path = mapping->path,
    };
    struct image im;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_STACK_RULES));
    if (modules.fn == NULL)
        return;
    if (image_read(mapping, &im))
        m.build_id = image_build_id(&im, &m.build_id_bytes);
    modules.fn(modules.arg, &m);
}

/* Whether it is the same module, and not another at its place. */
static bool
is_same_mapping(const struct alqi_stack_mapping *a,
                const struct alqi_stack_mapping *b)
{
    return a->start == b->start && a->end == b->end && a->bias == b->bias &&
           a->path == b->path && a->hdr == b->hdr && a->phdr == b->phdr;
}

const struct alqi_stack_module_entry *
alqi_stack_module_add_locked(const struct alqi_stack_mapping *mapping)
{
    uint32_t at = table_find(mapping->start);
    struct alqi_stack_module_entry *k;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_STACK_RULES));
    if (at < modules.n &&
        is_same_mapping(&modules.entries[at].mapping, mapping))
        return &modules.entries[at];
    k = table_gap(at, mapping);
    if (k == NULL)
        return NULL;
    k->mapping = *mapping;
    k->has_sections = alqi_stack_module_sections(mapping, &k->sections);
    report_module_locked(mapping);
    return k;
}

void
alqi_stack_module_callback_locked(alqi_stack_module_fn *fn, void *arg)
{
    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_STACK_RULES));
    modules.fn = fn;
    modules.arg = arg;
}

void
alqi_stack_modules_forget_locked(void)
{
    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_STACK_RULES));
    modules.n = 0;
}

bool
alqi_stack_module_is_entry(uintptr_t address)
{
    const ElfW(Ehdr) *linker = (const ElfW(Ehdr) *)_r_debug.r_ldbase;

    return address - getauxval(AT_ENTRY) < ENTRY_BYTES ||
           (linker != NULL &&
            address - ((uintptr_t)linker + linker->e_entry) < ENTRY_BYTES);
}

bool
alqi_stack_module_find(uintptr_t address, struct alqi_stack_mapping *out)
{
    struct dl_find_object found;

    if (_dl_find_object((void *)address, &found) != 0)
        return false;
    out->start = (uintptr_t)found.dlfo_map_start;
    out->end = (uintptr_t)found.dlfo_map_end;
    out->bias = found.dlfo_link_map->l_addr;
    out->path = found.dlfo_link_map->l_name;
    out->hdr = found.dlfo_eh_frame;
    if (out->path == NULL)
        out->path = "";
    out->phdr = NULL;
    out->n_phdr = 0;
    if (found.dlfo_link_map->l_prev == NULL && out->path[0] == '\0') {
        out->phdr = (const ElfW(Phdr) *)getauxval(AT_PHDR);
        out->n_phdr = (uint32_t)getauxval(AT_PHNUM);
    }
    return true;
}

/* One mapping, or with holes between segments one for each of code. */
static int
each_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    void (**fn)(const struct alqi_stack_mapping *) = arg;
    struct alqi_stack_mapping mapping = {
        .bias = info->dlpi_addr,
        .path = info->dlpi_name == NULL ? "" : info->dlpi_name,
        .phdr = info->dlpi_phdr,
        .n_phdr = info->dlpi_phnum,
    };

    (void)size;
    for (unsigned i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
            mapping.hdr =
                (const uint8_t *)info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        uintptr_t lo = info->dlpi_addr + p->p_vaddr;

        if (p->p_type != PT_LOAD || (p->p_flags & PF_X) == 0 ||
            lo - mapping.start < mapping.end - mapping.start)
            continue;
        mapping.start = lo & ~(uintptr_t)(PROBE_BYTES - 1);
        mapping.end = lo + p->p_memsz;
        if (alqi_stack_module_find(lo, &mapping))
            (*fn)(&mapping);
    }
    return 0;
}

void
alqi_stack_modules_each(void (*fn)(const struct alqi_stack_mapping *mapping))
{
    dl_iterate_phdr(each_object, &fn);
}
