/* python.h -- Python functions in the stacks of the recording */
#ifndef ALQI_PRELOAD_PYTHON_H
#define ALQI_PRELOAD_PYTHON_H

#include "preload/preload.h"
#include "python/python.h"

#pragma GCC visibility push(hidden)

/* The process's interpreter, once its module was met; else NULL. */
extern const struct alqi_python *_Atomic alqi_preload_python;

/* A module was met: is it an interpreter? */
void alqi_preload_python_module(uintptr_t address);
/* One was met whose functions cannot be read. */
bool alqi_preload_python_is_unread(void);

/* The native stack, which is the thread's last capture, with Python frames in
 * the place of the evaluator's.  False: it has none, and *out is not written.
 * The thread's stream is ready.  out->frames are the thread's, until the next
 * call. */
bool alqi_preload_python_stack_slow(struct alqi_preload_thread *thread,
                                    const struct alq_callstack *native,
                                    struct alq_callstack *out);

static inline bool
alqi_preload_python_stack(struct alqi_preload_thread *thread,
                          const struct alq_callstack *native,
                          struct alq_callstack *out)
{
    return ALQI_UNLIKELY(atomic_load_explicit(&alqi_preload_python,
                                              memory_order_relaxed) != NULL) &&
           alqi_preload_python_stack_slow(thread, native, out);
}

/* How many outermost frames of the stack that python_stack made last the
 * allocation before it in the thread's chunk has, too. */
uint32_t alqi_preload_python_shared(const struct alqi_preload_thread *thread);
/* That stack was written to the thread's stream. */
void alqi_preload_python_written(struct alqi_preload_thread *thread);

/* The recording is closed; threads go on, and another may be begun. */
void alqi_preload_python_close(void);
void alqi_preload_python_fork_child(void);
/* Modules were unloaded, the interpreter maybe among them: if it was not, its
 * module is met again. */
void alqi_preload_python_forget(void);

/* Samples the interpreter's small blocks, too (python_small.c). */
void alqi_preload_python_small_start(void);
/* Whether the code is of an interpreter whose small blocks are sampled: what it
 * maps is where they lie. */
bool alqi_preload_python_small_maps(const void *code);

#pragma GCC visibility pop

#endif
