/* symbol_elf_image.h -- a file's debug sections, unpacked, in a form libdw
 * reads
 *
 * libdw sees a small well-formed ELF file made here, never the user's file:
 * only the sections that functions, lines and inlined calls need, each inside
 * bounds that were checked.  Location lists and macros, a third of a debug
 * file, are not even unpacked. */
#ifndef ALQI_STACK_SYMBOL_ELF_IMAGE_H
#define ALQI_STACK_SYMBOL_ELF_IMAGE_H

#include "stack/dwarf_bytes.h"
#include "stack/symbol_elf.h"

struct alqi_symbol_image {
    uint8_t *bytes; /* mmap'd; NULL when there is none */
    size_t size_bytes;
};

/* NULL on success, else what is wrong.  A file without debug sections is
 * wrong too. */
const char *alqi_symbol_image_make(struct alqi_symbol_image *image,
                                   struct alqi_symbol_elf *elf);
void alqi_symbol_image_drop(struct alqi_symbol_image *image);

/* Empty when the file has no such section. */
struct alqi_stack_bytes
alqi_symbol_image_section(const struct alqi_symbol_image *image,
                          const char *name);

/* True when `elf` has something that alqi_symbol_image_make could use. */
bool alqi_symbol_image_is_useful(const struct alqi_symbol_elf *elf);

/* malloc'd; NULL when the bytes are damaged or unpack to too much. */
uint8_t *alqi_symbol_unpack_xz(const uint8_t *from, size_t from_bytes,
                               size_t *bytes);
bool alqi_symbol_unpack_zlib(uint8_t *to, size_t to_bytes, const uint8_t *from,
                             size_t from_bytes);
bool alqi_symbol_unpack_zstd(uint8_t *to, size_t to_bytes, const uint8_t *from,
                             size_t from_bytes);

#endif
