/* charger.h -- blocks that tasks with a limit of live words have allocated
 *
 * A profile in a slot of its own samples and tracks them, as long as such a
 * task runs in the domain; each of them holds a charge (limit/account.h). */
#ifndef ALQI_GLUE_CHARGER_H
#define ALQI_GLUE_CHARGER_H

#include "heap/state.h"

/* One task more in the domain that the calling thread runs, and one less.
 * ALQ_ENOMEM. */
enum alq_status alqi_glue_charger_begin(struct alqi_domain *d,
                                        uint64_t interval_words);
void alqi_glue_charger_end(struct alqi_domain *d);

#endif
