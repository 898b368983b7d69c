/* minor_size.c -- chooses the size of minor heaps by trial
 *
 * settled -> trial of another size, a window of collections long -> settled on
 * the better one; a failed trial doubles the time until the next.  Better is:
 * fewer words promoted, or, where that makes no difference, shorter pauses.
 *
 * A size that the program has chosen (fixed_bytes) is not touched. */
#include "heap/pool_area.h"
#include "heap/minor_size.h"
#include "heap/pin.h"
#include "heap/minor_escape.h"
#include "plat/space.h"

enum {
    WINDOW_COLLECTIONS = 4,
    WINDOW_WORDS = 1 << 18,
    PAUSE_WORDS = 16384, /* promoted: some 25 us */
    BYTES_LEAST = 256 << 10,
    BYTES_FIRST = 2 << 20, /* as much is never too much */
    HEAP_SHARE = 4,        /* of the major heap, at the most */
    LONG_WORDS = 1 << 18,  /* half a millisecond: what a try may cost, and what
                              a far better survival is worth */
    WAIT_MAX = 128,
    UP_STEP = 2, /* doublings: tries go up by 1, 3, 5, 1 ... of them */
    UP_MAX = 5
};

/* A survival that matters, that has changed, that is as good, or better. */
#define MATTERS 0.02
#define CHANGED 0.3
#define AS_GOOD 1.15
#define BETTER 0.85
#define FAR_BETTER 0.5
/* A pause that is over the limit may grow by that, for a better survival. */
#define AS_LONG 1.5

void
alqi_heap_minor_size_start(struct alqi_heap_minor_size *n, uintptr_t bytes)
{
    *n = (struct alqi_heap_minor_size){
        .bytes = bytes,
        .wait_max = 1,
        .up = 1,
    };
}

uintptr_t
alqi_heap_minor_size_bytes(const struct alqi_domain *d)
{
    if (d->sizes.fixed_bytes != 0)
        return d->sizes.fixed_bytes;
    return alqi_heap_minor_local_is_usual(d->heap)
               ? d->sizes.policy.bytes
               : d->heap->young.policy.bytes;
}

/* Of one domain: all together have a share of the major heap. */
static uintptr_t
most_bytes(const struct alqi_heap *heap)
{
    unsigned n = __atomic_load_n(&heap->n_slots, __ATOMIC_RELAXED);
    uintptr_t share = alqi_heap_area_used(&heap->area) * ALQI_HEAP_POOL_BYTES /
                      HEAP_SHARE / (n == 0 ? 1 : n);

    if (share < BYTES_FIRST)
        share = BYTES_FIRST;
    share &= ~(uintptr_t)(ALQI_HEAP_CHUNK_BYTES - 1);
    return share < ALQI_HEAP_MINOR_BYTES_MAX ? share
                                             : ALQI_HEAP_MINOR_BYTES_MAX;
}

static void
try_size(struct alqi_heap_minor_size *n, uintptr_t bytes)
{
    n->settled = n->bytes;
    n->bytes = bytes;
    n->tried_half = bytes < n->settled;
}

static void
settle(struct alqi_heap_minor_size *n, double survival, double pause_words)
{
    n->settled = 0;
    n->survival = survival;
    n->pause_words = pause_words;
    n->wait_max = 1;
    n->wait = 0;
    n->up = 1;
}

static void
give_up(struct alqi_heap_minor_size *n)
{
    if (n->bytes > n->settled)
        n->up = n->up < UP_MAX ? n->up + UP_STEP : 1;
    n->bytes = n->settled;
    n->settled = 0;
    n->wait = n->wait_max;
    if (n->wait_max < WAIT_MAX)
        n->wait_max *= 2;
}

/* Double or more, so that as many words as now survive make no long pause. */
static uintptr_t
further_bytes(const struct alqi_heap_minor_size *n, uintptr_t most)
{
    uintptr_t bytes = n->bytes << n->up;
    uintptr_t longest = (uintptr_t)(LONG_WORDS * ALQ_WORD_BYTES / n->survival) &
                        ~(uintptr_t)(ALQI_HEAP_CHUNK_BYTES - 1);

    if (bytes > longest)
        bytes = longest;
    if (bytes < n->bytes * 2)
        bytes = n->bytes * 2;
    return bytes < most ? bytes : most;
}

/* Half for shorter pauses, more for fewer words promoted, by turns. */
static void
choose(const struct alqi_heap *heap, struct alqi_heap_minor_size *n)
{
    bool is_long = n->pause_words > PAUSE_WORDS;
    uintptr_t most = most_bytes(heap);
    if (is_long && !n->tried_half && n->bytes / 2 >= BYTES_LEAST)
        try_size(n, n->bytes / 2);
    else if (n->survival > MATTERS && n->bytes * 2 <= most)
        try_size(n, further_bytes(n, most));
    else
        n->tried_half = false;
}

