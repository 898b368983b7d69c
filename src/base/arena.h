/* arena.h -- memory that is freed all at once
 *
 * Names, frames and locations are only ever added, so they are carved from
 * blocks that live as long as their owner: a bump allocator.  An allocation
 * that fails gives NULL and leaves the arena as it was.
 *
 * .inv.ceiling  With a limit, n_bytes <= limit_bytes: hostile input cannot take
 *               more.  Bytes are counted as they were asked of malloc. */
#ifndef ALQI_BASE_ARENA_H
#define ALQI_BASE_ARENA_H

#include <stddef.h>

struct alqi_base_arena_block;

/* All zeros is an empty arena without a limit. */
struct alqi_base_arena {
    struct alqi_base_arena_block *blocks; /* newest first            */
    char *at;                             /* free bytes of one block: */
    char *end;                            /* [at, end)                */
    size_t n_bytes;                       /* taken from malloc        */
    size_t limit_bytes;                   /* 0: none                  */
};

void alqi_base_arena_drop(struct alqi_base_arena *arena);

/* Aligned for pointers. */
void *alqi_base_arena_take(struct alqi_base_arena *arena, size_t n_bytes);

/* A copy of n bytes, terminated. */
char *alqi_base_arena_text(struct alqi_base_arena *arena, const char *text,
                           size_t n);
char *alqi_base_arena_printf(struct alqi_base_arena *arena, const char *format,
                             ...) __attribute__((format(printf, 2, 3)));

#endif
