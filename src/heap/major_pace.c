/* major_pace.c -- the pace of the major collector
 *
 * Allocation makes debt, in words of work; marking, sweeping and the work of
 * the weak phase pay it.  A debt that falls due is spread over slices of the
 * minor heap that opens next (major_smooth.c); what an idle domain cannot pay
 * goes to domains with work (passed_words).  This file also says when marking
 * begins, when a phase is late, and how many free pools go back to the system.
 *
 * Relies on .inv.grow: Debts are differences of counters.
 * Keeps .inv.pace: A slice is cut by time, but the cut grows once the cycle is
 *   late, so the heap is bounded. */
#include "heap/pool_area.h"
#include "heap/alloc_limit.h"
#include "heap/minor_size.h"
#include "heap/major_pace.h"
#include "heap/log.h"
#include "heap/stat_sums.h"
#include "plat/plat.h"

/* Shares of the allowed overhead: marking begins at MARK_AT and is to end
 * within MARK_IN more.  The rest of the way to 1 is for what a late phase still
 * allocates.  OCaml's programs are used to less memory than their space
 * overhead allows, so their marking begins earlier. */
#define MARK_AT (ALQI_HOSTS_OCAML ? 0.65 : 0.75)
#define MARK_IN 0.15
#define SWEPT_AT 0.8 /* of the way to MARK_AT */

enum {
    /* A smaller heap is treated as one of this size: cycles have fixed costs.
     */
    LIVE_LEAST_WORDS = ALQI_HEAP_IS_HARD ? 1 << 10 : 1 << 18,
    SLICE_WORDS = 4096,      /* of work: what a slice is meant to do */
    STEP_BYTES_LEAST = 8192, /* of young allocation between slices   */
    GIVE_POOLS = 16,         /* back to the system in a slice: some 20 us */
    DIRECT_SHARE = 5,        /* of the minor heap: asks for a slice  */
    DIRECT_BYTES = 512 << 10 /* of direct allocation are worth a slice's time */
};

/* Words that the domain has allocated in the major heap, ever.  Memory that
 * custom blocks hold counts as if it were the heap's. */
static uint64_t
allocated(const struct alqi_domain *d)
{
    return d->sums.counts.promoted_words + d->sums.counts.direct_words +
           d->sums.cost_words;
}

/* Words of work that the domain has done, ever.  Both sums only grow, so a
 * difference of two readings is what came in between. */
static uint64_t
worked(const struct alqi_domain *d)
{
    return d->sums.counts.marked_words + d->sums.counts.swept_words +
           d->sums.live_words;
}

/* Live words as the last marking found them, at least LIVE_LEAST_WORDS. */
static double
live_words(const struct alqi_heap *heap)
{
    uint64_t live = heap->pace.live_words;

    return (double)(live < LIVE_LEAST_WORDS ? LIVE_LEAST_WORDS : live);
}

double
alqi_heap_pace_allowed_words(const struct alqi_heap *heap)
{
    return live_words(heap) * (double)heap->tuning.control.space_overhead / 100;
}

static double
pools_words(const struct alqi_heap *heap)
{
    return (double)alqi_heap_area_used(&heap->area) * ALQI_HEAP_POOL_WORDS;
}

/* The work of a whole cycle, about: all that lives is marked, what weak
 * references lead to is found, all pools are swept. */
static double
cycle_words(const struct alqi_heap *heap)
{
    return live_words(heap) + (double)heap->pace.weak_words + pools_words(heap);
}

/* Words allocated by all domains: the heap's count, and what this domain has
 * allocated since it was last added.  What the others have allocated since then
 * is not known. */
static uint64_t
allocated_by_all(const struct alqi_domain *d)
{
    return __atomic_load_n(&d->heap->pace.counted_words, __ATOMIC_RELAXED) +
           allocated(d) - d->pace.counted_words;
}

/* Whether the words allocated since the last marking began have reached MARK_AT
 * of what is allowed. */
bool
alqi_heap_pace_is_due(const struct alqi_domain *d)
{
    return (double)(allocated_by_all(d) - d->heap->pace.marking_began) >=
           MARK_AT * alqi_heap_pace_allowed_words(d->heap);
}

