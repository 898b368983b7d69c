/* symbol_elf_image.c -- a file's debug sections, unpacked, in a form libdw
 * reads
 *
 *   0        64                       front        tables     unpacked ...
 *   +--------+------------------------+------------+----------+-------+
 *   | Ehdr   | the file, private map  | Shdr[]     | names    | .debug|
 *   +--------+------------------------+------------+----------+-------+
 *   our own   sections that are not packed stay      our own
 *             where they are, uncopied
 *
 * First a plan of the sections that are wanted (plan_make), then the memory,
 * then headers and unpacked bytes (image_fill).  The file is mapped privately,
 * so the new header costs one copied page; when every wanted section is packed
 * the file is not mapped at all.
 *
 * .inv.bounds  Every section header written lies inside the image, and none
 *              covers our own Ehdr.
 *
 * Keeps .inv.own and .inv.bound. */
#include "stack/symbol_elf_image.h"

#include <string.h>
#include <sys/mman.h>

#include "base/base.h"

/* What symbol_dwarf.c reads, and what libdw follows from there. */
static const char *const wanted[] = {
    ".debug_info",        ".debug_abbrev",  ".debug_line",     ".debug_str",
    ".debug_line_str",    ".debug_ranges",  ".debug_rnglists", ".debug_addr",
    ".debug_str_offsets", ".debug_aranges", ".debug_types",
};

enum {
    WANTED = ALQI_COUNT_OF(wanted),
    NAMES_BYTES = 32 * (WANTED + 2),
    PAGE_BYTES = 4096,
    ALIGN_BYTES = 16
};

/* Unpacked sections of one file; a debug file of the largest programs has
 * less, a file made to fill the memory has more. */
#define UNPACKED_BYTES_MAX ((uint64_t)4 << 30)

enum packing { PLAIN, ZLIB, ZSTD, UNKNOWN };

/* A wanted section. */
struct piece {
    const char *name;
    const struct alqi_symbol_section *section;
    enum packing packing;
    const uint8_t *packed;
    uint64_t packed_bytes; /* in the file    */
    uint64_t bytes;        /* unpacked       */
    uint64_t offset;       /* in the image   */
};

/* The section, under its name or the one it had when packed the old way. */
static const struct alqi_symbol_section *
section_find(const struct alqi_symbol_elf *elf, const char *name)
{
    char old[32] = ".z"; /* .zdebug_*, before ELF had a flag for it */
    const struct alqi_symbol_section *s = alqi_symbol_elf_find(elf, name);

    if (s != NULL)
        return s;
    strncat(old, name + 1, sizeof old - 3);
    return alqi_symbol_elf_find(elf, old);
}

/* How the section is packed, and how large it is unpacked, as it says itself.
 */
static void
piece_unpack_size(struct piece *p)
{
    const struct alqi_symbol_section *s = p->section;
    Elf64_Chdr ch;
    unsigned i;

    p->packing = PLAIN;
    p->packed = s->bytes;
    p->packed_bytes = p->bytes = s->size_bytes;
    if ((s->flags & SHF_COMPRESSED) != 0) {
        p->packing = UNKNOWN;
        if (s->size_bytes < sizeof ch)
            return;
        memcpy(&ch, s->bytes, sizeof ch);
        if (ch.ch_type == ELFCOMPRESS_ZLIB)
            p->packing = ZLIB;
        else if (ch.ch_type == 2) /* ELFCOMPRESS_ZSTD, from glibc 2.37 */
            p->packing = ZSTD;
        p->bytes = ch.ch_size;
        p->packed += sizeof ch;
        p->packed_bytes -= sizeof ch;
    } else if (s->name[1] == 'z') {
        p->packing = UNKNOWN;
        if (s->size_bytes < 12 || memcmp(s->bytes, "ZLIB", 4) != 0)
            return;
        p->packing = ZLIB;
        for (p->bytes = 0, i = 4; i < 12; i++)
            p->bytes = p->bytes << 8 | s->bytes[i];
        p->packed += 12;
        p->packed_bytes -= 12;
    }
}

/* zlib packs 1032 to 1 at best; zstd can do more, debug sections do not. */
static bool
piece_is_plausible(const struct piece *p)
{
    return p->packing != UNKNOWN && p->bytes > 0 &&
           (p->packing == PLAIN || p->bytes / 1100 <= p->packed_bytes);
}

/* What the image will have. */
struct plan {
    struct piece pieces[WANTED];
    unsigned count;
    uint64_t front_bytes, unpacked_bytes;
    bool needs_file;
};

/* Which sections there are, and how much memory they take unpacked. */
static void
plan_make(struct plan *plan, struct alqi_symbol_elf *elf)
{
    struct piece *p;
    unsigned i;

    memset(plan, 0, sizeof *plan);
    for (i = 0; i < WANTED; i++) {
        p = &plan->pieces[plan->count];
        p->name = wanted[i];
        p->section = section_find(elf, wanted[i]);
        if (p->section == NULL)
            continue;
        piece_unpack_size(p);
        if (!piece_is_plausible(p) ||
            (p->packing == PLAIN &&
             (uint64_t)(p->section->bytes - elf->bytes) < sizeof(Elf64_Ehdr))) {
            elf->is_damaged = true;
            continue;
        }
        if (p->packing == PLAIN)
            plan->needs_file = true;
        else
            plan->unpacked_bytes += p->bytes + ALIGN_BYTES;
        if (plan->unpacked_bytes > UNPACKED_BYTES_MAX)
            return;
        plan->count++;
    }
    plan->front_bytes = PAGE_BYTES;
    if (plan->needs_file)
        plan->front_bytes =
            (elf->size_bytes + PAGE_BYTES - 1) & ~(uint64_t)(PAGE_BYTES - 1);
}

