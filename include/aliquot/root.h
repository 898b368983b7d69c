/* root.h -- roots: where the collector looks for values that are in use
 *
 *   frames      locals of C functions, gone with their scope
 *   stacks      of threads that ask for it: all locals, without a word more
 *   ranges      a runtime's own value stack, registered once
 *   globals     variables that live as long as the heap
 *   boxed       values in structures that malloc made
 *   pins        blocks that must not move
 *   scanners    anything else: a function that shows its values
 *
 * Of these only boxed roots, pins and stacks take memory.  All but globals and
 * pins are a domain's, frames and stacks a thread's.  Each holds integers,
 * blocks or ALQ_NULL, and stacks anything. */
#ifndef ALIQUOT_ROOT_H
#define ALIQUOT_ROOT_H

#include <aliquot/heap.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- frames ------------------------------------------------------------- */

/* Where a frame stands in the program; static. */
struct alq_site {
    const char *function;
    const char *file;
    unsigned line;
    unsigned n_slots; /* values behind the frame's head */
};

/* The head of a frame; its values follow. */
struct alq_frame {
    struct alq_frame *outer;
    const struct alq_site *site;
    struct alq_domain *domain;
};

/* gcc does not see that alq_frame_pop takes the address out again. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdangling-pointer"
#endif
/* Enters a frame whose slots are set: for a runtime that has sites of its own,
 * say of the functions that it interprets. */
static inline void
alq_frame_push(struct alq_domain *d, struct alq_frame *frame,
               const struct alq_site *site)
{
    frame->outer = d->frames;
    frame->site = site;
    frame->domain = d;
    d->frames = frame;
}
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#pragma GCC diagnostic pop
#endif

/* Leaves the innermost frame, which is this one. */
static inline void
alq_frame_pop(void *frame)
{
    struct alq_frame *f = (struct alq_frame *)frame;

    f->domain->frames = f->outer;
}

static inline void
alq_frame_clear(struct alq_frame *frame, unsigned n_slots)
{
    alq_value *slots = (alq_value *)(frame + 1);
    unsigned i;

    for (i = 0; i < n_slots; i++)
        slots[i] = ALQ_NULL;
}

/* ALQ_FRAME(d, f, list, item, temp[4]); declares f.list, f.item and f.temp[],
 * which hold ALQ_NULL and are roots until the end of the scope, however it is
 * left (except by longjmp: set d->frames back to what it was, alq_frames_set).
 * A slot is an lvalue of type alq_value. */
