/* dwarf_encoded.c -- reading encoded pointers
 *
 * An encoded pointer is a value in its format, plus its base: nothing, its own
 * address, or the section's.  An unknown encoding marks the cursor bad. */
#include "stack/dwarf_encoded.h"

unsigned
alqi_stack_encoded_bytes(uint8_t encoding)
{
    switch (encoding & ALQI_STACK_ENC_FORMAT) {
    case ALQI_STACK_ENC_UDATA2:
    case ALQI_STACK_ENC_SDATA2:
        return 2;
    case ALQI_STACK_ENC_UDATA4:
    case ALQI_STACK_ENC_SDATA4:
        return 4;
    case ALQI_STACK_ENC_ABSPTR:
    case ALQI_STACK_ENC_SIGNED:
    case ALQI_STACK_ENC_UDATA8:
    case ALQI_STACK_ENC_SDATA8:
        return 8;
    default:
        return 0;
    }
}

/* The value in its format, without its base. */
static uint64_t
value_of(struct alqi_stack_bytes *b, uint8_t encoding)
{
    unsigned n = alqi_stack_encoded_bytes(encoding);

    if (n != 0 && (encoding & ALQI_STACK_ENC_SIGNED) != 0)
        return (uint64_t)alqi_stack_bytes_int(b, n);
    if (n != 0)
        return alqi_stack_bytes_uint(b, n);
    switch (encoding & ALQI_STACK_ENC_FORMAT) {
    case ALQI_STACK_ENC_ULEB:
        return alqi_stack_bytes_uleb(b);
    case ALQI_STACK_ENC_SLEB:
        return (uint64_t)alqi_stack_bytes_sleb(b);
    default:
        b->is_bad = true;
        return 0;
    }
}

uintptr_t
alqi_stack_encoded(struct alqi_stack_bytes *b, uint8_t encoding,
                   uintptr_t data_base)
{
    uintptr_t here = (uintptr_t)b->at;

    if (encoding == ALQI_STACK_ENC_OMIT)
        return 0;
    switch (encoding & ALQI_STACK_ENC_BASE) {
    case 0:
        return value_of(b, encoding);
    case ALQI_STACK_ENC_PCREL:
        return here + value_of(b, encoding);
    case ALQI_STACK_ENC_DATAREL:
        return data_base + value_of(b, encoding);
    case ALQI_STACK_ENC_ALIGNED:
        alqi_stack_bytes_take(b, -here & 7);
        return alqi_stack_bytes_uint(b, 8);
    default:
        b->is_bad = true;
        return 0;
    }
}
