/* fake_heap.h -- for tests: a malloc that asks the engine as a preload does
 *
 * Blocks are the test program's own malloc blocks, so addresses come again as
 * they do in real programs.  The capture is a fake: frame i of the n-th capture
 * of a thread is FAKE_FRAME + i. */
#ifndef ALQI_KITS_MEMPROF_FAKE_HEAP_H
#define ALQI_KITS_MEMPROF_FAKE_HEAP_H

#include "memprof/engine.h"

enum { FAKE_DEPTH = 40, FAKE_CAPACITY = 64 };
#define FAKE_FRAME ((uintptr_t)0x1000)

struct fake_heap {
    struct alqi_memprof_domain *domain;
    _Atomic(uint64_t) stale_serial;
    _Atomic(uint64_t) delayed_freed;
};

struct fake_thread {
    struct alqi_memprof_thread t;
    struct fake_heap *heap;
    uint64_t left;         /* words until the next sampled one */
    uint64_t armed_serial; /* of heap->stale_serial            */
    uint64_t words;        /* all words allocated while IDLE   */
    void *in_hand;         /* the block being announced        */
    struct alqi_stack_cache *cache;
    uintptr_t frames[FAKE_CAPACITY];
};

bool fake_heap_try_open(struct fake_heap *h); /* false: no memory */
void fake_heap_open(struct fake_heap *h);
void fake_heap_close(struct fake_heap *h);
void fake_thread_open(struct fake_thread *f, struct fake_heap *h,
                      uint64_t seed);
void fake_thread_close(struct fake_thread *f);

void *fake_malloc(struct fake_thread *f, size_t bytes);
void fake_free(struct fake_thread *f, void *block);
/* `fail`: the real realloc says no. */
void *fake_realloc(struct fake_thread *f, void *block, size_t bytes, bool fail);

enum alq_status fake_start(struct fake_thread *f,
                           const struct alq_memprof_config *config,
                           const struct alq_tracker *tracker,
                           struct alq_profile **out);
enum alq_status fake_stop(struct fake_thread *f);

/* By thread tree.  `trees` is what alqi_memprof_trees_copy gave the creator. */
enum alq_status fake_tree_start(struct fake_thread *f,
                                const struct alq_memprof_config *config,
                                const struct alq_tracker *tracker,
                                struct alq_profile **out);
enum alq_status fake_tree_stop(struct fake_thread *f);
void fake_thread_open_in(struct fake_thread *f, struct fake_heap *h,
                         uint64_t seed, struct alqi_memprof_trees *trees);

#endif
