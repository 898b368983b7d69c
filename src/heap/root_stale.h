/* root_stale.h -- hard: a call that may collect makes forgotten roots useless
 *
 * A block that a local variable leads to may have moved in any such call, so a
 * variable that is no root must not be used afterwards.  Few blocks do move:
 * old ones hardly ever, and to move all of them would take time that grows with
 * the heap.  So the variable is changed, not the block: each word of the
 * thread's registers and stack that leads into a block and is no root is
 * *stale*, and gets bits that no address has.  Whoever follows it faults, and
 * the debugger shows where it led to in the lower 48 bits.
 *
 *     rooted slots (frames, ranges, globals, scanners)   as they were
 *     what leads to pinned blocks, large ones            as it was: they stay
 *     all else that leads to a block                     STALE | address
 *
 * .inv.stale  Behind such a call no word of the stack's NEAR bytes leads to a
 *             block that may move but roots; none of the whole stack behind a
 *             call that collects (is_forced in alloc.c).
 *
 * A program that keeps an address as a number keeps its complement.
 *
 * The library's own frames are among them: it keeps the same rule.  A thread
 * that is conservative is left alone. */
#ifndef ALQI_HEAP_ROOT_STALE_H
#define ALQI_HEAP_ROOT_STALE_H

#include "heap/state.h"

#if ALQI_CHECKS >= 3
/* The calling thread runs the domain; `all`: its whole stack. */
void alqi_heap_stale(struct alqi_domain *d, bool all);

/* A thread that blocks in one domain may run another one: from here up its
 * stack has roots of the first. */
void alqi_heap_stale_leave(struct alq_thread *thread);
void alqi_heap_stale_back(struct alq_thread *thread);
#else
#define alqi_heap_stale_leave(thread) ((void)(thread))
#define alqi_heap_stale_back(thread) ((void)(thread))

static inline void
alqi_heap_stale(struct alqi_domain *d, bool all)
{
    (void)d;
    (void)all;
}
#endif

#endif
