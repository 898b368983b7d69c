/* domain.h -- several domains, several threads
 *
 * A domain is run by one thread at a time.  Domains run at the same time, and
 * share one heap: what one has made others may read, keep and change.
 *
 * Three rules come with that, beside those of heap.h.
 *
 * Passing.  A value is passed in a field of a block (alq_store), also of a weak
 * array or an ephemeron, as argument or result (alq_domain_spawn,
 * alq_domain_join), in a global root, or as the address of a pinned block.  A
 * pointer in malloc memory that another domain reads is no root: use those.
 * Frames, ranges, boxed roots and scanners are a domain's, and read and written
 * by it alone: as long as it has passed no young block in one of these ways, it
 * collects its minor heap by itself, and moves its blocks while others run.
 *
 * Order.  alq_store releases: who reads the new value by alq_field finds the
 * block as it was when it was stored.  Beyond that domains order what they do
 * as threads do, by locks or by the atomic calls below.
 *
 * Blocking.  A collection of all waits for each domain to allocate, poll or
 * block.  A call that may take long and does not touch the heap (read, poll,
 * sleep, a lock of the program's own) stands between alq_blocking_begin and
 * _end: no collection waits for it, and others do the domain's share.  A lock
 * that a domain may hold while it allocates must be waited for in this way. */
#ifndef ALIQUOT_DOMAIN_H
#define ALIQUOT_DOMAIN_H

#include <aliquot/heap.h>

