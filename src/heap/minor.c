/* minor.c -- the steps of a minor collection, and the memory of a minor heap
 *
 *   prepare (one) -> share (each root set and remembered set) ->
 *   drain (each worker) -> finish (each domain)
 *
 * major_cycle.c has the barriers between them in a stop;
 * alqi_heap_minor_run_local runs them without.  Finish leaves a minor heap of
 * no bytes: minor_open.c.
 *
 * Keeps .inv.remember: Remembered sets are emptied when nothing is young.
 * Keeps .inv.room: alqi_heap_minor_need is the pools of the worst case.
 * Keeps .inv.queue: The queue grows before a minor heap does.
 * Keeps .inv.open: A minor heap is placed where its slice has memory. */
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

/* Makes the workers' queue as large as .inv.queue demands: a place for each
 * smallest block of all minor heaps, and PLACES more.  The lock is that of
 * stops, since all domains' sizes are read and the queue may be replaced. */
static bool
queue_grow_locked(struct alqi_heap *heap)
{
    size_t n = ALQI_HEAP_WORKERS_PLACES;
    unsigned i;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_HEAP_STOP));
    for (i = 0; i < heap->n_slots; i++)
        n += heap->domains[i]->sizes.max_bytes / sizeof(struct alqi_heap_range);
    return alqi_heap_queue_ready(&heap->young.workers.queue, n);
}

/* Maps the grey stack.  A grey range has two words, as the smallest block has,
 * so max_bytes are enough for a range for each block.  Pages that are never
 * touched cost nothing.  A hard build uses one entry, so that every range
 * overflows into the queue. */
static bool
grey_open(struct alqi_domain *d)
{
    d->copy.grey = alqi_plat_pages_map(d->sizes.max_bytes);
    d->copy.grey_size =
        ALQI_HEAP_IS_HARD ? 1 : d->sizes.max_bytes / sizeof *d->copy.grey;
    return d->copy.grey != NULL;
}

/* Makes the domain's slice accessible for sizes.max_bytes, with grey stack and
 * queue; false: nothing of the domain is mapped.  Leaves the minor heap empty
 * at the lower end of the slice. */
bool
alqi_heap_minor_open_locked(struct alqi_domain *d)
{
    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_HEAP_STOP));
    if (!queue_grow_locked(d->heap) || !grey_open(d))
        return false;
    if (!alqi_plat_space_commit((void *)d->sizes.base, d->sizes.max_bytes)) {
        alqi_plat_pages_unmap(d->copy.grey, d->sizes.max_bytes);
        return false;
    }
    d->young.start = d->young.end = d->sizes.base;
    d->pub.young_ptr = (char *)d->young.end;
    return true;
}

/* Gives the domain's young memory back; the domain ends.
 *
 * Retained blocks outlive the domain in its slice: while there are any the
 * whole slice keeps its memory. */
void
alqi_heap_minor_drop(struct alqi_domain *d)
{
    ALQI_ASSERT(alqi_heap_minor_is_empty(d)); /* .inv.open */
    alqi_plat_pages_unmap(d->copy.grey, d->sizes.max_bytes);
    alqi_heap_custom_drop(d);
    if (alqi_heap_pin_is_free(d->heap, d->sizes.base,
                              d->sizes.base + ALQI_HEAP_MINOR_BYTES_MAX))
        alqi_plat_space_empty((void *)d->sizes.base, d->sizes.max_bytes);
}

/* Makes room for a larger minor heap.
 *
 * Opens anew with the larger size, and only then drops the old grey stack: if
 * memory is short, the old size and stack are put back. */
bool
alqi_heap_minor_resize(struct alqi_domain *d, size_t words)
{
    uintptr_t before = d->sizes.max_bytes;
    struct alqi_heap_range *grey = d->copy.grey;
    size_t grey_size = d->copy.grey_size;

    ALQI_ASSERT(alqi_heap_minor_is_empty(d)); /* .inv.open */
    ALQI_ASSERT(d->copy.n_grey == 0);         /* .inv.lab */
    d->sizes.max_bytes = words * ALQ_WORD_BYTES;
    if (!alqi_heap_minor_open_locked(d)) {
        d->sizes.max_bytes = before;
        d->copy.grey = grey;
        d->copy.grey_size = grey_size;
        return false;
    }
    alqi_plat_pages_unmap(grey, before);
    return true;
}

