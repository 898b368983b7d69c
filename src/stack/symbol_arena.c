/* symbol_arena.c -- a bump allocator */
#include "stack/symbol_arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct alqi_symbol_chunk {
    struct alqi_symbol_chunk *next;
    max_align_t bytes[];
};

enum { CHUNK_BYTES = 64 << 10, ALIGN_BYTES = 8 };

void *
alqi_symbol_arena_take(struct alqi_symbol_arena *arena, size_t bytes)
{
    struct alqi_symbol_chunk *chunk;
    size_t capacity_bytes = CHUNK_BYTES;
    void *at;

    if (bytes > SIZE_MAX / 2)
        return NULL;
    bytes = (bytes + ALIGN_BYTES - 1) & ~(size_t)(ALIGN_BYTES - 1);
    if (arena->chunks == NULL ||
        bytes > arena->capacity_bytes - arena->used_bytes) {
        if (bytes > capacity_bytes)
            capacity_bytes = bytes;
        chunk = malloc(sizeof *chunk + capacity_bytes);
        if (chunk == NULL)
            return NULL;
        chunk->next = arena->chunks;
        arena->chunks = chunk;
        arena->used_bytes = 0;
        arena->capacity_bytes = capacity_bytes;
    }
    at = (char *)arena->chunks->bytes + arena->used_bytes;
    arena->used_bytes += bytes;
    return at;
}

char *
alqi_symbol_arena_text(struct alqi_symbol_arena *arena, const char *text,
                       size_t bytes)
{
    char *copy = alqi_symbol_arena_take(arena, bytes + 1);

    if (copy == NULL)
        return NULL;
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    return copy;
}

char *
alqi_symbol_arena_printf(struct alqi_symbol_arena *arena, const char *format,
                         ...)
{
    char *text = NULL;
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n < 0)
        return NULL;
    text = alqi_symbol_arena_take(arena, (size_t)n + 1);
    if (text == NULL)
        return NULL;
    va_start(args, format);
    vsnprintf(text, (size_t)n + 1, format, args);
    va_end(args);
    return text;
}

void
alqi_symbol_arena_drop(struct alqi_symbol_arena *arena)
{
    struct alqi_symbol_chunk *next;

    for (; arena->chunks != NULL; arena->chunks = next) {
        next = arena->chunks->next;
        free(arena->chunks);
    }
    arena->used_bytes = arena->capacity_bytes = 0;
}
