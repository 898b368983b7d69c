/* dwarf_encoded.h -- pointers as .eh_frame writes them
 *
 * An encoding (DW_EH_PE_*) is a format (lower four bits), a base (next three)
 * and "there lies the address of it" (top bit, left to the caller). */
#ifndef ALQI_STACK_DWARF_ENCODED_H
#define ALQI_STACK_DWARF_ENCODED_H

#include "stack/dwarf_bytes.h"

enum {
    ALQI_STACK_ENC_ABSPTR = 0x00,
    ALQI_STACK_ENC_ULEB = 0x01,
    ALQI_STACK_ENC_UDATA2 = 0x02,
    ALQI_STACK_ENC_UDATA4 = 0x03,
    ALQI_STACK_ENC_UDATA8 = 0x04,
    ALQI_STACK_ENC_SIGNED = 0x08,
    ALQI_STACK_ENC_SLEB = 0x09,
    ALQI_STACK_ENC_SDATA2 = 0x0A,
    ALQI_STACK_ENC_SDATA4 = 0x0B,
    ALQI_STACK_ENC_SDATA8 = 0x0C,
    ALQI_STACK_ENC_FORMAT = 0x0F,
    ALQI_STACK_ENC_PCREL = 0x10,
    ALQI_STACK_ENC_DATAREL = 0x30,
    ALQI_STACK_ENC_ALIGNED = 0x50,
    ALQI_STACK_ENC_BASE = 0x70,
    ALQI_STACK_ENC_INDIRECT = 0x80,
    ALQI_STACK_ENC_OMIT = 0xFF
};

/* Bytes of a value in this encoding; 0 when that varies or is unknown. */
unsigned alqi_stack_encoded_bytes(uint8_t encoding);

/* The next encoded pointer, its base added; the cursor goes bad where the
 * encoding is unknown.  An indirect one yields the address of the pointer. */
uintptr_t alqi_stack_encoded(struct alqi_stack_bytes *b, uint8_t encoding,
                             uintptr_t data_base);

#endif
