/* malloc_limit.h -- limits on tasks that allocate with malloc
 *
 * The calls of limit.h with NULL for the domain: alq_limit_run(NULL, &limits,
 * task, arg, &out) calls task(NULL, arg) under limits on what the calling
 * thread asks of malloc.  It takes the preload in the process
 * (aliquot-preload(7)), recording or not; without it, ALQ_ENOHEAP.
 *
 * words: what the thread asks for, exactly: alq_malloc_words of each request.
 * The one that would cross the limit is the first to fail.  A realloc asks for
 * all of its new size.
 *
 * sampled_words: the same by samples, one of ALQ_LIMIT_INTERVAL_WORDS words;
 * the request that has the last one fails.  One that fails for another limit is
 * not counted.
 *
 * live_words: what the task has allocated and nobody has freed, by samples.
 *
 * heap_bytes: what is alive in the process, estimated: alq_malloc_live_bytes;
 * all threads count, but only this task is stopped.  In the outcome it is 0
 * where nothing counts that.
 *
 * polls: fuel, requests and alq_malloc_poll.
 *
 * time_ns, cpu_ns, token: as on a heap, noticed at a request, once in 16 KiB at
 * least.
 *
 * When a limit is reached malloc and its kin return NULL with errno ENOMEM
 * (posix_memalign returns it), realloc leaves the block as it is, until the
 * task has returned; free does what it does.  ALQ_LIMIT_GRACE lets so many
 * words through between two failures, for code that cleans up and allocates;
 * on_limit is asked first, and masks, clean-ups, guards and nesting are those
 * of limit.h.
 *
 * Not counted, and never refused: other threads; mappings (mmap); what is
 * allocated in callbacks of profiles, and by on_limit.  The sites of the
 * outcome are those of a profile of the malloc heap, or of the recorder.
 *
 * Unwinding.  Any code may call malloc: the C library with a lock held, another
 * library half-way through something, a signal handler.  So a task with
 * ALQ_LIMIT_UNWINDS is left by longjmp only where every function between malloc
 * and the frame is of the module (program or shared library) that has the task
 * itself; which the library finds out by walking the stack.  Elsewhere malloc
 * returns NULL, and the task is left at its next own request or
 * alq_malloc_poll.
 *
 * What else leaves a task, an exception, pthread_exit or a longjmp of its own,
 * ends its frame as limit.h has it. */
#ifndef ALIQUOT_MALLOC_LIMIT_H
#define ALIQUOT_MALLOC_LIMIT_H

#include <stddef.h>
#include <stdint.h>

#include <aliquot/limit.h>
#include <aliquot/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/* alq_malloc_words -- what a request counts: its bytes in words, and a header
 *
 * Returns  size_bytes / 8, rounded up, and 1.
 * Threads  Any.
 * GC       No effect.
 * Source   spec malloc-profilers; memprof.h. */
static inline uint64_t
alq_malloc_words(size_t size_bytes)
{
    return (uint64_t)size_bytes / 8 + (size_bytes % 8 != 0) + 1;
}

/* alq_malloc_poll -- a point where a task of the calling thread can be stopped
 *
 * For loops that do not allocate: as alq_poll of a managed heap.
 *
 * Returns  ALQ_OK, also where no task runs.
 * Errors   ALQ_ELIMIT  a limit is reached: clean up and return.  Where the
 *                      task unwinds it is left instead.
 * Threads  Any; in a signal handler or a callback it returns ALQ_OK.
 * GC       No effect.
 * Source   spec memprof-limits 4.3. */
ALQ_API enum alq_status alq_malloc_poll(void);

/* alq_malloc_live_bytes -- how much is allocated and not freed, estimated
 *
 * By samples of all that the process allocates with malloc, one of
 * ALQ_LIMIT_INTERVAL_WORDS words, from the first call, or the first limit on
 * heap_bytes, on; earlier blocks are not in it.  Of N bytes in blocks that are
 * small against 80 KB the standard error is the square root of N * 80 KB: 9 MB
 * of 1 GB.
 *
 * bytes    Receives the estimate; 0 at first.
 *
 * Errors   ALQ_EINVAL   bytes is NULL
 *          ALQ_ENOHEAP  the preload is not in the process, or is off
 *          ALQ_ENOMEM   no memory for the profile
 * Threads  Any; not in a signal handler.
 * GC       No effect.
 * Source   spec memprof-limits 1.3. */
ALQ_API ALQ_MUSTUSE enum alq_status alq_malloc_live_bytes(uint64_t *bytes);

#ifdef __cplusplus
}
#endif
#endif
