/* pool.h -- blocks of a program's own arenas and pools, sampled as malloc's
 *
 * This header is all it takes: nothing is linked.  Under `aliquot record`, or
 * with the preload (aliquot-preload(7)), the blocks that a program tells of are
 * sampled with those of malloc, by the same countdown; reports name the pool as
 * the innermost function, "[NAME]".  Without, a call is one load and a test.
 *
 *   struct arena {
 *       struct alq_pool pool;                   = ALQ_POOL("requests")
 *       ...
 *   };
 *
 *   take      p = arena_take(a, n); alq_pool_allocated(&a->pool, p, n);
 *   give back alq_pool_freed(&a->pool, p);      then its place may be reused
 *   all       alq_pool_reset(&a->pool);         the same, of all that there are
 *
 * The memory of a pool comes from malloc or mmap in chunks.  Between
 * alq_pool_chunk_begin and alq_pool_chunk_end malloc, free and their kin are
 * not recorded, so that no byte counts twice: as part of a chunk and of a
 * block.  What of a chunk is not handed out is seen in resident memory alone.
 *
 * A block of a pool counts as one of malloc, with a header word (memprof.h).
 * What realloc of a pool moves is freed, then allocated.
 *
 * Calls on one pool at a time, but for alq_pool_allocated and alq_pool_freed,
 * which may come from several threads at once.  A static program, or one whose
 * process was attached to, tells of its blocks in vain. */
#ifndef ALIQUOT_POOL_H
#define ALIQUOT_POOL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A pool: a group of blocks that may be freed together.  It lies in the
 * program's memory, and is given back by alq_pool_reset. */
struct alq_pool {
    const char *name; /* in reports; stays as long as the pool       */
    void *blocks;     /* the recorder's: NULL at first, then its own */
};

/* A pool without blocks. */
#define ALQ_POOL(name)                                                         \
    {                                                                          \
        (name), NULL                                                           \
    }

/* What the preload has for a program: version 1. */
struct alq_pool_calls {
    uint32_t version;
    uint32_t bytes; /* of this structure */
    void (*allocated)(struct alq_pool *pool, const void *block, size_t bytes);
    void (*freed)(struct alq_pool *pool, const void *block);
    void (*reset)(struct alq_pool *pool);
    void (*chunk_begin)(void);
    void (*chunk_end)(void);
};

/* alq_pool_recorder -- the calls of the preload, if it is in the process
 *
 * A weak symbol by way of the global offset table.  x86-64 spells it out: there
 * a compiler that makes code for a fixed address would have the linker decide,
 * and the preload is not there when it does.
 *
 * Returns  NULL: it is not.
 * Threads  Any, at any time.
 * GC       No effect. */
static inline const struct alq_pool_calls *
alq_pool_recorder(void)
{
#if defined(__x86_64__)
    const struct alq_pool_calls *calls;

    __asm__(".weak alq_pool_calls\n\t"
            "movq alq_pool_calls@GOTPCREL(%%rip), %0"
            : "=r"(calls));
    return calls;
#else
    extern const struct alq_pool_calls alq_pool_calls __attribute__((weak));

    return &alq_pool_calls;
#endif
}

/* alq_pool_allocated -- a block of a pool is in use from now on
 *
 * If the address is one of a block that the recorder knows, that one has ended.
 *
 * block    Its address; NULL is no block.
 * bytes    What was asked for.
 *
 * Threads  Any; in a signal handler that interrupts the recorder the block is
 *          not sampled.
 * GC       No effect. */
static inline void
alq_pool_allocated(struct alq_pool *pool, const void *block, size_t bytes)
{
    const struct alq_pool_calls *calls = alq_pool_recorder();

    if (calls != NULL)
        calls->allocated(pool, block, bytes);
}

/* alq_pool_freed -- a block is about to be free
 *
 * To be called before its place can be another block's.
 *
 * block    A block of the pool, or NULL.
 *
 * Threads  Any; not in a signal handler.
 * GC       No effect. */
static inline void
alq_pool_freed(struct alq_pool *pool, const void *block)
{
    const struct alq_pool_calls *calls = alq_pool_recorder();

    if (calls != NULL)
        calls->freed(pool, block);
}

/* alq_pool_reset -- all blocks of a pool are about to be free
 *
 * The pool may be used again, or its memory given back.
 *
 * Threads  Any; not in a signal handler, and no other call on the pool
 *          meanwhile.
 * GC       No effect. */
static inline void
alq_pool_reset(struct alq_pool *pool)
{
    if (pool->blocks != NULL)
        alq_pool_recorder()->reset(pool);
}

/* alq_pool_chunk_begin -- what malloc gives is memory of a pool from here on
 *
 * Until alq_pool_chunk_end neither malloc, mmap and their kin, nor free and
 * munmap are recorded of this thread.  A chunk that was allocated so is to be
 * freed so.  The two may nest; no exception may leave in between.
 *
 * Threads  The calling thread alone is meant.
 * GC       No effect. */
static inline void
alq_pool_chunk_begin(void)
{
    const struct alq_pool_calls *calls = alq_pool_recorder();

    if (calls != NULL)
        calls->chunk_begin();
}

/* alq_pool_chunk_end -- and no longer
 *
 * Threads  The calling thread alone is meant.
 * GC       No effect. */
static inline void
alq_pool_chunk_end(void)
{
    const struct alq_pool_calls *calls = alq_pool_recorder();

    if (calls != NULL)
        calls->chunk_end();
}

#ifdef __cplusplus
}
#endif
#endif
