/* final_alarm.h -- calls at the end of each major cycle [aliquot/final.h]
 *
 * Alarms are a list, in the order of creation.  A cycle's end makes all of them
 * due and sends `alarm_next` back to the first; from there each is called once.
 * So several cycles that end before a poll are one call.  Those that end inside
 * an alarm's call are no reason for others: two alarms that collect would call
 * each other for ever. */
#ifndef ALQI_HEAP_FINAL_ALARM_H
#define ALQI_HEAP_FINAL_ALARM_H

#include "heap/state.h"

/* NULL: no memory. */
struct alq_alarm *alqi_heap_alarm_new(struct alqi_domain *d, alq_alarm_fn *fn,
                                      void *arg);
/* From any thread. */
void alqi_heap_alarm_delete(struct alq_alarm *alarm);

/* A cycle has ended. */
void alqi_heap_alarm_cycle_end_stw(struct alqi_domain *d);

/* Calls one that is due; false: none is. */
bool alqi_heap_alarm_call(struct alqi_domain *d, enum alq_status *st);

/* The domain ends; its alarms die, those that the program holds are freed when
 * it deletes them. */
void alqi_heap_alarm_drop(struct alqi_domain *d);

#endif
