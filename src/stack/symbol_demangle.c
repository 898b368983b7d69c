/* symbol_demangle.c -- C++ and Rust names, through libiberty
 *
 * A mangled name can refer back to its own parts, so a short hostile one
 * demangles to gigabytes.  The text is taken piece by piece through the
 * library's callback and abandoned with longjmp at OUTPUT_BYTES; neither
 * demangler holds anything but stack at that moment.  libiberty's own limit
 * on recursion also refuses any name over 1024 bytes, which templates reach;
 * it is lifted up to NAME_BYTES, where the stack needed is still small. */
#include "stack/symbol_elf_names.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

enum { SHORT_BYTES = 1000, NAME_BYTES = 4096, OUTPUT_BYTES = 1 << 16 };

struct output {
    jmp_buf full;
    size_t bytes;
    char text[OUTPUT_BYTES];
};

static void
output_take(const char *text, size_t bytes, void *opaque)
{
    struct output *o = opaque;

    if (bytes > sizeof o->text - o->bytes)
        longjmp(o->full, 1);
    memcpy(o->text + o->bytes, text, bytes);
    o->bytes += bytes;
}

static bool
demangle_into(struct output *o, const char *raw, int limit)
{
    enum { OPTIONS = DMGL_PARAMS | DMGL_ANSI };

    o->bytes = 0;
    if (setjmp(o->full) != 0)
        return false;
    if (rust_demangle_callback(raw, OPTIONS, output_take, o))
        return true;
    o->bytes = 0;
    return raw[0] == '_' && raw[1] == 'Z' &&
           cplus_demangle_v3_callback(raw, OPTIONS | limit, output_take, o);
}

static const char *
demangle(struct alqi_symbol_arena *arena, const char *raw)
{
    struct output *o;
    size_t raw_bytes;
    const char *clear = NULL;

    if (raw[0] != '_' || (raw[1] != 'Z' && raw[1] != 'R'))
        return raw;
    raw_bytes = strnlen(raw, NAME_BYTES + 1);
    if (raw_bytes > NAME_BYTES)
        return raw;
    o = malloc(sizeof *o);
    if (o == NULL)
        return raw;
    if (demangle_into(o, raw,
                      raw_bytes > SHORT_BYTES ? DMGL_NO_RECURSE_LIMIT : 0) &&
        o->bytes > 0)
        clear = alqi_symbol_arena_text(arena, o->text, o->bytes);
    free(o);
    return clear != NULL ? clear : raw;
}

static size_t
slot_of(const struct alqi_symbol_demangler *d, const char *raw)
{
    size_t i = alqi_base_mix((uintptr_t)raw) & (d->capacity - 1);

    while (d->raw[i] != NULL && d->raw[i] != raw)
        i = (i + 1) & (d->capacity - 1);
    return i;
}

static bool
demangler_grow(struct alqi_symbol_demangler *d)
{
    struct alqi_symbol_demangler big = {
        .capacity = d->capacity != 0 ? 2 * d->capacity : 256};
    size_t i, k;

    big.raw = calloc(big.capacity, sizeof *big.raw);
    big.clear = calloc(big.capacity, sizeof *big.clear);
    if (big.raw == NULL || big.clear == NULL) {
        alqi_symbol_demangler_drop(&big);
        return false;
    }
    for (i = 0; i < d->capacity; i++) {
        if (d->raw[i] == NULL)
            continue;
        k = slot_of(&big, d->raw[i]);
        big.raw[k] = d->raw[i];
        big.clear[k] = d->clear[i];
    }
    big.count = d->count;
    alqi_symbol_demangler_drop(d);
    *d = big;
    return true;
}

const char *
alqi_symbol_demangle(struct alqi_symbol_demangler *d,
                     struct alqi_symbol_arena *arena, const char *raw)
{
    size_t i;

    if (raw[0] != '_' || (raw[1] != 'Z' && raw[1] != 'R'))
        return raw;
    if (2 * (d->count + 1) > d->capacity && !demangler_grow(d))
        return raw;
    i = slot_of(d, raw);
    if (d->raw[i] == NULL) {
        d->raw[i] = raw;
        d->clear[i] = demangle(arena, raw);
        d->count++;
    }
    return d->clear[i];
}

void
alqi_symbol_demangler_drop(struct alqi_symbol_demangler *d)
{
    free(d->raw);
    free(d->clear);
    memset(d, 0, sizeof *d);
}
