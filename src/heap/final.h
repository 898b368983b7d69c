/* final.h -- finalisers                                   [aliquot/final.h]
 *
 * A finaliser is registered, then due, then called:
 *
 *    first   due when marking has ended without reaching its value; the value
 *            is resurrected, with all that it leads to, as the call's argument
 *    last    due when its value is dead for good: marking ended without it,
 *            after the resurrections, or a minor collection found it dead young
 *
 * Of those found together the last registered is called first.  Those found
 * earlier are called earlier: the queue `todo`.
 *
 * During marking, passes go through the tables in slices, one in each of these
 * steps (weak_phase.h):
 *
 *     MARK       values that come `with` the calls are darkened
 *     FIND       of the first kind, those whose value is white are noted
 *     RESURRECT  these values are marked, and the calls are due
 *     CLEAN      of the last kind, those whose value is white are due */
#ifndef ALQI_HEAP_FINAL_H
#define ALQI_HEAP_FINAL_H

#include "heap/state.h"

/* False: no memory. */
bool alqi_heap_final_add(struct alqi_domain *d, enum alqi_heap_final_kind kind,
                         const struct alqi_heap_final_entry *entry);

/* The next call that is due; false: none is. */
bool alqi_heap_final_take(struct alqi_domain *d,
                          struct alqi_heap_final_entry *out);

/* Minor collection: roots, before draining; deaths, after it. */
void alqi_heap_final_promote(struct alqi_domain *self, struct alqi_domain *of);
void alqi_heap_final_after_minor(struct alqi_domain *d);

/* All values, for the verifier, and for compaction, when nothing is young. */
void alqi_heap_final_visit_stw(struct alqi_domain *d,
                               void (*visit)(void *arg, alq_value *slot),
                               void *arg);
/* What finalisers hold: the values that calls come with, and those of calls
 * that are due. */
void alqi_heap_final_visit_held_stw(struct alqi_domain *d,
                                    void (*visit)(void *arg, alq_value *slot),
                                    void *arg);
/* The roots that no pass comes to: of calls that are due, and recent ones. */
void alqi_heap_final_visit_due(struct alqi_domain *d,
                               void (*visit)(void *arg, alq_value *slot),
                               void *arg);

/* The pass of the heap's step begins; false: there is nothing to do.  The
 * holder of the domain then does the pass by slices, each of which returns the
 * words of its work; 0: the pass is over. */
bool alqi_heap_final_pass_begin_stw(struct alqi_domain *d);
size_t alqi_heap_final_pass(struct alqi_domain *d, size_t budget_words);

/* Whether a minor collection has anything to do with it. */
bool alqi_heap_final_is_recent(const struct alqi_domain *d);

/* d ends, and nothing is young; another takes over what it had. */
void alqi_heap_final_leave(struct alqi_domain *d, struct alqi_heap_orphan *o);
void alqi_heap_final_adopt(struct alqi_domain *d, struct alqi_heap_orphan *o);
/* None is called. */
void alqi_heap_final_drop(struct alqi_domain *d);

#endif
