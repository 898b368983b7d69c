/* stat_pause.h -- how long the program waited: a histogram of nanoseconds
 *
 * Below 16 a bucket a nanosecond, then 16 for each doubling. */
#ifndef ALQI_HEAP_STAT_PAUSE_H
#define ALQI_HEAP_STAT_PAUSE_H

#include <aliquot/observe.h>

#include "base/base.h"

enum { ALQI_HEAP_PAUSE_STEPS = 16 };

/* The owner adds, anybody reads: each number by itself is one that was. */
void alqi_heap_pauses_add(struct alq_pauses *pauses, uint64_t ns);

/* By the owner; a reader sees some numbers of before, some zeros. */
void alqi_heap_pauses_clear(struct alq_pauses *pauses);

void alqi_heap_pauses_merge(struct alq_pauses *to,
                            const struct alq_pauses *from);

unsigned alqi_heap_pauses_bucket(uint64_t ns);

#endif