bool
alqi_heap_pace_is_late(const struct alqi_domain *d)
{
    return allocated_by_all(d) > d->heap->pace.late_at;
}

/* ---- all domains, in a stop --------------------------------------------- */

/* Adds up what all domains have allocated.  At other times only the holder of a
 * domain may read its counters. */
void
alqi_heap_pace_count_stw(struct alqi_heap *heap)
{
    unsigned i;

    ALQI_ASSERT(alqi_heap_is_stopped(heap));
    alqi_heap_sums_publish_stw(heap);
    for (i = 0; i < heap->n_slots; i++)
        heap->domains[i]->pace.counted_words = allocated(heap->domains[i]);
    heap->pace.heap_words = heap->totals.at_stop.counts.promoted_words +
                            heap->totals.at_stop.counts.direct_words;
    /* .inv.grow: no domain's words are lost. */
    ALQI_ASSERT(heap->pace.heap_words + heap->totals.at_stop.cost_words >=
                heap->pace.counted_words);
    heap->pace.counted_words =
        heap->pace.heap_words + heap->totals.at_stop.cost_words;
}

/* Adds what the domain has allocated since the last count to the heap's count,
 * so that other domains see it before the next stop. */
void
alqi_heap_pace_count_local(struct alqi_domain *d)
{
    uint64_t now = allocated(d);

    ALQI_ASSERT(now >= d->pace.counted_words); /* .inv.grow */
    __atomic_fetch_add(&d->heap->pace.counted_words,
                       now - d->pace.counted_words, __ATOMIC_RELAXED);
    d->pace.counted_words = now;
}

/* Clears all debts, when a phase ends: the rate of the next phase has another
 * meaning, and work of a phase that has ended is done. */
static void
debts_clear(struct alqi_heap *heap)
{
    unsigned i;

    heap->pace.passed_words = 0;
    for (i = 0; i < heap->n_slots; i++) {
        struct alqi_domain *d = heap->domains[i];

        d->pace.debt_words = 0;
        d->pace.overdue_words = 0;
        alqi_heap_smooth_clear(&d->pace.smooth);
        d->pace.paid_words = allocated(d);
        d->pace.seen_work = worked(d);
    }
}

/* Sets the rate so that sweeping ends when SWEPT_AT of the way to the next
 * marking is gone.
 *
 * If marking took so long that no way is left, sweeping gets as much as marking
 * has (MARK_IN): a rate without bound would stop the program. */
static void
sweep_begins(struct alqi_heap *heap)
{
    struct alqi_heap_pace_common *p = &heap->pace;
    /* More than there is: else a heap without pools is never swept. */
    double words =
        pools_words(heap) + (double)heap->large.n + ALQI_HEAP_POOL_WORDS;
    double left = MARK_AT * alqi_heap_pace_allowed_words(heap) -
                  (double)(p->counted_words - p->marking_began);
    double least = MARK_IN * alqi_heap_pace_allowed_words(heap);

    if (left < least)
        left = least;
    p->rate = words / (SWEPT_AT * left);
    p->late_at = p->counted_words + (uint64_t)left;
}

/* Sets the rate so that marking ends within MARK_IN.  Two words of work more
 * for each allocated word: what is promoted during marking is marked too, and
 * swept later.  Late is twice the way. */
static void
mark_begins(struct alqi_heap *heap)
{
    struct alqi_heap_pace_common *p = &heap->pace;
    double way = MARK_IN * alqi_heap_pace_allowed_words(heap);

    ALQI_ASSERT(p->counted_words >= p->marking_began); /* .inv.grow */
    p->marking_began = p->counted_words;
    p->heap_before = p->heap_words;
    p->marked_before = heap->totals.at_stop.counts.marked_words;
    p->weak_before = heap->totals.at_stop.live_words;
    p->rate = (double)(p->live_words + p->weak_words) / way + 2;
    p->late_at = p->counted_words + (uint64_t)(2 * way);
}

/* Pools that minor heaps may need soon.  Those promised to participants of a
 * minor collection are left out: a participant hardly ever takes its pools, and
 * they need no memory before. */
