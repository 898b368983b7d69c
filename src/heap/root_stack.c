/* root_stack.c -- stacks and registers of conservative threads
 *
 * A thread that parks in a stop notes its stack pointer and registers, and
 * waits.  A thread that gives its domain up goes on to run: so it copies its
 * registers and the last 4 KiB, and notes where the part begins that stays as
 * it is.  A stop reads the copies, and the rest in place.
 *
 * Keeps .inv.frozen: What a stop reads is what the thread had when it stopped.
 * Keeps .inv.stay: There is room for as many retained blocks as words are
 *   read. */
#include <stdlib.h>

#include "heap/pin.h"
#include "heap/root_stack.h"
#include "plat/plat.h"
#include "plat/stack.h"

/* ---- threads ------------------------------------------------------------ */

/* Room is made in advance for what so many words lead to, if the other end of
 * the stack is not known, or farther away. */
enum { WORDS_MOST = 1 << 20 };

/* Makes the map of a bit for each young word, once; false: no memory.  Its
 * pages that are never touched take none. */
static bool
ambiguous_bits_ready(struct alqi_heap *heap)
{
    struct alqi_heap_stacks *s = &heap->stacks;
    bool ok;

    alqi_plat_lock(&heap->pins.lock);
    if (s->ambiguous_bits == NULL)
        s->ambiguous_bits =
            alqi_plat_pages_map(heap->area.young_bytes / (8 * ALQ_WORD_BYTES));
    ok = s->ambiguous_bits != NULL;
    alqi_plat_unlock(&heap->pins.lock);
    return ok;
}

/* Measures the calling thread's stack: from, end, start, n_words.  ALQ_EINVAL:
 * `bottom` is not in a frame that is older than this one. */
static enum alq_status
measure(struct alqi_heap_stack *s, const void *bottom)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    uintptr_t start, top, end = (uintptr_t)bottom;
    bool is_known = alqi_plat_stack_bounds(&start, &top);

    if (bottom == NULL && !is_known)
        return ALQ_ENOTSUP;
    if (bottom == NULL)
        end = top;
    if (end <= here || (is_known && end > top - (bottom != NULL)))
        return ALQ_EINVAL;
    s->from = here;
    s->end = end & ~(uintptr_t)(ALQ_WORD_BYTES - 1);
    if (bottom != NULL) /* the word that it is in, too */
        s->end += ALQ_WORD_BYTES;
    s->start = is_known ? start : 0;
    s->n_words = WORDS_MOST;
    if (is_known && (end - start) / ALQ_WORD_BYTES < WORDS_MOST)
        s->n_words = (end - start) / ALQ_WORD_BYTES;
    s->n_words += ALQI_PLAT_REGISTERS;
    return ALQ_OK;
}

/* Adds n to the number of conservative threads; UINT32_MAX takes one off.
 * While it is 0 no stop looks at stacks (.pair.alone: the stop orders it). */
static void
count(struct alqi_heap *heap, uint32_t n)
{
    __atomic_add_fetch(&heap->stacks.n, n, __ATOMIC_SEQ_CST);
}

/* Ends the scanning of a thread, which runs its domain: so no stop reads its
 * words meanwhile. */
void
alqi_heap_stack_end(struct alq_thread *thread)
{
    struct alqi_heap *heap = thread->domain->heap;

    if (thread->stack == NULL)
        return;
    ALQI_ASSERT(thread->domain->threads.running == thread); /* .inv.frozen */
    ALQI_ASSERT(alqi_heap_stack_is_any(heap));              /* .inv.stay */
    alqi_heap_pin_stack_remove(heap, thread->stack->n_words);
    free(thread->stack);
    thread->stack = NULL;
    count(heap, UINT32_MAX);
}

/* Begins to scan the calling thread.  All memory is there before the thread
 * counts; one that is scanned already is measured anew. */
