/* domain_lost.h -- a heap in a forked child that lacks threads of its domains
 *
 * .inv.fork  On a lost heap (life.is_lost) no call waits for a thread of
 * it, no domain ends, and no lock is taken that a missing thread may have held.
 * What allocates fails with ALQ_ESTATE; the first such call logs why. */
#ifndef ALQI_HEAP_DOMAIN_LOST_H
#define ALQI_HEAP_DOMAIN_LOST_H

#include "heap/state.h"

/* ALQ_ESTATE, for a call on a lost heap that fails; the first one logs why. */
enum alq_status alqi_heap_lost_status(struct alqi_heap *heap);

#endif
