/* weak.c -- weak arrays and ephemerons: lists, minor collection, cleaning
 *
 * A weak block is in the list of young ones.  A minor collection drops it dead,
 * or moves it, promoted, to the list of old ones, where it stays until cleaning
 * finds it dead.  Cleaning empties dead keys, chunk by chunk, in slices.
 *
 * Keeps .inv.listed: Each weak block that is not garbage is in one list.
 * Keeps .inv.weak: A field with a young value is of a young block, or in
 *   `fields`.
 * Keeps .inv.hole: A chunk's hole is closed before the next chunk is begun.
 * Keeps .inv.emptying: While data are being emptied, the dead key's place has a
 *   word of its own, and the others wait. */
#include <stdlib.h>
#include <string.h>

#include "heap/weak_ephe_wait.h"
#include "heap/minor_promote.h"
#include "heap/minor_escape.h"
#include "heap/weak.h"

/* The stages of cleaning: old blocks by their kind, then young arrays. */
enum { CLEAN_YOUNG = ALQI_HEAP_WEAK_KINDS, CLEAN_STAGES };

const struct alq_custom_ops alqi_heap_weak_ops[ALQI_HEAP_WEAK_KINDS] = {
    {.name = "weak array"}, {.name = "ephemeron"}};

const uintptr_t alqi_heap_weak_emptying[2] = {
    ALQ_HEADER(1, ALQ_TAG_ABSTRACT) | ALQI_HEAP_COLOUR_STATIC, 0};

/* ---- lists -------------------------------------------------------------- */

static void
link_last(struct alqi_heap_weak_list *list, struct alqi_heap_weak_chunk *chunk)
{
    chunk->next = NULL;
    chunk->prev = list->last;
    if (list->last != NULL)
        list->last->next = chunk;
    else
        list->first = chunk;
    list->last = chunk;
}

/* Takes a chunk out of its list; the chunk stays the caller's. */
static void
unlink_chunk(struct alqi_heap_weak_list *list,
             struct alqi_heap_weak_chunk *chunk)
{
    if (chunk->prev != NULL)
        chunk->prev->next = chunk->next;
    else
        list->first = chunk->next;
    if (chunk->next != NULL)
        chunk->next->prev = chunk->prev;
    else
        list->last = chunk->prev;
}

/* Adds a block at the end of the list; false: no memory. */
static bool
list_add(struct alqi_heap_weak_list *list, alq_value block)
{
    struct alqi_heap_weak_chunk *last = list->last;

    if (last == NULL || last->n == ALQI_HEAP_WEAK_CHUNK) {
        last = malloc(sizeof *last);
        if (last == NULL)
            return false;
        last->n = last->lo = last->hi = 0;
        link_last(list, last);
    }
    last->blocks[last->n++] = block;
    return true;
}

static void
list_drop(struct alqi_heap_weak_list *list)
{
    struct alqi_heap_weak_chunk *chunk;

    while ((chunk = list->first) != NULL) {
        unlink_chunk(list, chunk);
        free(chunk);
    }
}

/* Appends a chunk that is in no list, block by block as far as the last chunk
 * has room.  The order of the blocks stays: passes over chains of ephemerons
 * depend on it (weak_ephe.h).  Needs no memory. */
static void
list_merge(struct alqi_heap_weak_list *list, struct alqi_heap_weak_chunk *chunk)
{
    struct alqi_heap_weak_chunk *last = list->last;
    uint32_t room = last == NULL ? 0 : ALQI_HEAP_WEAK_CHUNK - last->n;
    uint32_t n = chunk->n < room ? chunk->n : room;

    if (n > 0) {
        memcpy(&last->blocks[last->n], chunk->blocks, n * sizeof(alq_value));
        last->n += n;
        chunk->n -= n;
        memmove(chunk->blocks, &chunk->blocks[n], chunk->n * sizeof(alq_value));
    }
    if (chunk->n > 0)
        link_last(list, chunk);
    else
        free(chunk);
}

