#include "heap/area.h"
#include "heap/class.h"
#include "heap/promote.h"
#include "heap/sweep.h"

/* The run is full. */
static ALQI_NOINLINE uintptr_t
refill(struct alqi_domain *d, struct alqi_heap_run *run, unsigned c,
       bool no_scan)
{
    d->counts.promoted_words += (run->end - run->counted) / ALQ_WORD_BYTES;
    if (!no_scan && run->scan != run->end)
        d->heap->pending[d->heap->n_pending++] =
            (struct alqi_heap_span){run->scan, run->end};
    if (!alqi_heap_sweep_refill(d, c, no_scan))
        alqi_base_fail(__FILE__, __LINE__, "memory for promotion was ready");
    return run->next;
}

/* What the copying loops look at for each value: in registers, since a store
 * to a block could be one to the domain for all that the compiler knows. */
struct view {
    struct alqi_domain *d;
    uintptr_t young_base;
    uintptr_t young_half;
    uintptr_t colour;
};

static inline struct view
view_of(struct alqi_domain *d)
{
    return (struct view){d, d->pub.young_base, d->pub.young_bytes >> 1,
                         d->alloc_colour};
}

static inline alqi_heap_word *
run_take(struct alqi_domain *d, unsigned c, size_t words, bool no_scan)
{
    struct alqi_heap_run *run = &d->runs[no_scan][c];
    uintptr_t at = run->next;

    if (ALQI_UNLIKELY(at == run->end))
        at = refill(d, run, c, no_scan);
    run->next = at + words * ALQ_WORD_BYTES;
    if (!no_scan)
        d->dirty |= (uint64_t)1 << c;
    return (alqi_heap_word *)at;
}

static inline alq_value
moved(alqi_heap_word *from, alqi_heap_word *to)
{
    from[-1] = 0;
    from[0] = (alq_value)(to + 1);
    return (alq_value)(to + 1);
}

static ALQI_NOINLINE alq_value
copy_any(struct alqi_domain *d, alqi_heap_word *from, uintptr_t header)
{
    size_t i, n = header >> ALQ_WOSIZE_SHIFT;
    unsigned c = alqi_heap_class_of(n + 1);
    alqi_heap_word *to = run_take(d, c, alqi_heap_class_words[c],
                                  !alqi_heap_is_scannable(header));

    to[0] = header | d->alloc_colour;
    for (i = 0; i < n; i++)
        to[i + 1] = from[i];
    return moved(from, to);
}

/* Scannable, of a constant number of words: then its class is one, too. */
static inline __attribute__((always_inline)) alq_value
copy_fixed(struct view w, alqi_heap_word *from, uintptr_t header, size_t words)
{
    alqi_heap_word *to = run_take(w.d, (unsigned)words - 1, words, false);
    size_t i;

    to[0] = header | w.colour;
    for (i = 1; i < words; i++)
        to[i] = from[i - 1];
    return moved(from, to);
}

static inline __attribute__((always_inline)) alq_value
copy(struct view w, alqi_heap_word *from, uintptr_t header)
{
    if (ALQI_UNLIKELY(!alqi_heap_is_scannable(header)))
        return copy_any(w.d, from, header);
    switch (alqi_heap_words(header)) {
    case 2:
        return copy_fixed(w, from, header, 2);
    case 3:
        return copy_fixed(w, from, header, 3);
    case 4:
        return copy_fixed(w, from, header, 4);
    case 5:
        return copy_fixed(w, from, header, 5);
    case 6:
        return copy_fixed(w, from, header, 6);
    case 7:
        return copy_fixed(w, from, header, 7);
    default:
        return copy_any(w.d, from, header);
    }
}

static inline __attribute__((always_inline)) void
promote_slot(struct view w, alqi_heap_word *slot)
{
    alq_value v = *slot;
    alqi_heap_word *from = (alqi_heap_word *)v;
    uintptr_t offset = v - w.young_base;
    uintptr_t header;

    if (((offset >> 1) | (offset << 63)) >= w.young_half)
        return;
    header = from[-1];
    *slot = header == 0 ? from[0] : copy(w, from, header);
}

void
alqi_heap_promote(struct alqi_domain *d, alq_value *slot)
{
    promote_slot(view_of(d), (alqi_heap_word *)slot);
}

/* ---- scanning ----------------------------------------------------------- */

static inline __attribute__((always_inline)) void
scan_block(struct view w, alqi_heap_word *block)
{
    alqi_heap_word *end = block + alqi_heap_words(block[0]);

    while (++block < end)
        promote_slot(w, block);
}

/* A run grows while it is scanned, and may be replaced. */
static void
scan_run(struct alqi_domain *d, unsigned c)
{
    struct alqi_heap_run *run = &d->runs[0][c];
    struct view w = view_of(d);
    uintptr_t bytes = (uintptr_t)alqi_heap_class_words[c] * ALQ_WORD_BYTES;

    while (run->scan != run->next) {
        uintptr_t at = run->scan;

        run->scan += bytes;
        scan_block(w, (alqi_heap_word *)at);
    }
}

static void
scan_span(struct alqi_domain *d, struct alqi_heap_span span)
{
    unsigned c = alqi_heap_area_class(&d->heap->area, span.start);
    struct view w = view_of(d);

    while (span.start < span.end) {
        scan_block(w, (alqi_heap_word *)span.start);
        span.start += (uintptr_t)alqi_heap_class_words[c] * ALQ_WORD_BYTES;
    }
}

static void
run_count(struct alqi_domain *d, struct alqi_heap_run *run)
{
    d->counts.promoted_words += (run->next - run->counted) / ALQ_WORD_BYTES;
    run->counted = run->next;
}

void
alqi_heap_promote_drain(struct alqi_domain *d)
{
    unsigned c;

    while (d->dirty != 0 || d->heap->n_pending > 0) {
        if (d->dirty == 0) {
            scan_span(d, d->heap->pending[--d->heap->n_pending]);
            continue;
        }
        c = (unsigned)__builtin_ctzll(d->dirty);
        scan_run(d, c);
        d->dirty &= ~((uint64_t)1 << c);
    }
    for (c = 0; c < ALQI_HEAP_CLASSES; c++) {
        d->runs[1][c].scan = d->runs[1][c].next;
        run_count(d, &d->runs[0][c]);
        run_count(d, &d->runs[1][c]);
    }
}
