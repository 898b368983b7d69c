/* ctf_arena.c -- see ctf_arena.h */
#include <stdint.h>
#include <stdlib.h>

#include "wire/ctf_arena.h"

enum { BLOCK_BYTES = 65536, ALIGN_BYTES = sizeof(void *) };

struct alqi_wire_arena_block {
    struct alqi_wire_arena_block *next;
    void *bytes[];
};

void
alqi_wire_arena_init(struct alqi_wire_arena *arena, size_t limit_bytes)
{
    *arena = (struct alqi_wire_arena){.limit_bytes = limit_bytes};
}

void
alqi_wire_arena_drop(struct alqi_wire_arena *arena)
{
    struct alqi_wire_arena_block *b = arena->blocks;

    while (b != NULL) {
        struct alqi_wire_arena_block *next = b->next;

        free(b);
        b = next;
    }
    *arena = (struct alqi_wire_arena){0};
}

static void *
block_add(struct alqi_wire_arena *arena, size_t n_bytes)
{
    size_t total = sizeof(struct alqi_wire_arena_block) + n_bytes;
    struct alqi_wire_arena_block *b;

    if (total > arena->limit_bytes - arena->n_bytes)
        return NULL;
    b = malloc(total);
    if (b == NULL)
        return NULL;
    arena->n_bytes += total;
    b->next = arena->blocks;
    arena->blocks = b;
    return b->bytes;
}

void *
alqi_wire_arena_take(struct alqi_wire_arena *arena, size_t n_bytes)
{
    char *p;

    if (n_bytes > SIZE_MAX / 2)
        return NULL;
    n_bytes = (n_bytes + ALIGN_BYTES - 1) & ~(size_t)(ALIGN_BYTES - 1);
    if (n_bytes > BLOCK_BYTES / 4)
        return block_add(arena, n_bytes); /* alone; the open block stays */
    if (arena->at == NULL || (size_t)(arena->end - arena->at) < n_bytes) {
        p = block_add(arena, BLOCK_BYTES);
        if (p == NULL)
            return NULL;
        arena->at = p;
        arena->end = p + BLOCK_BYTES;
    }
    p = arena->at;
    arena->at += n_bytes;
    return p;
}