enum alq_status
alqi_heap_stack_begin(struct alqi_domain *d, const void *bottom)
{
    struct alqi_heap_stack *s = calloc(1, sizeof *s);
    enum alq_status status;

    if (s == NULL)
        return ALQ_ENOMEM;
    status = measure(s, bottom);
    if (status != ALQ_OK)
        goto fail;
    status = ALQ_ENOMEM;
    if (!ambiguous_bits_ready(d->heap) ||
        !alqi_heap_pin_stack_add(d->heap, s->n_words))
        goto fail;
    alqi_heap_stack_end(d->threads.running);
    d->threads.running->stack = s;
    count(d->heap, 1);
    return ALQ_OK;

fail:
    free(s);
    return status;
}

void
alqi_heap_stack_drop(struct alqi_heap *heap)
{
    if (heap->stacks.ambiguous_bits != NULL)
        alqi_plat_pages_unmap(heap->stacks.ambiguous_bits,
                              heap->area.young_bytes / (8 * ALQ_WORD_BYTES));
}

/* ---- words -------------------------------------------------------------- */

/* Stacks have places that the sanitizers forbid to read. */
#define ANY_WORD __attribute__((noinline, no_sanitize("address", "thread")))

/* Copies words of a stack.  Stacks have places that the sanitizers forbid to
 * read, hence the attribute and no memcpy. */
static ANY_WORD void
words_copy(uintptr_t *to, uintptr_t from, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++)
        to[i] = ((const volatile alqi_heap_word *)from)[i];
}

/* Calls `visit` for the words that point into a range, or right behind its end:
 * a compiler may keep only the address behind an array's last word. */
static ANY_WORD void
words_visit(uintptr_t from, uintptr_t end, uintptr_t base, uintptr_t bytes,
            alqi_heap_stack_word_fn *visit, void *arg)
{
    uintptr_t word;

    for (; from < end; from += ALQ_WORD_BYTES) {
        word = *(const volatile alqi_heap_word *)from;
        if (ALQI_UNLIKELY(word - 1 - base < bytes))
            visit(arg, word);
    }
}

/* Visits the words of one thread: registers, copied words, and the stack from
 * there on. */
static void
stack_visit(const struct alqi_heap_stack *s, uintptr_t base, uintptr_t bytes,
            alqi_heap_stack_word_fn *visit, void *arg)
{
    uintptr_t registers = (uintptr_t)s->registers;
    uintptr_t copied = (uintptr_t)s->copied;

    words_visit(registers, registers + sizeof s->registers, base, bytes, visit,
                arg);
    words_visit(copied, copied + s->n_copied * ALQ_WORD_BYTES, base, bytes,
                visit, arg);
    words_visit(s->from, s->end, base, bytes, visit, arg);
}

/* Visits the words of all conservative threads of the domain: threads that run
 * the domain are parked, the others have noted their words. */
void
alqi_heap_stack_words_stw(const struct alqi_domain *of, uintptr_t base,
                          uintptr_t bytes, alqi_heap_stack_word_fn *visit,
                          void *arg)
{
    const struct alq_thread *thread;

    ALQI_ASSERT(alqi_heap_is_stopped(of->heap));
    for (thread = of->threads.all; thread != NULL; thread = thread->next)
        if (thread->stack != NULL)
            stack_visit(thread->stack, base, bytes, visit, arg);
}

/* Notes the calling thread's words before it gives its domain up.
 *
 * This function's frame and those of its callers in the library go into the
 * copy: they return before the thread is back, and the program goes on in the 4
 * KiB above. */
ALQI_NOINLINE void
alqi_heap_stack_leave(struct alq_thread *thread)
{
    struct alqi_heap_stack *s = thread->stack;
    uintptr_t sp = alqi_plat_registers(s->registers);
    size_t n = (s->end - sp) / ALQ_WORD_BYTES;

    /* .inv.frozen: on no other stack */
    ALQI_ASSERT(sp >= s->start && sp < s->end);
    if (n > ALQI_HEAP_STACK_COPIED)
        n = ALQI_HEAP_STACK_COPIED;
    words_copy(s->copied, sp, n);
    s->n_copied = n;
    s->from = sp + n * ALQ_WORD_BYTES;
    ALQI_ASSERT(s->from <= s->end); /* .inv.frozen */
}
