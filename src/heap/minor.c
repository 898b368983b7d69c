/* minor.c -- a minor collection's steps, and a domain's memory for it
 *
 * prepare (one) -> share (each root set and remembered set) -> drain (each
 * worker) -> finish (each domain): the heap is empty and closed, and
 * minor_open.c opens it.
 *
 * Keeps .inv.remember: The remembered set, or if it is lost the whole major
 *   heap, has each field that holds a young value.
 * Keeps .inv.room: There is memory to promote all that is young.
 * Keeps .inv.queue: The work queue has a place for each young block. */
#include "heap/pool_class.h"
#include "heap/custom.h"
#include "heap/alloc_limit.h"
#include "heap/weak_phase.h"
#include "heap/minor.h"
#include "heap/minor_own.h"
#include "heap/observe_calls.h"
#include "heap/major_pace.h"
#include "heap/pin.h"
#include "heap/minor_promote.h"
#include "heap/minor_quota.h"
#include "heap/minor_remember.h"
#include "heap/root.h"
#include "heap/log.h"
#include "heap/major_sweep.h"
#include "plat/plat.h"
#include "plat/space.h"

/* ---- memory ------------------------------------------------------------- */

_Static_assert(sizeof(struct alqi_heap_range) == 2 * ALQ_WORD_BYTES,
               "a place for each block of two words");

/* The workers's queue: all domains' places, and more (.inv.queue). */
static bool
queue_grow(struct alqi_heap *heap)
{
    size_t n = ALQI_HEAP_WORKERS_PLACES;
    unsigned i;

    for (i = 0; i < heap->n_slots; i++)
        n += heap->domains[i]->sizes.max_bytes / sizeof(struct alqi_heap_range);
    return alqi_heap_queue_ready(&heap->young.workers.queue, n);
}

/* Untouched pages of it cost nothing. */
static bool
grey_open(struct alqi_domain *d)
{
    d->copy.grey = alqi_plat_pages_map(d->sizes.max_bytes);
    d->copy.grey_size =
        ALQI_HEAP_IS_HARD ? 1 : d->sizes.max_bytes / sizeof *d->copy.grey;
    return d->copy.grey != NULL;
}

bool
alqi_heap_minor_open(struct alqi_domain *d)
{
    if (!queue_grow(d->heap) || !grey_open(d))
        return false;
    if (!alqi_plat_space_commit((void *)d->sizes.base, d->sizes.max_bytes)) {
        alqi_plat_pages_unmap(d->copy.grey, d->sizes.max_bytes);
        return false;
    }
    d->young.start = d->young.end = d->sizes.base;
    d->pub.young_ptr = (char *)d->young.end;
    return true;
}

void
alqi_heap_minor_drop(struct alqi_domain *d)
{
    alqi_plat_pages_unmap(d->copy.grey, d->sizes.max_bytes);
    alqi_heap_custom_drop(d);
    if (alqi_heap_pin_is_free(d->heap, d->sizes.base,
                              d->sizes.base + ALQI_HEAP_MINOR_BYTES_MAX))
        alqi_plat_space_empty((void *)d->sizes.base, d->sizes.max_bytes);
}

bool
alqi_heap_minor_resize(struct alqi_domain *d, size_t words)
{
    uintptr_t before = d->sizes.max_bytes;
    struct alqi_heap_range *grey = d->copy.grey;
    size_t grey_size = d->copy.grey_size;

    ALQI_ASSERT(alqi_heap_minor_is_empty(d) && d->copy.n_grey == 0);
    d->sizes.max_bytes = words * ALQ_WORD_BYTES;
    if (!alqi_heap_minor_open(d)) {
        d->sizes.max_bytes = before;
        d->copy.grey = grey;
        d->copy.grey_size = grey_size;
        return false;
    }
    alqi_plat_pages_unmap(grey, before);
    return true;
}

size_t
alqi_heap_minor_need(uintptr_t young_bytes)
{
    /* A slot is at most 1.25 times its block (205 words in 257), a pool's slots
     * at least 0.94 of it. */
    size_t pools = young_bytes / ALQI_HEAP_POOL_BYTES;

    return pools + pools / 3 + 1;
}

/* ---- collection --------------------------------------------------------- */

static void
promote_root(void *arg, alq_value *slot)
{
    alqi_heap_promote(arg, slot);
}

static void
promote_fields(struct alqi_domain *d, alq_value block, uintptr_t header)
{
    size_t i, n = header >> ALQ_WOSIZE_SHIFT;

    if (!alqi_heap_is_scannable(header))
        return;
    for (i = 0; i < n; i++) {
        alqi_heap_promote(d, (alq_value *)block + i);
        if (alqi_heap_pin_is_active(d->heap))
            alqi_heap_pin_field(d, (alqi_heap_word *)block + i);
    }
}

/* A set is lost: the whole heap is read.  By one participant, before others
 * fill pools that this would read. */
static void
promote_lost(struct alqi_domain *self)
{
    self->heap->young.workers.n = 1;
    self->heap->young.is_remember_lost = false;
    alqi_heap_sweep_blocks(self, promote_fields);
}

