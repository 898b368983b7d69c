/* pprof.h -- a running program's heap as a profile that pprof reads
 *
 * For a program that has a server of its own: mount these behind
 * /debug/pprof/heap, /debug/pprof/allocs and /debug/pprof/delta_heap, and
 * `go tool pprof URL`, Parca, Grafana Alloy and others read them as they read
 * a Go program's.  (aliquot-serve(1) does the same for a program that was
 * started by aliquot-record(1) and knows nothing of it.)
 *
 * Values are estimates of all blocks, not of the sampled ones: nothing is left
 * to scale.  Return addresses are given with the modules that they lie in and
 * their build-ids, and the reader finds the names; frames of a stack source
 * (callstack.h) have names, files and lines already.
 *
 * Nothing here but libc is needed, and nothing of it opens a socket. */
#ifndef ALIQUOT_PPROF_H
#define ALIQUOT_PPROF_H

#include <stddef.h>
#include <stdint.h>

#include <aliquot/memprof.h>

#ifdef __cplusplus
extern "C" {
#endif

struct alq_pprof;       /* what is counted, of one heap */
struct alq_pprof_since; /* a moment to count from       */

/* Each profile has four values a call stack: alloc_objects, alloc_space,
 * inuse_objects, inuse_space. */
enum alq_pprof_kind {
    /* What is in use is shown first. */
    ALQ_PPROF_HEAP = 0,
    /* The same, but what was allocated is shown first. */
    ALQ_PPROF_ALLOCS = 1,
    /* What was allocated since a moment, and what is in use now: what a store
     * of profiles wants that adds them up. */
    ALQ_PPROF_DELTA_HEAP = 2
};

/* A member that is 0 has its default. */
struct alq_pprof_config {
    double rate;             /* samples per word, to 1; 2^-16: one in 512 KiB */
    size_t callstack_frames; /* innermost kept; 128                           */
    uint32_t max_stacks;     /* told apart, to 2^20 - 2; 16384.  What further
                                ones allocate is counted under "[other]"      */
    uint64_t seed;           /* of the sampling; from the system              */
};

/* alq_pprof_start -- begins to count
 *
 * What is allocated from now on.  The profile that does it stands beside the
 * program's own (ALQ_MEMPROF_BESIDE).  A forked child is not counted: it
 * starts for itself.
 *
 * domain   A domain of the managed heap; NULL: the malloc heap of a program
 *          that runs under libaliquot-preload.so; or alq_thread_tree().
 * config   Copied.  NULL: the default.
 * out      Receives what alq_pprof_drop ends.
 *
 * Errors   ALQ_EINVAL   config has a member out of range, or out is NULL
 *          ALQ_EBUSY    ALQ_MEMPROF_BESIDE_MAX profiles are there already
 *          ALQ_ENOMEM   no memory
 *          ALQ_ENOHEAP  as alq_memprof_start
 *          ALQ_ESTATE   a managed domain that the calling thread does not run
 *          On any error nothing has started and *out is unchanged.
 * Threads  As alq_memprof_start.
 * GC       As alq_memprof_start.
 * Source   spec ecosystem 1.2, 1.3. */
ALQ_API ALQ_MUSTUSE enum alq_status
alq_pprof_start(struct alq_domain *domain,
                const struct alq_pprof_config *config, struct alq_pprof **out);

/* alq_pprof_drop -- ends counting
 *
 * May be called after the heap has ended.  NULL is allowed.
 *
 * Threads  Any; not within a callback.  The last call that uses pprof.
 * GC       Runs callbacks that are due, as alq_profile_stop. */
ALQ_API void alq_pprof_drop(struct alq_pprof *pprof);

/* alq_pprof_since_new -- this moment, to count from
 *
 * out      Receives it, for alq_pprof_since_drop.  It takes 32 bytes for each
 *          stack counted so far.
 *
 * Errors   ALQ_EINVAL   pprof or out is NULL
 *          ALQ_ENOTRUN  pprof is of a process that this one was forked from
 *          ALQ_ENOMEM   no memory
 * Threads  Any; not within a callback.
 * GC       No effect. */
ALQ_API ALQ_MUSTUSE enum alq_status
alq_pprof_since_new(struct alq_pprof *pprof, struct alq_pprof_since **out);

/* alq_pprof_since_drop -- frees a moment; NULL is allowed
 *
 * Threads  Any; its last use.  pprof may have been dropped before.
 * GC       No effect. */
ALQ_API void alq_pprof_since_drop(struct alq_pprof_since *since);

/* alq_pprof_write -- writes a profile: profile.proto, gzip
 *
 * To be sent as application/octet-stream, without a Content-Encoding, to
 * whoever asks for /debug/pprof/heap, allocs or delta_heap.  `go tool pprof
 * URL` then posts to /debug/pprof/symbol, and stops at an error: "num_symbols:
 * 0" and a newline make it look into the modules itself.  For a request with
 * ?seconds=N take a moment, wait N seconds, and write heap or allocs since
 * then.  Each reader of delta_heap wants a moment of its own, kept from one
 * request to the next.
 *
 * fd       A file, a pipe or a socket; a socket raises no SIGPIPE.  One that
 *          does not block is waited for.
 * since    NULL: values are since alq_pprof_start.  Else, of heap and allocs,
 *          all four are differences, and those of what is in use may be
 *          negative; of delta_heap, which must have it, the alloc_ values are.
 *          When all has been written it is moved to now.
 *
 * Errors   ALQ_EINVAL   pprof is NULL; kind is none; delta_heap without since;
 *                       since is another pprof's
 *          ALQ_ENOTRUN  as alq_pprof_since_new
 *          ALQ_EIO      fd cannot be written; errno says why
 *          ALQ_ENOMEM   no memory; a part may have been written
 *          On any error since is as it was.
 * Threads  Any, several at once but for one since; not within a callback.
 * GC       No effect: a picture that is taken while the program goes on.
 * Source   spec ecosystem 1.2, 1.3. */
ALQ_API enum alq_status alq_pprof_write(struct alq_pprof *pprof, int fd,
                                        enum alq_pprof_kind kind,
                                        struct alq_pprof_since *since);

#ifdef __cplusplus
}
#endif
#endif
