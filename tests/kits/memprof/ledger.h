/* ledger.h -- for tests: every datum is handed in exactly once
 *
 * Each datum is the number of a ticket of its profile.  A ticket is issued by
 * an alloc callback that keeps, and must be handed in once, to dealloc or
 * release.  Any number of threads at once. */
#ifndef ALQI_KITS_MEMPROF_LEDGER_H
#define ALQI_KITS_MEMPROF_LEDGER_H

#include "kits/memprof/fake_heap.h"

enum { LEDGER_TICKETS = 1 << 15 };

struct ledger {
    struct alq_profile *profile;
    _Atomic(bool) is_open;
    _Atomic(uint32_t) n_issued;
    _Atomic(uint64_t) deallocs, releases, wrong;
    _Atomic(uint8_t) ticket[LEDGER_TICKETS];
};

/* Callbacks that keep most blocks, drop and fail some, and write it down. */
struct alq_tracker ledger_tracker(struct ledger *l);
/* When all blocks are freed and all callbacks have run: discards and drops the
 * profile, and asserts that the ledger balances. */
void ledger_check(struct fake_thread *f, struct ledger *l);

#endif
