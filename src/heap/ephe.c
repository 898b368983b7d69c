#include "heap/ephe.h"
#include "heap/ephe_wait.h"
#include "heap/mark.h"
#include "heap/weak.h"

/* Ephemerons ahead whose block, and whose key's and data's headers, are on
 * their way to the cache. */
enum { BLOCK_AHEAD = 16, KEY_AHEAD = 8 };

enum {
    PLAIN_PASSES = ALQI_HEAP_IS_HARD ? 1 : 3, /* before one takes notes */
    FIELDS_MAX = 8 /* of a datum that waiters are looked for */
};

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

/* What an ephemeron waits for; ALQ_NULL: nothing. */
static alq_value
awaited(struct alqi_domain *d, alq_value ephe)
{
    uintptr_t header = alqi_heap_header(ephe);
    uintptr_t field, n = header >> ALQ_WOSIZE_SHIFT;

    if ((header & ALQI_HEAP_COLOUR_MASK) == d->heap->unmarked)
        return ephe;
    for (field = alqi_heap_weak_keys(ALQI_HEAP_EPHE); field < n; field++) {
        alq_value key = alqi_heap_weak_read(ephe, field);

        if (alqi_heap_mark_is_white(d, key))
            return key;
    }
    return ALQ_NULL;
}

/* Looks at an ephemeron: whether it is ready.  Its data, if they were not
 * marked, are, now. */
static bool
settle(struct alqi_domain *d, alq_value ephe)
{
    struct alqi_heap_weak *w = &d->live.weak;
    alq_value data, key = awaited(d, ephe);

    if (key != ALQ_NULL) {
        if (w->pass.notes)
            alqi_heap_ephe_wait(&w->waits, ephe, key);
        return false;
    }
    data = alqi_heap_weak_read(ephe, ALQI_HEAP_EPHE_DATA);
    if (!alqi_heap_mark_is_white(d, data))
        return true;
    alqi_heap_ephe_darken(d, data);
    if (w->pass.notes)
        alqi_heap_ephe_wait_push(&w->waits, data);
    return true;
}

static void
settle_waiters(struct alqi_domain *d, alq_value block)
{
    alq_value ephe;

    if (!alq_is_block(block) || alqi_heap_mark_is_white(d, block))
        return;
    while ((ephe = alqi_heap_ephe_wait_take(&d->live.weak.waits, block)) !=
           ALQ_NULL)
        settle(d, ephe);
}

/* Those that waited for the datum, or for what its first fields lead to. */
static void
settle_behind(struct alqi_domain *d, alq_value data)
{
    uintptr_t header = alqi_heap_header(data);
    uintptr_t i, n = header >> ALQ_WOSIZE_SHIFT;

    settle_waiters(d, data);
    for (i = 0; i < n && i < FIELDS_MAX && alqi_heap_is_scannable(header); i++)
        settle_waiters(
            d, __atomic_load_n((alqi_heap_word *)data + i, ALQI_HEAP_DEPENDS));
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

    alqi_heap_ephe_wait_drop(&w->waits);
    p->notes = ++p->n_begun > PLAIN_PASSES;
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
    d->live.weak.pass.n_begun = 0;
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
static inline void
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
    if (!settle(d, ephe))
        swap(&blocks[p->kept++], &blocks[i]);
}

static inline void
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
    if (!settle(d, ephe))
        swap(&blocks[--p->kept], &blocks[i]);
}

/* The next ephemeron, or those behind a datum; and all that its data lead to.
 */
static size_t
pass_step(struct alqi_domain *d, size_t budget_words)
{
    struct alqi_heap_ephe_pass *p = &d->live.weak.pass;
    alq_value data = alqi_heap_ephe_wait_pop(&d->live.weak.waits);

    if (data != ALQ_NULL)
        settle_behind(d, data);
    else if (p->backwards)
        pass_backward(d);
    else
        pass_forward(d);
    if (alqi_heap_mark_is_done(d))
        return 2;
    return 2 + alqi_heap_mark(d, budget_words);
}

size_t
alqi_heap_ephe_mark(struct alqi_domain *d, size_t budget_words)
{
    struct alqi_heap_ephe_pass *p = &d->live.weak.pass;
    size_t done = 0;

    while (done < budget_words && alqi_heap_mark_is_done(d)) {
        if (p->chunk == NULL) {
            p->is_done = p->n_darkened == d->live.weak.n_darkened;
            if (p->is_done) {
                alqi_heap_ephe_wait_drop(&d->live.weak.waits);
                break;
            }
            pass_begin(&d->live.weak, !p->backwards);
        } else if (p->at == (p->backwards ? p->chunk->lo : p->chunk->hi) &&
                   d->live.weak.waits.n_data == 0) {
            pass_leave(p);
        } else {
            done += pass_step(d, budget_words - done);
        }
    }
    return done;
}