static size_t
promised(const struct alqi_heap_area *area)
{
    ALQI_ASSERT(area->n_promised >= ALQI_HEAP_WORKER_POOLS); /* .inv.room */
    return area->n_promised - ALQI_HEAP_WORKER_POOLS;
}

/* Free pools with memory that this cycle will not need, as it looks now: more
 * than what minor heaps are promised, and than what may be allocated until
 * marking is to end. */
static size_t
surplus(const struct alqi_heap *heap)
{
    const struct alqi_heap_area *area = &heap->area;
    size_t have = area->n_free - area->n_returned;
    size_t keep = promised(area);
    double left = (MARK_AT + MARK_IN) * alqi_heap_pace_allowed_words(heap) -
                  (double)(heap->pace.counted_words - heap->pace.marking_began);

    if (left > 0)
        keep += (size_t)(left / ALQI_HEAP_POOL_WORDS);
    return have > keep ? have - keep : 0;
}

/* The part of the surplus that nobody has needed for a whole cycle.  A page
 * that the system takes and gives again costs more than one that stays for a
 * while. */
static size_t
idle_surplus(struct alqi_heap *heap)
{
    size_t idle = alqi_heap_area_idle(&heap->area), n = surplus(heap);

    return idle < n ? idle : n;
}

/* Sets rate, lateness and surplus for the phase that begins.
 *
 * After a marking the live words are those that were marked, and those that
 * were born marked meanwhile, which are heap_words since it began. */
void
alqi_heap_pace_phase_stw(struct alqi_heap *heap)
{
    struct alqi_heap_pace_common *p = &heap->pace;

    ALQI_ASSERT(alqi_heap_is_stopped(heap));
    alqi_heap_pace_count_stw(heap);
    switch (heap->cycle.phase) {
    case ALQI_HEAP_SWEEP: /* a marking has ended */
        ALQI_ASSERT(heap->totals.at_stop.counts.marked_words >=
                    p->marked_before); /* .inv.grow */
        p->live_words = heap->totals.at_stop.counts.marked_words -
                        p->marked_before + (p->heap_words - p->heap_before);
        p->weak_words = heap->totals.at_stop.live_words - p->weak_before;
        sweep_begins(heap);
        break;
    case ALQI_HEAP_SWEPT:
        heap->area.n_surplus = idle_surplus(heap);
        p->rate = 0;
        p->late_at = UINT64_MAX;
        break;
    case ALQI_HEAP_MARK:
        mark_begins(heap);
        break;
    }
    debts_clear(heap);
}

/* ---- memory given back -------------------------------------------------- */

static void
give_back(struct alqi_domain *d, size_t n_pools)
{
    d->sums.counts.returned_bytes +=
        alqi_heap_area_return(&d->heap->area, n_pools) * ALQI_HEAP_POOL_BYTES;
}

/* Gives back some pools of the surplus, and once a cycle what the minor heap
 * has touched beyond its size.  At the end of a slice, so a few pools at a
 * time. */
void
alqi_heap_pace_give_some(struct alqi_domain *d)
{
    if (__atomic_load_n(&d->heap->area.n_surplus, __ATOMIC_RELAXED) > 0)
        give_back(d, GIVE_POOLS);
    if (d->pace.trimmed_in == d->sums.counts.major_cycles)
        return;
    d->pace.trimmed_in = d->sums.counts.major_cycles;
    d->sums.counts.returned_bytes += alqi_heap_minor_size_trim(d);
}

static void
give_surplus(struct alqi_domain *d)
{
    d->sums.counts.returned_bytes +=
        alqi_heap_area_return_surplus(&d->heap->area) * ALQI_HEAP_POOL_BYTES;
}

/* Gives back the whole surplus at once, at the end of an explicit collection:
 * the caller waits for that. */
void
alqi_heap_pace_give_all_stw(struct alqi_domain *d)
{
    ALQI_ASSERT(alqi_heap_is_stopped(d->heap));
    d->heap->area.n_surplus = surplus(d->heap);
    give_surplus(d);
}

void
alqi_heap_pace_give_later(struct alqi_heap *heap)
{
    heap->area.n_surplus = surplus(heap);
}

