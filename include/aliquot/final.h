/* final.h -- finalisers and alarms                           [OCaml Gc]
 *
 * A finaliser is a function that is called once, after a value has died.  There
 * are two kinds, and a value may have any number of either:
 *
 *   alq_gc_finalise       called with the value: it is kept for the call, with
 *                         all that it leads to, and dies again afterwards,
 *                         unless the call makes it reachable
 *   alq_gc_finalise_last  called without it, when it is dead for good: all of
 *                         its first kind have been called
 *
 * An alarm is called at the end of each major cycle.
 *
 * When.  Calls wait for the domain's next poll or allocation that takes its
 * slow part, or for the end of an explicit collection (gc.h): any call whose
 * comment says under GC that it may collect may call them, and no other.  None
 * is called inside a collection, and none when the domain ends or the process
 * exits.
 *
 * Order.  Of the finalisers that one collection finds the last registered is
 * called first; what was found earlier is called earlier; so a value's first
 * kind is called before its last kind.  Alarms come after the finalisers that
 * are due, in the order of creation.
 *
 * In a call.  It may do all that the program may: allocate, collect, register.
 * No other call begins before it returns, unless it calls
 * alq_gc_finalise_release.  A call that returns another status than ALQ_OK has
 * that status reported by what made the call: an explicit collection returns
 * it; an allocation returns ALQ_NULL and leaves it in the domain, as alq_poll
 * does.  The call is not repeated (an alarm's next one comes), and those behind
 * it wait for the next poll.
 *
 * A value that its own finaliser leads to, by `with`, never dies.  For
 * out-of-heap memory the finalise of alq_custom_ops is cheaper, if it need not
 * call the heap. */
#ifndef ALIQUOT_FINAL_H
#define ALIQUOT_FINAL_H

#include <aliquot/heap.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- finalisers --------------------------------------------------------- */

/* v      The value; for alq_gc_finalise_last ALQ_UNIT.
 * with   As registered.  Neither is in a root but for the callee's own. */
typedef enum alq_status alq_finalise_fn(struct alq_domain *d, alq_value v,
                                        alq_value with);

/* alq_gc_finalise -- calls fn(d, v, with) once v is dead but for that call
 *
 * Found at the end of a marking; a young v becomes old first.  Weak references
 * to v are still full in the call.
 *
 * v        A block; one without fields is refused, and so is a static one:
 *          they never die.  So are, as in OCaml, a double (ALQ_TAG_DOUBLE) and
 *          a block of the tags 244, 246 and 250, those of OCaml's lazy values:
 *          a runtime may copy the one and replace the others.
 * with     A value for the call, kept until then: say, a closure.  A pointer of
 *          the program's own goes as alq_from_int((intptr_t)pointer).  While it
 *          is a young block that is held in place (root.h), the call waits;
 *          not that of alq_gc_finalise_last for a v that dies young.
 *
 * Errors   ALQ_EINVAL  d or fn is NULL, or v is none of these blocks
 *          ALQ_ENOMEM  no memory to register
 * Threads  The domain's.
 * GC       Does not collect. */
ALQ_API ALQ_MUSTUSE enum alq_status alq_gc_finalise(struct alq_domain *d,
                                                    alq_value v,
                                                    alq_finalise_fn *fn,
                                                    alq_value with);

/* alq_gc_finalise_last -- calls fn(d, ALQ_UNIT, with) once v is dead
 *
 * Found by the minor collection if v is young, else at the end of a marking.
 * Weak references to v are empty in the call.
 *
 * v        As for alq_gc_finalise.
 * with     As for alq_gc_finalise.
 *
 * Errors   ALQ_EINVAL  d or fn is NULL, or v is none of these blocks
 *          ALQ_ENOMEM  no memory to register
 * Threads  The domain's.
 * GC       Does not collect. */
ALQ_API ALQ_MUSTUSE enum alq_status alq_gc_finalise_last(struct alq_domain *d,
                                                         alq_value v,
                                                         alq_finalise_fn *fn,
                                                         alq_value with);

/* alq_gc_finalise_release -- lets other calls begin before this one ends
 *
 * For a finaliser or alarm that does not end soon.  Elsewhere it does nothing.
 *
 * Threads  The domain's.
 * GC       Does not collect. */
ALQ_API void alq_gc_finalise_release(struct alq_domain *d);

/* ---- alarms ------------------------------------------------------------- */

struct alq_alarm;

/* arg    As given to alq_gc_create_alarm. */
typedef enum alq_status alq_alarm_fn(struct alq_domain *d, void *arg);

/* alq_gc_create_alarm -- calls fn(d, arg) at the end of each major cycle
 *
 * Once for all cycles that end before the next poll.  Cycles that end while fn
 * runs, or another alarm's, do not count.
 *
 * out      Receives the alarm, the program's until alq_gc_delete_alarm.  It is
 *          no longer called once the domain has ended.
 *
 * Errors   ALQ_EINVAL  d, fn or out is NULL
 *          ALQ_ENOMEM  no memory; *out is unchanged
 * Threads  The domain's.
 * GC       Does not collect. */
ALQ_API ALQ_MUSTUSE enum alq_status alq_gc_create_alarm(struct alq_domain *d,
                                                        alq_alarm_fn *fn,
                                                        void *arg,
                                                        struct alq_alarm **out);

/* alq_gc_delete_alarm -- the alarm is not called any more
 *
 * A call that runs at the moment goes on.
 *
 * alarm    Where the alarm is noted; becomes NULL.  Nothing is done, and no
 *          harm, if it is NULL or holds NULL: any number of threads may call
 *          with the same variable.
 *
 * Threads  Any, also after the domain has ended.
 * GC       No effect. */
ALQ_API void alq_gc_delete_alarm(struct alq_alarm **alarm);

#ifdef __cplusplus
}
#endif
#endif
