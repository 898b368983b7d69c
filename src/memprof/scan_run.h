/* scan_run.h -- where an entry of a scanned heap goes, and what runs for it */
#ifndef ALQI_MEMPROF_SCAN_RUN_H
#define ALQI_MEMPROF_SCAN_RUN_H

#include "memprof/domain_state.h"
#include "memprof/engine.h"
#include "memprof/entry.h"

/* Runs the callbacks that are due for a scanned heap's entry. */
void alqi_scan_run(struct alqi_memprof_thread *t, struct alqi_memprof_entry *e);
/* Puts the entry on the list where its block and datum belong. */
void alqi_scan_place(struct alqi_memprof_domain *d,
                     struct alqi_memprof_entry *e);

#endif
