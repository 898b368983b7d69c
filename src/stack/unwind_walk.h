/* unwind_walk.h -- the state of one walk, and the steps it takes
 *
 * A walk stands at a frame that is still to be described and goes to its
 * caller, step by step, until an outcome says that it is over:
 *
 *   GO     the walk stands at the caller
 *   DONE   that was the outermost frame
 *   LOST   the caller cannot be found
 *   FULL   the caller exists, but there is no room for it
 *   OTHER  the frame needs the general step; not yet taken
 *
 * Keeps .inv.grow; memory is read by .inv.read. */
#ifndef ALQI_STACK_UNWIND_WALK_H
#define ALQI_STACK_UNWIND_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "stack/capture.h"
#include "stack/unwind_rules.h"

/* A frame as a walk has found it; of a plain one, .inv.within holds. */
struct alqi_stack_frame {
    uintptr_t pc;    /* as reported: .def.key + 1 */
    uintptr_t ra_at; /* where a plain one's return address is; else the CFA */
    uint32_t rule;   /* a plain one's payload; else ALQI_STACK_RULE_* */
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

/* Whether the CFA is sp + offset. */
static inline bool
alqi_stack_is_plain_by_sp(uint32_t rule)
{
    return (rule & (ALQI_STACK_PAYLOAD_TABLE | ALQI_STACK_PAYLOAD_SP)) ==
           ALQI_STACK_PAYLOAD_SP;
}

/* The CFA of a frame with that rule. */
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

/* One walk, on the stack of its thread. */
struct alqi_stack_walk {
    struct alqi_stack_cache *cache;
    uintptr_t key; /* of the frame it stands at; reported as key + 1 */
    uintptr_t sp;  /* CFA of the frame inside it, or where the walk began */
    uintptr_t fp;  /* the frame pointer's value in the frame */
    uintptr_t saved_at;  /* of an interrupted frame: the kernel's signal frame,
                            which holds all its registers; else 0 */
    uint64_t generation; /* of the rules it goes by: when it began */
    bool is_exact; /* the key is the frame's pc: started at, or interrupted */
    bool has_tracked;    /* `tracked` is known */
    uint8_t tracked_reg; /* a register followed besides; NO_REG: none */
    uint32_t n_switches; /* to other stacks so far (.inv.grow) */
    uintptr_t tracked;   /* its value, if has_tracked */
    struct alqi_stack_scratch
        *scratch; /* two: the second for alqi_stack_recover */
};

/* Describes the frame the walk stands at, then goes to its caller; what it
 * does for each kind of rule: stack.md. */
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

/* The value of a callee-saved register in the frame at which the walk stands,
 * by a second walk from here.  False: it cannot be known. */
bool alqi_stack_recover(const struct alqi_stack_walk *at, unsigned reg,
                        uint64_t *out);

/* Extends the cache's readable range to the word at `at` (.inv.read); false:
 * it cannot be read. */
bool alqi_stack_make_readable_slow(struct alqi_stack_cache *cache,
                                   uintptr_t at);

/* Reads n_bytes at `at`, wherever that is; the range stays as it is.  False:
 * they cannot be read. */
bool alqi_stack_peek(const struct alqi_stack_cache *cache, uintptr_t at,
                     unsigned n_bytes, uint64_t *out);

static inline bool
alqi_stack_is_in_range(const struct alqi_stack_cache *cache, uintptr_t at)
{
    return at - cache->readable_lo <=
           cache->readable_hi - cache->readable_lo - sizeof at;
}

/* Makes sure that the word at `at` lies in the readable range. */
static inline bool
alqi_stack_make_readable(struct alqi_stack_cache *cache, uintptr_t at)
{
    return ALQI_LIKELY(alqi_stack_is_in_range(cache, at)) ||
           alqi_stack_make_readable_slow(cache, at);
}

/* The word at `at`, which the caller knows to be readable.  Stack words lie
 * between variables that a sanitizer fences off; the walk reads only what CFI
 * names. */
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

/* The rule at `key`: from the rule cache, or decoded. */
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

/* Stands at the first frame, by the rules of now. */
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

/* Goes to the caller at return address `ra`; one of 0 ends the stack. */
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
