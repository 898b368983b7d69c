/* stat.c -- struct alq_gc_stats, and the size of the heap
 *
 * Quick: counters of the caller up to date, and of the other domains as of the
 * last stop.  Full: a stop in which its leader walks all pools and large
 * blocks.  At the end of the heap, or when the process exits before, a report
 * is written if asked for, by whoever takes `alive` first.
 *
 * Keeps .inv.words: heap_words = live + free + fragments. */
#include <inttypes.h>
#include <stdio.h>

#include "heap/pool_area.h"
#include "heap/pool_class.h"
#include "heap/large.h"
#include "heap/pool.h"
#include "heap/log.h"
#include "heap/stat.h"
#include "heap/stop.h"
#include "heap/stat_sums.h"
#include "heap/domain_thread.h"
#include "plat/stack.h"

/* ---- counters ----------------------------------------------------------- */

/* Words allocated in the open minor heap, which no counter has yet. */
static uint64_t
open_words(const struct alqi_domain *d)
{
    return (d->young.end - (uintptr_t)d->pub.young_ptr) / ALQ_WORD_BYTES;
}

/* Words that the domain has allocated in its minor heap, up to date.  By the
 * thread that runs it. */
uint64_t
alqi_heap_stat_minor_words(const struct alqi_domain *d)
{
    return d->sums.counts.minor_words + open_words(d);
}

/* Counters as the program sees them: promotion counts slots, so what they
 * exceed the blocks by is taken off. */
static struct alq_gc_counts
counts_of(struct alqi_heap_sums sums)
{
    struct alq_gc_counts c = sums.counts;

    c.promoted_words -= sums.slack_words;
    c.major_words = c.promoted_words + c.direct_words;
    return c;
}

/* Counters of one domain, up to date.  By the thread that runs it. */
void
alqi_heap_stat_counts(const struct alqi_domain *d, struct alq_gc_counts *out)
{
    *out = counts_of(d->sums);
    out->minor_words = alqi_heap_stat_minor_words(d);
    out->heap_bytes =
        alqi_heap_area_used(&d->heap->area) * ALQI_HEAP_POOL_BYTES +
        alqi_heap_large_bytes(d->heap);
}

/* Large blocks of the heap; other threads may be adding some. */
static uint64_t
n_large(const struct alqi_heap *heap)
{
    return __atomic_load_n(&heap->large.n, __ATOMIC_RELAXED);
}

/* Words of the heap: pools that have memory, and large blocks.  The largest
 * size so far is brought up to date; of several threads at once one logs
 * that. */
uint64_t
alqi_heap_stat_words(struct alqi_heap *heap)
{
    uint64_t pools = alqi_heap_area_backed(&heap->area);
    uint64_t words = pools * ALQI_HEAP_POOL_WORDS +
                     alqi_heap_large_bytes(heap) / ALQ_WORD_BYTES;
    uint64_t top = __atomic_load_n(&heap->totals.top_words, __ATOMIC_RELAXED);

    while (words > top)
        if (__atomic_compare_exchange_n(&heap->totals.top_words, &top, words,
                                        true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED)) {
            ALQI_HEAP_LOG(heap, ALQ_GC_LOG_GROW,
                          "the heap grows from %" PRIu64 " to %" PRIu64
                          " words (%" PRIu64 " pools, %" PRIu64
                          " large blocks)",
                          top, words, pools, n_large(heap));
            break;
        }
    return words;
}

/* A counter that a stop may be writing. */
static uint64_t
number(const uint64_t *n)
{
    return __atomic_load_n(n, __ATOMIC_RELAXED);
}

/* The statistics that need no look at blocks.  Counters of collections are the
 * heap's, the others come from c. */
static struct alq_gc_stats
stat_of(struct alqi_heap *heap, struct alq_gc_counts c)
{
    struct alq_gc_stats s = {
        .minor_words = c.minor_words,
        .promoted_words = c.promoted_words,
        .major_words = c.major_words,
        .minor_collections =
            number(&heap->young.n_minors) + number(&heap->young.n_local_minors),
        .major_collections = number(&heap->cycle.n),
        .heap_words = alqi_heap_stat_words(heap),
        .heap_chunks = alqi_heap_area_backed(&heap->area) + n_large(heap),
        .compactions = number(&heap->compact.n),
        .forced_major_collections = c.forced_majors,
    };

    s.top_heap_words =
        __atomic_load_n(&heap->totals.top_words, __ATOMIC_RELAXED);
    return s;
}

