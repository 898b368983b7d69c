/* weak.h -- weak arrays and ephemerons                     [aliquot/weak.h]
 *
 * Both are custom blocks, so that the marker and promotion leave their fields
 * alone:   ops | key 0 | key 1 ...     and     ops | data | key 0 | key 1 ...
 *
 * A domain lists those it made, old and young ones apart, in chunks: adding and
 * taking over lists of another domain moves nothing and, but for a new block,
 * takes no memory.
 *
 * .inv.listed  Each weak block that is not garbage is in one list.
 * .inv.weak    A field that holds a young value is of a young block, or in
 *              `fields`, unless those are lost.
 * .inv.hole    Of the chunk that is being cleaned, blocks from `to` up to
 *              `from` are gone: lo <= to <= from <= hi <= n.  No chunk has a
 *              hole while nothing is cleaned.
 *
 * A minor collection keeps the data of the ephemerons that it looks at, young
 * ones and `fields`; keys that died young are emptied at its end, and the data
 * with them. */
#ifndef ALQI_HEAP_WEAK_H
#define ALQI_HEAP_WEAK_H

#include "heap/major_mark.h"
#include "heap/state.h"

enum { ALQI_HEAP_EPHE_DATA = 1 }; /* the field */

/* [kind] */
extern const struct alq_custom_ops alqi_heap_weak_ops[ALQI_HEAP_WEAK_KINDS]
    __attribute__((visibility("hidden")));

static inline bool
alqi_heap_weak_is(alq_value v, enum alqi_heap_weak_kind kind)
{
    return alq_has_tag(v, ALQ_TAG_CUSTOM) &&
           alq_custom_ops_of(v) == &alqi_heap_weak_ops[kind];
}

/* The field of key 0. */
static inline uintptr_t
alqi_heap_weak_keys(enum alqi_heap_weak_kind kind)
{
    return kind == ALQI_HEAP_EPHE ? 2 : 1;
}

/* Other domains may read and write the fields of a weak block.
 *
 * .pair.weak  alqi_heap_weak_write(), alqi_heap_weak_replace() (release) ->
 *             alqi_heap_weak_read() (acquire): the block that a field leads to,
 *             and of an ephemeron what was written before
 *             (tests/models/ephe_weak.pml). */
static inline alq_value
alqi_heap_weak_read(alq_value block, uintptr_t field)
{
    return __atomic_load_n((const alqi_heap_word *)block + field,
                           __ATOMIC_ACQUIRE);
}

/* .pair.weak */
static inline void
alqi_heap_weak_write(alq_value block, uintptr_t field, alq_value v)
{
    __atomic_store_n((alqi_heap_word *)block + field, v, __ATOMIC_RELEASE);
}

/* False: another domain was faster (.pair.weak). */
static inline bool
alqi_heap_weak_replace(alq_value block, uintptr_t field, alq_value old,
                       alq_value v)
{
    return __atomic_compare_exchange_n((alqi_heap_word *)block + field, &old, v,
                                       false, __ATOMIC_ACQ_REL,
                                       __ATOMIC_RELAXED);
}

/* .inv.emptying  Of an ephemeron with a dead key the data are emptied by the
 *                thread that put this word, a static block that no program has,
 *                in the key's place.  The others wait until it is gone: then
 *                nobody is about to empty, and what a program sets stays, were
 *                it the same as before (tests/models/ephe.pml). */
extern const uintptr_t alqi_heap_weak_emptying[2]
    __attribute__((visibility("hidden")));
#define ALQI_HEAP_WEAK_EMPTYING ((alq_value)&alqi_heap_weak_emptying[1])

/* The key is dead: it and the data that it kept alive are gone, unless another
 * domain sees to that. */
static inline void
alqi_heap_weak_empty(struct alqi_domain *d, alq_value block,
                     enum alqi_heap_weak_kind kind, uintptr_t field,
                     alq_value dead)
{
    alq_value with =
        kind == ALQI_HEAP_EPHE ? ALQI_HEAP_WEAK_EMPTYING : ALQ_NULL;

    if (!alqi_heap_weak_replace(block, field, dead, with))
        return;
    d->weak_phase.weak.n_emptied++;
    if (kind == ALQI_HEAP_WEAK)
        return;
    alqi_heap_weak_write(block, ALQI_HEAP_EPHE_DATA, ALQ_NULL);
    ALQI_ASSERT(alqi_heap_weak_read(block, field) ==
                ALQI_HEAP_WEAK_EMPTYING); /* .inv.emptying: the others wait */
    alqi_heap_weak_write(block, field, ALQ_NULL);
}

/* Empties a key that marking has not reached, all keys of a block: they are not
 * dead, nor being emptied, when it returns. */
void alqi_heap_weak_clean_key(struct alqi_domain *d, alq_value block,
                              enum alqi_heap_weak_kind kind, uintptr_t field);
void alqi_heap_weak_clean_block(struct alqi_domain *d, alq_value block,
                                enum alqi_heap_weak_kind kind);

/* Lists a new block; false when there is no memory: it may not be used. */
bool alqi_heap_weak_list(struct alqi_domain *d, alq_value block,
                         enum alqi_heap_weak_kind kind);

/* The field of an old block has got a young value, and had none. */
void alqi_heap_weak_remember(struct alqi_domain *d, alq_value block,
                             uintptr_t field);

/* ---- for the collector -------------------------------------------------- */

/* Minor collection: data are promoted, before draining; keys that moved follow,
 * those that died are emptied, after it: while the heap is being cleaned, of
 * arrays that were young also old ones. */
void alqi_heap_weak_promote(struct alqi_domain *self, struct alqi_domain *of);
void alqi_heap_weak_after_minor_stw(struct alqi_domain *d, bool is_cleaning);

/* When marking begins, nothing being young. */
void alqi_heap_weak_mark_begin_stw(struct alqi_domain *d);

/* Cleaning, when everything that is reachable is marked; begin: false if there
 * is nothing to clean. */
bool alqi_heap_weak_clean_begin(struct alqi_domain *d);
size_t alqi_heap_weak_clean(struct alqi_domain *d, size_t budget_words);
/* Marking has ended: fields of dead blocks are not remembered. */
void alqi_heap_weak_after_marking_stw(struct alqi_domain *d);

/* All blocks and fields, to be replaced: for compaction.  Nothing is young, and
 * the heap is not being marked. */
void alqi_heap_weak_visit_stw(struct alqi_domain *d,
                              void (*visit)(void *arg, alq_value *slot),
                              void *arg);

/* Each block that is listed: for the verifier. */
void alqi_heap_weak_each_stw(struct alqi_domain *d,
                             void (*each)(struct alqi_domain *d,
                                          alq_value block,
                                          enum alqi_heap_weak_kind kind));

/* Whether a minor collection has anything to do with it. */
bool alqi_heap_weak_is_recent(const struct alqi_domain *d);

/* d ends, and nothing is young; another takes over what it had. */
void alqi_heap_weak_leave(struct alqi_domain *d, struct alqi_heap_orphan *o);
void alqi_heap_weak_adopt(struct alqi_domain *d, struct alqi_heap_orphan *o);
void alqi_heap_weak_drop(struct alqi_domain *d);

#endif