/* The memory of the image: NULL bytes and false without it. */
static bool
image_map(struct alqi_symbol_image *image, const struct plan *plan,
          const struct alqi_symbol_elf *elf)
{
    size_t bytes = plan->front_bytes + (WANTED + 2) * sizeof(Elf64_Shdr) +
                   NAMES_BYTES + plan->unpacked_bytes + ALIGN_BYTES;
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (at == MAP_FAILED)
        return false;
    image->bytes = at;
    image->size_bytes = bytes;
    if (!plan->needs_file)
        return true;
    if (elf->fd < 0 ||
        mmap(at, elf->size_bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_FIXED, elf->fd, 0) == MAP_FAILED) {
        alqi_symbol_image_drop(image);
        return false;
    }
    return true;
}

/* The ELF header that libdw sees. */
static void
header_write(struct alqi_symbol_image *image, const struct plan *plan,
             uint16_t machine, unsigned sections)
{
    Elf64_Ehdr eh = {
        .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
                    EV_CURRENT},
        .e_type = ET_DYN,
        .e_machine = machine,
        .e_version = EV_CURRENT,
        .e_shoff = plan->front_bytes,
        .e_ehsize = sizeof eh,
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = (Elf64_Half)sections,
        .e_shstrndx = 1,
    };

    memcpy(image->bytes, &eh, sizeof eh);
}

/* Unpacks the section into its place; false: damaged. */
static bool
piece_write(struct alqi_symbol_image *image, const struct piece *p)
{
    uint8_t *to = image->bytes + p->offset;

    ALQI_ASSERT(p->offset <= image->size_bytes &&
                p->bytes <= image->size_bytes - p->offset);
    if (p->packing == PLAIN)
        return true;
    if (p->packing == ZLIB)
        return alqi_symbol_unpack_zlib(to, p->bytes, p->packed,
                                       p->packed_bytes);
    return alqi_symbol_unpack_zstd(to, p->bytes, p->packed, p->packed_bytes);
}

/* Section 0 is empty and section 1 holds the names, as ELF wants. */
static void
image_fill(struct alqi_symbol_image *image, struct plan *plan,
           struct alqi_symbol_elf *elf)
{
    uint64_t names_offset =
        plan->front_bytes + (WANTED + 2) * sizeof(Elf64_Shdr);
    uint64_t next_offset = names_offset + NAMES_BYTES;
    Elf64_Shdr *sh = (Elf64_Shdr *)(void *)(image->bytes + plan->front_bytes);
    char *names = (char *)image->bytes + names_offset;
    size_t name_at = 1;
    unsigned i, n = 2;

    memset(sh, 0, sizeof *sh);
    for (i = 0; i < plan->count; i++) {
        struct piece *p = &plan->pieces[i];

        next_offset =
            (next_offset + ALIGN_BYTES - 1) & ~(uint64_t)(ALIGN_BYTES - 1);
        p->offset = p->packing == PLAIN
                        ? (uint64_t)(p->section->bytes - elf->bytes)
                        : next_offset;
        if (!piece_write(image, p)) {
            elf->is_damaged = true;
            continue;
        }
        if (p->packing != PLAIN)
            next_offset += p->bytes;
        strcpy(names + name_at, p->name);
        sh[n++] = (Elf64_Shdr){.sh_name = (Elf64_Word)name_at,
                               .sh_type = SHT_PROGBITS,
                               .sh_offset = p->offset,
                               .sh_size = p->bytes,
                               .sh_addralign = 1};
        name_at += strlen(p->name) + 1;
    }
    strcpy(names + name_at, ".shstrtab");
    sh[1] = (Elf64_Shdr){.sh_name = (Elf64_Word)name_at,
                         .sh_type = SHT_STRTAB,
                         .sh_offset = names_offset,
                         .sh_size = NAMES_BYTES,
                         .sh_addralign = 1};
    header_write(image, plan, elf->machine, n);
}

const char *
alqi_symbol_image_make(struct alqi_symbol_image *image,
                       struct alqi_symbol_elf *elf)
{
    struct plan plan;

    image->bytes = NULL;
    plan_make(&plan, elf);
    if (plan.unpacked_bytes > UNPACKED_BYTES_MAX)
        return "has debug sections that unpack to more than 4 GiB";
    if (plan.count == 0)
        return "has no debug sections";
    if (!image_map(image, &plan, elf))
        return "needs more memory than there is";
    image_fill(image, &plan, elf);
    return NULL;
}

void
alqi_symbol_image_drop(struct alqi_symbol_image *image)
{
    if (image->bytes != NULL)
        munmap(image->bytes, image->size_bytes);
    image->bytes = NULL;
}

struct alqi_stack_bytes
alqi_symbol_image_section(const struct alqi_symbol_image *image,
                          const char *name)
{
    const Elf64_Ehdr *eh = (const void *)image->bytes;
    const Elf64_Shdr *sh = (const void *)(image->bytes + eh->e_shoff);
    const char *names = (const char *)image->bytes + sh[1].sh_offset;
    struct alqi_stack_bytes b = {image->bytes, image->bytes, false};
    unsigned i;

    for (i = 2; i < eh->e_shnum; i++) {
        if (strcmp(names + sh[i].sh_name, name) == 0) {
            b.at = image->bytes + sh[i].sh_offset;
            b.end = b.at + sh[i].sh_size;
        }
    }
    return b;
}

bool
alqi_symbol_image_is_useful(const struct alqi_symbol_elf *elf)
{
    return section_find(elf, ".debug_info") != NULL &&
           section_find(elf, ".debug_abbrev") != NULL;
}
