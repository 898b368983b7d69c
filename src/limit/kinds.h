/* kinds.h -- the kinds of limits: one row says all that limits know of a kind
 *
 * In C a kind stands in two files: its member, its cause and its place in
 * ALQ_LIMITS_NONE and in struct alq_outcome in <aliquot/limit.h>, and its rows
 * here.  The budgets of a frame (limit.h), which numbers are valid, the opening
 * and the outcome (frame.c), the look at all limits (check.c), and what makes a
 * thread look (deliver.c, glue/join/malloc_limiter.c) are made of the rows.
 *
 * KIND(member, cause, start, outer_end, notice, is_over), the first cause that
 * is over counts:
 *   member     of struct alq_limits; the frame's budget has the same name
 *   cause      without ALQ_LIMIT_
 *   start      what is counted, when a frame opens: of t, l and reports; 0 if
 *              the limit is a level
 *   outer_end  outer->member.end if an inner frame's budget is cut to what the
 *              outer one has left (.inv.nest), or NONE
 *   notice     what brings the thread to look: enum alqi_limit_notice
 *   is_over    of f and t, asked where the frame has a limit of its own; one
 *              that is more than a comparison is a function of check.c
 *
 * USE(member, value): what the outcome says that the frame f has used. */
#ifndef ALQI_LIMIT_KINDS_H
#define ALQI_LIMIT_KINDS_H

#include <stdbool.h>
#include <stdint.h>

enum alqi_limit_notice {
    ALQI_LIMIT_BY_TRIGGER, /* the thread stops in front of a position */
    ALQI_LIMIT_BY_SAMPLE,  /* a sampled block: as it is charged        */
    ALQI_LIMIT_BY_ASKING,  /* the thread asks each time                */
    ALQI_LIMIT_BY_LOOKING  /* a wake-up, or a look now and then        */
};

/* A number of a frame. */
struct alqi_limit_budget {
    uint64_t start; /* of the thread's counter, at open; 0 for a level       */
    uint64_t end;   /* of the counter, or the level; its own, or an outer
                       frame's if that is nearer; NONE: no limit             */
    bool is_own;    /* the frame has a limit of that kind                    */
};

#define ALQI_LIMIT_KINDS(KIND)                                                 \
    KIND(words, WORDS, alqi_limit_words_now(t), outer->words.end,              \
         ALQI_LIMIT_BY_TRIGGER, alqi_limit_words_now(t) > f->words.end)        \
    KIND(sampled_words, SAMPLED, t->sampled_words, outer->sampled_words.end,   \
         ALQI_LIMIT_BY_SAMPLE, false)                                          \
    KIND(polls, POLLS, t->polls, outer->polls.end, ALQI_LIMIT_BY_ASKING,       \
         t->polls > f->polls.end)                                              \
    KIND(heap_bytes, HEAP, 0, NONE, ALQI_LIMIT_BY_LOOKING, is_heap_over(f))    \
    KIND(live_words, LIVE, 0, NONE, ALQI_LIMIT_BY_SAMPLE, is_live_over(f))     \
    KIND(time_ns, TIME, start_ns(l, reports), NONE, ALQI_LIMIT_BY_LOOKING,     \
         is_time_over(f))                                                      \
    KIND(cpu_ns, CPU, l->cpu_ns != NONE ? alqi_limit_cpu_ns() : 0, NONE,       \
         ALQI_LIMIT_BY_LOOKING, is_cpu_over(f))

#define ALQI_LIMIT_USES(USE)                                                   \
    USE(words, alqi_limit_words_now(t) - f->words.start)                       \
    USE(sampled_words, alqi_limit_most(t->sampled_words, f->reached_sampled) - \
                           f->sampled_words.start)                             \
    USE(live_words,                                                            \
        f->live_words.is_own ? alqi_limit_account_words(f->account) : 0)       \
    USE(heap_bytes, t->subject->heap_bytes(t->heap))                           \
    USE(time_ns, alqi_plat_mono_ns_sigsafe() - f->time_ns.start)               \
    USE(cpu_ns, f->cpu_ns.is_own ? alqi_limit_cpu_ns() - f->cpu_ns.start : 0)

#endif
