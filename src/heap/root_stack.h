/* root_stack.h -- conservative threads
 * [doc/design/heap.md]
 *
 * Any word of such a thread's stack and registers may be a value, or an
 * address inside a block: an ambiguous reference.
 *
 * .inv.frozen  A reader of a thread's words finds those that the thread had
 *              when it last ran its domain.  The thread notes them where it
 *              stops to: where it parks in a stop, and where it gives its
 *              domain up.
 *
 *     end of the stack (high addresses)
 *     frames that stay as they are until the    read in place
 *     thread is back from its domain
 *     4 KiB from the stack pointer up, if it    copied by the thread
 *     has given its domain up: the program
 *     goes on in these frames
 *     stack pointer
 *     below (low addresses)                     not read */
#ifndef ALQI_HEAP_ROOT_STACK_H
#define ALQI_HEAP_ROOT_STACK_H

#include "heap/state.h"
#include "plat/registers.h"

enum { ALQI_HEAP_STACK_COPIED = 512 }; /* words */

struct alqi_heap_stack {
    uintptr_t from;
    uintptr_t end;
    uintptr_t start; /* no frame is below; 0: not known */
    size_t n_words;  /* that there is room for: .inv.stay */
    size_t n_copied;
    uintptr_t registers[ALQI_PLAT_REGISTERS];
    uintptr_t copied[ALQI_HEAP_STACK_COPIED];
};

/* The thread that runs d is scanned from now on: from where it is up to
 * `bottom`, an address in its oldest frame; NULL: all its stack.  Weak blocks
 * that are young cannot stay: a minor collection has to come before any of them
 * is used.  ALQ_EINVAL: the stack does not end there. */
enum alq_status alqi_heap_stack_begin(struct alqi_domain *d,
                                      const void *bottom);
/* Ends the scanning of `thread`, if it is scanned.  Requires that the thread
 * runs its domain. */
void alqi_heap_stack_end(struct alq_thread *thread);

/* Some thread is scanned: weak blocks are born old, since no young one can stay
 * where it is. */
static inline bool
alqi_heap_stack_is_any(const struct alqi_heap *heap)
{
    return __atomic_load_n(&heap->stacks.n, __ATOMIC_RELAXED) > 0;
}

/* The thread that runs the domain parks in a stop, in a function that does
 * not return before it is over. */
static inline __attribute__((always_inline)) void
alqi_heap_stack_note(struct alqi_domain *d)
{
    struct alq_thread *thread = d->threads.running;
    struct alqi_heap_stack *s = thread == NULL ? NULL : thread->stack;

    if (ALQI_LIKELY(s == NULL))
        return;
    s->from = alqi_plat_registers(s->registers);
    s->n_copied = 0;
    /* .inv.frozen: on no other stack */
    ALQI_ASSERT(s->from >= s->start && s->from < s->end);
}

/* The thread gives its domain up. */
void alqi_heap_stack_leave(struct alq_thread *thread);

/* ---- in a stop ---------------------------------------------------------- */

typedef void alqi_heap_stack_word_fn(void *arg, uintptr_t word);

/* Shows the words of the domain's threads that point into a range, but for its
 * start, or right behind its end. */
void alqi_heap_stack_words_stw(const struct alqi_domain *of, uintptr_t base,
                               uintptr_t bytes, alqi_heap_stack_word_fn *visit,
                               void *arg);

/* The heap ends. */
void alqi_heap_stack_drop(struct alqi_heap *heap);

#endif
