/* root_stack.c -- stacks and registers of conservative threads
 *
 * A thread notes where its stack is and copies its registers and the last 4
 * KiB when it stops running its domain.  A stop reads the rest in place.
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

/* Of a stack whose other end is not known, or far away: there is room for what
 * so many words lead to, made in advance. */
enum { WORDS_MOST = 1 << 20 };

/* A bit a young word; untouched pages of it cost nothing. */
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

/* Of the calling thread's stack: from, end, n_words. */
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

static void
count(struct alqi_heap *heap, uint32_t n)
{
    __atomic_add_fetch(&heap->stacks.n, n, __ATOMIC_SEQ_CST);
}

void
alqi_heap_stack_end(struct alq_thread *thread)
{
    struct alqi_heap *heap = thread->domain->heap;

    if (thread->stack == NULL)
        return;
    alqi_heap_pin_stack_remove(heap, thread->stack->n_words);
    free(thread->stack);
    thread->stack = NULL;
    count(heap, UINT32_MAX);
}

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

static ANY_WORD void
words_copy(uintptr_t *to, uintptr_t from, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++)
        to[i] = ((const volatile alqi_heap_word *)from)[i];
}

/* Those that point into a range, or behind its end. */
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

void
alqi_heap_stack_words(const struct alqi_domain *of, uintptr_t base,
                      uintptr_t bytes, alqi_heap_stack_word_fn *visit,
                      void *arg)
{
    const struct alq_thread *thread;

    for (thread = of->threads.all; thread != NULL; thread = thread->next)
        if (thread->stack != NULL)
            stack_visit(thread->stack, base, bytes, visit, arg);
}

/* This function's frame is in the copy. */
ALQI_NOINLINE void
alqi_heap_stack_leave(struct alq_thread *thread)
{
    struct alqi_heap_stack *s = thread->stack;
    uintptr_t sp = alqi_plat_registers(s->registers);
    size_t n = (s->end - sp) / ALQ_WORD_BYTES;

    ALQI_ASSERT(sp >= s->start && sp < s->end); /* no other stack */
    if (n > ALQI_HEAP_STACK_COPIED)
        n = ALQI_HEAP_STACK_COPIED;
    words_copy(s->copied, sp, n);
    s->n_copied = n;
    s->from = sp + n * ALQ_WORD_BYTES;
}
