/* domain.h -- a domain begins and ends, and with it the heap */
#ifndef ALQI_HEAP_DOMAIN_H
#define ALQI_HEAP_DOMAIN_H

#include "heap/state.h"

/* Of a config whose members are within their ranges; NULL: no memory. */
struct alqi_domain *alqi_heap_domain_new(const struct alq_domain_config *c);
void alqi_heap_domain_drop(struct alqi_domain *d);

#endif