/* Gives back all free pools but those that minor heaps are promised: after a
 * compaction that was asked for, with which the program wants its memory
 * back. */
void
alqi_heap_pace_give_unpromised_stw(struct alqi_domain *d)
{
    struct alqi_heap_area *area = &d->heap->area;
    size_t have = area->n_free - area->n_returned;

    ALQI_ASSERT(alqi_heap_is_stopped(d->heap));
    ALQI_ASSERT(area->n_returned <= area->n_free); /* .inv.pools */
    area->n_surplus = have > promised(area) ? have - promised(area) : 0;
    give_surplus(d);
}

/* ---- slices ------------------------------------------------------------- */

/* Words of work for what was allocated since the debt was last brought up to
 * date. */
static double
asked_words(const struct alqi_domain *d)
{
    ALQI_ASSERT(allocated(d) >= d->pace.paid_words); /* .inv.grow */
    return (double)(allocated(d) - d->pace.paid_words) * d->heap->pace.rate;
}

/* Words of work that the domain has still to do; negative: work done ahead. */
static double
debt_words(const struct alqi_domain *d)
{
    const struct alqi_heap_pace *p = &d->pace;

    ALQI_ASSERT(worked(d) >= p->seen_work); /* .inv.grow */
    return p->debt_words + asked_words(d) - (double)(worked(d) - p->seen_work);
}

/* Brings the debt up to date.  A domain that has work takes over what idle
 * domains have passed on.  All of it goes to the first one that comes: its
 * slices are spread, and others get what is passed on later. */
static void
debt_update(struct alqi_domain *d)
{
    struct alqi_heap_pace *p = &d->pace;

    p->debt_words = debt_words(d);
    p->paid_words = allocated(d);
    p->seen_work = worked(d);
    if (!__atomic_load_n(&d->done, __ATOMIC_RELAXED) &&
        __atomic_load_n(&d->heap->pace.passed_words, __ATOMIC_RELAXED) > 0)
        p->debt_words += (double)__atomic_exchange_n(
            &d->heap->pace.passed_words, 0, __ATOMIC_RELAXED);
}

void
alqi_heap_pace_window(struct alqi_domain *d)
{
    unsigned window = (unsigned)d->heap->tuning.control.window_size;

    if (d->pace.smooth.window != window)
        alqi_heap_smooth_resize(&d->pace.smooth, window);
}

/* Puts a part of what promotion asks for off to later minor heaps, but nothing
 * when the phase is late.
 *
 * The buckets hold shares of a cycle rather than words, so they stay valid when
 * the heap's size changes.  The part that falls due now takes the place of what
 * promotion has asked for. */
static void
smooth(struct alqi_domain *d)
{
    struct alqi_heap_pace *p = &d->pace;
    double cycle = cycle_words(d->heap), asked = asked_words(d), now;
    bool is_late = alqi_heap_pace_is_late(d);

    alqi_heap_pace_window(d);
    now = alqi_heap_smooth_open(&p->smooth, asked / cycle, p->used_share,
                                is_late);
    p->debt_words += now * cycle - asked;
    p->used_share = 0;
}

/* Where the minor heap begins once it is as large as planned: a minor heap may
 * be opened smaller and grow downwards (minor_quota.h).  One that is closed has
 * no promised pools. */
static uintptr_t
plan_start(const struct alqi_domain *d)
{
    return d->young.promised_pools == 0 ? d->young.end
                                        : d->young.end - d->young.plan_bytes;
}

/* Sets the address in the minor heap at which the next slice is due; 0: none
 * before the minor heap is full. */
static void
next_slice(struct alqi_domain *d)
{
    uintptr_t at = (uintptr_t)d->pub.young_ptr;
    uintptr_t step = d->pace.step_bytes;

    d->young.slice_trigger = at > plan_start(d) + step ? at - step : 0;
}

/* Requests a slice of each domain that has work and runs.  Such a domain may
 * not allocate, so neither a slice of its own nor a minor collection would ever
 * come.  The states are read without a lock: one slice too many or too few does
 * no harm. */
