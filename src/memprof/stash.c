/* stash.c -- the saved stack of a deferred alloc callback
 *
 *     none --make--> nodes of the entry --take--> an array, until release
 *                          '--free--> none
 *
 * A stack is a chain of the pool's nodes, each with ALQI_STASH_FRAMES frames
 * but for the last.  The entry's word `stash` is the address of the first node
 * plus the number of frames in the last: nodes are aligned to words, which
 * leaves three bits. */
#include "memprof/pool.h"
#include "memprof/stash.h"

enum { STASH_COUNT = sizeof(uintptr_t) - 1 };

static struct alqi_memprof_stash *
stash_first(const struct alqi_memprof_entry *e)
{
    return (struct alqi_memprof_stash *)(e->stash & ~(uintptr_t)STASH_COUNT);
}

bool
alqi_stash_make(struct alqi_memprof_thread *t, struct alqi_memprof_entry *e,
                const uintptr_t *frames, size_t n_frames)
{
    struct alqi_memprof_stash *s = NULL;

    for (size_t i = 0; i < n_frames; i++) {
        if (i % ALQI_STASH_FRAMES == 0) {
            struct alqi_memprof_stash *fresh = alqi_pool_get(t);

            if (fresh == NULL) {
                alqi_stash_free(t, e);
                return false;
            }
            fresh->next = NULL;
            if (s != NULL)
                s->next = fresh;
            else
                e->stash = (uintptr_t)fresh;
            s = fresh;
            e->birth |= ALQI_BIRTH_STASH;
        }
        s->frames[i % ALQI_STASH_FRAMES] = frames[i];
    }
    if (n_frames > 0)
        e->stash += (n_frames - 1) % ALQI_STASH_FRAMES + 1;
    return true;
}

void
alqi_stash_free(struct alqi_memprof_thread *t, struct alqi_memprof_entry *e)
{
    struct alqi_memprof_stash *s = stash_first(e), *next;

    if (!(e->birth & ALQI_BIRTH_STASH))
        return;
    for (; s != NULL; s = next) {
        next = s->next;
        alqi_pool_put(t, s);
    }
    e->birth &= (uint8_t)~ALQI_BIRTH_STASH;
    e->stash = 0;
}

/* Counts the saved frames: the full nodes', and those of the last node, whose
 * number is in the low bits of `stash`. */
static size_t
stash_count(const struct alqi_memprof_entry *e)
{
    size_t n = e->stash & STASH_COUNT;

    if (!(e->birth & ALQI_BIRTH_STASH))
        return 0;
    for (const struct alqi_memprof_stash *s = stash_first(e); s->next != NULL;
         s = s->next)
        n += ALQI_STASH_FRAMES;
    return n;
}

const uintptr_t *
alqi_stash_take(struct alqi_memprof_thread *t, struct alqi_memprof_entry *e,
                size_t *n_frames)
{
    size_t n = stash_count(e), capacity = t->cache ? t->cache->capacity : 0;
    const struct alqi_memprof_stash *s = stash_first(e);
    uintptr_t *frames = t->frames;

    if (ALQI_UNLIKELY(n > capacity)) {
        frames = alqi_plat_pages_map(n * sizeof *frames);
        if (frames == NULL) {
            frames = t->frames;
            n = capacity;
        }
    }
    for (size_t i = 0; i < n; i++) {
        frames[i] = s->frames[i % ALQI_STASH_FRAMES];
        if (i % ALQI_STASH_FRAMES == ALQI_STASH_FRAMES - 1)
            s = s->next;
    }
    alqi_stash_free(t, e);
    *n_frames = n;
    return frames;
}

void
alqi_stash_release(struct alqi_memprof_thread *t, const uintptr_t *frames,
                   size_t n_frames)
{
    if (ALQI_UNLIKELY(frames != t->frames))
        alqi_plat_pages_unmap((void *)(uintptr_t)frames,
                              n_frames * sizeof *frames);
}
