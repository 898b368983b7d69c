/* symbol_demangle.c -- C++ and Rust names, through libiberty
 *
 * A mangled name can refer back to its own parts, so a short hostile one
 * demangles to gigabytes (.inv.demangle).  The text is taken piece by piece
 * through the library's callback and abandoned with longjmp at OUTPUT_BYTES;
 * neither demangler holds anything but stack at that moment.  libiberty's own
 * limit on recursion also refuses any name over 1024 bytes, which templates
 * reach; it is lifted up to NAME_BYTES, where the stack needed is still
 * small. */
#include "stack/symbol_elf_names.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

enum { SHORT_BYTES = 1000, NAME_BYTES = 4096, OUTPUT_BYTES = 1 << 16 };

struct output {
    jmp_buf full;
    size_t bytes;
    char text[OUTPUT_BYTES];
};

/* libiberty's callback: appends a piece of the name.  Leaves the demangler
 * where the buffer is full, since the callback cannot refuse. */
static void
output_take(const char *text, size_t bytes, void *opaque)
{
    struct output *o = opaque;

    if (bytes > sizeof o->text - o->bytes)
        longjmp(o->full, 1);
    memcpy(o->text + o->bytes, text, bytes);
    o->bytes += bytes;
}

/* False: not mangled, not understood, or too long. */
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

/* The demangled text in the arena, or `raw` itself. */
static const char *
demangle(struct alqi_base_arena *arena, const char *raw)
{
    struct output *o;
    size_t raw_bytes;
    const char *clear = NULL;

    raw_bytes = strnlen(raw, NAME_BYTES + 1);
    if (raw_bytes > NAME_BYTES)
        return raw;
    o = malloc(sizeof *o);
    if (o == NULL)
        return raw;
    if (demangle_into(o, raw,
                      raw_bytes > SHORT_BYTES ? DMGL_NO_RECURSE_LIMIT : 0) &&
        o->bytes > 0)
        clear = alqi_base_arena_text(arena, o->text, o->bytes);
    free(o);
    return clear != NULL ? clear : raw;
}

const char *
alqi_symbol_demangle(struct alqi_symbol_demangler *d,
                     struct alqi_base_arena *arena, const char *raw)
{
    uint64_t *demangled;
    bool is_new;

    if (raw[0] != '_' || (raw[1] != 'Z' && raw[1] != 'R'))
        return raw;
    demangled = alqi_base_map_at(&d->by_raw, (uintptr_t)raw, &is_new);
    if (demangled == NULL)
        return raw;
    if (is_new)
        *demangled = (uintptr_t)demangle(arena, raw);
    return (const char *)(uintptr_t)*demangled;
}

void
alqi_symbol_demangler_drop(struct alqi_symbol_demangler *d)
{
    alqi_base_map_clear(&d->by_raw);
}