static void
ask_others(struct alqi_domain *d)
{
    struct alqi_heap *heap = d->heap;
    unsigned i, n = __atomic_load_n(&heap->n_slots, __ATOMIC_ACQUIRE);

    for (i = 0; i < n; i++) {
        struct alqi_domain *of = heap->domains[i];

        if (of != d && !__atomic_load_n(&of->done, __ATOMIC_RELAXED) &&
            __atomic_load_n(&of->state, __ATOMIC_RELAXED) == ALQI_HEAP_RUNNING)
            alqi_heap_alloc_limit_request(of, &of->requests.want_slice);
    }
}

/* Passes the debt on to domains that have work, when nothing is left to do
 * here.  The own slices become rare until the next minor heap.  A credit is
 * lost: the phase is nearly over for this domain. */
void
alqi_heap_pace_pass_on(struct alqi_domain *d)
{
    struct alqi_heap_pace *p = &d->pace;

    debt_update(d);
    if (p->debt_words > 0)
        __atomic_fetch_add(&d->heap->pace.passed_words, (uint64_t)p->debt_words,
                           __ATOMIC_RELAXED);
    if (__atomic_load_n(&d->heap->pace.passed_words, __ATOMIC_RELAXED) >
        SLICE_WORDS)
        ask_others(d);
    p->debt_words = 0;
    p->step_bytes = d->young.plan_bytes / 4;
    next_slice(d);
}

/* Notes what the slices of the last minor heap have left: they may not all have
 * come, or were cut.  If it is more than a slice's work, or pools wait to be
 * given back, a slice is requested at once. */
static void
overdue_update(struct alqi_domain *d)
{
    struct alqi_heap_pace *p = &d->pace;
    double left = p->debt_words - (double)(worked(d) - p->seen_work);

    p->overdue_words = left > 0 ? left : 0;
    if (left > SLICE_WORDS ||
        __atomic_load_n(&d->heap->area.n_surplus, __ATOMIC_RELAXED) > 0)
        __atomic_store_n(&d->requests.want_slice, true, __ATOMIC_RELAXED);
}

/* Plans the slices of the minor heap that was just opened.
 *
 * Their number is the debt in units of SLICE_WORDS, and they are spread evenly;
 * at least one, in the middle.  They are never closer than STEP_BYTES_LEAST,
 * however large the debt: then each does more.  The sizes of the minor heap
 * that were ever in use are noted here, too, for trimming. */
void
alqi_heap_pace_open(struct alqi_domain *d)
{
    uintptr_t bytes = d->young.plan_bytes;
    uintptr_t most = bytes / STEP_BYTES_LEAST;
    double n;

    if (d->young.end - d->sizes.base > d->sizes.widest_bytes)
        d->sizes.widest_bytes = d->young.end - d->sizes.base;
    if (d->sizes.widest_bytes > d->sizes.touched_bytes)
        d->sizes.touched_bytes = d->sizes.widest_bytes;
    ALQI_ASSERT(d->sizes.touched_bytes <= d->sizes.max_bytes); /* .inv.open */
    d->remembered.enough = bytes / ALQ_WORD_BYTES;
    overdue_update(d);
    smooth(d);
    debt_update(d);
    n = d->pace.debt_words / SLICE_WORDS;
    if (n > (double)most)
        n = (double)most;
    d->pace.step_bytes = bytes / (n < 1 ? 2 : (uintptr_t)n + 1);
    ALQI_ASSERT(d->pace.step_bytes > 0); /* .inv.pace: some slice is planned */
    next_slice(d);
}

/* The part of the debt that this slice pays: an equal part for each slice until
 * the minor heap is full.
 *
 * All that is overdue is paid, and all of what direct allocation brought: a
 * program that allocates large blocks alone may have no other slice. */
static size_t
due_words(struct alqi_domain *d)
{
    uintptr_t at = (uintptr_t)d->pub.young_ptr, end = plan_start(d);
    uintptr_t n = at > end ? (at - end) / d->pace.step_bytes : 0;
    double all = d->pace.debt_words;
    double words = all / (double)(n < 1 ? 1 : n);
    double at_once = (double)d->pace.direct_since_slice * d->heap->pace.rate +
                     d->pace.overdue_words;

    if (at_once > words)
        words = at_once < all ? at_once : all;
    return words > 0 ? (size_t)words : 0;
}

