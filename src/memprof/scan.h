/* scan.h -- the profiler as a scanned (managed) heap sees it
 *
 * A scanned heap has domains, each run by one thread at a time, and collects.
 * State of one domain is never used by two threads at once: by the thread that
 * runs it, or by a collector while that thread is stopped.  The calls:
 *
 *     a small allocation reaches the trigger  _request, then _request_done
 *                                             or _request_cancel
 *     a runtime's small block reaches it      _small
 *     any other block                         _block (inline test, then slow)
 *     after a minor collection's barrier      _after_minor
 *     end of a major cycle: all is marked     _after_major
 *     root scanning                           _scan
 *     compaction                              _blocks
 *     poll                                    _has_pending, _poll
 *
 * alqi_memprof_skip_words draws a domain's trigger: anew after each of these
 * that says so, and whenever subject.triggers_stale was called. */
#ifndef ALQI_MEMPROF_SCAN_H
#define ALQI_MEMPROF_SCAN_H

#include "memprof/engine.h"

/* ---- allocation --------------------------------------------------------- */

/* A managed request: sub-blocks in program order, the first at the highest
 * address, each with its header; `sample_at` counts words in that order up to
 * and including the sampled one at the trigger, from 1.  Runs the alloc
 * callbacks now, before there is memory. Returns 0: the heap makes room (it may
 * collect), then calls _request_done, or _request_cancel when it has no room.
 * Otherwise the code of the callback that failed: no sub-block may be
 * allocated, and neither call is due.  Draw the trigger anew after a failure,
 * and after _cancel. */
int alqi_memprof_request(struct alqi_memprof_thread *thread,
                         const uint32_t *sub_words, unsigned n_subs,
                         uint64_t sample_at,
                         const struct alqi_stack_regs *regs);
/* alqi_memprof_request for a request of one block. */
int alqi_memprof_request_one(struct alqi_memprof_thread *thread, uint32_t words,
                             uint64_t sample_at,
                             const struct alqi_stack_regs *regs);
/* `low` is the lowest header of the request.  Returns what
 * alqi_memprof_skip_words would; calls subject.request_poll if need be. */
uint64_t alqi_memprof_request_done(struct alqi_memprof_thread *thread,
                                   void *low);
void alqi_memprof_request_cancel(struct alqi_memprof_thread *thread);

/* A block that the runtime has just allocated; its callbacks run at a poll. */
struct alqi_memprof_block {
    const void *block;
    uint64_t words_tried; /* header included, but for CUSTOM       */
    uint64_t size_words;  /* as reported                           */
    enum alq_source source;
    bool minor; /* the block, or the custom block, is young */
};

/* A small block that reached the trigger; `words_after` are the words below the
 * sampled one.  Draw the trigger anew. */
void alqi_memprof_small(struct alqi_memprof_thread *thread,
                        const struct alqi_memprof_block *b,
                        uint64_t words_after,
                        const struct alqi_stack_regs *regs);

/* A block that no trigger watches: direct major, unmarshalled, out of heap. */
void alqi_memprof_block(struct alqi_memprof_thread *thread,
                        const struct alqi_memprof_block *b,
                        const struct alqi_stack_regs *regs);

/* ---- collection --------------------------------------------------------- */

/* Once a minor collection for each domain, when every domain has finished
 * promoting: subject.minor_forward tells survivors from dead. */
void alqi_memprof_after_minor(struct alqi_memprof_domain *domain);

/* How many major cycles have ended in the heap of a domain that begins. */
void alqi_memprof_cycle_set(struct alqi_memprof_domain *domain, uint64_t cycle);

/* Once a major cycle for each domain, after all marking. */
void alqi_memprof_after_major(struct alqi_memprof_domain *domain);

/* User data that are values (ALQ_TRACKER_VALUES) and not 0: strong roots, which
 * `visit` may update.  `young_only`: those that may be young. */
void alqi_memprof_scan(struct alqi_memprof_domain *domain, bool young_only,
                       void (*visit)(void *arg, uintptr_t *slot), void *arg);

/* Tracked blocks that are alive and have an address: weak, for compaction. */
void alqi_memprof_blocks(struct alqi_memprof_domain *domain,
                         void (*visit)(void *arg, const void **block),
                         void *arg);

/* A block of the sample, seen by its tracker, which has not heard of its death.
 */
struct alqi_memprof_seen {
    const struct alq_tracker *tracker;
    double rate; /* of its profile, samples a word */
    const void *block;
    uint64_t n_samples;
    uintptr_t data;
};

/* Those of the domain; in a stop, by one thread at a time. */
void alqi_memprof_each_seen(struct alqi_memprof_domain *domain,
                            void (*visit)(void *arg,
                                          const struct alqi_memprof_seen *seen),
                            void *arg);

/* ---- callbacks ---------------------------------------------------------- */

/* Whether a callback waits for a poll. */
bool alqi_memprof_has_pending(const struct alqi_memprof_thread *thread);
bool alqi_memprof_domain_has_pending(const struct alqi_memprof_domain *domain);

/* Runs the callbacks that the domain and this thread owe and that wait for no
 * flush, until a callback fails: ALQ_ECALLBACK, with *code, and the rest is
 * pending still.
 */
enum alq_status alqi_memprof_poll(struct alqi_memprof_thread *thread,
                                  int *code);

/* Runs the pending callbacks of profiles of limits, which run no code of the
 * program; the others stay pending. */
void alqi_memprof_limits_run(struct alqi_memprof_thread *thread);

/* Visits the blocks of a profile that the domain tracks, while all threads of
 * the domain are stopped and no collection runs; returns what `visit` returned
 * that was not 0. */
int alqi_memprof_each_of(struct alqi_memprof_domain *domain,
                         const struct alq_profile *profile,
                         int (*visit)(void *arg, const struct alq_allocation *a,
                                      uintptr_t data),
                         void *arg);

/* ---- the end of a heap -------------------------------------------------- */

/* Takes over the entries of ended domains. */
void alqi_memprof_adopt(struct alqi_memprof_domain *domain);

/* The heap of the thread's domain is gone: runs what is pending, passes the
 * data of live blocks to `release`.  The subject is not called any more. */
void alqi_memprof_heap_end(struct alqi_memprof_thread *thread);

/* No sampling and no callbacks on this thread until _resume with the value that
 * _suspend returned.  Draw the trigger anew after both. */
uint32_t alqi_memprof_suspend(struct alqi_memprof_thread *thread);
void alqi_memprof_resume(struct alqi_memprof_thread *thread, uint32_t was);

/* ---- the engine's ------------------------------------------------------ */

/* Takes a discarded profile's entries off the lists, by `chain`. */
struct alqi_memprof_entry *alqi_scan_sweep(struct alqi_memprof_domain *d,
                                           const struct alq_profile *p);
/* Visits the profile's entries of blocks that are alive, until `visit` returns
 * other than 0; returns that.  The domain's thread is the caller, or stopped.
 */
int alqi_scan_each(struct alqi_memprof_domain *d, const struct alq_profile *p,
                   int (*visit)(void *arg, const struct alq_allocation *a,
                                uintptr_t data),
                   void *arg);

#endif
