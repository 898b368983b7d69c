/* verify.h -- the invariants of a scanned domain's entries: verify.c */
#ifndef ALQI_MEMPROF_VERIFY_H
#define ALQI_MEMPROF_VERIFY_H

#include "memprof/domain_state.h"

/* In dbg and hard builds: checks a domain that no thread works at. */
void alqi_scan_verify(const struct alqi_memprof_domain *d);

#endif
