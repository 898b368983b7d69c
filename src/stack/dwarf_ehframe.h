/* dwarf_ehframe.h -- from an address to what its CIE and FDE say
 *
 * The sections of a module are checked once (alqi_stack_sections_read); then
 * the unwind state at an address is found by the header's search table, or,
 * without one, by a scan of .eh_frame. */
#ifndef ALQI_STACK_DWARF_EHFRAME_H
#define ALQI_STACK_DWARF_EHFRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stack/dwarf_cfi.h"

/* Bytes that may be read: one readable segment. */
struct alqi_stack_extent {
    const uint8_t *lo;
    const uint8_t *hi;
};

/* A module's unwind sections, checked once. */
struct alqi_stack_sections {
    struct alqi_stack_extent hdr;    /* segment that holds .eh_frame_hdr */
    struct alqi_stack_extent frames; /* segment that holds .eh_frame     */
    const uint8_t *hdr_at;           /* .eh_frame_hdr */
    const uint8_t *frames_at;        /* .eh_frame     */
    const uint8_t *table;            /* NULL: none, .eh_frame is scanned */
    uint64_t n_table;                /* entries, sorted by address */
    uint8_t table_encoding;
};

/* What CFI says at one address. */
struct alqi_stack_unwind {
    struct alqi_stack_cfi_state state;
    const uint8_t *origin; /* the state's expressions lie from here on */
    uintptr_t start;       /* the function's first instruction */
    bool is_signal;        /* augmentation S: the caller was interrupted */
};

/* Reads the header at `hdr`, which lies in one of the segments.  False when
 * it makes no sense. */
bool alqi_stack_sections_read(const uint8_t *hdr,
                              const struct alqi_stack_extent *segments,
                              size_t n_segments,
                              struct alqi_stack_sections *out);

/* The unwind state at `key`.  False: no FDE covers it, or it is damaged.
 * extra_reg is followed besides fp and return address; ALQI_STACK_NO_REG. */
bool alqi_stack_ehframe_find(const struct alqi_stack_sections *s, uintptr_t key,
                             uint8_t extra_reg, struct alqi_stack_unwind *out);

#endif
