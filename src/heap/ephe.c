#include "heap/ephe.h"
#include "heap/mark.h"
#include "heap/weak.h"

/* Ephemerons ahead whose block, and whose key's and data's headers, are on
 * their way to the cache. */
enum { BLOCK_AHEAD = 16, KEY_AHEAD = 8 };

void
alqi_heap_ephe_darken(struct alqi_domain *d, alq_value v)
{
    if (!alqi_heap_mark_is_white(d, v))
        return;
    alqi_heap_mark_darken(d, v);
    d->live.weak.n_darkened++;
}

/* ---- one ephemeron ------------------------------------------------------ */

static inline void
fetch_block(alq_value ephe)
{
    __builtin_prefetch((void *)(ephe - ALQ_WORD_BYTES));
}

static inline void
fetch_values(alq_value ephe)
{
    __builtin_prefetch((void *)(alqi_heap_weak_read(ephe, 2) - ALQ_WORD_BYTES));
    __builtin_prefetch((void *)(alqi_heap_weak_read(ephe, ALQI_HEAP_EPHE_DATA) -
                                ALQ_WORD_BYTES),
                       1);
}

static bool
is_ready(struct alqi_domain *d, alq_value ephe)
{
    uintptr_t header = alqi_heap_header(ephe);
    uintptr_t field, n = header >> ALQ_WOSIZE_SHIFT;

    if ((header & ALQI_HEAP_COLOUR_MASK) == d->heap->unmarked)
        return false;
    for (field = alqi_heap_weak_keys(ALQI_HEAP_EPHE); field < n; field++)
        if (alqi_heap_mark_is_white(d, alqi_heap_weak_read(ephe, field)))
            return false;
    return true;
}

/* ---- passes ------------------------------------------------------------- */

static void
pass_enter(struct alqi_heap_ephe_pass *p)
{
    if (p->chunk != NULL)
        p->at = p->kept = p->backwards ? p->chunk->hi : p->chunk->lo;
}

static void
pass_begin(struct alqi_heap_weak *w, bool backwards)
{
    struct alqi_heap_ephe_pass *p = &w->pass;

    p->backwards = backwards;
    p->n_darkened = w->n_darkened;
    p->chunk =
        backwards ? w->old[ALQI_HEAP_EPHE].last : w->old[ALQI_HEAP_EPHE].first;
    pass_enter(p);
}

bool
alqi_heap_ephe_waits(const struct alqi_domain *d)
{
    const struct alqi_heap_weak_chunk *chunk;

    for (chunk = d->live.weak.old[ALQI_HEAP_EPHE].first; chunk != NULL;
         chunk = chunk->next)
        if (chunk->lo < chunk->hi)
            return true;
    return false;
}

void
alqi_heap_ephe_begin(struct alqi_domain *d)
{
    d->live.weak.pass.is_done = false;
    pass_begin(&d->live.weak, false);
}

bool
alqi_heap_ephe_is_done(const struct alqi_domain *d)
{
    const struct alqi_heap_ephe_pass *p = &d->live.weak.pass;

    return p->is_done && p->n_darkened == d->live.weak.n_darkened;
}

static inline void
swap(alq_value *a, alq_value *b)
{
    alq_value v = *a;

    *a = *b;
    *b = v;
}

/* At the chunk's end: those that still wait are from its border on. */
static void
pass_leave(struct alqi_heap_ephe_pass *p)
{
    struct alqi_heap_weak_chunk *chunk = p->chunk;

    if (p->backwards)
        chunk->lo = p->kept;
    else
        chunk->hi = p->kept;
    p->chunk = p->backwards ? chunk->prev : chunk->next;
    pass_enter(p);
}

/* Takes the next one of the chunk; it waits on at `kept`, or not. */
static inline alq_value
pass_forward(struct alqi_domain *d)
{
    struct alqi_heap_ephe_pass *p = &d->live.weak.pass;
    alq_value *blocks = p->chunk->blocks;
    uint32_t i = p->at++;
    alq_value ephe = blocks[i];

    if (i + BLOCK_AHEAD < p->chunk->hi)
        fetch_block(blocks[i + BLOCK_AHEAD]);
    if (i + KEY_AHEAD < p->chunk->hi)
        fetch_values(blocks[i + KEY_AHEAD]);
    if (is_ready(d, ephe))
        return ephe;
    swap(&blocks[p->kept++], &blocks[i]);
    return ALQ_NULL;
}

static inline alq_value
pass_backward(struct alqi_domain *d)
{
    struct alqi_heap_ephe_pass *p = &d->live.weak.pass;
    alq_value *blocks = p->chunk->blocks;
    uint32_t i = --p->at;
    alq_value ephe = blocks[i];

    if (i >= p->chunk->lo + BLOCK_AHEAD)
        fetch_block(blocks[i - BLOCK_AHEAD]);
    if (i >= p->chunk->lo + KEY_AHEAD)
        fetch_values(blocks[i - KEY_AHEAD]);
    if (is_ready(d, ephe))
        return ephe;
    swap(&blocks[--p->kept], &blocks[i]);
    return ALQ_NULL;
}

/* The next ephemeron, and all that its data lead to. */
static size_t
pass_step(struct alqi_domain *d, size_t budget_words)
{
    struct alqi_heap_ephe_pass *p = &d->live.weak.pass;
    alq_value ephe = p->backwards ? pass_backward(d) : pass_forward(d);

    if (ephe == ALQ_NULL)
        return 2;
    alqi_heap_ephe_darken(d, alqi_heap_weak_read(ephe, ALQI_HEAP_EPHE_DATA));
    if (alqi_heap_mark_is_done(d))
        return 3;
    return 3 + alqi_heap_mark(d, budget_words);
}

size_t
alqi_heap_ephe_mark(struct alqi_domain *d, size_t budget_words)
{
    struct alqi_heap_ephe_pass *p = &d->live.weak.pass;
    size_t done = 0;

    while (done < budget_words && alqi_heap_mark_is_done(d)) {
        if (p->chunk == NULL) {
            p->is_done = p->n_darkened == d->live.weak.n_darkened;
            if (p->is_done)
                break;
            pass_begin(&d->live.weak, !p->backwards);
        } else if (p->at == (p->backwards ? p->chunk->lo : p->chunk->hi)) {
            pass_leave(p);
        } else {
            done += pass_step(d, budget_words - done);
        }
    }
    return done;
}
