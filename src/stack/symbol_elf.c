/* symbol_elf.c -- a careful reader of ELF files
 *
 * Everything a file says of itself is checked here: header, segments,
 * sections, their names, notes.  Structures are copied out with memcpy: a file
 * may put them at any offset.
 *
 * .inv.name    Every section name is terminated inside the file.
 *
 * Keeps .inv.inside: what lies outside the file is cut to size 0 and
 * is_damaged is set.  A file that shrinks while it is mapped can still raise
 * SIGBUS (.limit.shrink). */
#include "stack/symbol_elf.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SECTIONS_MAX = 1 << 20 };

/* Whether the range lies in the file. */
static bool
is_inside(const struct alqi_symbol_elf *elf, uint64_t offset, uint64_t bytes)
{
    return offset <= elf->size_bytes && bytes <= elf->size_bytes - offset;
}

/* What is wrong with the header; NULL: nothing. */
static const char *
header_check(const struct alqi_symbol_elf *elf, Elf64_Ehdr *eh)
{
    if (elf->size_bytes < sizeof *eh)
        return "is too short for an ELF file";
    memcpy(eh, elf->bytes, sizeof *eh);
    if (memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0)
        return "is not an ELF file";
    if (eh->e_ident[EI_CLASS] != ELFCLASS64 ||
        eh->e_ident[EI_DATA] != ELFDATA2LSB)
        return "is not a 64-bit little-endian ELF file";
    /* dwz calls the file it makes relocatable. */
    if (eh->e_type != ET_EXEC && eh->e_type != ET_DYN && eh->e_type != ET_REL)
        return "is neither a program nor a shared library";
    return NULL;
}

/* Takes the build-id from notes, if one of them is it. */
static void
build_id_read(struct alqi_symbol_elf *elf, const uint8_t *at, uint64_t bytes)
{
    Elf64_Nhdr note;
    uint64_t name_bytes, body_bytes;

    while (elf->build_id_bytes == 0 && bytes >= sizeof note) {
        memcpy(&note, at, sizeof note);
        at += sizeof note;
        bytes -= sizeof note;
        name_bytes = ((uint64_t)note.n_namesz + 3) & ~(uint64_t)3;
        body_bytes = ((uint64_t)note.n_descsz + 3) & ~(uint64_t)3;
        if (name_bytes > bytes || note.n_descsz > bytes - name_bytes)
            return;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
            memcmp(at, "GNU", 4) == 0 && note.n_descsz > 0 &&
            note.n_descsz <= sizeof elf->build_id) {
            memcpy(elf->build_id, at + name_bytes, note.n_descsz);
            elf->build_id_bytes = note.n_descsz;
        }
        if (body_bytes > bytes - name_bytes)
            return;
        at += name_bytes + body_bytes;
        bytes -= name_bytes + body_bytes;
    }
}

/* Where code is, and the build-id. */
static void
segments_read(struct alqi_symbol_elf *elf, const Elf64_Ehdr *eh)
{
    Elf64_Phdr ph;
    unsigned i;

    elf->text_lo = UINT64_MAX;
    if (eh->e_phentsize != sizeof ph)
        return;
    if (!is_inside(elf, eh->e_phoff, (uint64_t)eh->e_phnum * sizeof ph)) {
        elf->is_damaged = true;
        return;
    }
    for (i = 0; i < eh->e_phnum; i++) {
        memcpy(&ph, elf->bytes + eh->e_phoff + i * sizeof ph, sizeof ph);
        if (ph.p_type == PT_NOTE && is_inside(elf, ph.p_offset, ph.p_filesz))
            build_id_read(elf, elf->bytes + ph.p_offset, ph.p_filesz);
        if (ph.p_type != PT_LOAD || (ph.p_flags & PF_X) == 0 ||
            ph.p_vaddr > UINT64_MAX - ph.p_memsz)
            continue;
        if (ph.p_vaddr < elf->text_lo)
            elf->text_lo = ph.p_vaddr;
        if (ph.p_vaddr + ph.p_memsz > elf->text_hi)
            elf->text_hi = ph.p_vaddr + ph.p_memsz;
    }
}

