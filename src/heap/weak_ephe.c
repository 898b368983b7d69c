/* weak_ephe.c -- passes over the ephemerons that wait for their keys
 *
 * A pass goes through the list, one way and then the other, and marks the data
 * of those whose keys are marked, with all they lead to.  Each ephemeron then
 * waits on or is ready; those that wait are from lo to hi of their chunk.  A
 * pass that marks nothing ends the round.
 *
 *   probing, forwards --[few are ready]--> probing, backwards
 *   probing, backwards --[few are ready]--> noting
 *   probing --[most are]--> plain --> the next one, the other way
 *   noting --[it was short of memory]--> plain --> noting ...
 *
 * The first two passes probe: if hardly any of the first ephemerons are ready,
 * the chain does not follow the list in that direction.  The third one takes
 * notes of which ephemeron waits for which block (weak_ephe_wait.c), and all
 * that the domain marks is looked up there, so nothing is left for a pass
 * behind it: it ends the round.
 *
 * Keeps .inv.waits: Those that wait on are swapped to the border.
 * Keeps .inv.phase: When passes end, data of ephemerons with marked keys are
 *   marked. */
#include "heap/hosted.h"
#include "heap/pool_area.h"
#include "heap/weak_ephe.h"
#include "heap/weak_ephe_wait.h"
#include "heap/major_mark.h"
#include "heap/weak.h"

/* Ephemerons ahead whose block, whose key's and data's headers, and whose key's
 * place among those that are waited for, are on their way to the cache. */
enum { BLOCK_AHEAD = 32, KEY_AHEAD = 16, PLACE_AHEAD = 8 };

enum {
    PROBING_PASSES = ALQI_HEAP_IS_HARD ? 1 : 2, /* before one takes notes */
    PROBE = ALQI_HEAP_IS_HARD ? 4 : 256,
    PROBE_FEW = PROBE / 16, /* ready: the order is not the list's */
    GREY_MAX = 1024         /* ranges to be marked: then that comes first */
};

/* Darkens a value that weak references alone may have led to.  The count makes
 * a pass that is under way not the last one: the value may lead to keys that it
 * has seen already. */