/* Nanoseconds that this slice may take: slice_us, and more for much direct
 * allocation.  A late phase gets a slice's time for each percent of what is
 * allowed, so that the debt gets paid at last (.inv.pace). */
static uint64_t
due_ns(const struct alqi_domain *d)
{
    const struct alqi_heap_pace_common *p = &d->heap->pace;
    double slices =
        1 + (double)d->pace.direct_since_slice * ALQ_WORD_BYTES / DIRECT_BYTES;

    if (alqi_heap_pace_is_late(d))
        slices += 100 * (double)(allocated_by_all(d) - p->late_at) /
                  alqi_heap_pace_allowed_words(d->heap);
    return (uint64_t)(slices * 1000 * d->heap->cycle.slice_us);
}

/* Plans a slice: words of work and when it ends.  A request by the program is
 * not cut by time, nor is a slice so small that it need not read the clock. */
struct alqi_heap_share
alqi_heap_pace_slice(struct alqi_domain *d, size_t asked)
{
    struct alqi_heap_share share = {asked, UINT64_MAX};

    debt_update(d);
    if (asked == 0) {
        share.words = due_words(d);
        if (share.words > SLICE_WORDS)
            share.until_ns = alqi_plat_mono_ns_sigsafe() + due_ns(d);
    }
    ALQI_HEAP_LOG(d->heap, ALQ_GC_LOG_SLICES,
                  "slice: %zu words of work are due, of %.0f in debt, %.0f "
                  "overdue, rate %.2f",
                  share.words, d->pace.debt_words, d->pace.overdue_words,
                  d->heap->pace.rate);
    d->pace.direct_since_slice = 0;
    d->pace.overdue_words = 0;
    next_slice(d);
    return share;
}

/* Whether the slice's time is over; counts the slices that are cut.  What is
 * left stays in the debt. */
bool
alqi_heap_pace_is_over(struct alqi_domain *d,
                       const struct alqi_heap_share *share)
{
    if (share->until_ns == UINT64_MAX ||
        alqi_plat_mono_ns_sigsafe() < share->until_ns)
        return false;
    d->sums.counts.slices_cut++;
    return true;
}

/* ---- in advance --------------------------------------------------------- */

/* Words of work for a slice in advance: all that is due, or a part of the cycle
 * as large as n_words is of what may be allocated in one cycle. */
size_t
alqi_heap_pace_advance(struct alqi_domain *d, size_t n_words)
{
    double allowed = alqi_heap_pace_allowed_words(d->heap);
    double share = (double)n_words / allowed;
    double debt = debt_words(d);

    if (n_words == 0)
        return debt > 0 ? (size_t)debt : 0;
    return (size_t)((share < 1 ? share : 1) * cycle_words(d->heap)) + 1;
}

/* Share of a cycle's work that is due now (i = 0), or i minor heaps later. */
double
alqi_heap_pace_bucket(const struct alqi_domain *d, unsigned i)
{
    double debt = debt_words(d);

    if (i > 0)
        return alqi_heap_smooth_later(&d->pace.smooth, i);
    return debt > 0 ? debt / cycle_words(d->heap) : 0;
}

/* Share of a cycle's work that was done ahead, from 0 to 1. */
double
alqi_heap_pace_credit(const struct alqi_domain *d)
{
    double share = -debt_words(d) / cycle_words(d->heap);

    return share < 0 ? 0 : share < 1 ? share : 1;
}

/* Counts words allocated in the major heap directly, and requests a slice when
 * they are a DIRECT_SHARE-th of the minor heap's size: such words bring the
 * minor heap's next slice no nearer. */
void
alqi_heap_pace_direct(struct alqi_domain *d, uint64_t words)
{
    d->pace.direct_since_slice += words;
    if (d->pace.direct_since_slice >
            alqi_heap_minor_size_bytes(d) / ALQ_WORD_BYTES / DIRECT_SHARE &&
        !__atomic_load_n(&d->requests.want_slice, __ATOMIC_RELAXED))
        alqi_heap_alloc_limit_request(d, &d->requests.want_slice);
}
