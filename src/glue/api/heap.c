/* heap.c -- <aliquot/heap.h>: domains, allocation and stores, out of line
 *
 * The inline parts of heap.h come here when their fast path does not hold: a
 * full minor heap, a sample, a request, an old block. alq_domain_new() of the
 * process's first heap also begins what the environment asks for: traces,
 * collector events, a control socket. A refused call leaves its status in the
 * domain and returns ALQ_NULL or 0. */
#include <string.h>

#include <aliquot/heap.h>

#include "glue/join/callstack.h"
#include "glue/control/control.h"
#include "glue/tracing/gc_trace.h"
#include "glue/join/profiler.h"
#include "glue/api/rule.h"
#include "glue/tracing/trace.h"
#include "heap/alloc.h"
#include "heap/write_barrier.h"
#include "heap/domain.h"
#include "heap/event.h"
#include "heap/observe_calls.h"
#include "heap/domain_thread.h"

/* ---- domains ------------------------------------------------------------ */

/* has_begun makes the reset of stack sources once a heap, by whichever domain
 * is first. */
enum alq_status
alq_domain_new(const struct alq_domain_config *config, struct alq_domain **out)
{
    static const struct alq_domain_config defaults;
    struct alqi_domain *d = NULL;
    enum alq_status status;

    if (config == NULL)
        config = &defaults;
    if (out == NULL || !alqi_heap_domain_is_config(config))
        return ALQ_EINVAL;
    if (alqi_heap_thread_domain() != NULL)
        return ALQ_EBUSY;
    status = alqi_heap_domain_start(config, NULL, &d);
    if (status != ALQ_OK)
        return status;
    if (!__atomic_exchange_n(&d->heap->life.has_begun, true, __ATOMIC_RELAXED))
        alqi_glue_callstack_reset();
    alqi_glue_gc_trace_begin(&d->pub);
    alqi_glue_trace_begin(&d->pub);
    alqi_glue_control_begin();
    *out = &d->pub;
    return ALQ_OK;
}

/* A domain is dropped by its last thread, outside of callbacks, finalisers and
 * alarms. */
enum alq_status
alq_domain_drop(struct alq_domain *d)
{
    if (d == NULL)
        return ALQ_OK;
    if (!alqi_heap_thread_runs(d) || alqi_heap_domain(d)->heap->life.is_lost ||
        alqi_glue_profiled_is_inside(alqi_heap_domain(d)))
        return ALQ_ESTATE;
    if (alqi_heap_event_is_inside(alqi_heap_domain(d)))
        return ALQ_ESTATE;
    if (alqi_heap_domain(d)->threads.is_spawned ||
        alqi_heap_domain(d)->weak_phase.n_calls > 0 ||
        alqi_heap_domain(d)->threads.all->next != NULL)
        return ALQ_EBUSY;
    if (alqi_heap_domain_is_last(alqi_heap_domain(d)))
        alqi_glue_trace_heap_ends();
    alqi_heap_domain_end(alqi_heap_domain(d));
    return ALQ_OK;
}

void
alq_status_clear(struct alq_domain *d)
{
    if (d != NULL)
        d->status = ALQ_OK;
}

/* ---- small blocks ------------------------------------------------------- */

/* Whether a header is one of a small block without colour bits, as the inline
 * part makes it. */
static bool
is_small(uintptr_t header)
{
    uintptr_t wosize = header >> ALQ_WOSIZE_SHIFT;

    return wosize >= 1 && wosize <= ALQ_SMALL_WOSIZE_MAX &&
           alqi_heap_colour(header) == ALQI_HEAP_COLOUR_NONE;
}

/* Allocates a block that is a sample; the sample's call stack begins with the
 * frame that called this function. */
static ALQI_NOINLINE alq_value
small_hit(struct alqi_domain *d, uintptr_t header)
{
    const struct alqi_stack_regs caller = alqi_stack_regs_of_caller();

    return alqi_heap_alloc_sample(d, header, &caller);
}

/* A sample's call stack begins at the caller, so its registers are taken in a
 * function of its own (small_hit). */
