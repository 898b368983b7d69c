/* jit_fuzz.c -- lists of code made at run time, any bytes
 *
 * The first byte says how: a map or a jitdump, and how much of it is there at a
 * time. What is found lies over the address that was asked for, in a name that
 * is clean, and the same as if the file had come at once. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "stack/symbol_jit.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(bool is_true)
{
    if (!is_true)
        abort();
}

static size_t
take(struct alqi_symbol_jit *jit, bool is_dump, const uint8_t *at, size_t n)
{
    return is_dump ? alqi_symbol_jit_take_dump(jit, at, n, false)
                   : alqi_symbol_jit_take_map(jit, (const char *)at, n, false);
}

/* The list as a file that grows by so many bytes. */
static struct alqi_symbol_jit *
list_read(bool is_dump, const uint8_t *data, size_t size, size_t step)
{
    struct alqi_symbol_jit *jit = alqi_symbol_jit_new();
    size_t done = 0, n;

    check(jit != NULL);
    for (size_t there = 0; there < size;) {
        there = size - there > step ? there + step : size;
        do {
            n = done < there ? take(jit, is_dump, data + done, there - done)
                             : 0;
            done += n;
        } while (n > 0);
    }
    return jit;
}

static void
name_check(struct alqi_symbol_jit *jit, uint32_t piece, uint64_t address)
{
    struct alqi_symbol_frame frame;

    check(alqi_symbol_jit_frame(jit, piece, address, &frame));
    for (const char *c = frame.function; *c != '\0'; c++)
        check((unsigned char)*c >= ' ' && *c != 0x7f);
    check(strlen(frame.function) <= 1020 && strlen(frame.file) <= 1000);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct alqi_symbol_jit *whole, *parts;
    uint64_t address = 0, time_ns;

    if (size == 0)
        return 0;
    whole = list_read(data[0] & 1, data + 1, size - 1, size);
    parts = list_read(data[0] & 1, data + 1, size - 1, 1 + data[0] / 2);
    for (size_t i = 1; i < size && i < 2000; i++) {
        uint32_t piece;

        /* addresses that are in the input, and of one, two, ... digits */
        if (i + sizeof address <= size)
            memcpy(&address, data + i, sizeof address);
        address = i % 3 == 0 ? address >> 48 : address;
        time_ns = i % 2 == 0 ? UINT64_MAX : alqi_base_mix(i) >> 40;
        piece = alqi_symbol_jit_find(whole, address, time_ns);
        check(piece == alqi_symbol_jit_find(parts, address, time_ns));
        if (piece != ALQI_SYMBOL_NO_CODE)
            name_check(whole, piece, address);
    }
    alqi_symbol_jit_drop(whole);
    alqi_symbol_jit_drop(parts);
    return 0;
}