/* Statistics without a stop.  By the thread that runs d. */
void
alqi_heap_stat_quick(struct alqi_domain *d, struct alq_gc_stats *out)
{
    uintptr_t used, all;

    *out = stat_of(d->heap, counts_of(alqi_heap_sums_all(d)));
    out->minor_words += open_words(d);
    alqi_plat_stack(&used, &all);
    out->stack_size = used / ALQ_WORD_BYTES;
}

/* ---- a look at each block ----------------------------------------------- */

/* Counts a piece of free memory.  Neighbours are not put together, so the
 * largest one is a whole pool or a large block at most. */
static void
piece(struct alq_gc_stats *s, uint64_t words)
{
    s->free_words += words;
    s->free_blocks++;
    if (words > s->largest_free)
        s->largest_free = words;
}

/* Counts a slot of a pool, or a large block, of so many words.  A dead block is
 * as good as free: the next sweep finds it.  What the slot exceeds its block by
 * is a fragment. */
static void
block(const struct alqi_domain *d, struct alq_gc_stats *s, uintptr_t header,
      uint64_t words)
{
    if (header == 0 ||
        alqi_heap_colour(header) == d->heap->cycle.colours.garbage) {
        piece(s, words);
        return;
    }
    s->live_blocks++;
    s->live_words += alqi_heap_words(header);
    s->fragments += words - alqi_heap_words(header);
}

/* Counts the slots of a pool; its head and the rest behind the last slot are
 * fragments.  Free pools are counted in look(), since the system may have their
 * memory. */
static void
pool(const struct alqi_domain *d, struct alq_gc_stats *s, size_t index)
{
    const struct alqi_heap_area *area = &d->heap->area;
    struct alqi_heap_pool *p = alqi_heap_area_pool(area, index);
    const alqi_heap_word *slot = alqi_heap_pool_slots(p);
    unsigned c, i, words, n;

    if (area->kinds[index] == 0)
        return; /* counted otherwise: the system may have its memory */
    c = alqi_heap_area_class(area, (uintptr_t)p);
    words = alqi_heap_class_words[c];
    n = alqi_heap_class_slots(c);
    for (i = 0; i < n; i++)
        block(d, s, slot[(size_t)i * words], words);
    s->fragments += ALQI_HEAP_POOL_WORDS - (uint64_t)n * words;
}

/* Counts a list of large blocks; the link of each is a fragment. */
static void
large(const struct alqi_domain *d, struct alq_gc_stats *s,
      const struct alqi_heap_large *l)
{
    for (; l != NULL; l = l->next) {
        block(d, s, l->header, alqi_heap_words(l->header));
        s->fragments += ALQI_HEAP_LARGE_LINK_WORDS;
    }
}

/* Walks all blocks.  By the leader of a stop, when the counters of all domains
 * are in place.  Free pools count as far as they have memory (.inv.words). */
static void
look(struct alqi_domain *leader)
{
    struct alq_gc_stats *s = leader->stop_arg;
    struct alqi_heap *heap = leader->heap;
    size_t i;

    alqi_heap_sums_publish_stw(heap);
    alqi_heap_stat_quick(leader, s);
    for (i = 0; i < heap->area.n_frontier; i++)
        pool(leader, s, i);
    for (i = alqi_heap_area_used(&heap->area);
         i < alqi_heap_area_backed(&heap->area); i++)
        piece(s, ALQI_HEAP_POOL_WORDS);
    for (i = 0; i < heap->n_slots; i++) {
        struct alqi_domain *d = heap->domains[i];

        if (d != leader && alqi_heap_is_there(d))
            s->minor_words += open_words(d);
        large(leader, s, d->large.all);
        large(leader, s, d->large.unswept);
    }
    ALQI_ASSERT(s->heap_words ==
                s->live_words + s->free_words + s->fragments); /* .inv.words */
}

/* Ends the stop after its only step. */
static const struct alqi_heap_stop_work *
looked(struct alqi_domain *self)
{
    (void)self;
    return NULL;
}

/* Statistics with a look at each block.  The leader's whole work is in `begin`;
 * there is no share. */
void
alqi_heap_stat(struct alqi_domain *d, struct alq_gc_stats *out)
{
    static const struct alqi_heap_stop_work work = {.begin = look,
                                                    .last = looked};

    d->stop_arg = out;
    while (!alqi_heap_stop_try(d, &work))
        continue;
}

/* ---- text --------------------------------------------------------------- */

/* Decimal digits of the number. */
static int
width_of(uint64_t n)
{
    int width = 1;

    for (; n >= 10; n /= 10)
        width++;
    return width;
}

/* Writes the statistics as OCaml's Gc.print_stat does; false: the file has an
 * error.  The columns of a group are as wide as its largest number. */