/* Takes a section header; contents outside the file are left out. */
static void
section_read(struct alqi_symbol_elf *elf, struct alqi_symbol_section *s,
             const Elf64_Shdr *sh)
{
    s->name = "";
    s->address = sh->sh_addr;
    s->flags = sh->sh_flags;
    s->type = sh->sh_type;
    s->link = sh->sh_link;
    s->entry_bytes = sh->sh_entsize;
    s->memory_bytes = sh->sh_size;
    s->bytes = elf->bytes;
    if (sh->sh_type == SHT_NOBITS || sh->sh_type == SHT_NULL)
        return;
    if (!is_inside(elf, sh->sh_offset, sh->sh_size)) {
        elf->is_damaged = true;
        return;
    }
    s->bytes = elf->bytes + sh->sh_offset;
    s->size_bytes = sh->sh_size;
}

/* Names the sections (.inv.name). */
static void
section_names_read(struct alqi_symbol_elf *elf, const Elf64_Ehdr *eh,
                   uint32_t names_index)
{
    const struct alqi_symbol_section *names;
    Elf64_Shdr sh;
    uint32_t i;

    if (names_index >= elf->section_count)
        return;
    names = &elf->sections[names_index];
    for (i = 0; i < elf->section_count; i++) {
        memcpy(&sh, elf->bytes + eh->e_shoff + i * sizeof sh, sizeof sh);
        if (sh.sh_name < names->size_bytes &&
            memchr(names->bytes + sh.sh_name, '\0',
                   names->size_bytes - sh.sh_name) != NULL)
            elf->sections[i].name = (const char *)names->bytes + sh.sh_name;
    }
}

/* What is wrong, or NULL: damaged section headers are no sections. */
static const char *
sections_read(struct alqi_symbol_elf *elf, const Elf64_Ehdr *eh)
{
    uint64_t count = eh->e_shnum;
    uint32_t i, names_index = eh->e_shstrndx;
    Elf64_Shdr sh;

    if (eh->e_shoff == 0 || eh->e_shentsize != sizeof sh)
        return NULL;
    if (!is_inside(elf, eh->e_shoff, sizeof sh)) {
        elf->is_damaged = true;
        return NULL;
    }
    memcpy(&sh, elf->bytes + eh->e_shoff, sizeof sh);
    if (count == 0) /* more than 16 bits hold */
        count = sh.sh_size;
    if (names_index == SHN_XINDEX)
        names_index = sh.sh_link;
    if (count > SECTIONS_MAX ||
        !is_inside(elf, eh->e_shoff, count * sizeof sh)) {
        elf->is_damaged = true;
        return NULL;
    }
    elf->sections = calloc(count + 1, sizeof *elf->sections);
    if (elf->sections == NULL)
        return "needs more memory than there is";
    elf->section_count = (uint32_t)count;
    for (i = 0; i < count; i++) {
        memcpy(&sh, elf->bytes + eh->e_shoff + i * sizeof sh, sizeof sh);
        section_read(elf, &elf->sections[i], &sh);
        if (sh.sh_type == SHT_NOTE && elf->build_id_bytes == 0)
            build_id_read(elf, elf->sections[i].bytes,
                          elf->sections[i].size_bytes);
    }
    section_names_read(elf, eh, names_index);
    return NULL;
}

/* Reads what was opened; what is wrong, and it is dropped, or NULL. */
static const char *
elf_read(struct alqi_symbol_elf **out, struct alqi_symbol_elf *elf)
{
    Elf64_Ehdr eh;
    const char *wrong = header_check(elf, &eh);

    if (wrong == NULL) {
        elf->machine = eh.e_machine;
        elf->type = eh.e_type;
        segments_read(elf, &eh);
        wrong = sections_read(elf, &eh);
    }
    if (wrong != NULL) {
        alqi_symbol_elf_drop(elf);
        return wrong;
    }
    *out = elf;
    return NULL;
}

struct alqi_symbol_identity
alqi_symbol_identity_of(const struct stat *st)
{
    return (struct alqi_symbol_identity){
        .inode = (uint64_t)st->st_ino,
        .size_bytes = (uint64_t)st->st_size,
        .mtime_s = (uint64_t)st->st_mtim.tv_sec,
        .mtime_ns = (uint64_t)st->st_mtim.tv_nsec,
    };
}

