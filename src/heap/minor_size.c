/* minor_size.c -- chooses the size of minor heaps by trial
 *
 *   stable -> trial of another size, for a window of collections ->
 *   stable on the better one
 *
 * A larger size is better if clearly fewer words survive; a smaller one, which
 * has shorter pauses, if not many more survive.  A failed trial doubles the
 * time until the next; a great change of survival ends the wait.  A size that
 * the program has chosen is not touched.  The policy is one for all domains
 * while they are collected together, else one for each.
 *
 * Keeps .inv.size: Each size that is tried is whole chunks. */
#include "heap/pool_area.h"
#include "heap/minor_size.h"
#include "heap/pin.h"
#include "heap/minor_escape.h"
#include "plat/space.h"

enum {
    WINDOW_COLLECTIONS = 4,  /* a window has so many collections at least, */
    WINDOW_WORDS = 1 << 18,  /* and so many words were allocated in it */
    PAUSE_WORDS = 16384,     /* promoted, some 25 us: a longer pause is long */
    BYTES_LEAST = 256 << 10, /* no trial is smaller */
    BYTES_FIRST = 2 << 20,   /* as much is never too much */
    HEAP_SHARE = 4, /* minor heaps together: a quarter of the major heap */
    LONG_WORDS = 1 << 18, /* half a millisecond: what a try may cost, and what
                             a far better survival is worth */
    WAIT_MAX = 128,       /* windows between two trials */
    UP_STEP = 2,          /* doublings: tries go up by 1, 3, 5, 1 ... of them */
    UP_MAX = 5,
    /* OCaml's programs expect the memory of OCaml's own runtime at most, so no
     * minor heap is larger than there; and shorter pauses, so a trial may
     * promote half of LONG_WORDS only. */
    BYTES_MOST = ALQI_HOSTS_OCAML ? BYTES_FIRST : ALQI_HEAP_MINOR_BYTES_MAX,
    TRIAL_WORDS = ALQI_HOSTS_OCAML ? LONG_WORDS / 2 : LONG_WORDS
};

/* Survival is the share of the allocated words that is promoted.  A survival
 * that matters, that has changed; and, as factors of the stable size's, one
 * that is as good, better, far better.  OCaml's minor heaps begin small, so
 * shrinking gains less there. */
#define MATTERS 0.02
#define CHANGED 0.3
#define AS_GOOD (ALQI_HOSTS_OCAML ? 1.05 : 1.15)
#define BETTER 0.85
#define FAR_BETTER 0.5
/* A pause that is over the limit may grow by that, for a better survival. */
#define AS_LONG 1.5

/* Whether so many bytes may be a minor heap's (.inv.size). */
static bool
is_size(uintptr_t bytes)
{
    return bytes >= ALQI_HEAP_CHUNK_BYTES &&
           bytes <= ALQI_HEAP_MINOR_BYTES_MAX &&
           bytes % ALQI_HEAP_CHUNK_BYTES == 0;
}

/* Begins with a stable size that nothing is known of; the first window ends
 * with the first trial, if one is promising. */
void
alqi_heap_minor_size_start(struct alqi_heap_minor_size *n, uintptr_t bytes)
{
    *n = (struct alqi_heap_minor_size){
        .bytes = bytes,
        .wait_max = 1,
        .up = 1,
    };
}

/* Bytes to open the domain's minor heap with: the program's, the domain's own
 * policy's, or that of all domains together. */
uintptr_t
alqi_heap_minor_size_bytes(const struct alqi_domain *d)
{
    if (d->sizes.fixed_bytes != 0)
        return d->sizes.fixed_bytes;
    return alqi_heap_minor_local_is_usual(d->heap)
               ? d->sizes.policy.bytes
               : d->heap->young.policy.bytes;
}

/* The largest size for one domain: all together have a share of the major heap,
 * at least BYTES_FIRST each. */