void
alqi_heap_ephe_darken(struct alqi_domain *d, alq_value v)
{
    if (!alqi_heap_mark_is_white(d, v))
        return;
    alqi_heap_mark_darken(d, v);
    d->weak_phase.weak.n_darkened++;
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

/* What a pass asks of each value, in local variables that the compiler can keep
 * in registers: to the compiler each store of a header might change the
 * domain. */
struct sight {
    uintptr_t young_base;
    uintptr_t young_bytes;
    uintptr_t unmarked;
    uintptr_t marked;
};

static inline struct sight
sight_of(const struct alqi_domain *d)
{
    return (struct sight){d->pub.young_base, d->pub.young_bytes,
                          d->heap->cycle.colours.unmarked,
                          d->heap->cycle.colours.marked};
}

/* Whether the value is a block of the major heap that is not marked. */
static inline bool
is_white(const struct sight *s, alq_value v)
{
    return alq_is_block(v) && v - s->young_base >= s->young_bytes &&
           alqi_heap_colour(alqi_heap_header(alqi_heap_infix_block(v))) ==
               s->unmarked;
}

/* What an ephemeron waits for: itself, or the first of its keys that is not
 * marked; ALQ_NULL: nothing.  One block is enough: the ephemeron is looked at
 * again when that is marked, and may then wait for the next. */
static inline alq_value
awaited(const struct sight *s, alq_value ephe)
{
    uintptr_t header = alqi_heap_header(ephe);
    uintptr_t field, n = header >> ALQ_WOSIZE_SHIFT;

    if (alqi_heap_colour(header) == s->unmarked)
        return ephe;
    for (field = ALQI_HEAP_EPHE_DATA + 1; field < n; field++) {
        alq_value key = alqi_heap_weak_read(ephe, field);

        if (is_white(s, key))
            return alqi_heap_infix_block(key);
    }
    return ALQ_NULL;
}

/* Marks the data, and pushes their fields.
 *
 * Requires that the data are white and the domain is busy.  The full stack is
 * left to alqi_heap_mark_darken(), which grows it or notes an overflow, and so
 * is a continuation, whose stack it marks. */
static inline void
mark_data(struct alqi_domain *d, const struct sight *s, alq_value data)
{
    struct alqi_heap_marker *m = &d->marker;
    uintptr_t header = alqi_heap_header(data);

    ALQI_DEBUG(!d->done); /* .inv.todo */
    ALQI_DEBUG((header & ALQI_HEAP_COLOUR_MASK) ==
               s->unmarked); /* .inv.colour */
    d->weak_phase.weak.n_darkened++;
    if (m->n == m->size || ALQI_UNLIKELY(alqi_heap_is_continuation(header))) {
        alqi_heap_mark_darken(d, data);
        return;
    }
    alqi_heap_mark_block(data, header, s->marked);
    if (alqi_heap_has_one_domain(d->heap))
        alqi_heap_area_marked_add(&d->heap->area, data); /* .inv.counted */
    if (alqi_heap_is_scannable(header))
        m->stack[m->n++] = (struct alqi_heap_range){
            data + alqi_heap_raw_fields((const alqi_heap_word *)data, header) *
                       ALQ_WORD_BYTES,
            data + (header >> ALQ_WOSIZE_SHIFT) * ALQ_WORD_BYTES};
}

/* Marks data, unless they are marked, integers or young; what waits for them is
 * to be looked at then. */
static inline void
mark_white(struct alqi_domain *d, const struct sight *s, alq_value data)
{
    struct alqi_heap_weak *w = &d->weak_phase.weak;

    if (!is_white(s, data))
        return;
    data = alqi_heap_infix_block(data);
    if (ALQI_UNLIKELY(w->pass.notes)) {
        alqi_heap_ephe_wait_fetch(&w->waits, data);
        alqi_heap_ephe_wait_push(&w->waits, data);
    }
    mark_data(d, s, data);
}

/* Notes what the ephemeron waits for, in a pass that takes notes.  If that is
 * its only key, its data are noted, so nobody has to look at it again; data
 * that are not white need nobody to mark them. */
static void
note(struct alqi_domain *d, const struct sight *s, alq_value ephe,
     alq_value awaited)
{
    struct alqi_heap_ephe_waits *waits = &d->weak_phase.weak.waits;
    alq_value data;

    waits->n_left++;
    if (awaited == ephe || alq_wosize(ephe) > ALQI_HEAP_EPHE_DATA + 2) {
        alqi_heap_ephe_wait(waits, ephe, awaited);
        return;
    }
    data = alqi_heap_weak_read(ephe, ALQI_HEAP_EPHE_DATA);
    if (is_white(s, data))
        alqi_heap_ephe_wait(
            waits, alqi_heap_infix_block(data) | ALQI_HEAP_EPHE_EDGE, awaited);
}

enum outcome { READY, WAITS, HELD_UP };

/* Looks at one ephemeron: if it is ready, its data are marked now.
 *
 * While the domain has grey ranges, those may lead to what the ephemeron waits
 * for: then they come first (HELD_UP).  Else the ephemeron waits on, and is
 * noted if this pass takes notes. */
static inline __attribute__((always_inline)) enum outcome
resolve(struct alqi_domain *d, const struct sight *s, alq_value ephe,
        bool may_hold_up)
{
    alq_value key = awaited(s, ephe);

    if (key != ALQ_NULL) {
        if (may_hold_up && !alqi_heap_mark_is_done(d))
            return HELD_UP;
        if (ALQI_UNLIKELY(d->weak_phase.weak.pass.notes))
            note(d, s, ephe, key);
        return WAITS;
    }
    mark_white(d, s, alqi_heap_weak_read(ephe, ALQI_HEAP_EPHE_DATA));
    return READY;
}

/* Marks the data of what waits for blocks that were marked, and so on along
 * their chains, n ephemerons at most; returns how many.  It stops when many
 * ranges are grey.  No ephemeron is held up here: if it waits on, it is noted
 * again, or a pass comes to it once more. */
static size_t
follow(struct alqi_domain *d, size_t n)
{
    struct alqi_heap_ephe_waits *waits = &d->weak_phase.weak.waits;
    const struct sight s = sight_of(d);
    alq_value block, waiter;
    size_t done = 0;

    alqi_heap_mark_undone(d);
    while (done < n && d->marker.n <= GREY_MAX &&
           (block = alqi_heap_ephe_wait_pop(waits)) != ALQ_NULL) {
        for (done++;
             (waiter = alqi_heap_ephe_wait_take(waits, block)) != ALQ_NULL;
             done++) {
            waits->n_left--;
            if (waiter & ALQI_HEAP_EPHE_EDGE)
                mark_white(d, &s, waiter - ALQI_HEAP_EPHE_EDGE);
            else
                resolve(d, &s, waiter, false);
        }
    }
    return done;
}

/* ---- passes ------------------------------------------------------------- */

/* Begins a chunk, if there is one: at its first waiting ephemeron in the pass's
 * direction. */
static void
pass_enter(struct alqi_heap_ephe_pass *p)
{
    if (p->chunk != NULL)
        p->at = p->retained = p->backwards ? p->chunk->hi : p->chunk->lo;
}

/* The number of ephemerons that wait, from which the table of waiters gets its
 * size. */
static size_t
n_waiting(const struct alqi_heap_weak *w)
{
    const struct alqi_heap_weak_chunk *chunk;
    size_t n = 0;

    for (chunk = w->old[ALQI_HEAP_EPHE].first; chunk != NULL;
         chunk = chunk->next)
        n += chunk->hi - chunk->lo;
    return n;
}

/* Begins a pass.  It takes no notes if it is one of the first, which mostly
 * suffice, or if the one before did, or if there is no memory for the table. */
static void
pass_begin(struct alqi_heap_weak *w, bool backwards)
{
    struct alqi_heap_ephe_pass *p = &w->pass;

    p->is_probing = ++p->n_begun <= PROBING_PASSES;
    p->notes = !p->is_probing && !p->notes &&
               alqi_heap_ephe_wait_open(&w->waits, n_waiting(w));
    p->n_probed = p->n_ready = 0;
    p->is_held_up = false;
    p->backwards = backwards;
    p->n_darkened = w->n_darkened;
    p->chunk =
        backwards ? w->old[ALQI_HEAP_EPHE].last : w->old[ALQI_HEAP_EPHE].first;
    pass_enter(p);
}

bool
alqi_heap_ephe_any_waits(const struct alqi_domain *d)
{
    const struct alqi_heap_weak_chunk *chunk;

    for (chunk = d->weak_phase.weak.old[ALQI_HEAP_EPHE].first; chunk != NULL;
         chunk = chunk->next)
        if (chunk->lo < chunk->hi)
            return true;
    return false;
}

/* Begins a round of passes, or goes through the list anew in a round under
 * way. */
void
alqi_heap_ephe_begin(struct alqi_domain *d)
{
    alqi_heap_ephe_wait_close(&d->weak_phase.weak.waits);
    d->weak_phase.weak.pass = (struct alqi_heap_ephe_pass){0};
    pass_begin(&d->weak_phase.weak, false);
}

/* Whether the last pass left nothing to be marked, and no weak reference was
 * followed since. */
bool
alqi_heap_ephe_is_done(const struct alqi_domain *d)
{
    const struct alqi_heap_ephe_pass *p = &d->weak_phase.weak.pass;

    return p->is_done && p->n_darkened == d->weak_phase.weak.n_darkened;
}

static inline void
swap(alq_value *a, alq_value *b)
{
    alq_value v = *a;

    *a = *b;
    *b = v;
}

/* Ends a chunk: those that still wait are on one side of the border `retained`,
 * so the border becomes lo or hi. */
static void
pass_leave(struct alqi_heap_ephe_pass *p)
{
    struct alqi_heap_weak_chunk *chunk = p->chunk;

    ALQI_ASSERT(chunk->lo <= p->retained && p->retained <= chunk->hi &&
                chunk->hi <= chunk->n); /* .inv.waits */
    if (p->backwards)
        chunk->lo = p->retained;
    else
        chunk->hi = p->retained;
    p->chunk = p->backwards ? chunk->prev : chunk->next;
    pass_enter(p);
}

/* Whether the chunk has an entry `ahead` places behind the i-th one, in the
 * pass's direction. */
static inline bool
is_ahead(const struct alqi_heap_weak_chunk *chunk, uint32_t i, uint32_t ahead,
         bool backwards)
{
    return backwards ? i >= chunk->lo + ahead : i + ahead < chunk->hi;
}

/* Fetches what the pass will read soon: the ephemeron, then its first key's and
 * data's headers, then the key's place, each when the one before has arrived.
 * Further keys are rare, and are fetched when they are asked for. */
static inline __attribute__((always_inline)) void
fetch_ahead(const struct alqi_heap_weak *w, uint32_t i, bool backwards)
{
    const struct alqi_heap_weak_chunk *chunk = w->pass.chunk;
    const alq_value *at = &chunk->blocks[i];

    if (is_ahead(chunk, i, BLOCK_AHEAD, backwards))
        fetch_block(backwards ? at[-BLOCK_AHEAD] : at[BLOCK_AHEAD]);
    if (is_ahead(chunk, i, KEY_AHEAD, backwards))
        fetch_values(backwards ? at[-KEY_AHEAD] : at[KEY_AHEAD]);
    if (ALQI_UNLIKELY(w->pass.notes) &&
        is_ahead(chunk, i, PLACE_AHEAD, backwards))
        alqi_heap_ephe_wait_fetch(
            &w->waits, alqi_heap_weak_read(
                           backwards ? at[-PLACE_AHEAD] : at[PLACE_AHEAD], 2));
}

/* Looks at ephemerons of the chunk, n at most; returns how many.  Those that
 * wait are swapped to the border, the others lie behind it.
 *
 * It stops if one is held up, if waiters of marked blocks are to be looked at,
 * or if many ranges are grey, since marking these first spares passes. */
static inline __attribute__((always_inline)) size_t
pass_run(struct alqi_domain *d, size_t n, bool backwards)
{
    struct alqi_heap_weak *w = &d->weak_phase.weak;
    struct alqi_heap_ephe_pass *p = &w->pass;
    struct alqi_heap_weak_chunk *chunk = p->chunk;
    uint32_t at = p->at, retained = p->retained;
    uint32_t end = backwards ? chunk->lo : chunk->hi;
    const struct sight s = sight_of(d);
    size_t done = 0;

    p->is_held_up = false;
    for (; done < n && at != end && w->waits.n_data == 0 &&
           d->marker.n <= GREY_MAX;
         done++) {
        uint32_t i = backwards ? at - 1 : at;
        enum outcome outcome;

        fetch_ahead(w, i, backwards);
        outcome = resolve(d, &s, chunk->blocks[i], true);
        p->is_held_up = outcome == HELD_UP;
        if (outcome == HELD_UP)
            break;
        if (outcome == WAITS)
            swap(&chunk->blocks[backwards ? --retained : retained++],
                 &chunk->blocks[i]);
        at = backwards ? i : i + 1;
    }
    p->n_ready += (unsigned)done -
                  (backwards ? p->retained - retained : retained - p->retained);
    p->at = at;
    p->retained = retained;
    return done;
}

/* One copy of pass_run a direction: inlined with a constant, its loop has no
 * test for it. */
static size_t
pass_run_forward(struct alqi_domain *d, size_t n)
{
    return pass_run(d, n, false);
}

static size_t
pass_run_backward(struct alqi_domain *d, size_t n)
{
    return pass_run(d, n, true);
}

/* Looks at n ephemerons at most; returns how many, or one. */
static size_t
pass_step(struct alqi_domain *d, size_t n)
{
    struct alqi_heap_ephe_pass *p = &d->weak_phase.weak.pass;
    size_t done;

    alqi_heap_mark_undone(d);
    if (p->is_probing && n > PROBE - p->n_probed)
        n = PROBE - p->n_probed;
    done = p->backwards ? pass_run_backward(d, n) : pass_run_forward(d, n);
    if (!p->is_probing)
        return done;
    p->n_probed += (unsigned)done;
    p->is_probing = p->n_probed < PROBE;
    if (!p->is_probing && p->n_ready <= PROBE_FEW)
        pass_begin(&d->weak_phase.weak, !p->backwards);
    return done;
}

/* Whether marking has to be done before the pass goes on.  Grey ranges wait as
 * long as no ephemeron is held up: marking them in large portions is faster. */
static inline bool
is_marking_next(const struct alqi_domain *d)
{
    const struct alqi_heap_ephe_pass *p = &d->weak_phase.weak.pass;

    return (p->is_held_up || p->chunk == NULL || d->marker.n > GREY_MAX) &&
           !alqi_heap_mark_is_done(d);
}

/* Ends a pass that has noted each ephemeron that waits.  It leaves nothing to
 * be marked, since the table was asked about all that the domain has marked. If
 * none of them waits any more, the cleaner need not look at them, either. */
static void
noted_end(struct alqi_heap_weak *w)
{
    struct alqi_heap_weak_chunk *chunk;

    w->pass.n_darkened = w->n_darkened;
    for (chunk = w->old[ALQI_HEAP_EPHE].first;
         chunk != NULL && w->waits.n_left == 0; chunk = chunk->next)
        chunk->lo = chunk->hi; /* .inv.waits */
}

/* Ends a pass; true: another one begins, the other way round.  Is also called
 * when passes have ended. */
static bool
pass_again(struct alqi_domain *d)
{
    struct alqi_heap_weak *w = &d->weak_phase.weak;
    struct alqi_heap_ephe_pass *p = &w->pass;

    if (p->notes && !p->is_done && !w->waits.is_short)
        noted_end(w);
    p->is_done = p->n_darkened == w->n_darkened;
    alqi_heap_ephe_wait_close(&w->waits);
    if (!p->is_done)
        pass_begin(w, !p->backwards);
    return !p->is_done;
}

/* Does about budget_words of passes and marking; less only if passes are over,
 * or the domain has no ephemeron that waits.  A large table is emptied in parts
 * before it is closed, so that one step does not take long. */
size_t
alqi_heap_ephe_mark(struct alqi_domain *d, size_t budget_words)
{
    enum { EPHE_WORDS = 4, SHRINK_WORDS = ALQI_HEAP_IS_HARD ? 8 : 8192 };
    struct alqi_heap_ephe_pass *p = &d->weak_phase.weak.pass;
    struct alqi_heap_ephe_waits *waits = &d->weak_phase.weak.waits;
    size_t done = 0;

    /* .inv.waits: passes read lo and hi, cleaning moves them. */
    ALQI_ASSERT(d->heap->weak_phase.step < ALQI_HEAP_WEAK_PHASE_CLEAN);
    while (done < budget_words)
        if (is_marking_next(d)) {
            done += alqi_heap_mark(d, budget_words - done);
        } else if (waits->n_data > 0) {
            done +=
                EPHE_WORDS * follow(d, (budget_words - done) / EPHE_WORDS + 1);
        } else if (p->chunk == NULL) {
            if (alqi_heap_ephe_wait_shrink(waits))
                done += SHRINK_WORDS;
            else if (!pass_again(d))
                break;
        } else if (p->at == (p->backwards ? p->chunk->lo : p->chunk->hi)) {
            pass_leave(p);
        } else {
            done += EPHE_WORDS *
                    pass_step(d, (budget_words - done) / EPHE_WORDS + 1);
        }
    /* .inv.phase: it stops early only when a pass has found nothing. */
    ALQI_ASSERT(done >= budget_words || p->is_done);
    return done;
}