const char *
alqi_symbol_elf_map(struct alqi_symbol_elf **out, int fd)
{
    struct alqi_symbol_elf *elf;
    struct stat st;
    void *bytes;
    const char *wrong;

    *out = NULL;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        wrong = "is not a regular file";
        goto fail_stat;
    }
    if (st.st_size == 0) {
        wrong = "is empty";
        goto fail_stat;
    }
    wrong = "needs more memory than there is";
    elf = calloc(1, sizeof *elf);
    if (elf == NULL)
        goto fail_stat;
    bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes == MAP_FAILED)
        goto fail_map;
    elf->bytes = bytes;
    elf->size_bytes = (size_t)st.st_size;
    elf->identity = alqi_symbol_identity_of(&st);
    elf->is_mapped = true;
    elf->fd = fd;
    return elf_read(out, elf);

fail_map:
    free(elf);
fail_stat:
    close(fd);
    return wrong;
}

const char *
alqi_symbol_elf_open(struct alqi_symbol_elf **out, const char *path)
{
    /* O_NONBLOCK: a path in a trace may name a FIFO by now. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

    *out = NULL;
    if (fd < 0)
        return "cannot be opened";
    return alqi_symbol_elf_map(out, fd);
}

const char *
alqi_symbol_elf_take(struct alqi_symbol_elf **out, uint8_t *bytes,
                     size_t size_bytes)
{
    struct alqi_symbol_elf *elf = calloc(1, sizeof *elf);

    *out = NULL;
    if (elf == NULL) {
        free(bytes);
        return "needs more memory than there is";
    }
    elf->bytes = bytes;
    elf->size_bytes = size_bytes;
    elf->fd = -1;
    return elf_read(out, elf);
}

void
alqi_symbol_elf_close_fd(struct alqi_symbol_elf *elf)
{
    if (elf->fd >= 0)
        close(elf->fd);
    elf->fd = -1;
}

void
alqi_symbol_elf_drop(struct alqi_symbol_elf *elf)
{
    if (elf == NULL)
        return;
    alqi_symbol_elf_close_fd(elf);
    if (elf->is_mapped)
        munmap((void *)(uintptr_t)elf->bytes, elf->size_bytes);
    else
        free((void *)(uintptr_t)elf->bytes);
    free(elf->sections);
    free(elf);
}

const struct alqi_symbol_section *
alqi_symbol_elf_find(const struct alqi_symbol_elf *elf, const char *name)
{
    uint32_t i;

    for (i = 0; i < elf->section_count; i++) {
        if (elf->sections[i].size_bytes > 0 &&
            strcmp(elf->sections[i].name, name) == 0)
            return &elf->sections[i];
    }
    return NULL;
}

bool
alqi_symbol_elf_has_type(const struct alqi_symbol_elf *elf, uint32_t type)
{
    uint32_t i;

    for (i = 0; i < elf->section_count; i++) {
        if (elf->sections[i].size_bytes > 0 && elf->sections[i].type == type)
            return true;
    }
    return false;
}

bool
alqi_symbol_elf_has_id(const struct alqi_symbol_elf *elf,
                       const uint8_t *build_id, size_t bytes)
{
    return elf->build_id_bytes == bytes && bytes > 0 &&
           memcmp(elf->build_id, build_id, bytes) == 0;
}

const char *
alqi_symbol_elf_link(const struct alqi_symbol_elf *elf, const char *section,
                     const uint8_t **rest, size_t *rest_bytes)
{
    const struct alqi_symbol_section *s = alqi_symbol_elf_find(elf, section);
    const uint8_t *end;

    if (s == NULL || (s->flags & SHF_COMPRESSED) != 0)
        return NULL;
    end = memchr(s->bytes, '\0', s->size_bytes);
    if (end == NULL || end == s->bytes)
        return NULL;
    *rest = end + 1;
    *rest_bytes = s->size_bytes - (size_t)(end + 1 - s->bytes);
    return (const char *)s->bytes;
}
