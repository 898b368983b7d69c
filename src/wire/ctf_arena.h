/* ctf_arena.h -- memory that lives as long as a reader or writer, with a
 * ceiling
 *
 * Names and locations are only ever added, so they are carved from blocks
 * that are freed together.  What is counted is what was asked of malloc.
 *
 * .inv.ceiling  n_bytes <= limit_bytes: a hostile trace cannot take more. */
#ifndef ALQI_WIRE_CTF_ARENA_H
#define ALQI_WIRE_CTF_ARENA_H

#include <stddef.h>

struct alqi_wire_arena_block;

struct alqi_wire_arena {
    struct alqi_wire_arena_block *blocks;
    char *at;
    char *end;
    size_t n_bytes;
    size_t limit_bytes;
};

void alqi_wire_arena_init(struct alqi_wire_arena *arena, size_t limit_bytes);
void alqi_wire_arena_drop(struct alqi_wire_arena *arena);

/* Aligned for pointers; NULL when malloc refuses or the ceiling is reached. */
void *alqi_wire_arena_take(struct alqi_wire_arena *arena, size_t n_bytes);

#endif