static uintptr_t
most_bytes(const struct alqi_heap *heap)
{
    unsigned n = __atomic_load_n(&heap->n_slots, __ATOMIC_RELAXED);
    uintptr_t share = alqi_heap_area_used(&heap->area) * ALQI_HEAP_POOL_BYTES /
                      HEAP_SHARE / (n == 0 ? 1 : n);

    if (share < BYTES_FIRST)
        share = BYTES_FIRST;
    share &= ~(uintptr_t)(ALQI_HEAP_CHUNK_BYTES - 1);
    return share < BYTES_MOST ? share : BYTES_MOST;
}

/* Begins a trial of `bytes`; the stable size is noted to go back to. */
static void
try_size(struct alqi_heap_minor_size *n, uintptr_t bytes)
{
    ALQI_ASSERT(is_size(bytes)); /* .inv.size */
    n->stable_bytes = n->bytes;
    n->bytes = bytes;
    n->tried_half = bytes < n->stable_bytes;
}

/* Makes the size at hand the stable one, with what it was measured to give.
 * The next trial may come at once. */
static void
adopt_size(struct alqi_heap_minor_size *n, double survival, double pause_words)
{
    n->stable_bytes = 0;
    n->survival = survival;
    n->pause_words = pause_words;
    n->wait_max = 1;
    n->wait = 0;
    n->up = 1;
}

/* Ends a trial without success: goes back to the stable size, waits, and
 * doubles the next wait.  The next trial upwards goes further: a working set
 * that did not fit into twice the size may fit into eight times. */
static void
give_up(struct alqi_heap_minor_size *n)
{
    ALQI_ASSERT(is_size(n->stable_bytes)); /* .inv.size */
    if (n->bytes > n->stable_bytes)
        n->up = n->up < UP_MAX ? n->up + UP_STEP : 1;
    n->bytes = n->stable_bytes;
    n->stable_bytes = 0;
    n->wait = n->wait_max;
    if (n->wait_max < WAIT_MAX)
        n->wait_max *= 2;
}

/* The largest size whose collection promotes no more than TRIAL_WORDS, if as
 * many words survive as now. */
static uintptr_t
longest_bytes(const struct alqi_heap_minor_size *n)
{
    return (uintptr_t)(TRIAL_WORDS * ALQ_WORD_BYTES / n->survival) &
           ~(uintptr_t)(ALQI_HEAP_CHUNK_BYTES - 1);
}

/* The size of the next trial upwards, `up` doublings away, of a pause that is
 * not too long.  The size is at least doubled, and at most `most`. */
static uintptr_t
further_bytes(const struct alqi_heap_minor_size *n, uintptr_t most)
{
    uintptr_t bytes = n->bytes << n->up;
    uintptr_t longest = longest_bytes(n);

    if (bytes > longest)
        bytes = longest;
    if (bytes < n->bytes * 2)
        bytes = n->bytes * 2;
    return bytes < most ? bytes : most;
}

/* Half of the size, in whole chunks (.inv.size): pools are promised for whole
 * chunks (alqi_heap_minor_need). */
static uintptr_t
half_bytes(const struct alqi_heap_minor_size *n)
{
    return n->bytes / 2 & ~(uintptr_t)(ALQI_HEAP_CHUNK_BYTES - 1);
}

/* Begins the next trial, if one is promising.
 *
 * Half the size, if pauses are long; more, if the survival matters.  If both
 * would do they take turns (tried_half). */
static void
choose(const struct alqi_heap *heap, struct alqi_heap_minor_size *n)
{
    bool is_long = n->pause_words > PAUSE_WORDS;
    uintptr_t most = most_bytes(heap);

    if (is_long && !n->tried_half && half_bytes(n) >= BYTES_LEAST)
        try_size(n, half_bytes(n));
    else if (n->survival > MATTERS && n->bytes * 2 <= most &&
             (!ALQI_HOSTS_OCAML || n->bytes * 2 <= longest_bytes(n)))
        try_size(n, further_bytes(n, most));
    else
        n->tried_half = false;
}

/* Whether the trial's figures are better than the stable ones.
 *
 * A smaller size may promote a little more.  A larger one has to promote
 * clearly less, and may make pauses longer only within bounds, unless it
 * promotes far less. */
