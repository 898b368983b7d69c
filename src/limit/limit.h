/* limit.h -- the limits of a thread, as its heap sees them
 * [doc/design/limit.md]
 *
 * A heap gives each of its threads a struct alqi_limit_thread, and asks
 *
 *   alqi_limit_permit       before it allocates over the trigger, and at each
 *                           poll or slow allocation while `asks_each_time`
 *   alqi_limit_outside      before a block that holds memory outside of the
 * heap alqi_limit_check       after a wake, and when a blocking section has
 * ended
 *
 * Only the thread touches its state (.inv.own of the heap), but for `wakes`. */
#ifndef ALQI_LIMIT_LIMIT_H
#define ALQI_LIMIT_LIMIT_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>

#include <aliquot/limit.h>

#include "limit/account.h"
#include "limit/sites.h"
#include "sample/sample.h"

struct alqi_limit_thread;
struct alqi_limit_frame;

enum alqi_limit_collection {
    ALQI_LIMIT_YOUNG,
    ALQI_LIMIT_ALL,
    ALQI_LIMIT_SHRINK /* all, and memory goes back */
};

/* What a heap does for limits.  All but wake are called by the thread. */
struct alqi_limit_subject {
    uint64_t (*words)(void *heap); /* the thread has allocated so far */
    uint64_t (*heap_bytes)(void *heap);
    /* Runs nothing of the program; what it finds dead is off the accounts when
     * it returns. */
    void (*collect)(void *heap, enum alqi_limit_collection what);
    /* From now on, at least one in so many words is sampled and tracked for
     * the thread, and told by _charge at once, from that seed on if it is not
     * 0; ALQ_ENOMEM.  And no longer. */
    enum alq_status (*charge_begin)(void *heap, uint64_t interval_words,
                                    uint64_t seed);
    void (*charge_end)(void *heap);
    /* trigger_words, asks_each_time or is_interrupted have changed. */
    void (*trigger_changed)(void *heap);
    void (*wake_sigsafe)(void *heap); /* any thread: notice soon */
    /* Before a longjmp: roots as they were when the frame was opened. */
    void *(*root_mark)(void *heap);
    void (*root_restore)(void *heap, void *mark);
    /* Whether what was called since that frame was opened may be left by
     * longjmp: then it is, after clean-ups.  NULL: it may. */
    bool (*may_unwind)(void *heap, const struct alqi_limit_frame *to);
    /* The frame was left so, and is closed: its memory may serve again.  NULL:
     * nobody waits for it. */
    void (*unwound)(struct alqi_limit_frame *f);
    /* The heap asks so often that nobody need wake it: no timer. */
    bool polls_often;
    /* The chance of a word to be sampled: 1 / ALQ_LIMIT_INTERVAL_WORDS. */
    double sample_rate;
};

struct alqi_limit_frame {
    struct alqi_limit_frame *outer;
    struct alqi_limit_thread *thread;
    enum alq_limit_cause cause; /* NOT: open (.inv.oneway) */
    struct alq_token *token;
    enum alq_limit_policy policy;
    unsigned flags;
    uint64_t grace_words;
    enum alq_status (*on_limit)(struct alq_domain *d, void *arg,
                                enum alq_limit_cause cause);
    void *on_limit_arg;
    uint64_t heap_bytes;
    /* Positions of the thread's counters (.inv.nest). */
    uint64_t start_words, end_words;
    uint64_t start_sampled, end_sampled, reached_sampled;
    uint64_t end_polls;
    uint64_t start_ns, end_ns;
    uint64_t start_cpu_ns, end_cpu_ns;
    /* Limits of its own; the other ends are those of frames around it. */
    bool has_words, has_sampled, has_polls;
    bool outer_counts; /* samples counted before */
    bool has_live;
    uint64_t live_words;
    struct alqi_limit_account *account; /* its own or an outer one's, or NULL */
    uint64_t live_check_at;             /* words: not before */
    uint64_t no_shrink_until; /* words: until then it is not collected once
                                  more */
    bool reports; /* there is an outcome, or a frame around it that reports */
    struct alqi_limit_sites sites;
    uint32_t alarm;   /* its place in the timer's heap, 0: none */
    uint32_t n_forks; /* when it was put in there */
    uint64_t alarm_ns;
    /* As it was when the frame was opened. */
    struct alq_cleanup *cleanups;
    uint32_t masked;
    uint32_t foreign;
    void *mark;
    jmp_buf *leave; /* unwinding frames       */
    uintptr_t task; /* its code, where known  */
};

