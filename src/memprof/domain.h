/* domain.h -- slots of domains, arming of their threads: domain.c */
#ifndef ALQI_MEMPROF_DOMAIN_H
#define ALQI_MEMPROF_DOMAIN_H

#include "memprof/domain_state.h"

/* The locks of all domains and of their list, around a prepared fork. */
void alqi_domains_lock_all(void);
void alqi_domains_unlock_all(void);
/* An unprepared fork: resets every lock and every thread but `self`. */
void alqi_domains_fork_reset(struct alqi_memprof_thread *self);
/* Copies what samples the thread into its `armed`, and draws from a new seed if
 * one client decides it.  The caller is the thread, or has it stopped. */
void alqi_domain_arm(struct alqi_memprof_domain *d,
                     struct alqi_memprof_thread *t);
/* Disarms the thread: its clients may be gone afterwards. */
void alqi_clients_leave(struct alqi_memprof_thread *t);
/* Replaces what a slot holds; `p` may be NULL. */
void alqi_domain_slot_set_locked(struct alqi_memprof_domain *d, unsigned slot,
                                 struct alq_profile *p);

#endif
