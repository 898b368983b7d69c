/* weak_phase.h -- the last steps of marking: weak references and finalisers
 *
 *   MARK       all that roots lead to is marked
 *   EPHE       the data of ephemerons whose keys live, in rounds, until a round
 *              has marked nothing in any domain
 *   FIND       dead values of `finalise` are noted, all of them before any is
 *              resurrected
 *   RESURRECT  they are marked, with all that they lead to
 *   AGAIN      as EPHE
 *   CLEAN      dead values of finalise_last are due; dead keys are emptied
 *   DONE       the cycle may end
 *
 * The step changes in a stop, when no domain has work.  The work of a step is
 * done in slices, while programs run.  A value that a program reads by a weak
 * reference after FIND has noted it lives on; its finaliser is called all the
 * same.
 *
 * .inv.phase  When CLEAN begins, a white block is reachable through weak
 *             references alone, so it stays white. */
#ifndef ALQI_HEAP_WEAK_PHASE_H
#define ALQI_HEAP_WEAK_PHASE_H

#include "heap/state.h"

/* Weak references must hide what they still hold. */
static inline bool
alqi_heap_weak_phase_is_cleaning(const struct alqi_domain *d)
{
    return d->heap->cycle.phase == ALQI_HEAP_MARK &&
           d->heap->weak_phase.step >= ALQI_HEAP_WEAK_PHASE_CLEAN;
}

/* Marking begins, nothing being young: for all, then for each domain. */
void alqi_heap_weak_phase_begin_stw(struct alqi_heap *heap);
void alqi_heap_weak_phase_begin_share_stw(struct alqi_domain *of);

/* Does up to budget_words of the phase's work, by the holder of the domain.  If
 * less is done than was asked for, the domain is done. */
size_t alqi_heap_weak_phase_work(struct alqi_domain *of, size_t budget_words);

/* Nobody has any work: goes on to the next step that gives some domain work
 * again; false: marking is DONE. */
bool alqi_heap_weak_phase_next_stw(struct alqi_heap *heap);

/* Minor collection: the share of `of`, before draining; and what died, after
 * all have drained, while the old places can still be read: if `of` has
 * anything recent. */
void alqi_heap_weak_phase_promote_stw(struct alqi_domain *self,
                                      struct alqi_domain *of);
bool alqi_heap_weak_phase_is_recent(const struct alqi_domain *of);
void alqi_heap_weak_phase_after_minor_stw(struct alqi_domain *of);

/* The domain ends, with nothing young: _leave puts what it has into *o, and the
 * domain that adopts *o takes it over. */
void alqi_heap_weak_phase_leave(struct alqi_domain *d,
                                struct alqi_heap_orphan *o);
void alqi_heap_weak_phase_adopt(struct alqi_domain *d,
                                struct alqi_heap_orphan *o);
/* The heap ends. */
void alqi_heap_weak_phase_drop(struct alqi_domain *d);

#endif
