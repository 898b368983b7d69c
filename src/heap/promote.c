#include "heap/area.h"
#include "heap/class.h"
#include "heap/promote.h"
#include "heap/sweep.h"

enum { INLINE_WORDS_MAX = 7 }; /* with the header; one class a size up to 8 */

/* The run is full. */
static ALQI_NOINLINE uintptr_t
refill(struct alqi_domain *d, struct alqi_heap_run *run, unsigned c,
       bool no_scan)
{
    if (!no_scan && run->scan != run->end)
        d->pending[d->n_pending++] =
            (struct alqi_heap_span){run->scan, run->end};
    if (!alqi_heap_sweep_refill(d, c, no_scan))
        alqi_base_fail(__FILE__, __LINE__, "memory for promotion was ready");
    return run->next;
}

static inline alqi_heap_word *
run_take(struct alqi_domain *d, unsigned c, bool no_scan)
{
    struct alqi_heap_run *run = &d->runs[no_scan][c];
    uintptr_t at = run->next;

    if (ALQI_UNLIKELY(at == run->end))
        at = refill(d, run, c, no_scan);
    run->next = at + (uintptr_t)alqi_heap_class_words[c] * ALQ_WORD_BYTES;
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
    bool no_scan = !alqi_heap_is_scannable(header);
    alqi_heap_word *to = run_take(d, c, no_scan);

    to[0] = header | d->alloc_colour;
    for (i = 0; i < n; i++)
        to[i + 1] = from[i];
    if (!no_scan)
        d->dirty |= (uint64_t)1 << c;
    d->counts.promoted_words += n + 1;
    return moved(from, to);
}

/* Scannable, of 2 to INLINE_WORDS_MAX words: its class is their number - 1. */
static inline alq_value
copy_small(struct alqi_domain *d, alqi_heap_word *from, uintptr_t header,
           size_t words)
{
    alqi_heap_word *to = run_take(d, (unsigned)words - 1, false);

    to[0] = header | d->alloc_colour;
    to[1] = from[0];
    switch (words) {
    case 7:
        to[6] = from[5]; /* fall through */
    case 6:
        to[5] = from[4]; /* fall through */
    case 5:
        to[4] = from[3]; /* fall through */
    case 4:
        to[3] = from[2]; /* fall through */
    case 3:
        to[2] = from[1];
    }
    d->dirty |= (uint64_t)1 << (words - 1);
    d->counts.promoted_words += words;
    return moved(from, to);
}

static inline void
promote_slot(struct alqi_domain *d, alqi_heap_word *slot)
{
    alq_value v = *slot;
    alqi_heap_word *from = (alqi_heap_word *)v;
    uintptr_t header;
    size_t words;

    if (!alqi_heap_is_young(d, v))
        return;
    header = from[-1];
    if (header == 0) {
        *slot = from[0];
        return;
    }
    words = alqi_heap_words(header);
    if (words <= INLINE_WORDS_MAX && alqi_heap_is_scannable(header))
        *slot = copy_small(d, from, header, words);
    else
        *slot = copy_any(d, from, header);
}

void
alqi_heap_promote(struct alqi_domain *d, alq_value *slot)
{
    promote_slot(d, (alqi_heap_word *)slot);
}

/* ---- scanning ----------------------------------------------------------- */

static inline void
scan_block(struct alqi_domain *d, alqi_heap_word *block)
{
    alqi_heap_word *end = block + alqi_heap_words(block[0]);

    while (++block < end)
        promote_slot(d, block);
}

/* A run grows while it is scanned, and may be replaced. */
static void
scan_run(struct alqi_domain *d, unsigned c)
{
    struct alqi_heap_run *run = &d->runs[0][c];
    uintptr_t bytes = (uintptr_t)alqi_heap_class_words[c] * ALQ_WORD_BYTES;

    while (run->scan != run->next) {
        uintptr_t at = run->scan;

        run->scan += bytes;
        scan_block(d, (alqi_heap_word *)at);
    }
}

static void
scan_span(struct alqi_domain *d, struct alqi_heap_span span)
{
    unsigned c = alqi_heap_area_class(&d->heap->area, span.start);

    while (span.start < span.end) {
        scan_block(d, (alqi_heap_word *)span.start);
        span.start += (uintptr_t)alqi_heap_class_words[c] * ALQ_WORD_BYTES;
    }
}

void
alqi_heap_promote_drain(struct alqi_domain *d)
{
    unsigned c;

    while (d->dirty != 0 || d->n_pending > 0) {
        if (d->dirty == 0) {
            scan_span(d, d->pending[--d->n_pending]);
            continue;
        }
        c = (unsigned)__builtin_ctzll(d->dirty);
        scan_run(d, c);
        d->dirty &= ~((uint64_t)1 << c);
    }
    for (c = 0; c < ALQI_HEAP_CLASSES; c++)
        d->runs[1][c].scan = d->runs[1][c].next;
}