void
alqi_heap_minor_alone(struct alqi_domain *d)
{
    size_t grey_size = d->copy.grey_size;

    ALQI_ASSERT(d->remembered.n == 0 && !d->remembered.lost);
    alqi_heap_alloc_limit_take(&d->requests.want_minor);
    d->copy.grey_size =
        d->sizes.max_bytes / sizeof *d->copy.grey; /* hard: not one */
    d->young.is_local = true;
    alqi_heap_roots_visit(d, true, promote_root, d);
    alqi_heap_promote_drain(d);
    d->young.is_local = false;
    d->copy.grey_size = grey_size;
    alqi_heap_minor_finish(d, d);
}

static void
poison(uintptr_t from, uintptr_t to)
{
    for (; from < to; from += ALQ_WORD_BYTES)
        *(alqi_heap_word *)from = ALQI_HEAP_POISON;
}

/* What is left of the blocks that have moved must not be read again. */
static void
forbid_old_places(struct alqi_domain *d)
{
    uintptr_t at = (uintptr_t)d->pub.young_ptr;
    struct alqi_heap_range retained;

    if (ALQI_CHECKS < 2 || at == d->young.end)
        return;
    if (ALQI_HEAP_IS_HARD &&
        !alqi_heap_pin_find(d->heap, d->young.start, d->young.end, &retained)) {
        alqi_plat_space_forbid((void *)d->young.start,
                               d->young.end - d->young.start);
        return;
    }
    while (alqi_heap_pin_find(d->heap, at, d->young.end, &retained)) {
        poison(at, retained.start);
        at = retained.end;
    }
    poison(at, d->young.end);
}

static void
keep_fields(struct alqi_domain *of)
{
    size_t i;

    if (alqi_heap_pin_is_active(of->heap))
        for (i = 0; i < of->remembered.n; i++)
            alqi_heap_pin_field(of, of->remembered.fields[i]);
}

void
alqi_heap_minor_prepare(struct alqi_domain *self, unsigned participants)
{
    if (self->heap->young.is_remember_lost)
        promote_lost(self);
    self->heap->young.workers.n = participants;
}

void
alqi_heap_minor_share(struct alqi_domain *self, struct alqi_domain *of)
{
    struct alqi_heap_remembered *r;

    if (of == NULL) {
        alqi_heap_roots_visit_common(self->heap, promote_root, self);
        r = &self->heap->pins.fields;
        alqi_heap_promote_each(self, r->fields, r->n);
        return;
    }
    alqi_heap_alloc_limit_take(
        &of->requests.want_minor); /* it is being served */
    if (!self->heap->young.is_any)
        return;
    if (alqi_heap_workers_is_shared(&self->heap->young.workers))
        alqi_heap_own_claim(self, of);
    r = &of->remembered;
    alqi_heap_roots_visit(of, true, promote_root, self);
    alqi_heap_promote_each(self, r->fields, r->n);
    of->sums.counts.remember_losses += r->lost;
    alqi_heap_weak_phase_promote(self, of);
}

void
alqi_heap_minor_drain(struct alqi_domain *self)
{
    alqi_heap_promote_drain(self);
}

void
alqi_heap_minor_finish(struct alqi_domain *self, struct alqi_domain *of)
{
    uintptr_t bytes = of->young.end - (uintptr_t)of->pub.young_ptr;

    alqi_heap_observed_after_minor(of);
    of->sums.counts.minor_words += bytes / ALQ_WORD_BYTES;
    of->sums.counts.minor_collections += bytes > 0;
    if (bytes > 0)
        of->pace.used_share = (double)bytes / (double)of->young.plan_bytes;
    alqi_heap_custom_after_minor(self, of);
    alqi_heap_own_end(of);
    keep_fields(of);
    alqi_heap_remember_clear(of);
    forbid_old_places(of);
    of->young.start = of->young.end;
    of->pub.young_ptr = (char *)of->young.end;
    of->young.slice_trigger = 0;
    of->observed.trigger = 0;
    alqi_heap_alloc_limit_reset(of);
}

/* Hard: the next chunk of the slice, so that the last ones stay forbidden. */
static void
place_hard(struct alqi_domain *d, uintptr_t bytes)
{
    uintptr_t start = d->young.end;

    for (;; start += bytes) {
        if (start + bytes > d->sizes.base + d->sizes.max_bytes)
            start = d->sizes.base;
        if (alqi_heap_pin_is_free(d->heap, start, start + bytes))
            break;
    }
    if (!alqi_plat_space_commit((void *)start, bytes))
        alqi_base_fail(__FILE__, __LINE__, "access allowed again");
    d->young.start = start;
    d->young.end = start + bytes;
}

void
alqi_heap_minor_begin(struct alqi_domain *d, uintptr_t bytes)
{
    if (ALQI_HEAP_IS_HARD) {
        place_hard(d, ALQI_HEAP_CHUNK_BYTES);
        d->young.plan_bytes = d->young.reach_bytes = ALQI_HEAP_CHUNK_BYTES;
    } else {
        uintptr_t begin = alqi_heap_quota_open(d, bytes);

        d->young.start = d->sizes.base + (d->young.reach_bytes - begin);
        if (alqi_heap_pin_has_retained(d->heap))
            alqi_heap_pin_room(d, bytes, &d->young.start);
        d->young.end = d->young.start + begin;
    }
    d->pub.young_ptr = (char *)d->young.end;
    alqi_heap_pace_open(d);
    alqi_heap_observed_draw(d);
    alqi_heap_limit_trigger_note_growth(d);
    alqi_heap_alloc_limit_reset(d);
}