alq_value
alq_alloc_small_slow(struct alq_domain *d, uintptr_t header)
{
    ALQI_RULE_RUN(d);
    if (d == NULL || !is_small(header))
        return alqi_heap_fail(alqi_heap_domain(d), ALQ_EINVAL);
    if (alqi_heap_observed_is_sampled(alqi_heap_domain(d),
                                      alqi_heap_words(header)))
        return small_hit(alqi_heap_domain(d), header);
    return alqi_heap_alloc(alqi_heap_domain(d), header);
}

/* Allocates one block after the other, where pinned blocks leave no room for
 * all at once. The frame keeps the first ones alive. */
static int
several_fragmented(struct alqi_domain *d, unsigned n_blocks,
                   const uintptr_t *headers, alq_value *out)
{
    ALQ_FRAME(&d->pub, f, blocks[ALQI_HEAP_CLASS_WORDS_MAX / 2]);
    unsigned i;

    for (i = 0; i < n_blocks; i++) {
        f.blocks[i] = alqi_heap_alloc_fragmented(d, headers[i]);
        if (f.blocks[i] == ALQ_NULL)
            return 0;
    }
    memcpy(out, f.blocks, n_blocks * sizeof *out);
    return 1;
}

/* Takes room for all blocks at once, so that no collection comes between them;
 * the first one is at the highest address. */
int
alq_alloc_several_slow(struct alq_domain *d, unsigned n_blocks,
                       const uintptr_t *headers, alq_value *out)
{
    uintptr_t words = 0, at;
    unsigned i;

    ALQI_RULE_RUN(d);
    if (d == NULL || headers == NULL || out == NULL)
        return alqi_heap_fail(alqi_heap_domain(d), ALQ_EINVAL) != ALQ_NULL;
    for (i = 0; i < n_blocks && is_small(headers[i]); i++)
        words += alqi_heap_words(headers[i]);
    if (i < n_blocks || words == 0 || words > ALQI_HEAP_CLASS_WORDS_MAX)
        return alqi_heap_fail(alqi_heap_domain(d), ALQ_EINVAL) != ALQ_NULL;
    at = alqi_heap_room(alqi_heap_domain(d), headers, n_blocks, words, NULL);
    if (at == ALQI_HEAP_ROOM_FRAGMENTED)
        return several_fragmented(alqi_heap_domain(d), n_blocks, headers, out);
    if (at == 0)
        return 0;
    at += words * ALQ_WORD_BYTES;
    for (i = 0; i < n_blocks; i++) {
        at -= alqi_heap_words(headers[i]) * ALQ_WORD_BYTES;
        *(alqi_heap_word *)at = headers[i];
        out[i] = (alq_value)(at + ALQ_WORD_BYTES);
    }
    return 1;
}

void
alq_poll_slow(struct alq_domain *d)
{
    enum alq_status st;

    ALQI_RULE_RUN(d);
    st = d == NULL ? ALQ_OK : alqi_heap_poll(alqi_heap_domain(d));
    if (st != ALQ_OK)
        alqi_heap_fail(alqi_heap_domain(d), st);
}

/* ---- blocks of any size ------------------------------------------------- */

/* A block of any size but 0, whose fields are not written. */
static alq_value
alloc(struct alq_domain *d, uintptr_t wosize, unsigned tag)
{
    if (d == NULL || wosize > ALQ_WOSIZE_MAX)
        return alqi_heap_fail(alqi_heap_domain(d), ALQ_EINVAL);
    if (wosize <= ALQ_SMALL_WOSIZE_MAX)
        return alq_alloc_small(d, wosize, tag);
    return alqi_heap_alloc(alqi_heap_domain(d), ALQ_HEADER(wosize, tag));
}

/* Blocks that are scanned get a value in each field before anything can
 * collect. */