/* ---- blocks ------------------------------------------------------------- */

bool
alqi_heap_weak_list(struct alqi_domain *d, alq_value block,
                    enum alqi_heap_weak_kind kind)
{
    struct alqi_heap_weak *w = &d->weak_phase.weak;

    ALQI_ASSERT(alqi_heap_weak_is(block, kind)); /* .inv.listed: of this kind */
    return list_add(
        alqi_heap_is_young(d, block) ? &w->young[kind] : &w->old[kind], block);
}

/* Doubles the array of fields; false: no memory, and it is as before. */
static bool
fields_grow(struct alqi_heap_weak *w)
{
    size_t size = w->fields_size == 0 ? 64 : w->fields_size * 2;
    struct alqi_heap_weak_field *fields =
        realloc(w->fields, size * sizeof *fields);

    if (fields == NULL)
        return false;
    w->fields = fields;
    w->fields_size = size;
    return true;
}

/* Notes that a field of an old block has got a young value.
 *
 * If there is no memory, the next minor collection reads all old weak blocks
 * instead.  The young value has escaped: its owner's minor collection alone
 * would not find this field. */
void
alqi_heap_weak_remember(struct alqi_domain *d, alq_value block, uintptr_t field)
{
    struct alqi_heap_weak *w = &d->weak_phase.weak;

    ALQI_ASSERT(!alqi_heap_is_young(d, block)); /* .inv.weak */
    alqi_heap_escape(d->heap);
    if (w->n_fields == w->fields_size && (w->fields_lost || !fields_grow(w)))
        w->fields_lost = true;
    else
        w->fields[w->n_fields++] = (struct alqi_heap_weak_field){block, field};
}

/* ---- minor collection --------------------------------------------------- */

/* Promotes the data of an ephemeron, whatever its keys.
 *
 * A young ephemeron may have been moved already.  That overwrites its header
 * and first field alone, so the data are still read from the old place, and the
 * copy is corrected in young_after_minor(). */
static void
promote_data(struct alqi_domain *self, alq_value ephe)
{
    alq_value data = alqi_heap_weak_read(ephe, ALQI_HEAP_EPHE_DATA);

    alqi_heap_promote(self, &data);
}

static void
promote_all_data(struct alqi_domain *self, struct alqi_heap_weak_list *list)
{
    struct alqi_heap_weak_chunk *chunk;
    uint32_t i;

    for (chunk = list->first; chunk != NULL; chunk = chunk->next)
        for (i = 0; i < chunk->n; i++)
            promote_data(self, chunk->blocks[i]);
}

/* Promotes the data of all ephemerons that a minor collection looks at: they
 * live even if a key dies now.  Keys are left alone. */
void
alqi_heap_weak_promote(struct alqi_domain *self, struct alqi_domain *of)
{
    struct alqi_heap_weak *w = &of->weak_phase.weak;
    size_t i;

    promote_all_data(self, &w->young[ALQI_HEAP_EPHE]);
    for (i = 0; i < w->n_fields; i++)
        if (w->fields[i].field == ALQI_HEAP_EPHE_DATA &&
            alqi_heap_weak_is(w->fields[i].block, ALQI_HEAP_EPHE))
            promote_data(self, w->fields[i].block);
    if (w->fields_lost)
        promote_all_data(self, &w->old[ALQI_HEAP_EPHE]);
}

/* Resolves a field of an old block whose value was young: it follows a value
 * that has moved, stays for a pinned one, is emptied for a dead one.  Requires
 * that all domains have promoted; another domain may do the same to the
 * field. */
static void
field_after_minor(struct alqi_domain *d, alq_value block,
                  enum alqi_heap_weak_kind kind, uintptr_t field)
{
    alq_value v = alqi_heap_weak_read(block, field);
    alq_value moved;

