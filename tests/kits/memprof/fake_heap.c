#include <stdlib.h>

#include "kits/memprof/fake_heap.h"
#include "memprof/filter.h"

struct alqi_stack_result
alqi_stack_capture(struct alqi_stack_cache *cache,
                   const struct alqi_stack_regs *start, uintptr_t skip_lo,
                   uintptr_t skip_hi, uint32_t max_frames)
{
    static _Thread_local uintptr_t frames[FAKE_DEPTH];
    struct alqi_stack_result r = {.frames = frames};
    uint32_t n = FAKE_DEPTH < max_frames ? FAKE_DEPTH : max_frames;

    (void)start;
    (void)skip_lo;
    (void)skip_hi;
    cache->serial++;
    for (uint32_t i = 0; i < n; i++)
        frames[i] = FAKE_FRAME + i;
    r.n_frames = n;
    r.truncated = n < FAKE_DEPTH;
    return r;
}

static void
free_delayed(void *heap, void *block)
{
    struct fake_heap *h = heap;

    atomic_fetch_add(&h->delayed_freed, 1);
    free(block);
}

static void
triggers_stale(void *heap)
{
    struct fake_heap *h = heap;

    atomic_fetch_add(&h->stale_serial, 1);
}

static const struct alqi_memprof_subject subject = {
    .free_delayed = free_delayed,
    .triggers_stale = triggers_stale,
};

bool
fake_heap_try_open(struct fake_heap *h)
{
    h->stale_serial = 1;
    h->delayed_freed = 0;
    h->domain = alqi_memprof_domain_new(&subject, h, NULL);
    return h->domain != NULL;
}

void
fake_heap_open(struct fake_heap *h)
{
    if (!fake_heap_try_open(h))
        abort();
}

void
fake_heap_close(struct fake_heap *h)
{
    alqi_memprof_domain_end(h->domain);
}

void
fake_thread_open(struct fake_thread *f, struct fake_heap *h, uint64_t seed)
{
    f->heap = h;
    f->words = 0;
    f->in_hand = NULL;
    f->left = 0;
    f->armed_serial = 0;
    f->cache = calloc(1, sizeof *f->cache);
    f->cache->capacity = FAKE_CAPACITY;
    alqi_memprof_thread_init(&f->t, h->domain, f->cache, f->frames, seed);
}

void
fake_thread_close(struct fake_thread *f)
{
    alqi_memprof_thread_end(&f->t);
    free(f->cache);
}

static void
rearm(struct fake_thread *f)
{
    uint64_t serial = atomic_load(&f->heap->stale_serial);

    if (serial == f->armed_serial || f->t.mode != ALQI_MEMPROF_IDLE)
        return;
    f->armed_serial = serial;
    f->left = alqi_memprof_skip_words(&f->t);
}

static void
note_alloc(struct fake_thread *f, void *block, size_t bytes)
{
    uint64_t words = alqi_base_malloc_words(bytes);
    struct alqi_stack_regs regs = {1, 2, 3, false};

    if (f->t.mode != ALQI_MEMPROF_IDLE) {
        return; /* muted: does not run the countdown down */
    }
    rearm(f);
    f->words += words;
    if (f->left > words) {
        f->left -= words;
        return;
    }
    f->in_hand = block;
    f->left = alqi_memprof_sampled(&f->t, block, bytes, words - f->left, &regs);
    f->in_hand = NULL;
}

void *
fake_malloc(struct fake_thread *f, size_t bytes)
{
    void *block = malloc(bytes);

    if (block == NULL)
        abort();
    note_alloc(f, block, bytes);
    return block;
}

void
fake_free(struct fake_thread *f, void *block)
{
    if (alqi_memprof_filter_hit(block) && !alqi_memprof_freeing(&f->t, block))
        return;
    free(block);
}

void *
fake_realloc(struct fake_thread *f, void *block, size_t bytes, bool fail)
{
    struct alqi_memprof_entry *taken = NULL;
    bool ok = true;
    void *fresh;

    if (alqi_memprof_filter_hit(block))
        taken = alqi_memprof_realloc_begin(&f->t, block, &ok);
    fresh = fail ? NULL : realloc(block, bytes);
    if (!ok)
        return fresh;
    if (fresh == NULL) {
        alqi_memprof_realloc_failed(&f->t, taken);
        return NULL;
    }
    alqi_memprof_realloc_done(&f->t, taken);
    note_alloc(f, fresh, bytes);
    return fresh;
}

enum alq_status
fake_start(struct fake_thread *f, const struct alq_memprof_config *config,
           const struct alq_tracker *tracker, struct alq_profile **out)
{
    return alqi_memprof_start(f->heap->domain, &f->t, ALQI_MEMPROF_SLOT_USER,
                              config, tracker, out);
}

enum alq_status
fake_stop(struct fake_thread *f)
{
    return alqi_memprof_stop(f->heap->domain, &f->t, ALQI_MEMPROF_SLOT_USER);
}

enum alq_status
fake_tree_start(struct fake_thread *f, const struct alq_memprof_config *config,
                const struct alq_tracker *tracker, struct alq_profile **out)
{
    enum alq_status st = alqi_memprof_start(
        f->heap->domain, &f->t, ALQI_MEMPROF_SLOT_TREE, config, tracker, out);

    f->armed_serial = 0;
    return st;
}

enum alq_status
fake_tree_stop(struct fake_thread *f)
{
    return alqi_memprof_stop(f->heap->domain, &f->t, ALQI_MEMPROF_SLOT_TREE);
}

void
fake_thread_open_in(struct fake_thread *f, struct fake_heap *h, uint64_t seed,
                    struct alqi_memprof_trees *trees)
{
    fake_thread_open(f, h, seed);
    alqi_memprof_trees_adopt(&f->t, trees);
}
