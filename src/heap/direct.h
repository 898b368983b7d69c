/* direct.h -- blocks born in the major heap
 *
 * .inv.room holds: what promotion may need, and the reserve, stay. */
#ifndef ALQI_HEAP_DIRECT_H
#define ALQI_HEAP_DIRECT_H

#include "heap/state.h"

/* A block with the header, of colour 0 and at least one field, its fields not
 * set; ALQ_NULL: no memory.  Does not collect; may finalise what it sweeps. */
alq_value alqi_heap_direct_try(struct alqi_domain *d, uintptr_t header);

#endif
