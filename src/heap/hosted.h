/* hosted.h -- values of OCaml's code that the heap's own programs do not have
 *
 * The build that hosts OCaml (ALQI_HOSTS_OCAML, src/ocaml) has more shapes of
 * blocks; in all other builds each function here is a constant.
 *
 *   Closure   code pointers and arities precede the environment.  The second
 *             word, an integer, says where the environment begins.
 *   Infix     a header inside of a closure: its size is the distance from the
 *             closure's own first field, in words.  A value may point behind
 *             it; the block is the closure.
 *   Cont      a continuation: an address in it leads to a fiber's stack, whose
 *             values are scanned with the block.
 *   Lazy      its tag becomes another one while it is forced.
 *
 * .inv.infix  A value with an infix header is replaced by its closure before a
 *             colour is read or written, and it moves as the closure moves. */
#ifndef ALQI_HEAP_HOSTED_H
#define ALQI_HEAP_HOSTED_H

#include "heap/layout.h"

struct alqi_domain;

enum {
    ALQI_HEAP_TAG_FORCING = 244,
    ALQI_HEAP_TAG_CONT = 245,
    ALQI_HEAP_TAG_LAZY = 246,
    ALQI_HEAP_TAG_CLOSURE = 247,
    ALQI_HEAP_TAG_INFIX = 249
};

struct alqi_domain;

/* ---- of the host --------------------------------------------------------- */

/* Shows the domain's roots, with the first domain's those that are no
 * domain's, unless the domain collects alone; young_only: those that may be
 * young. */
void alqi_heap_host_scan(struct alqi_domain *d, bool young_only,
                         void (*visit)(void *arg, alq_value *slot), void *arg);
/* Shows all of them, each in the place that names it.  The visit changes none,
 * and no finaliser runs meanwhile. */
void alqi_heap_host_places_stw(struct alqi_domain *d,
                               void (*visit)(void *arg, alq_value *slot),
                               void *arg);

/* Whether code of the host's may pass young values between domains without
 * alqi_heap_escape. */
bool alqi_heap_host_shares(void);

/* Callbacks of the profiler wait for the domain.  The host runs them where its
 * own code may run: a poll of the heap may come from its C code. */
void alqi_heap_host_owes(struct alqi_domain *d);

/* The call stack of the host's code, as alqi_memprof_walk_fn. */
bool alqi_heap_host_walk(struct alqi_domain *d, uint64_t words_below,
                         uintptr_t *frames, size_t max_frames,
                         size_t *n_frames);

/* Around a call of the heap that comes from none of the host's own calls: what
 * the host keeps of the domain for itself is handed over, and back. */
void alqi_heap_host_enter(struct alqi_domain *d);
void alqi_heap_host_leave(struct alqi_domain *d);

/* Shows the slots of the stack that the continuation holds. */
void alqi_heap_host_fiber_visit(alq_value cont,
                                void (*visit)(void *arg, alq_value *slot),
                                void *arg);

/* The host supplies this: the heap calls it when a compaction is about to begin
 * its step n (0 moves blocks, 1 updates what leads to them, 2 gives pools
 * back), or is over, 3. */
void alqi_heap_host_compacts_stw(struct alqi_domain *leader, unsigned step);

/* ---- shapes -------------------------------------------------------------- */

/* Blocks whose tag other domains may replace meanwhile, by compare and swap of
 * the header: lazy values that are being forced. */
static inline bool
alqi_heap_is_retagged(uintptr_t header)
{
    return ALQI_HOSTS_OCAML && ((header & 0xFF) == ALQI_HEAP_TAG_FORCING ||
                                (header & 0xFF) == ALQI_HEAP_TAG_LAZY);
}

static inline bool
alqi_heap_is_continuation(uintptr_t header)
{
    return ALQI_HOSTS_OCAML && (header & 0xFF) == ALQI_HEAP_TAG_CONT;
}

/* Fields that hold no values, in front of those that do. */
static inline uintptr_t
alqi_heap_raw_fields(const alqi_heap_word *block, uintptr_t header)
{
    if (!ALQI_HOSTS_OCAML || (header & 0xFF) != ALQI_HEAP_TAG_CLOSURE)
        return 0;
    return (block[1] << 8) >> 9; /* the upper byte is the arity's */
}

/* Prepares a new block whose fields are all ALQ_UNIT. A closure's environment
 * begins behind its end until the program has written all fields in front of
 * it, so the collector takes no code pointer for a value meanwhile. */
static inline void
alqi_heap_raw_begin(alqi_heap_word *block, uintptr_t header)
{
    uintptr_t n = header >> ALQ_WOSIZE_SHIFT;

    if (ALQI_HOSTS_OCAML && (header & 0xFF) == ALQI_HEAP_TAG_CLOSURE && n >= 2)
        __atomic_store_n(&block[1], (n << 1) + 1, __ATOMIC_RELAXED);
}

/* Bytes from the block to the value; 0: it points to the block itself. */
static inline uintptr_t
alqi_heap_infix_bytes(alq_value v)
{
    uintptr_t header;

    if (!ALQI_HOSTS_OCAML)
        return 0;
    header = __atomic_load_n((const alqi_heap_word *)v - 1, __ATOMIC_RELAXED);
    if ((header & 0xFF) != ALQI_HEAP_TAG_INFIX)
        return 0;
    return (header >> ALQ_WOSIZE_SHIFT) * ALQ_WORD_BYTES;
}

/* The block that the value points into.  Requires that v is a block. */
static inline alq_value
alqi_heap_infix_block(alq_value v)
{
    return v - alqi_heap_infix_bytes(v);
}

#endif
