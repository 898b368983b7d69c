/* callstack.h -- call stacks: whose frames, what they are called, kept as ids
 *
 *   sources   whose frames a sample of the managed heap has: those of the
 *             machine, unless the program says otherwise; those of its root
 *             frames; or those of the language that it runs
 *   names     what a frame is called, for traces and reports
 *   tables    stacks kept once each, and told apart by a number
 *
 * A frame is a word.  What it means is its source's business: a return address,
 * the address of a site, the number of a place in a script. */
#ifndef ALIQUOT_CALLSTACK_H
#define ALIQUOT_CALLSTACK_H

#include <stddef.h>
#include <stdint.h>

#include <aliquot/heap.h>
#include <aliquot/memprof.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- sources ------------------------------------------------------------ */

/* A place in a program. */
struct alq_location {
    const char *function; /* NULL: not known                             */
    const char *file;     /* NULL: not known                             */
    unsigned line;        /* from 1; 0: not known                        */
    unsigned start_column;
    unsigned end_column;
};

struct alq_stack_source {
    /* Writes the frames of the domain's running code, innermost first, and
     * returns how many: all there are, or max_frames if there are more.  It is
     * called at an allocation, on the thread that runs d, with the stack as it
     * is then; it reads memory and calls neither the heap nor malloc.  When
     * there are more frames than expected it is called again at once, with
     * more room.  0: no code of the language runs. */
    size_t (*walk)(void *arg, struct alq_domain *d, uintptr_t *frames,
                   size_t max_frames);
    /* What a frame is called: the function it is in first, then those that
     * were inlined there, the innermost last.  Returns how many, at most
     * max_locations; 0: not known.  Texts are copied before the thread calls
     * it again.
     *
     * Called once for each frame and trace, on the thread where the frame was
     * first sampled, soon after: within a callback, by the rules of those.  It
     * may be called on several threads at once.  NULL: no frame has a name. */
    size_t (*describe)(void *arg, uintptr_t frame,
                       struct alq_location *locations, size_t max_locations);
    void *arg; /* of both */
};

/* alq_stack_sites -- the root frames (ALQ_FRAME) as call stack
 *
 * Each function that has a frame of roots is one, by the name and line of its
 * site.  Costs a load for each; functions without roots do not show.  A
 * runtime that pushes frames with sites of its own (alq_frame_push) has its
 * functions among them; sites must last as long as the heap. */
extern ALQ_API const struct alq_stack_source alq_stack_sites;

/* alq_stack_source_set -- whose frames samples of the managed heap have
 *
 * To be called when the heap has just been made: what was sampled before has
 * the machine's frames.
 *
 * source   Copied, but for what arg points to; until the heap ends.  NULL: the
 *          machine's frames, as it was at first.
 *
 * Errors   ALQ_EINVAL  d is NULL, or the source has no walk
 *          ALQ_EBUSY   the heap has other domains
 *          ALQ_ESTATE  the calling thread does not run d
 *          ALQ_ENOMEM  no memory
 * Threads  The domain's; not within a callback.
 * GC       Runs the callbacks that are due, as alq_memprof_flush.
 * Source   spec statmemprof 1.3; issue 5. */
ALQ_API ALQ_MUSTUSE enum alq_status
alq_stack_source_set(struct alq_domain *d,
                     const struct alq_stack_source *source);

/* alq_stack_describe -- what a frame of a sampled block's stack is called
 *
 * By the source that is set; of the machine's frames, the function's name where
 * the module's own symbols tell it, else module and offset.
 *
 * d          Of the managed heap; NULL: of the malloc heap.
 * frame      Of an alq_callstack.
 * locations  Receives up to max_locations: the function first, what is inlined
 *            there behind it.  Texts last until the thread's next call.
 *
 * Returns  How many there are, at most max_locations; 0: not known.
 * Threads  Any; not from a signal handler.
 * GC       No effect, unless the source's describe has one. */
ALQ_API size_t alq_stack_describe(struct alq_domain *d, uintptr_t frame,
                                  struct alq_location *locations,
                                  size_t max_locations);

/* ---- tables ------------------------------------------------------------- */

/* A table of call stacks, each kept once.  Frames that stacks have in common,
 * from the outermost on, are kept once too: a new stack takes some 24 bytes for
 * each frame that no other one has at that place. */
struct alq_stacks;

/* alq_stacks_new -- an empty table
 *
 * out      Receives the table, for alq_stacks_drop.
 *
 * Errors   ALQ_EINVAL  out is NULL
 *          ALQ_ENOMEM  no memory
 * Threads  Any.
 * GC       No effect. */
ALQ_API ALQ_MUSTUSE enum alq_status alq_stacks_new(struct alq_stacks **out);

/* alq_stacks_drop -- frees the table; NULL is allowed
 *
 * Threads  Any; the last call that uses the table.
 * GC       No effect. */
ALQ_API void alq_stacks_drop(struct alq_stacks *stacks);

/* alq_stacks_add -- the number of a call stack
 *
 * Equal stacks have one number, and a number means one stack as long as the
 * table lives.  One look-up when the stack is known.  Made to be called in an
 * alloc callback, whose user data the number can be: then each tracked block
 * takes 64 bytes, and its stack nothing more.
 *
 * Returns  From 1 up; 0 of the empty stack, or when there is no memory.
 * Threads  Any, several at once; not from a signal handler.
 * GC       No effect. */
ALQ_API uint32_t alq_stacks_add(struct alq_stacks *stacks,
                                const struct alq_callstack *callstack);

/* alq_stacks_get -- the frames of a stack by its number
 *
 * frames   Receives the innermost max_frames of them, innermost first.
 *
 * Returns  How many frames the stack has; 0 when no stack has that number.
 * Threads  Any, several at once, also while others add.
 * GC       No effect. */
ALQ_API size_t alq_stacks_get(const struct alq_stacks *stacks, uint32_t id,
                              uintptr_t *frames, size_t max_frames);

/* alq_stacks_bytes -- the memory that a table takes
 *
 * Returns  Bytes, of all its pages.
 * Threads  Any.
 * GC       No effect. */
ALQ_API size_t alq_stacks_bytes(const struct alq_stacks *stacks);

#ifdef __cplusplus
}
#endif
#endif
