/* old.h -- what is done with the list of old_state.h */
#ifndef ALQI_MEMPROF_OLD_H
#define ALQI_MEMPROF_OLD_H

#include "memprof/domain_state.h"

/* Appends an entry whose block is old. */
void alqi_old_add(struct alqi_memprof_old *l, struct alqi_memprof_entry *e);
/* Puts all of `from`, which is empty then, in front of `to`. */
void alqi_old_append(struct alqi_memprof_old *to,
                     struct alqi_memprof_old *from);
/* Takes the first entry; NULL: the list is empty. */
struct alqi_memprof_entry *alqi_old_pop(struct alqi_memprof_old *l);
/* Removes each entry whose block is unmarked, and calls `removed`. */
void alqi_old_remove_dead(struct alqi_memprof_domain *d,
                          void (*removed)(void *arg,
                                          struct alqi_memprof_entry *e),
                          void *arg);
/* Removes each entry whose block is unmarked or whose profile is discarded, and
 * calls `removed`. */
void alqi_old_remove_ended(struct alqi_memprof_domain *d,
                           void (*removed)(void *arg,
                                           struct alqi_memprof_entry *e),
                           void *arg);
/* Removes the entries of this profile, and calls `removed`. */
void alqi_old_remove_of(struct alqi_memprof_old *l, const struct alq_profile *p,
                        void (*removed)(void *arg,
                                        struct alqi_memprof_entry *e),
                        void *arg);

#endif