    if (!alqi_heap_is_young(d, v))
        return;
    moved = alqi_heap_promoted(v);
    if (moved == v) /* pinned */
        alqi_heap_weak_remember(d, block, field);
    else if (moved != ALQ_NULL)
        alqi_heap_weak_replace(block, field, v, moved);
    else
        alqi_heap_weak_empty(d, block, kind, field, v);
}

/* Resolves all fields of an old block.  Data come first: a key that died
 * empties them afterwards. */
static void
block_after_minor(struct alqi_domain *d, alq_value block,
                  enum alqi_heap_weak_kind kind)
{
    uintptr_t field, n = alq_wosize(block);

    for (field = 1; field < n; field++)
        field_after_minor(d, block, kind, field);
}

/* Makes the young weak blocks that live old, and drops the others.
 *
 * While the heap is being cleaned, arrays may bring dead keys with them, and
 * the cleaner may be past this list: so they are cleaned here. */
static void
young_after_minor(struct alqi_domain *d, enum alqi_heap_weak_kind kind,
                  bool is_cleaning)
{
    struct alqi_heap_weak_list *young = &d->weak_phase.weak.young[kind];
    struct alqi_heap_weak_chunk *chunk;

    while ((chunk = young->first) != NULL) {
        uint32_t i, to = 0;

        for (i = 0; i < chunk->n; i++) {
            alq_value block = alqi_heap_promoted(chunk->blocks[i]);

            if (block == ALQ_NULL)
                continue;
            /* .inv.listed: weak blocks are never retained. */
            ALQI_ASSERT(!alqi_heap_is_young(d, block));
            block_after_minor(d, block, kind);
            if (is_cleaning)
                alqi_heap_weak_clean_block(d, block, kind);
            chunk->blocks[to++] = block;
        }
        chunk->n = to;
        unlink_chunk(young, chunk);
        list_merge(&d->weak_phase.weak.old[kind], chunk);
    }
}

/* Whether the entry is one that cleaning has emptied: between `to` and `from`
 * of the cleaner's chunk there is nothing. */
static bool
is_hole(const struct alqi_heap_weak *w,
        const struct alqi_heap_weak_chunk *chunk, uint32_t i)
{
    return chunk == w->cleaner.chunk && i >= w->cleaner.to &&
           i < w->cleaner.from;
}

/* Calls `each` for each old block of a kind; the hole of the cleaner is left
 * out. */
static void
old_each(struct alqi_domain *d, enum alqi_heap_weak_kind kind,
         void (*each)(struct alqi_domain *d, alq_value block,
                      enum alqi_heap_weak_kind kind))
{
    const struct alqi_heap_weak *w = &d->weak_phase.weak;
    struct alqi_heap_weak_chunk *chunk;
    uint32_t i;

    for (chunk = w->old[kind].first; chunk != NULL; chunk = chunk->next)
        for (i = 0; i < chunk->n; i++)
            if (!is_hole(w, chunk, i))
                each(d, chunk->blocks[i], kind);
}

/* Resolves what weak blocks of the domain lead to, after promotion.  `fields`
 * is emptied first: fields that still hold a young, pinned block are noted
 * again. */
void
alqi_heap_weak_after_minor_stw(struct alqi_domain *d, bool is_cleaning)
{
    struct alqi_heap_weak *w = &d->weak_phase.weak;
    size_t i, n = w->n_fields;
    bool lost = w->fields_lost;

    ALQI_ASSERT(alqi_heap_is_stopped(d->heap));
    w->n_fields = 0; /* those that hold pinned blocks come back */
    w->fields_lost = false;
    for (i = 0; i < n; i++) {
        alq_value block = w->fields[i].block;

        field_after_minor(d, block,
                          alqi_heap_weak_is(block, ALQI_HEAP_EPHE)
                              ? ALQI_HEAP_EPHE
                              : ALQI_HEAP_WEAK,
                          w->fields[i].field);
    }
    if (lost) {
        d->sums.counts.remember_losses++;
        old_each(d, ALQI_HEAP_WEAK, block_after_minor);
        old_each(d, ALQI_HEAP_EPHE, block_after_minor);
    }
    young_after_minor(d, ALQI_HEAP_WEAK, is_cleaning);
    young_after_minor(d, ALQI_HEAP_EPHE, false);
    if (w->cleaner.stage == CLEAN_YOUNG)
        w->cleaner.chunk = NULL; /* they are clean, and old */
}

