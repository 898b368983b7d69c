/* symbol_elf.h -- a careful reader of ELF files
 *
 * Everything a damaged or hostile file could lie about is checked here, once:
 * what this reader hands out lies inside the file.  64-bit little-endian
 * files only, the two machines Aliquot runs on. */
#ifndef ALQI_STACK_SYMBOL_ELF_H
#define ALQI_STACK_SYMBOL_ELF_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stat;

enum { ALQI_SYMBOL_ID_BYTES_MAX = 64 };

struct alqi_symbol_section {
    const char *name; /* terminated */
    const uint8_t *bytes;
    uint64_t size_bytes; /* in the file; 0 for SHT_NOBITS and damaged ones */
    uint64_t address;
    uint64_t flags;
    uint32_t type;
    uint32_t link;
    uint64_t entry_bytes;
    uint64_t memory_bytes; /* in memory */
};

/* What tells a file from another one under the same path, as the cache of
 * symbols needs it.  Without the device: its number is another one after a
 * reboot. All zeros: no file. */
struct alqi_symbol_identity {
    uint64_t inode, size_bytes, mtime_s, mtime_ns;
};

struct alqi_symbol_elf {
    const uint8_t *bytes;
    size_t size_bytes;
    struct alqi_symbol_identity identity; /* zeros: it was no file     */
    int fd;          /* of a mapped file, else -1                 */
    bool is_mapped;  /* else malloc'd                             */
    bool is_damaged; /* a section or segment lies outside         */
    uint16_t machine, type;
    uint64_t text_lo, text_hi; /* around the executable segments */
    struct alqi_symbol_section *sections;
    uint32_t section_count;
    uint8_t build_id[ALQI_SYMBOL_ID_BYTES_MAX];
    size_t build_id_bytes;
};

/* NULL on success, else what is wrong (static text, for a note).  `fd` then
 * belongs to *elf. */
const char *alqi_symbol_elf_open(struct alqi_symbol_elf **elf,
                                 const char *path);
const char *alqi_symbol_elf_map(struct alqi_symbol_elf **elf, int fd);
/* Takes over malloc'd bytes, on failure too. */
const char *alqi_symbol_elf_take(struct alqi_symbol_elf **elf, uint8_t *bytes,
                                 size_t size_bytes);
struct alqi_symbol_identity alqi_symbol_identity_of(const struct stat *st);
void alqi_symbol_elf_close_fd(struct alqi_symbol_elf *elf);
void alqi_symbol_elf_drop(struct alqi_symbol_elf *elf);

const struct alqi_symbol_section *
alqi_symbol_elf_find(const struct alqi_symbol_elf *elf, const char *name);
bool alqi_symbol_elf_has_type(const struct alqi_symbol_elf *elf, uint32_t type);
bool alqi_symbol_elf_has_id(const struct alqi_symbol_elf *elf,
                            const uint8_t *build_id, size_t bytes);

/* A link is a file name and what follows it: a CRC-32 (.gnu_debuglink) or a
 * build-id (.gnu_debugaltlink).  NULL when there is none. */
const char *alqi_symbol_elf_link(const struct alqi_symbol_elf *elf,
                                 const char *section, const uint8_t **rest,
                                 size_t *rest_bytes);

#endif