struct alqi_limit_thread {
    const struct alqi_limit_subject *subject;
    void *heap;
    struct alq_domain *domain;
    struct alqi_limit_frame *innermost;
    struct alq_cleanup *cleanups;
    uint32_t masked;
    uint32_t foreign;   /* barriers that are up           */
    uint32_t n_reached; /* frames                         */
    uint64_t sampled_words;
    uint64_t polls;
    uint64_t quiet_until; /* words: no delivery before      */
    /* What the heap looks at; the rest follows from the frames. */
    uint64_t trigger_words; /* position from which it must ask, or NONE */
    bool asks_each_time;    /* it must ask each time          */
    bool is_interrupted;    /* some frame is reached          */
    bool counts_samples;
    uint64_t sampled_at; /* position of the next sampled word, if it counts */
    struct alqi_sample_rng rng; /* of samples, and for ALQ_LIMIT_NEXT_SAMPLE */
    bool is_seeded;
};

void alqi_limit_thread_init(struct alqi_limit_thread *t,
                            const struct alqi_limit_subject *subject,
                            void *heap);

/* ---- frames ------------------------------------------------------------- */

bool alqi_limit_is_right(const struct alq_limits *limits);

/* ALQ_ELIMIT: the frame is open, but the task must not be called, as its token
 * is set already.  ALQ_ENOMEM: no timer; the frame is not open.  `reports`: its
 * close will be given an outcome. */
enum alq_status alqi_limit_open(struct alqi_limit_thread *t,
                                struct alqi_limit_frame *f,
                                const struct alq_limits *limits, bool reports);
/* Whether the frame was reached, by the last look at all of its limits; out is
 * NULL unless it reports. */
bool alqi_limit_close(struct alqi_limit_frame *f, enum alq_status task,
                      struct alq_outcome *out);

/* The innermost frame, whose task was left: it is closed, whatever has reached
 * it. */
void alqi_limit_drop(struct alqi_limit_frame *f);

/* ---- what the heap asks ------------------------------------------------- */

/* May the thread allocate `words` more (0: a poll)?  May leave by longjmp. */
enum alq_status alqi_limit_permit(struct alqi_limit_thread *t, uint64_t words);

/* May it allocate a block that holds so many words outside of the heap, which
 * are sampled but not among its own?  As _permit. */
enum alq_status alqi_limit_outside(struct alqi_limit_thread *t, uint64_t words);

/* n samples were taken, of interval_words each. */
void alqi_limit_sampled(struct alqi_limit_thread *t, uint64_t n,
                        uint64_t interval_words);

/* A profile has sampled so many words, which stand for `words`. */
void alqi_limit_profile_sampled(struct alqi_limit_thread *t,
                                const uintptr_t *frames, size_t n_frames,
                                uint64_t samples, double words);

/* A block was sampled that stands for so many words, and is tracked: until it
 * is dead it has the charge that is returned, which is not the thread's.  NULL:
 * nobody pays, or there is no memory. */
struct alqi_limit_charge *alqi_limit_charge(struct alqi_limit_thread *t,
                                            uint64_t words);

/* Something may be reached that no allocation of the thread reaches. */
void alqi_limit_check(struct alqi_limit_thread *t);

/* ---- masks -------------------------------------------------------------- */

static inline uint32_t
alqi_limit_mask(struct alqi_limit_thread *t)
{
    uint32_t was = t->masked;

    t->masked = 1;
    return was;
}

void alqi_limit_unmask(struct alqi_limit_thread *t, uint32_t was);

/* ---- clean-ups ---------------------------------------------------------- */

/* Runs and takes off what is registered above `until`, masked. */
void alqi_limit_cleanup(struct alqi_limit_thread *t, struct alq_cleanup *until);

/* ---- tokens ------------------------------------------------------------- */

/* Raises the limit of every domain of every heap; atomic, set before the first
 * frame is opened. */
extern void (*alqi_limit_wake_all_sigsafe)(void);

/* ---- the timer ---------------------------------------------------------- */

/* The frame's thread is woken at alarm_ns of the monotonic clock, or a little
 * later; false: there is no timer thread, and there will be none. */
bool alqi_limit_timer_add(struct alqi_limit_frame *f);
void alqi_limit_timer_remove(struct alqi_limit_frame *f);
/* By the frame's thread: it was put in before a fork that made this process. */
void alqi_limit_timer_renew(struct alqi_limit_frame *f);

/* Of the calling thread; in a forked child it goes on from where it was. */
uint64_t alqi_limit_cpu_ns(void);

#endif
