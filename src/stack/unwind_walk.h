/* unwind_walk.h -- the state of one walk, and the steps it takes */
#ifndef ALQI_STACK_UNWIND_WALK_H
#define ALQI_STACK_UNWIND_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "stack/capture.h"
#include "stack/unwind_rules.h"

/* A frame as a walk has found it.  A plain one has the payload of its rule for
 * `rule`, and all it reads lies between the CFA of the frame inside it and its
 * own (.inv.within). */
struct alqi_stack_frame {
    uintptr_t pc;
    uintptr_t ra_at; /* of its return address; of another kind: its CFA */
    uint32_t rule;
};

/* The `rule` of frames of other kinds. */
enum {
    ALQI_STACK_RULE_OTHER = ALQI_STACK_PAYLOAD_TABLE,
    ALQI_STACK_RULE_END = ALQI_STACK_PAYLOAD_TABLE |
                          ALQI_STACK_PAYLOAD_SP /* its thread's first frame */
};

static inline bool
alqi_stack_is_plain(uint32_t rule)
{
    return (rule & ALQI_STACK_PAYLOAD_TABLE) == 0;
}

static inline bool
alqi_stack_is_plain_by_sp(uint32_t rule)
{
    return (rule & (ALQI_STACK_PAYLOAD_TABLE | ALQI_STACK_PAYLOAD_SP)) ==
           ALQI_STACK_PAYLOAD_SP;
}

static inline uintptr_t
alqi_stack_frame_cfa(uintptr_t ra_at, uint32_t rule)
{
    if (!alqi_stack_is_plain(rule))
        return ra_at;
    return ra_at -
           (uintptr_t)(intptr_t)alqi_arch_usual_ra(alqi_stack_payload_fp(rule));
}

enum {
    ALQI_STACK_SWITCHES_MAX = 64,
    ALQI_STACK_NULL_PAGE = 4096 /* no code lies below */
};

enum alqi_stack_outcome {
    ALQI_STACK_GO,   /* the walk stands at the caller                     */
    ALQI_STACK_DONE, /* that was the outermost frame                      */
    ALQI_STACK_LOST, /* the caller cannot be found                        */
    ALQI_STACK_FULL, /* the caller exists, but there is no scratch           */
    ALQI_STACK_OTHER /* this frame needs the general step; not yet taken  */
};

/* Stands at a frame that is still to be described.  `sp` is the CFA of the
 * frame inside it, or where the walk began. */
struct alqi_stack_walk {
    struct alqi_stack_cache *cache;
    uintptr_t key; /* reported as key + 1 */
    uintptr_t sp;
    uintptr_t fp;
    uintptr_t saved_at; /* of an interrupted frame: the kernel's signal frame,
                           which holds all its registers; else 0 */
    uint64_t generation;
    bool is_exact; /* the key is the frame's pc: started at, or interrupted */
    bool has_tracked;
    uint8_t tracked_reg; /* a register followed besides; 0xFF: none */
    uint32_t n_switches;
    uintptr_t tracked; /* its value, if has_tracked */
    struct alqi_stack_scratch
        *scratch; /* two: one more for alqi_stack_recover */
};

/* Describes the frame the walk stands at, then goes to its caller. */
enum alqi_stack_outcome alqi_stack_step(struct alqi_stack_walk *w,
                                        struct alqi_stack_frame *frame);

/* Steps of frames that have no REGISTER rule; see alqi_stack_step. */
enum alqi_stack_outcome alqi_stack_step_signal(struct alqi_stack_walk *w,
                                               struct alqi_stack_frame *frame);
enum alqi_stack_outcome
alqi_stack_step_complex(struct alqi_stack_walk *w,
                        const struct alqi_stack_complex *c,
                        struct alqi_stack_frame *frame);
enum alqi_stack_outcome alqi_stack_step_unknown(struct alqi_stack_walk *w,
                                                struct alqi_stack_frame *frame);

/* The value in the frame at which the walk stands of a register that calls
 * preserve; by a second walk, from here. */
bool alqi_stack_recover(const struct alqi_stack_walk *at, unsigned reg,
                        uint64_t *out);

/* Extends the cache's readable range to the word at `at` (.inv.read). */
bool alqi_stack_make_readable_slow(struct alqi_stack_cache *cache,
                                   uintptr_t at);

/* The word at `at`, wherever that is; the range stays as it is. */
bool alqi_stack_peek(const struct alqi_stack_cache *cache, uintptr_t at,
                     unsigned n_bytes, uint64_t *out);

static inline bool
alqi_stack_is_in_range(const struct alqi_stack_cache *cache, uintptr_t at)
{
    return at - cache->readable_lo <=
           cache->readable_hi - cache->readable_lo - sizeof at;
}

static inline bool
alqi_stack_make_readable(struct alqi_stack_cache *cache, uintptr_t at)
{
    return ALQI_LIKELY(alqi_stack_is_in_range(cache, at)) ||
           alqi_stack_make_readable_slow(cache, at);
}

/* Stack words lie between variables that a sanitizer fences off; the walk
 * reads only what CFI names. */
__attribute__((no_sanitize("address"),
               no_sanitize("thread"))) static inline uintptr_t
alqi_stack_word(uintptr_t at)
{
    typedef uintptr_t word __attribute__((may_alias, aligned(1)));

    return *(const word *)at;
}

/* The word that lies `offset` words from sp. */
static inline uintptr_t
alqi_stack_word_at(uintptr_t sp, uint32_t offset)
{
    return alqi_stack_word(sp + (uintptr_t)offset * sizeof sp);
}

static inline const struct alqi_stack_rule *
alqi_stack_walk_rule(struct alqi_stack_walk *w, uintptr_t key)
{
    uint32_t payload = 0;

    if (ALQI_LIKELY((key + 1) >> ALQI_STACK_KEY_BITS == 0))
        payload = alqi_stack_rules_find(key + 1);
    if (ALQI_LIKELY(payload != 0))
        return alqi_stack_rules_of_payload(payload, w->scratch);
    return alqi_stack_rules_decode(key, w->generation, w->scratch);
}

/* Stands at the first frame. */
static inline void
alqi_stack_walk_begin(struct alqi_stack_walk *w, struct alqi_stack_cache *cache,
                      const struct alqi_stack_regs *start)
{
    w->cache = cache;
    w->key = start->pc - start->is_return;
    w->sp = start->sp;
    w->fp = start->fp;
    w->saved_at = 0;
    w->is_exact = !start->is_return;
    w->n_switches = 0;
    w->tracked_reg = ALQI_STACK_NO_REG;
    w->has_tracked = false;
    w->scratch = cache->scratch;
    w->generation =
        atomic_load_explicit(&alqi_stack_generation, memory_order_acquire);
}

/* Goes to the caller at return address `ra`. */
static inline enum alqi_stack_outcome
alqi_stack_walk_return(struct alqi_stack_walk *w, uintptr_t cfa, uintptr_t fp,
                       uintptr_t ra)
{
    w->sp = cfa;
    w->fp = fp;
    w->key = ra - 1;
    w->saved_at = 0;
    w->is_exact = false;
    if (ra >= ALQI_STACK_NULL_PAGE)
        return ALQI_STACK_GO;
    return ra == 0 ? ALQI_STACK_DONE : ALQI_STACK_LOST;
}

#endif