/* ---- the cycle ---------------------------------------------------------- */

/* Makes all old ephemerons wait, when marking begins.  Nothing is young, so all
 * of them are in these lists. */
void
alqi_heap_weak_mark_begin_stw(struct alqi_domain *d)
{
    struct alqi_heap_weak_chunk *chunk;

    ALQI_ASSERT(alqi_heap_is_stopped(d->heap));
    ALQI_ASSERT(d->weak_phase.weak.cleaner.chunk == NULL); /* .inv.hole */
    /* .inv.listed: nothing is young. */
    ALQI_ASSERT(d->weak_phase.weak.young[ALQI_HEAP_EPHE].first == NULL &&
                d->weak_phase.weak.young[ALQI_HEAP_WEAK].first == NULL);
    for (chunk = d->weak_phase.weak.old[ALQI_HEAP_EPHE].first; chunk != NULL;
         chunk = chunk->next) {
        chunk->lo = 0;
        chunk->hi = chunk->n;
    }
}

/* Empties the key if it is dead; returns when it is neither dead nor being
 * emptied (.inv.emptying).
 *
 * Requires that the heap is being cleaned: a white key is dead then.  If
 * another domain is about to empty it, this one spins: the other has two stores
 * to do. */
void
alqi_heap_weak_clean_key(struct alqi_domain *d, alq_value block,
                         enum alqi_heap_weak_kind kind, uintptr_t field)
{
    unsigned spins = 0;

    /* .inv.phase: a white key is dead. */
    ALQI_ASSERT(d->heap->weak_phase.step >= ALQI_HEAP_WEAK_PHASE_CLEAN);
    for (;;) {
        alq_value v = alqi_heap_weak_read(block, field);

        if (v == ALQI_HEAP_WEAK_EMPTYING)
            alqi_plat_spin(&spins);
        else if (alqi_heap_mark_is_white(d, v))
            alqi_heap_weak_empty(d, block, kind, field, v);
        else
            return;
    }
}

void
alqi_heap_weak_clean_block(struct alqi_domain *d, alq_value block,
                           enum alqi_heap_weak_kind kind)
{
    uintptr_t field, n = alq_wosize(block);

    for (field = alqi_heap_weak_keys(kind); field < n; field++)
        alqi_heap_weak_clean_key(d, block, kind, field);
}

static enum alqi_heap_weak_kind
cleaner_kind(const struct alqi_heap_weak_cleaner *c)
{
    return c->stage == ALQI_HEAP_EPHE ? ALQI_HEAP_EPHE : ALQI_HEAP_WEAK;
}

/* Goes on to the first chunk of the next stage that has one, if the cleaner has
 * none.  Young ephemerons have no dead keys (weak_access.c, blit), so they have
 * no stage. */
static void
cleaner_find(struct alqi_heap_weak *w)
{
    struct alqi_heap_weak_cleaner *c = &w->cleaner;

    while (c->chunk == NULL && ++c->stage < CLEAN_STAGES)
        c->chunk = c->stage < CLEAN_YOUNG ? w->old[c->stage].first
                                          : w->young[ALQI_HEAP_WEAK].first;
}

/* Begins a chunk.  Of ephemerons those that still wait are looked at, from lo
 * to hi: all keys of the others are marked, and so are they. */