#ifdef __cplusplus
extern "C" {
#endif

/* alq_domain_self -- the domain that the calling thread runs
 *
 * Returns  The domain; NULL when it runs none, also in a blocking section.
 * Threads  Any.
 * GC       No effect. */
ALQ_API struct alq_domain *alq_domain_self(void);

/* alq_domain_id -- its number, which no other domain of the process ever has
 *
 * Returns  1 for the first one, and so on; 0 when d is NULL.
 * Threads  Any.
 * GC       No effect. */
ALQ_API uint64_t alq_domain_id(const struct alq_domain *d);

/* ---- spawning ----------------------------------------------------------- */

/* A domain that was spawned, and its result. */
struct alq_child;

/* What a spawned domain does.  `arg` is a value like any other: it stands in a
 * root before the first call that may collect.  The result is kept for
 * alq_domain_join. */
typedef alq_value alq_domain_fn(struct alq_domain *d, alq_value arg,
                                void *data);

/* alq_domain_spawn -- a new domain on a new thread
 *
 * d        The domain of the calling thread.
 * fn       Called on the new thread with the new domain, arg and data.  When it
 *          returns, the domain ends, as soon as no other thread is attached.
 *          If it returns from an open blocking section, its result is ALQ_NULL.
 * config   As for alq_domain_new; of its members only minor_words counts.
 * out      Receives the child; drop it when it is not needed any more.
 *
 * Errors   ALQ_EINVAL  d, fn or out is NULL, or config is out of range
 *          ALQ_EBUSY   there are as many domains as domains_max allows
 *          ALQ_ENOMEM  no memory even after a full collection, or the system
 *                      refuses the thread; or the address space that was free
 *                      when the heap began has no room for more domains
 *          ALQ_ESTATE  the calling thread does not run d
 *          On any error nothing has started and *out is unchanged.
 * Threads  The domain's.
 * GC       May collect. */
ALQ_API ALQ_MUSTUSE enum alq_status
alq_domain_spawn(struct alq_domain *d, alq_domain_fn *fn, alq_value arg,
                 void *data, const struct alq_domain_config *config,
                 struct alq_child **out);

/* alq_domain_join -- waits until a child has ended
 *
 * It may be called by several domains, and more than once.
 *
 * d        The domain of the calling thread; it blocks meanwhile.
 * result   Receives what fn returned; NULL is allowed.
 *
 * Errors   ALQ_EINVAL  d or child is NULL
 *          ALQ_ESTATE  the calling thread does not run d, or d is the child
 * Threads  The domain's.
 * GC       May collect. */
ALQ_API enum alq_status alq_domain_join(struct alq_domain *d,
                                        struct alq_child *child,
                                        alq_value *result);

/* alq_child_drop -- the child is not joined any more
 *
 * If it has not ended, it goes on, and its result is dropped.  NULL is allowed.
 *
 * Threads  Any; the last call that uses the child.
 * GC       No effect. */
ALQ_API void alq_child_drop(struct alq_child *child);

/* ---- blocking ----------------------------------------------------------- */

/* A thread of a domain. */
struct alq_thread;

/* alq_blocking_begin -- the calling thread will not touch the heap for a while
 *
 * Its frames remain roots.  Other threads of the domain may run it meanwhile.
 * When none does, the domain costs collections nothing but its share of the
 * work, done by the others.  No system call unless somebody waits.
 *
 * Returns  The thread, for alq_blocking_end; NULL when the calling thread does
 *          not run d: then nothing has changed.
 * Threads  The domain's.
 * GC       May collect until the end of the section. */
ALQ_API ALQ_MUSTUSE struct alq_thread *alq_blocking_begin(struct alq_domain *d);

/* alq_blocking_end -- the thread runs its domain again, when that is free
 *
 * Errors   ALQ_EINVAL  thread is NULL
 *          ALQ_EBUSY   the calling thread runs a domain
 *          ALQ_ESTATE  the thread is in no section, or was forked in it
 * Threads  The one that began.
 * GC       May collect. */
ALQ_API enum alq_status alq_blocking_end(struct alq_thread *thread);

static inline void
alq_blocking_scope_end(struct alq_thread **thread)
{
    if (*thread != NULL)
        alq_blocking_end(*thread);
}

/* ALQ_BLOCKING(d, name); from here to the end of the scope, however it is left,
 * the thread blocks. */
#define ALQ_BLOCKING(d, name)                                                  \
    struct alq_thread *name                                                    \
        __attribute__((cleanup(alq_blocking_scope_end), unused)) =             \
            alq_blocking_begin(d)

/* ---- several threads in one domain -------------------------------------- */

/* alq_thread_attach -- the calling thread is one of the domain's, and runs it
 *
 * Waits until no other thread runs the domain: until they block, yield or
 * detach.  Each thread has frames and a status of its own, and detaches before
 * it ends.
 *
 * d        Does not end before the thread is detached.
 * out      Receives the thread.
 *
 * Errors   ALQ_EINVAL  d or out is NULL
 *          ALQ_EBUSY   the calling thread runs a domain
 *          ALQ_ENOMEM  no memory
 *          ALQ_ESTATE  a forked process without the threads of its domains
 * Threads  Any.
 * GC       May collect. */
ALQ_API ALQ_MUSTUSE enum alq_status alq_thread_attach(struct alq_domain *d,
                                                      struct alq_thread **out);

/* alq_thread_detach -- the thread that runs a domain leaves it for good
 *
 * Its frames are gone.  A domain without threads remains, with its other roots.
 *
 * Errors   ALQ_EINVAL  thread is NULL
 *          ALQ_ESTATE  the calling thread does not run its domain as `thread`,
 *                      or is in a callback of a profile; or a forked process
 *                      without the threads of its domains
 *          ALQ_EBUSY   the domain was spawned with it, or the caller is a
 *                      finaliser or alarm
 * Threads  The one that was attached.
 * GC       May collect. */
ALQ_API enum alq_status alq_thread_detach(struct alq_thread *thread);

/* alq_thread_self -- the thread that runs a domain now, for alq_thread_detach
 *
 * Returns  The thread; NULL when the calling thread does not run d.
 * Threads  The domain's.
 * GC       No effect. */
ALQ_API struct alq_thread *alq_thread_self(struct alq_domain *d);

/* alq_thread_yield -- lets another thread of the domain run, if one waits
 *
 * Errors   ALQ_EINVAL  d is NULL
 *          ALQ_ESTATE  the calling thread does not run d
 * Threads  The domain's.
 * GC       May collect. */
ALQ_API enum alq_status alq_thread_yield(struct alq_domain *d);

/* ---- atomic fields ------------------------------------------------------ */

/* Field i, with all that was written before it was stored. */
static inline alq_value
alq_field_acquire(alq_value block, uintptr_t i)
{
    return ALQ_VALUE(__atomic_load_n((const uintptr_t *)alq_bits(block) + i,
                                     __ATOMIC_ACQUIRE));
}

/* alq_field_exchange -- overwrites field i of a block, sequentially consistent
 *
 * Returns  What it held.  ALQ_NULL and a status (ALQ_EINVAL): there is no such
 *          field.
 * Threads  The domain's.
 * GC       Does not collect. */
ALQ_API alq_value alq_field_exchange(struct alq_domain *d, alq_value block,
                                     uintptr_t i, alq_value v);

/* alq_field_compare_exchange -- overwrites field i if it holds *expected
 *
 * Compares addresses, and so are equal those of one block.
 *
 * Returns  1; or 0, and *expected is what it holds.  For a wrong argument 0 and
 *          a status (ALQ_EINVAL): *expected is as it was.
 * Threads  The domain's.
 * GC       Does not collect. */
ALQ_API int alq_field_compare_exchange(struct alq_domain *d, alq_value block,
                                       uintptr_t i, alq_value *expected,
                                       alq_value v);

/* Adds to an integer field; returns the integer that it held. */
static inline intptr_t
alq_field_fetch_add(alq_value block, uintptr_t i, intptr_t n)
{
    return (intptr_t)__atomic_fetch_add((uintptr_t *)alq_bits(block) + i,
                                        (uintptr_t)n << 1, __ATOMIC_SEQ_CST) >>
           1;
}

/* ---- fork --------------------------------------------------------------- */

/* alq_fork -- fork(2) of a process that has one domain with one thread
 *
 * The child goes on with the heap as it was.  After a fork() that this call
 * would refuse the child has no domain to go on with: each call of it that
 * allocates fails with ALQ_ESTATE, and the first one logs why.  Values may be
 * read, and the child ends as it likes: by exec or exit, or as its thread
 * ends.  A fork() in a finaliser of a custom block, a scanner or a listener may
 * come in the middle of a collection of several domains: a child that returns
 * from there is aborted, with a line that says so.
 *
 * pid      Receives 0 in the child, its number in the parent.
 *
 * Errors   ALQ_EINVAL  d or pid is NULL
 *          ALQ_EBUSY   there are other domains, or other threads in this one
 *          ALQ_ESTATE  the calling thread does not run d
 *          ALQ_ENOMEM  the system refuses; errno says why
 * Threads  The domain's.
 * GC       No effect. */
ALQ_API ALQ_MUSTUSE enum alq_status alq_fork(struct alq_domain *d, int *pid);

#ifdef __cplusplus
}
#endif
#endif
