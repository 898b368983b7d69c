/* arena.c -- a bump allocator over blocks of 64 KiB
 *
 * An allocation larger than a quarter of a block has a block of its own; the
 * block that is being filled stays open meanwhile.  Keeps .inv.ceiling. */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

enum { BLOCK_BYTES = 65536, ALIGN_BYTES = sizeof(void *) };

struct alqi_base_arena_block {
    struct alqi_base_arena_block *next;
    void *bytes[];
};

void
alqi_base_arena_drop(struct alqi_base_arena *arena)
{
    struct alqi_base_arena_block *next;

    for (; arena->blocks != NULL; arena->blocks = next) {
        next = arena->blocks->next;
        free(arena->blocks);
    }
    *arena = (struct alqi_base_arena){0};
}

static void *
block_add(struct alqi_base_arena *arena, size_t n_bytes)
{
    size_t total = sizeof(struct alqi_base_arena_block) + n_bytes;
    struct alqi_base_arena_block *b;

    if (arena->limit_bytes != 0 && total > arena->limit_bytes - arena->n_bytes)
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
alqi_base_arena_take(struct alqi_base_arena *arena, size_t n_bytes)
{
    char *p;

    if (n_bytes > SIZE_MAX / 2)
        return NULL;
    n_bytes = (n_bytes + ALIGN_BYTES - 1) & ~(size_t)(ALIGN_BYTES - 1);
    if (n_bytes > BLOCK_BYTES / 4)
        return block_add(arena, n_bytes);
    if ((size_t)(arena->end - arena->at) < n_bytes || arena->at == NULL) {
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

char *
alqi_base_arena_text(struct alqi_base_arena *arena, const char *text, size_t n)
{
    char *copy = alqi_base_arena_take(arena, n + 1);

    if (copy == NULL)
        return NULL;
    memcpy(copy, text, n);
    copy[n] = '\0';
    return copy;
}

char *
alqi_base_arena_printf(struct alqi_base_arena *arena, const char *format, ...)
{
    char *text = NULL;
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0)
        return NULL;
    text = alqi_base_arena_take(arena, (size_t)n + 1);
    if (text == NULL)
        return NULL;
    va_start(args, format);
    vsnprintf(text, (size_t)n + 1, format, args);
    va_end(args);
    return text;
}