static void
cleaner_enter(struct alqi_heap_weak_cleaner *c)
{
    if (c->chunk == NULL)
        return;
    if (c->stage != ALQI_HEAP_EPHE) {
        c->chunk->lo = 0;
        c->chunk->hi = c->chunk->n;
    }
    ALQI_ASSERT(c->chunk->lo <= c->chunk->hi &&
                c->chunk->hi <= c->chunk->n); /* .inv.waits */
    c->to = c->from = c->chunk->lo;
    c->field = alqi_heap_weak_keys(cleaner_kind(c));
}

/* Begins cleaning; false: there is nothing to clean.  Requires that all that is
 * reachable is marked (.inv.phase). */
bool
alqi_heap_weak_clean_begin(struct alqi_domain *d)
{
    struct alqi_heap_weak *w = &d->weak_phase.weak;

    ALQI_ASSERT(d->heap->weak_phase.step ==
                ALQI_HEAP_WEAK_PHASE_CLEAN); /* .inv.phase */
    ALQI_ASSERT(w->cleaner.chunk == NULL);   /* .inv.hole */
    w->cleaner.stage = ALQI_HEAP_WEAK;
    w->cleaner.chunk = w->old[ALQI_HEAP_WEAK].first;
    cleaner_find(w);
    cleaner_enter(&w->cleaner);
    return w->cleaner.chunk != NULL;
}

/* Closes the hole in a chunk that is clean.  A chunk that has become small is
 * put together with the one before it, so that lists do not keep memory for
 * dead blocks.  Nothing of it waits any more: lo = hi. */
static void
cleaner_close(struct alqi_heap_weak *w, struct alqi_heap_weak_chunk *chunk)
{
    const struct alqi_heap_weak_cleaner *c = &w->cleaner;
    struct alqi_heap_weak_chunk *prev = chunk->prev;

    ALQI_ASSERT(chunk->lo <= c->to && c->to <= c->from &&
                c->from == chunk->hi); /* .inv.hole */
    memmove(&chunk->blocks[c->to], &chunk->blocks[c->from],
            (chunk->n - c->from) * sizeof chunk->blocks[0]);
    chunk->n -= c->from - c->to;
    chunk->lo = chunk->hi = c->to;
    if (chunk->n > 0 &&
        (prev == NULL || prev->n + chunk->n > ALQI_HEAP_WEAK_CHUNK))
        return;
    unlink_chunk(&w->old[c->stage], chunk);
    if (chunk->n > 0) {
        memcpy(&prev->blocks[prev->n], chunk->blocks,
               chunk->n * sizeof chunk->blocks[0]);
        prev->n += chunk->n;
    }
    free(chunk);
}

/* Goes on behind the chunk.  The next chunk is read first, since closing may
 * free this one.  Young arrays stay in their chunk: the minor collection makes
 * them old. */
static void
cleaner_leave(struct alqi_heap_weak *w)
{
    struct alqi_heap_weak_cleaner *c = &w->cleaner;
    struct alqi_heap_weak_chunk *chunk = c->chunk;

    c->chunk = chunk->next;
    if (c->stage != CLEAN_YOUNG)
        cleaner_close(w, chunk);
    cleaner_find(w);
    cleaner_enter(c);
}

/* Goes on to the next block of the chunk; this one stays in the list, or is
 * dropped. */
static void
cleaner_next(struct alqi_heap_weak_cleaner *c, bool keep)
{
    if (keep)
        c->chunk->blocks[c->to++] = c->chunk->blocks[c->from];
    c->from++;
    c->field = alqi_heap_weak_keys(cleaner_kind(c));
}

/* Cleans the block at `from`, a part of it if it is long; returns the words of
 * work.
 *
 * A white block is dead and leaves the list: the sweep frees it.  Others may
 * store into the block meanwhile: alqi_heap_weak_empty() empties a field only
 * if it still holds the value that is dead. */