alq_value
alq_alloc(struct alq_domain *d, uintptr_t wosize, unsigned tag)
{
    alq_value block, with;
    uintptr_t i;

    ALQI_RULE_RUN(d);
    if (d == NULL || tag >= ALQ_TAG_CUSTOM)
        return alqi_heap_fail(alqi_heap_domain(d), ALQ_EINVAL);
    if (wosize == 0)
        return alqi_heap_atom();
    block = alloc(d, wosize, tag);
    with = tag < ALQ_TAG_NO_SCAN ? ALQ_UNIT : 0;
    if (block != ALQ_NULL)
        for (i = 0; i < wosize; i++)
            ((alqi_heap_word *)block)[i] = with;
    return block;
}

/* The last word of a string tells its length: it is written here, the
 * characters are not. */
alq_value
alq_alloc_string(struct alq_domain *d, size_t bytes)
{
    alq_value string;

    ALQI_RULE_RUN(d);
    string = alloc(d, alq_string_wosize(bytes), ALQ_TAG_STRING);
    if (string != ALQ_NULL)
        alq_string_seal(string, bytes);
    return string;
}

/* Requires that chars are not in the heap: the allocation may move blocks. */
alq_value
alq_string_copy(struct alq_domain *d, const char *chars, size_t bytes)
{
    alq_value string;

    ALQI_RULE_RUN(d);
    if (chars == NULL && bytes > 0)
        return alqi_heap_fail(alqi_heap_domain(d), ALQ_EINVAL);
    string = alq_alloc_string(d, bytes);
    if (string != ALQ_NULL && bytes > 0)
        memcpy(alq_string_chars(string), chars, bytes);
    return string;
}

alq_value
alq_alloc_double_array(struct alq_domain *d, uintptr_t n)
{
    ALQI_RULE_RUN(d);
    return alq_alloc(d, n, ALQ_TAG_DOUBLE_ARRAY);
}

/* The first field of a custom block is its operations; `held` is what it owns
 * outside of the heap. */
static alq_value
alloc_custom(struct alq_domain *d, const struct alq_custom_ops *ops,
             size_t bytes, struct alqi_heap_held held)
{
    uintptr_t wosize =
        1 + bytes / ALQ_WORD_BYTES + (bytes % ALQ_WORD_BYTES != 0);

    if (d == NULL || ops == NULL || wosize > ALQ_WOSIZE_MAX)
        return alqi_heap_fail(alqi_heap_domain(d), ALQ_EINVAL);
    return alqi_heap_alloc_custom(alqi_heap_domain(d), ops, wosize, held);
}

alq_value
alq_alloc_custom(struct alq_domain *d, const struct alq_custom_ops *ops,
                 size_t bytes)
{
    ALQI_RULE_RUN(d);
    return alloc_custom(d, ops, bytes, (struct alqi_heap_held){0});
}

alq_value
alq_alloc_custom_mem(struct alq_domain *d, const struct alq_custom_ops *ops,
                     size_t bytes, size_t outside_bytes)
{
    ALQI_RULE_RUN(d);
    if (d == NULL)
        return ALQ_NULL;
    return alloc_custom(
        d, ops, bytes,
        alqi_heap_custom_mem(alqi_heap_domain(d), outside_bytes));
}

alq_value
alq_alloc_custom_ratio(struct alq_domain *d, const struct alq_custom_ops *ops,
                       size_t bytes, size_t held, size_t most)
{
    ALQI_RULE_RUN(d);
    if (d == NULL || most == 0)
        return alqi_heap_fail(alqi_heap_domain(d), ALQ_EINVAL);
    return alloc_custom(
        d, ops, bytes, alqi_heap_custom_ratio(alqi_heap_domain(d), held, most));
}

/* ---- stores ------------------------------------------------------------- */

void
alq_store_slow(struct alq_domain *d, alq_value *field, alq_value v)
{
    ALQI_RULE_RUN(d);
    alqi_heap_store(alqi_heap_domain(d), field, v);
}

/* The field holds an integer: there is nothing to darken. */
void
alq_init_slow(struct alq_domain *d, alq_value *field, alq_value v)
{
    ALQI_RULE_RUN(d);
    alqi_heap_store(alqi_heap_domain(d), field, v);
}
