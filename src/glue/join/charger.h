/* charger.h -- blocks that tasks with a limit of live words have allocated
 *
 * A profile in a slot of its own samples and tracks them, as long as such a
 * task runs in the domain; each of them holds a charge (limit/account.h). */
#ifndef ALQI_GLUE_JOIN_CHARGER_H
#define ALQI_GLUE_JOIN_CHARGER_H

#include "heap/state.h"

/* One task more in the domain that the calling thread runs, and one less.
 * `seed`: not 0, sampling begins anew.  ALQ_ENOMEM. */
enum alq_status alqi_glue_charger_begin(struct alqi_domain *d,
                                        uint64_t interval_words, uint64_t seed);
void alqi_glue_charger_end(struct alqi_domain *d);

/* What collections have found dead is off the accounts. */
void alqi_glue_charger_settle(struct alqi_domain *d);

#endif