static bool
is_worth_it(const struct alqi_heap_minor_size *n, double survival,
            double pause_words)
{
    if (n->bytes < n->stable_bytes)
        return survival <= n->survival * AS_GOOD;
    return (survival <= n->survival * FAR_BETTER &&
            pause_words <= LONG_WORDS) ||
           (survival <= n->survival * BETTER &&
            (pause_words <= PAUSE_WORDS ||
             pause_words <= n->pause_words * AS_LONG));
}

/* Ends a trial: adopts the size, or goes back.  After a success the next trial
 * goes the same way. */
static void
judge(const struct alqi_heap *heap, struct alqi_heap_minor_size *n,
      double survival, double pause_words)
{
    bool was_half = n->bytes < n->stable_bytes;

    if (!is_worth_it(n, survival, pause_words)) {
        give_up(n);
        return;
    }
    adopt_size(n, survival, pause_words);
    n->tried_half = !was_half; /* go on the same way */
    choose(heap, n);
}

/* The end of a window without a trial: the stable figures are brought up to
 * date.
 *
 * If the program has changed, waiting ends.  If the major heap has shrunk, the
 * size does, too.  Otherwise the next trial begins when the wait is over. */
static void
look_again(const struct alqi_heap *heap, struct alqi_heap_minor_size *n,
           double survival, double pause_words)
{
    double change = survival - n->survival;

    if (change > CHANGED * n->survival + MATTERS ||
        -change > CHANGED * n->survival + MATTERS)
        adopt_size(n, survival, pause_words);
    n->survival = survival;
    n->pause_words = pause_words;
    ALQI_ASSERT(n->stable_bytes == 0 && is_size(n->bytes)); /* .inv.size */
    if (n->bytes > most_bytes(heap))
        n->bytes = half_bytes(n);
    else if (n->wait > 0)
        n->wait--;
    else
        choose(heap, n);
}

/* Whether a trial of more than twice the size can end early: its survival is
 * not better so far.  The first collection of a large minor heap costs most. */
static bool
is_hopeless(const struct alqi_heap_minor_size *n, double survival)
{
    return n->stable_bytes != 0 && n->bytes > 2 * n->stable_bytes &&
           survival > n->survival * BETTER;
}

static void
window_begin(struct alqi_heap_minor_size *n)
{
    n->n_collections = 0;
    n->minor_words = n->promoted_words = 0;
    n->pauses_words = 0;
}

/* Adds a collection to the window, and at the window's end takes the next step.
 *
 * `participants` promote at the same time, so a pause is their share of the
 * words.  A collection of nothing says nothing. */
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
    if (n->stable_bytes != 0)
        judge(heap, n, survival, pause_words);
    else
        look_again(heap, n, survival, pause_words);
    window_begin(n);
}

/* Adds what the domain has allocated and promoted since it was last noted.
 *
 * Nothing is added if the program has chosen the size, or if the counters are
 * smaller than those noted: another domain had the slot before. */
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

/* Notes a collection of all domains: for each domain's own policy, if they are
 * usually collected alone, else for the common one. */
void
alqi_heap_minor_size_note_stw(struct alqi_heap *heap)
{
    uint64_t minor = 0, promoted = 0;
    unsigned i;

    ALQI_ASSERT(alqi_heap_is_stopped(heap));
    if (alqi_heap_minor_local_is_usual(heap)) {
        for (i = 0; i < heap->n_slots; i++)
            alqi_heap_minor_size_note_local(heap->domains[i]);
        return;
    }
    for (i = 0; i < heap->n_slots; i++)
        add_own(heap->domains[i], &minor, &promoted);
    note(heap, &heap->young.policy, minor, promoted,
         heap->young.workers.n > 1 ? heap->young.workers.n : 1);
}

/* Notes a collection for the domain's own policy.  Its holder calls. */
void
alqi_heap_minor_size_note_local(struct alqi_domain *d)
{
    uint64_t minor = 0, promoted = 0;

    add_own(d, &minor, &promoted);
    note(d->heap, &d->sizes.policy, minor, promoted, 1);
}

/* Gives memory of the slice back that no minor heap has used since the last
 * call; returns the bytes.  Hard builds forbid old places instead, and retained
 * blocks may lie behind the minor heap: then nothing is given back. */
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