static size_t
cleaner_step(struct alqi_domain *d)
{
    enum { PART = 1024, AHEAD = 8 };
    struct alqi_heap_weak_cleaner *c = &d->weak_phase.weak.cleaner;
    alq_value block = c->chunk->blocks[c->from];
    uintptr_t n, stop, field;

    ALQI_DEBUG(c->to <= c->from && c->from < c->chunk->hi); /* .inv.hole */
    if (c->from + AHEAD < c->chunk->hi)
        __builtin_prefetch(
            (void *)(c->chunk->blocks[c->from + AHEAD] - ALQ_WORD_BYTES), 1);
    if (alqi_heap_mark_is_white(d, block)) {
        cleaner_next(c, false);
        return 1;
    }
    n = alq_wosize(block);
    stop = n - c->field > PART ? c->field + PART : n;
    for (field = c->field; field < stop; field++) {
        alq_value v = alqi_heap_weak_read(block, field);

        if (field + AHEAD < stop)
            __builtin_prefetch(
                (void *)(alqi_heap_weak_read(block, field + AHEAD) -
                         ALQ_WORD_BYTES));
        if (alqi_heap_mark_is_white(d, v))
            alqi_heap_weak_empty(d, block, cleaner_kind(c), field, v);
    }
    stop -= c->field;
    c->field += stop;
    if (c->field == n)
        cleaner_next(c, true);
    return stop + 1;
}

/* Cleans for about budget_words; less is done only if nothing is left. */
size_t
alqi_heap_weak_clean(struct alqi_domain *d, size_t budget_words)
{
    struct alqi_heap_weak *w = &d->weak_phase.weak;
    size_t done = 0;

    while (done < budget_words && w->cleaner.chunk != NULL)
        if (w->cleaner.from == w->cleaner.chunk->hi) {
            cleaner_leave(w);
            done++;
        } else {
            done += cleaner_step(d);
        }
    return done;
}

/* Forgets fields of dead blocks before their memory is reused.  Without that
 * the next minor collection would store into another block. */
void
alqi_heap_weak_after_marking_stw(struct alqi_domain *d)
{
    struct alqi_heap_weak *w = &d->weak_phase.weak;
    size_t i, to = 0;

    ALQI_ASSERT(alqi_heap_is_stopped(d->heap));
    ALQI_ASSERT(w->cleaner.chunk == NULL); /* .inv.hole: all is clean */
    for (i = 0; i < w->n_fields; i++)
        if (!alqi_heap_mark_is_white(d, w->fields[i].block))
            w->fields[to++] = w->fields[i];
    w->n_fields = to;
}

/* ---- all ---------------------------------------------------------------- */

/* Visits all old weak blocks and all their fields, to be replaced when blocks
 * have moved.  Not the cleaner's: it has no chunk outside of marking. */
void
alqi_heap_weak_visit_stw(struct alqi_domain *d,
                         void (*visit)(void *arg, alq_value *slot), void *arg)
{
    struct alqi_heap_weak_chunk *chunk;
    uint32_t i, kind;
    uintptr_t field;

    ALQI_ASSERT(alqi_heap_is_stopped(d->heap));
    ALQI_ASSERT(d->weak_phase.weak.cleaner.chunk == NULL); /* .inv.hole */
    for (i = 0; i < d->weak_phase.weak.n_fields; i++)
        visit(arg, &d->weak_phase.weak.fields[i].block);
    for (kind = 0; kind < ALQI_HEAP_WEAK_KINDS; kind++)
        for (chunk = d->weak_phase.weak.old[kind].first; chunk != NULL;
             chunk = chunk->next)
            for (i = 0; i < chunk->n; i++) {
                visit(arg, &chunk->blocks[i]);
                for (field = 1; field < alq_wosize(chunk->blocks[i]); field++)
                    visit(arg, (alq_value *)chunk->blocks[i] + field);
            }
}

static void
young_each(struct alqi_domain *d, enum alqi_heap_weak_kind kind,
           void (*each)(struct alqi_domain *d, alq_value block,
                        enum alqi_heap_weak_kind kind))
{
    struct alqi_heap_weak_chunk *chunk;
    uint32_t i;

