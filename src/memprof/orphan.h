/* orphan.h -- entries whose domain has ended: orphan.c */
#ifndef ALQI_MEMPROF_ORPHAN_H
#define ALQI_MEMPROF_ORPHAN_H

#include "memprof/domain_state.h"

/* Takes what an ending domain leaves: entries and callbacks. */
void alqi_orphans_add(struct alqi_memprof_domain *d);
/* Gives all of that to the domain, whose thread is the caller or stopped. */
void alqi_orphans_adopt(struct alqi_memprof_domain *d);
/* The lock of orphans, around a prepared fork. */
void alqi_orphans_lock(void);
void alqi_orphans_unlock(void);
/* An unprepared fork: forgets them. */
void alqi_orphans_fork_reset(void);

#endif