#define ALQ_FRAME(d, name, ...)                                                \
    struct {                                                                   \
        struct alq_frame alq_head;                                             \
        alq_value __VA_ARGS__;                                                 \
    } name __attribute__((cleanup(alq_frame_pop)));                            \
    static const struct alq_site name##_site = {                               \
        __func__, __FILE__, __LINE__,                                          \
        (unsigned)((sizeof name - sizeof name.alq_head) / sizeof(alq_value))}; \
    alq_frame_clear(&name.alq_head, name##_site.n_slots);                      \
    alq_frame_push((d), &name.alq_head, &name##_site)

/* For setjmp: the innermost frame, and back to it. */
static inline struct alq_frame *
alq_frames_get(const struct alq_domain *d)
{
    return d->frames;
}

static inline void
alq_frames_set(struct alq_domain *d, struct alq_frame *frame)
{
    d->frames = frame;
}

/* ---- ranges ------------------------------------------------------------- */

/* The values from base up to *top are roots.  The program may change base, and
 * what top points to, whenever it likes. */
struct alq_range {
    alq_value *base;
    alq_value *const *top;
    const char *what; /* alq_range_name's, NULL until then */
    const char *(*name)(const struct alq_range *range, size_t index);
    struct alq_range *next; /* the domain's */
    struct alq_range **link;
};

/* alq_range_add -- registers a range, whose base and top are set
 *
 * range    Stays where it is until alq_range_remove.
 *
 * Errors   ALQ_EINVAL  d, range, or its base or top is NULL
 * Threads  The domain's.
 * GC       No effect. */
ALQ_API enum alq_status alq_range_add(struct alq_domain *d,
                                      struct alq_range *range);

/* alq_range_name -- what the range's values are called in snapshots
 *
 * range    One that was added.
 * what     What all of them are called, say "global"; it stays where it is as
 *          long as the range does.
 * name     What the value at base[index] is called, beside that; NULL, or a
 *          text that stays as long: it has none.  It is called while all
 *          domains stand still, maybe by the thread of another one: it reads
 *          what the program has, waits for nothing, and calls nothing of this
 *          library.  NULL: none of them has a name.
 *
 * Errors   ALQ_EINVAL  d, range or what is NULL
 * Threads  The domain's.
 * GC       No effect. */
ALQ_API enum alq_status alq_range_name(
    struct alq_domain *d, struct alq_range *range, const char *what,
    const char *(*name)(const struct alq_range *range, size_t index));

/* alq_range_remove -- the range is no root any more; NULL is allowed
 *
 * Threads  The domain's.
 * GC       No effect. */
ALQ_API void alq_range_remove(struct alq_domain *d, struct alq_range *range);

/* ---- globals ------------------------------------------------------------ */

/* A variable that is a root; `value` is read and written like any variable: by
 * several domains, as threads do.  Any of them may add and remove it. */
struct alq_global {
    alq_value value;
    struct alq_global *next; /* the heap's */
    struct alq_global **link;
};

/* alq_global_add -- makes a variable a root
 *
 * global   Stays where it is until alq_global_remove.
 *
 * Errors   ALQ_EINVAL  d or global is NULL
 *          ALQ_ESTATE  a process forked without the threads of its domains
 * Threads  The domain's.
 * GC       No effect. */
ALQ_API enum alq_status alq_global_add(struct alq_domain *d,
                                       struct alq_global *global);

/* alq_global_remove -- the variable is no root any more; NULL is allowed
 *
 * Threads  The domain's.
 * GC       No effect. */
ALQ_API void alq_global_remove(struct alq_domain *d, struct alq_global *global);

/* ---- boxed roots -------------------------------------------------------- */

/* A value that stands outside the heap, at an address that does not change. */
struct alq_root {
    alq_value value; /* read alone; alq_root_set writes */
};

/* alq_root_new -- a boxed root that holds v
 *
 * v        Need not be in another root.
 *
 * Returns  The root, until alq_root_drop or the end of the domain; NULL when
 *          there is no memory (the domain's status is not touched).
 * Threads  The domain's.
 * GC       Does not collect. */
ALQ_API struct alq_root *alq_root_new(struct alq_domain *d, alq_value v);

/* alq_root_set -- the root holds v
 *
 * Threads  The domain's.
 * GC       Does not collect. */
ALQ_API void alq_root_set(struct alq_domain *d, struct alq_root *root,
                          alq_value v);

/* alq_root_drop -- the root is gone; NULL is allowed
 *
 * Threads  The domain's.
 * GC       Does not collect. */
ALQ_API void alq_root_drop(struct alq_domain *d, struct alq_root *root);

static inline alq_value
alq_root_get(const struct alq_root *root)
{
    return root->value;
}

/* ---- pins --------------------------------------------------------------- */

/* alq_pin -- the block stays where it is, and is kept alive
 *
 * For calls that keep its address.  Until it has been unpinned as often as it
 * was pinned, by whatever domain, no collection moves it; then it is a block
 * like any other.  Pins are the heap's: they do not end with the domain.
 *
 * A young block is not promoted meanwhile, and 32 KiB around it, or more when
 * it lies across their end, are no room for new blocks: many young blocks that
 * are pinned for long, far from each other, make the minor heap small.
 *
 * block    No weak array and no ephemeron.  One that is not in the heap may be
 *          pinned: nothing happens to it.
 *
 * Errors   ALQ_EINVAL  d is NULL, or block none that can be pinned
 *          ALQ_ESTATE  a process forked without the threads of its domains
 *          ALQ_ENOMEM  no memory (the domain's status is not touched)
 * Threads  The domain's.
 * GC       Does not collect. */
ALQ_API ALQ_MUSTUSE enum alq_status alq_pin(struct alq_domain *d,
                                            alq_value block);

/* alq_unpin -- takes one pin off the block
 *
 * Errors   ALQ_EINVAL  d is NULL, or block is not pinned
 *          ALQ_ESTATE  a process forked without the threads of its domains
 * Threads  The domain's; any that pinned it or not.
 * GC       Does not collect. */
ALQ_API enum alq_status alq_unpin(struct alq_domain *d, alq_value block);

/* ---- conservative threads ----------------------------------------------- */

/* alq_thread_conservative -- the calling thread's stack and registers are roots
 *
 * From now on each of their words counts as a reference if it is the address of
 * a block, or of a place inside it or right behind it: to any block, whatever
 * its domain.  So a local variable needs no frame.  A young block that is found
 * in this way stays where it is, an old one does too; what it holds is found
 * exactly, as always.  Threads differ, also those of one domain, and roots of
 * all kinds may be used beside it.  In all other memory (static variables, what
 * malloc gave, other stacks) roots are as they were.
 *
 * A value is not found where the program hides it: in a difference of two
 * pointers, in bits of a word, at an address that no multiple of 8 is, or, in a
 * blocking section, in a local that was not set before it began.  What a
 * forgotten word holds lives on: of such threads, finalisers, weak references
 * and what a profiler says about deaths are right in the end, but not exact.
 *
 * Weak arrays and ephemerons are allocated in the major heap while there is
 * such a thread; those that are older must be in other roots during this call.
 *
 * Each collection reads the stack, 1 MiB of it in some 50 us.  For each young
 * block that stays 32 KiB of the minor heap are no room for new ones, as with
 * alq_pin.  When nothing else is left blocks are allocated in the major heap.
 *
 * bottom   The highest address that is read, say of a local variable of main
 *          when its callees hold the values; NULL: all of the stack that the
 *          thread began with.  On a stack of another kind (of a coroutine) it
 *          is necessary.  A thread that changes its stack says so each time,
 *          and stacks that it does not run on are no roots.
 *
 * Errors   ALQ_EINVAL   d is NULL, or bottom is not in the caller's stack
 *          ALQ_ENOTSUP  bottom is NULL, and the system does not say where this
 *                       stack is
 *          ALQ_ENOMEM   no memory (the domain's status is not touched)
 *          ALQ_ESTATE   the calling thread does not run d
 *          On any error nothing has changed.
 * Threads  The domain's.
 * GC       Collects; the caller's values stay where they are. */
ALQ_API ALQ_MUSTUSE enum alq_status
alq_thread_conservative(struct alq_domain *d, const void *bottom);

/* alq_thread_precise -- the calling thread's stack is no root any more
 *
 * As if alq_thread_conservative had not been called.  Detaching and the
 * domain's end do the same.
 *
 * Errors   ALQ_EINVAL  d is NULL
 *          ALQ_ESTATE  the calling thread does not run d
 * Threads  The domain's.
 * GC       No effect. */
ALQ_API enum alq_status alq_thread_precise(struct alq_domain *d);

/* ---- scanners ----------------------------------------------------------- */

/* `scan` calls visit(visit_arg, slot) for each of its values, at each minor
 * collection and at the start of each marking; visit may change *slot.  It must
 * not call the heap. */
struct alq_scanner {
    void (*scan)(void *arg, void (*visit)(void *visit_arg, alq_value *slot),
                 void *visit_arg);
    void *arg;
    struct alq_scanner *next; /* the domain's */
    struct alq_scanner **link;
};

/* alq_scanner_add -- registers a scanner, whose scan and arg are set
 *
 * scanner  Stays where it is until alq_scanner_remove.
 *
 * Errors   ALQ_EINVAL  d, scanner or its scan is NULL
 * Threads  The domain's.
 * GC       No effect. */
ALQ_API enum alq_status alq_scanner_add(struct alq_domain *d,
                                        struct alq_scanner *scanner);

/* alq_scanner_remove -- the scanner is not called any more; NULL is allowed
 *
 * Threads  The domain's.
 * GC       No effect. */
ALQ_API void alq_scanner_remove(struct alq_domain *d,
                                struct alq_scanner *scanner);

#ifdef __cplusplus
}
#endif
#endif
