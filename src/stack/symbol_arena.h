/* symbol_arena.h -- memory that lives as long as a symbol table
 *
 * Names, frames and indexes are never freed one by one, so they come from a
 * bump allocator.  An allocation that fails gives NULL: every caller has a
 * poorer answer ready. */
#ifndef ALQI_STACK_SYMBOL_ARENA_H
#define ALQI_STACK_SYMBOL_ARENA_H

#include <stddef.h>

struct alqi_symbol_chunk;

struct alqi_symbol_arena {
    struct alqi_symbol_chunk *chunks;
    size_t used_bytes, capacity_bytes; /* of the newest chunk */
};

void *alqi_symbol_arena_take(struct alqi_symbol_arena *arena, size_t bytes);
char *alqi_symbol_arena_text(struct alqi_symbol_arena *arena, const char *text,
                             size_t bytes);
char *alqi_symbol_arena_printf(struct alqi_symbol_arena *arena,
                               const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void alqi_symbol_arena_drop(struct alqi_symbol_arena *arena);

#endif