/* The most pools that `young_bytes` of blocks fill when all survive, with one
 * that is not full. */
size_t
alqi_heap_minor_need(uintptr_t young_bytes)
{
    /* A slot is at most 1.25 times its block (205 words in 257), a pool's slots
     * at least 0.94 of it: 1.25 / 0.94 is less than 4/3. */
    size_t pools = young_bytes / ALQI_HEAP_POOL_BYTES;

    return pools + pools / 3 + 1;
}

/* ---- collection --------------------------------------------------------- */

/* A visitor of roots: `arg` is the worker. */
static void
promote_root(void *arg, alq_value *slot)
{
    alqi_heap_promote(arg, slot);
}

/* Promotes what a block of the major heap leads to.  For promote_lost alone:
 * the block is read though no remembered set names its fields. */
static void
promote_fields(struct alqi_domain *d, alq_value block, uintptr_t header)
{
    size_t i, n = header >> ALQ_WOSIZE_SHIFT;

    if (!alqi_heap_is_scannable(header))
        return;
    i = alqi_heap_raw_fields((const alqi_heap_word *)block, header);
    for (; i < n; i++) {
        alqi_heap_promote(d, (alq_value *)block + i);
        if (alqi_heap_pin_is_active(d->heap))
            alqi_heap_pin_field(d, (alqi_heap_word *)block + i);
    }
}

/* Reads the whole major heap, since a remembered set is lost.
 *
 * The leader does it alone, before the shares: the others would fill pools that
 * this reads.  Workers are set to one, so promotion needs no claims. */
static void
promote_lost(struct alqi_domain *self)
{
    self->heap->young.workers.n = 1;
    self->heap->young.is_remember_lost = false;
    alqi_heap_sweep_blocks_stw(self, promote_fields);
}

/* A whole minor collection by the domain for itself, while the others run.
 *
 * Requires .inv.private, and so an empty remembered set.  Only the domain's own
 * roots are visited.  The grey stack has its full size here, in hard builds,
 * too: the queue, which a full stack overflows into, is the workers' of a
 * stop. */