bool
alqi_heap_stat_print(const struct alq_gc_stats *s, FILE *out)
{
    int w = width_of(s->minor_words), h = width_of(s->top_heap_words);
    int n = 0, m;

    m = fprintf(out,
                "minor_collections:      %" PRIu64 "\n"
                "major_collections:      %" PRIu64 "\n"
                "compactions:            %" PRIu64 "\n"
                "forced_major_collections: %" PRIu64 "\n\n",
                s->minor_collections, s->major_collections, s->compactions,
                s->forced_major_collections);
    n |= m;
    m = fprintf(out,
                "minor_words:    %*" PRIu64 "\n"
                "promoted_words: %*" PRIu64 "\n"
                "major_words:    %*" PRIu64 "\n\n",
                w, s->minor_words, w, s->promoted_words, w, s->major_words);
    n |= m;
    m = fprintf(out,
                "top_heap_words: %*" PRIu64 "\n"
                "heap_words:     %*" PRIu64 "\n"
                "live_words:     %*" PRIu64 "\n"
                "free_words:     %*" PRIu64 "\n"
                "largest_free:   %*" PRIu64 "\n"
                "fragments:      %*" PRIu64 "\n\n",
                h, s->top_heap_words, h, s->heap_words, h, s->live_words, h,
                s->free_words, h, s->largest_free, h, s->fragments);
    n |= m;
    m = fprintf(out,
                "live_blocks: %" PRIu64 "\n"
                "free_blocks: %" PRIu64 "\n"
                "heap_chunks: %" PRIu64 "\n",
                s->live_blocks, s->free_blocks, s->heap_chunks);
    n |= m;
    return n >= 0 && fflush(out) == 0;
}

/* The heap whose report is still to be written; NULL: none.  Atomic, since a
 * heap may begin while the last one ends.
 *
 * .pair.alive  alqi_heap_stat_begin() (release) -> at_exit() (acquire): the
 *              heap. */
static struct alqi_heap *alive;

void
alqi_heap_stat_begin(struct alqi_heap *heap)
{
    __atomic_store_n(&alive, heap, __ATOMIC_RELEASE);
}

/* Logs the totals, if the parameter v asks for that. */
static void
report(struct alqi_heap *heap, struct alq_gc_counts counts)
{
    struct alq_gc_stats s = stat_of(heap, counts);

    if ((heap->tuning.control.verbose & ALQ_GC_LOG_AT_EXIT) == 0)
        return;
    alqi_heap_log_slow("allocated_words: %" PRIu64,
                       s.minor_words + s.major_words - s.promoted_words);
    alqi_heap_log_slow("minor_words: %" PRIu64, s.minor_words);
    alqi_heap_log_slow("promoted_words: %" PRIu64, s.promoted_words);
    alqi_heap_log_slow("major_words: %" PRIu64, s.major_words);
    alqi_heap_log_slow("minor_collections: %" PRIu64, s.minor_collections);
    alqi_heap_log_slow("major_collections: %" PRIu64, s.major_collections);
    alqi_heap_log_slow("forced_major_collections: %" PRIu64,
                       s.forced_major_collections);
    alqi_heap_log_slow("heap_words: %" PRIu64, s.heap_words);
    alqi_heap_log_slow("top_heap_words: %" PRIu64, s.top_heap_words);
}

/* Whether the caller is the one to report the heap.  The next heap may have
 * begun already, and is not taken then. */
static bool
alive_take(struct alqi_heap *heap)
{
    return __atomic_compare_exchange_n(&alive, &heap, NULL, false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* Reports when the heap ends: all domains have ended, so their counters are in
 * `ended`. */
void
alqi_heap_stat_end(struct alqi_heap *heap)
{
    if (alive_take(heap))
        report(heap, counts_of(heap->totals.ended));
}

/* Reports when the process exits with a heap: the counters of the domain that
 * the thread runs, up to date, or else of the last stop.  Other threads may run
 * on, and a stop may come: hence the copy word by word. */
__attribute__((destructor)) static void
at_exit(void)
{
    struct alqi_heap *heap = __atomic_load_n(&alive, __ATOMIC_ACQUIRE);
    struct alqi_domain *d = alqi_heap_thread_domain();
    struct alq_gc_counts counts;

    if (heap == NULL || !alive_take(heap))
        return;
    if (d == NULL) {
        struct alqi_heap_sums told;

        alqi_heap_sums_copy(&told, &heap->totals.at_stop);
        report(heap, counts_of(told));
        return;
    }
    counts = counts_of(alqi_heap_sums_all(d));
    counts.minor_words += open_words(d);
    report(heap, counts);
}