    for (chunk = d->weak_phase.weak.young[kind].first; chunk != NULL;
         chunk = chunk->next)
        for (i = 0; i < chunk->n; i++)
            each(d, chunk->blocks[i], kind);
}

void
alqi_heap_weak_each_stw(struct alqi_domain *d,
                        void (*each)(struct alqi_domain *d, alq_value block,
                                     enum alqi_heap_weak_kind kind))
{
    ALQI_ASSERT(alqi_heap_is_stopped(d->heap));
    old_each(d, ALQI_HEAP_WEAK, each);
    old_each(d, ALQI_HEAP_EPHE, each);
    young_each(d, ALQI_HEAP_WEAK, each);
    young_each(d, ALQI_HEAP_EPHE, each);
}

/* Whether a minor collection has to resolve weak blocks of the domain. */
bool
alqi_heap_weak_is_recent(const struct alqi_domain *d)
{
    const struct alqi_heap_weak *w = &d->weak_phase.weak;

    return w->n_fields > 0 || w->fields_lost ||
           w->young[ALQI_HEAP_WEAK].first != NULL ||
           w->young[ALQI_HEAP_EPHE].first != NULL;
}

/* Hands the domain's weak blocks over to *o, when the domain ends with nothing
 * young.
 *
 * Cleaning under way is finished first, so *o has no hole.  Fields are not
 * handed over: the flag makes the adopter read all its old blocks in the next
 * minor collection, which is rare enough.  Counters that a round of passes
 * needs go to the heap. */
void
alqi_heap_weak_leave(struct alqi_domain *d, struct alqi_heap_orphan *o)
{
    struct alqi_heap_weak *w = &d->weak_phase.weak;

    ALQI_ASSERT(w->young[ALQI_HEAP_WEAK].first == NULL &&
                w->young[ALQI_HEAP_EPHE].first == NULL); /* .inv.listed */
    o->weak_fields_lost = alqi_heap_weak_is_recent(d);
    alqi_heap_weak_clean(d, SIZE_MAX);
    ALQI_ASSERT(w->cleaner.chunk == NULL); /* .inv.hole: *o has none */
    memcpy(o->weak, w->old, sizeof w->old);
    memset(w->old, 0, sizeof w->old);
    __atomic_add_fetch(&d->heap->weak_phase.n_darkened_ended,
                       w->n_darkened - w->n_darkened_before, __ATOMIC_RELAXED);
    __atomic_add_fetch(&d->heap->weak_phase.n_emptied_ended, w->n_emptied,
                       __ATOMIC_RELAXED);
    free(w->fields);
    alqi_heap_ephe_wait_close(&w->waits);
    *w = (struct alqi_heap_weak){0};
}

/* Takes over the weak blocks that *o has, chunk by chunk: no memory is
 * needed. */
void
alqi_heap_weak_adopt(struct alqi_domain *d, struct alqi_heap_orphan *o)
{
    struct alqi_heap_weak_chunk *chunk;
    unsigned kind;

    d->weak_phase.weak.fields_lost |= o->weak_fields_lost;
    for (kind = 0; kind < ALQI_HEAP_WEAK_KINDS; kind++)
        while ((chunk = o->weak[kind].first) != NULL) {
            unlink_chunk(&o->weak[kind], chunk);
            link_last(&d->weak_phase.weak.old[kind], chunk);
        }
}

/* Frees the lists and tables, when the heap ends.  The blocks go with the
 * heap. */
void
alqi_heap_weak_drop(struct alqi_domain *d)
{
    unsigned kind;

    for (kind = 0; kind < ALQI_HEAP_WEAK_KINDS; kind++) {
        list_drop(&d->weak_phase.weak.old[kind]);
        list_drop(&d->weak_phase.weak.young[kind]);
    }
    free(d->weak_phase.weak.fields);
    alqi_heap_ephe_wait_close(&d->weak_phase.weak.waits);
    d->weak_phase.weak = (struct alqi_heap_weak){0};
}