void
alqi_heap_minor_run_local(struct alqi_domain *d)
{
    size_t grey_size = d->copy.grey_size;

    ALQI_ASSERT(!alqi_base_rank_is_held_sigsafe(ALQI_RANK_HEAP_NOGC));
    ALQI_ASSERT(d->remembered.n == 0 && !d->remembered.lost); /* .inv.private */
    ALQI_ASSERT(d->young.is_helper && !d->young.has_quota);   /* .inv.room */
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

/* Writes over words that no block uses any more, in builds that check. */
static void
poison(uintptr_t from, uintptr_t to)
{
    for (; from < to; from += ALQ_WORD_BYTES)
        *(alqi_heap_word *)from = ALQI_HEAP_POISON;
}

/* Makes a read of a moved block's old place fail, or show poison.
 *
 * Hard builds take the access away, so the read faults; retained blocks lie in
 * the same pages, so with any of them the words between are poisoned
 * instead. */
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

/* Keeps the remembered fields that still hold a young value: a retained block.
 * Before the remembered set is emptied (.inv.retained). */
static void
keep_fields(struct alqi_domain *of)
{
    size_t i;

    if (alqi_heap_pin_is_active(of->heap))
        for (i = 0; i < of->remembered.n; i++)
            alqi_heap_pin_field(of, of->remembered.fields[i]);
}

/* The leader's step before the shares: recovers a lost remembered set, then
 * sets the number of workers, which turns claims on if there are several. */
void
alqi_heap_minor_prepare_stw(struct alqi_domain *self, unsigned participants)
{
    ALQI_ASSERT(alqi_heap_is_stopped(self->heap));
    /* .inv.queue: what the last collection has put in is taken out. */
    ALQI_ASSERT(alqi_heap_queue_n(&self->heap->young.workers.queue) == 0);
    /* .inv.round: and each worker has left it. */
    ALQI_ASSERT(self->heap->young.workers.n_idle == 0);
    if (self->heap->young.is_remember_lost)
        promote_lost(self);
    self->heap->young.workers.n = participants;
}

/* One share of the first step: `of`'s roots and remembered set, or with NULL
 * the roots that are the heap's own and the fields that hold retained blocks.
 *
 * The request for a minor collection is taken first: this collection serves it,
 * and a later one asks for the next.  If nothing is young in any domain, the
 * share has no more to do.  With several workers the claimer of the share
 * claims the minor heap, too, before it copies out of it (.inv.owned). */
void
alqi_heap_minor_share_stw(struct alqi_domain *self, struct alqi_domain *of)
{
    struct alqi_heap_remembered *r;

    ALQI_ASSERT(alqi_heap_is_stopped(self->heap));
    if (of == NULL) {
        alqi_heap_roots_visit_common_stw(self->heap, promote_root, self);
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
    alqi_heap_weak_phase_promote_stw(self, of);
}

/* The step of each worker: scans until no worker has anything left. */
void
alqi_heap_minor_drain_stw(struct alqi_domain *self)
{
    ALQI_ASSERT(alqi_heap_is_stopped(self->heap));
    alqi_heap_promote_drain(self);
}

/* Ends the collection for `of`; the caller `self` holds its share.
 *
 * The client and the custom blocks look at the old places first, which are
 * still intact.  Then the old places are forbidden, the remembered set is
 * emptied, and the minor heap has no bytes.  The counters take in what was
 * allocated: young.end - young_ptr means nothing from here on. */
void
alqi_heap_minor_finish(struct alqi_domain *self, struct alqi_domain *of)
{
    uintptr_t bytes = of->young.end - (uintptr_t)of->pub.young_ptr;

    alqi_heap_minor_check(of);
    ALQI_ASSERT(of->copy.n_grey == 0 && of->copy.dirty == 0); /* .inv.lab */
    alqi_heap_observed_after_minor(of);
    of->sums.counts.minor_words += bytes / ALQ_WORD_BYTES;
    of->sums.counts.minor_collections += bytes > 0;
    if (bytes > 0) /* with pieces of others it may be larger than planned */
        of->pace.used_share = bytes < of->young.plan_bytes
                                  ? (double)bytes / (double)of->young.plan_bytes
                                  : 1;
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

/* Hard: takes the next chunk of the slice that no retained block lies in, so
 * that the old places of several collections stay forbidden.  The loop ends: a
 * minor heap without such a chunk is fragmented, and is not opened. */
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

/* Opens the empty minor heap for `bytes`: places it, then places the triggers
 * of pacing, sampling and limits in it, and the limit last (.inv.limit).
 *
 * The first piece lies at the upper end of what the quota lets it reach, as
 * allocation moves down.  Retained blocks move the whole heap to the place that
 * pin_room finds for it. */
void
alqi_heap_minor_begin(struct alqi_domain *d, uintptr_t bytes)
{
    ALQI_ASSERT(alqi_heap_minor_is_empty(d)); /* .inv.open */
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
    alqi_heap_minor_check(d);
    /* .inv.room: all of it can be promoted. */
    ALQI_ASSERT(alqi_heap_minor_need(d->young.plan_bytes) <=
                d->young.promised_pools);
    /* .inv.retained: it is opened where no block stays. */
    ALQI_DEBUG(alqi_heap_pin_is_free(d->heap, d->young.start, d->young.end));
    alqi_heap_pace_open(d);
    alqi_heap_observed_draw(d);
    alqi_heap_limit_trigger_note_growth(d);
    alqi_heap_alloc_limit_reset(d);
}
