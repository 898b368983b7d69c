/* final_run.h -- calls of finalisers and alarms
 *
 *    due -> requested (final_request.h: want_calls is set, the limit is raised)
 *        -> running -> returned
 *           running -> released -> returned
 *
 * Calls run one at a time at the domain's next poll or slow allocation, or at
 * the end of an explicit collection; never inside a collection.
 *
 * .inv.calls  At most one call is running, that of the thread `caller`; while
 * it is, want_calls is false.  Of the released ones, which may be in blocking
 * sections, there are any number, of any threads. */
#ifndef ALQI_HEAP_FINAL_RUN_H
#define ALQI_HEAP_FINAL_RUN_H

#include "heap/state.h"

/* Calls what is due, until one fails: its status.  What is then still due waits
 * for the next time. */
enum alq_status alqi_heap_final_run(struct alqi_domain *d);

/* In a call: others may begin before it ends. */
void alqi_heap_final_release(struct alqi_domain *d);

#endif