static bool
is_worth_it(const struct alqi_heap_minor_size *n, double survival,
            double pause_words)
{
    if (n->bytes < n->settled)
        return survival <= n->survival * AS_GOOD;
    return (survival <= n->survival * FAR_BETTER &&
            pause_words <= LONG_WORDS) ||
           (survival <= n->survival * BETTER &&
            (pause_words <= PAUSE_WORDS ||
             pause_words <= n->pause_words * AS_LONG));
}

static void
judge(const struct alqi_heap *heap, struct alqi_heap_minor_size *n,
      double survival, double pause_words)
{
    bool was_half = n->bytes < n->settled;

    if (!is_worth_it(n, survival, pause_words)) {
        give_up(n);
        return;
    }
    settle(n, survival, pause_words);
    n->tried_half = !was_half; /* go on the same way */
    choose(heap, n);
}

static void
look_again(const struct alqi_heap *heap, struct alqi_heap_minor_size *n,
           double survival, double pause_words)
{
    double change = survival - n->survival;

    if (change > CHANGED * n->survival + MATTERS ||
        -change > CHANGED * n->survival + MATTERS)
        settle(n, survival, pause_words);
    n->survival = survival;
    n->pause_words = pause_words;
    if (n->bytes > most_bytes(heap))
        n->bytes /= 2;
    else if (n->wait > 0)
        n->wait--;
    else
        choose(heap, n);
}

/* A try from afar that shows no promise ends with its first collection. */
static bool
is_hopeless(const struct alqi_heap_minor_size *n, double survival)
{
    return n->settled != 0 && n->bytes > 2 * n->settled &&
           survival > n->survival * BETTER;
}

static void
window_begin(struct alqi_heap_minor_size *n)
{
    n->n_collections = 0;
    n->minor_words = n->promoted_words = 0;
    n->pauses_words = 0;
}

/* So many participants promote at the same time. */
static void
note(const struct alqi_heap *heap, struct alqi_heap_minor_size *n,
     uint64_t minor, uint64_t promoted, unsigned participants)
{
    double survival, pause_words;

    if (minor == 0)
        return;
    n->minor_words += minor;
    n->promoted_words += promoted;
    n->pauses_words += (double)promoted / participants;
    survival = (double)n->promoted_words / (double)n->minor_words;
    pause_words = n->pauses_words / ++n->n_collections;
    if ((n->n_collections < WINDOW_COLLECTIONS ||
         n->minor_words < WINDOW_WORDS) &&
        !is_hopeless(n, survival))
        return;
    if (n->settled != 0)
        judge(heap, n, survival, pause_words);
    else
        look_again(heap, n, survival, pause_words);
    window_begin(n);
}

/* What the domain has allocated and promoted since it was last noted; not if
 * the program has chosen its size, nor of another that had the slot before. */
static void
add_own(struct alqi_domain *d, uint64_t *minor, uint64_t *promoted)
{
    if (d->sizes.fixed_bytes == 0 &&
        d->sums.counts.minor_words >= d->sizes.noted_words &&
        d->sums.counts.promoted_words >= d->sizes.noted_promoted_words) {
        *minor += d->sums.counts.minor_words - d->sizes.noted_words;
        *promoted +=
            d->sums.counts.promoted_words - d->sizes.noted_promoted_words;
    }
    d->sizes.noted_words = d->sums.counts.minor_words;
    d->sizes.noted_promoted_words = d->sums.counts.promoted_words;
}

void
alqi_heap_minor_size_note(struct alqi_heap *heap)
{
    uint64_t minor = 0, promoted = 0;
    unsigned i;

    if (alqi_heap_minor_local_is_usual(heap)) {
        for (i = 0; i < heap->n_slots; i++)
            alqi_heap_minor_size_note_own(heap->domains[i]);
        return;
    }
    for (i = 0; i < heap->n_slots; i++)
        add_own(heap->domains[i], &minor, &promoted);
    note(heap, &heap->young.policy, minor, promoted,
         heap->young.workers.n > 1 ? heap->young.workers.n : 1);
}

void
alqi_heap_minor_size_note_own(struct alqi_domain *d)
{
    uint64_t minor = 0, promoted = 0;

    add_own(d, &minor, &promoted);
    note(d->heap, &d->sizes.policy, minor, promoted, 1);
}

uintptr_t
alqi_heap_minor_size_trim(struct alqi_domain *d)
{
    uintptr_t now = d->young.end - d->sizes.base, bytes = d->sizes.widest_bytes,
              unused;

    if (d->sizes.fixed_bytes != 0) /* it will not be wider again by itself */
        bytes = now;
    d->sizes.widest_bytes = now;
    if (bytes < BYTES_FIRST)
        bytes = BYTES_FIRST;
    if (ALQI_HEAP_IS_HARD || d->sizes.touched_bytes <= bytes ||
        alqi_heap_pin_has_retained(d->heap))
        return 0;
    unused = d->sizes.touched_bytes - bytes;
    alqi_plat_space_empty((void *)(d->sizes.base + bytes), unused);
    d->sizes.touched_bytes = bytes;
    return unused;
}
