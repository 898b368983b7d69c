/* limit.h -- the limits of a thread, as its heap sees them
 *                                                       [doc/design/limit.md]
 * A heap gives each of its threads a struct alqi_limit_thread, and calls
 *
 *     alqi_limit_permit   before an allocation that passes trigger_words, and
 *                         at each poll or slow allocation while asks_each_time
 *     alqi_limit_outside  before a block that holds memory outside of the heap
 *     alqi_limit_check    after a wake-up, and after a blocking section
 *
 * A *frame* is one alq_limit_run that is open: the limits of a task and what it
 * has used.  Frames nest; a thread's are linked from the innermost outwards.
 *
 * The thread alone reads and writes its state, but for
 * alqi_limit_subject.wake. */
#ifndef ALQI_LIMIT_LIMIT_H
#define ALQI_LIMIT_LIMIT_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>

#include <aliquot/limit.h>

#include "limit/account.h"
#include "limit/kinds.h"
#include "limit/sites.h"
#include "sample/sample.h"

struct alqi_limit_thread;
struct alqi_limit_frame;

enum alqi_limit_collection {
    ALQI_LIMIT_YOUNG,
    ALQI_LIMIT_ALL,
    ALQI_LIMIT_SHRINK /* all, and memory goes back */
};

/* What a heap does for limits.  The thread calls all of them but
 * wake_sigsafe. */
struct alqi_limit_subject {
    uint64_t (*words)(
        void *heap); /* words that the thread has allocated so far */
    uint64_t (*heap_bytes)(void *heap);
    /* Collects; runs no code of the program.  When it returns, what it found
     * dead is off the accounts. */
    void (*collect)(void *heap, enum alqi_limit_collection what);
    /* From now on one in interval_words or more is sampled and tracked for the
     * thread, by _charge at once, with that seed if it is not 0; ALQ_ENOMEM.
     * _end: no longer. */
    enum alq_status (*charge_begin)(void *heap, uint64_t interval_words,
                                    uint64_t seed);
    void (*charge_end)(void *heap);
    /* trigger_words, asks_each_time or is_interrupted have changed. */
    void (*trigger_changed)(void *heap);
    void (*wake_sigsafe)(void *heap); /* by any thread: alqi_limit_check soon */
    /* Before a longjmp: restores the local roots that root_mark named when the
     * frame was opened. */
    void *(*root_mark)(void *heap);
    void (*root_restore)(void *heap, void *mark);
    /* Whether the functions called since that frame was opened may be left by
     * longjmp; if so they are, after clean-ups.  NULL: they may. */
    bool (*may_unwind)(void *heap, const struct alqi_limit_frame *to);
    /* The frame was left by longjmp and is closed: its memory may be reused.
     * NULL: no use for it. */
    void (*unwound)(struct alqi_limit_frame *f);
    /* The heap asks so often that it needs no wake-up: no timer. */
    bool polls_often;
    /* The chance of a word to be sampled: 1 / ALQ_LIMIT_INTERVAL_WORDS. */
    double sample_rate;
};

struct alqi_limit_frame {
    struct alqi_limit_frame *outer;
    struct alqi_limit_thread *thread;
    enum alq_limit_cause cause; /* NOT: within its limits (.inv.oneway) */
    struct alq_token *token;
    enum alq_limit_policy policy;
    unsigned flags;
    uint64_t grace_words;
    enum alq_status (*on_limit)(struct alq_domain *d, void *arg,
                                enum alq_limit_cause cause);
    void *on_limit_arg;
#define ALQI_LIMIT_BUDGET(member, ...) struct alqi_limit_budget member;
    ALQI_LIMIT_KINDS(ALQI_LIMIT_BUDGET)
    uint64_t reached_sampled; /* sampled words when they reached its limit */
    bool outer_counts;        /* counts_samples before it was opened */
    struct alqi_limit_account *account; /* its own or an outer one's, or NULL */
    uint64_t live_check_at;   /* words: no check of live words before */
    uint64_t no_shrink_until; /* words: no further full collection before */
    bool reports; /* it or a frame around it has an outcome to fill */
    struct alqi_limit_sites sites;
    uint32_t alarm;   /* its index in the timer's heap; 0: none */
    uint32_t n_forks; /* timer.n_forks when it was put in */
    uint64_t alarm_ns;
    /* As it was when the frame was opened. */
    struct alq_cleanup *cleanups;
    uint32_t masked;
    uint32_t foreign;
    void *mark;
    jmp_buf *leave; /* of frames that unwind; NULL */
    uintptr_t task; /* address of its code; 0: not known */
};

struct alqi_limit_thread {
    const struct alqi_limit_subject *subject;
    void *heap;
    struct alq_domain *domain;
    struct alqi_limit_frame *innermost;
    struct alq_cleanup *cleanups;
    uint32_t masked;
    uint32_t foreign;   /* barriers of the other kind of heap */
    uint32_t n_reached; /* frames that are reached */
    uint64_t sampled_words;
    uint64_t polls;
    uint64_t quiet_until; /* words: no delivery before      */
    /* What the heap reads; alqi_limit_update_trigger derives it from the
     * frames. */
    uint64_t trigger_words; /* words: it must ask before it passes them; NONE */
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

/* Whether the frame has a limit of its own that is noticed so. */
static inline bool
alqi_limit_is_noticed(const struct alqi_limit_frame *f,
                      enum alqi_limit_notice by)
{
#define ALQI_LIMIT_IS_NOTICED(member, cause, start, outer_end, notice, ...)    \
    ((notice) == by && f->member.is_own) ||
    return ALQI_LIMIT_KINDS(ALQI_LIMIT_IS_NOTICED) false;
}

bool alqi_limit_is_right(const struct alq_limits *limits);

/* Opens a frame.  ALQ_ELIMIT: it is open, but its token is set already: do not
 * call the task.  ALQ_ENOMEM: no timer; it is not open.  `reports`: its close
 * will be given an outcome. */
enum alq_status alqi_limit_open(struct alqi_limit_thread *t,
                                struct alqi_limit_frame *f,
                                const struct alq_limits *limits, bool reports);
/* Checks all limits once more and closes the frame; returns whether it was
 * reached.  `out` is NULL unless it reports. */
bool alqi_limit_close(struct alqi_limit_frame *f, enum alq_status task,
                      struct alq_outcome *out);

/* Closes the innermost frame, whose task was left, whatever has reached it. */
void alqi_limit_drop(struct alqi_limit_frame *f);

/* ---- what the heap asks ------------------------------------------------- */

/* May the thread allocate `words` more (0: a poll)?  May leave by longjmp. */
enum alq_status alqi_limit_permit(struct alqi_limit_thread *t, uint64_t words);

/* May it allocate a block that holds so many words outside of the heap, which
 * are sampled but not among its own?  As _permit.  *samples of them are
 * sampled: alqi_limit_sampled is to count them when the block is there
 * (.inv.had). */
enum alq_status alqi_limit_outside(struct alqi_limit_thread *t, uint64_t words,
                                   uint64_t *samples);

/* Counts n samples of interval_words each. */
void alqi_limit_sampled(struct alqi_limit_thread *t, uint64_t n,
                        uint64_t interval_words);

/* A profile has sampled a block: `samples` words, which stand for `words`. */
void alqi_limit_profile_sampled(struct alqi_limit_thread *t,
                                const uintptr_t *frames, size_t n_frames,
                                uint64_t samples, double words);

/* A block was sampled that stands for so many words, and is tracked: charges it
 * to the innermost account until it is dead.  The charge is not the thread's.
 * NULL: no frame has an account, or no memory. */
struct alqi_limit_charge *alqi_limit_charge(struct alqi_limit_thread *t,
                                            uint64_t words);

/* Checks the limits that no allocation of the thread reaches. */
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

/* Runs the clean-ups registered above `until`, each taken off first, masked. */
void alqi_limit_cleanup(struct alqi_limit_thread *t, struct alq_cleanup *until);

/* ---- tokens ------------------------------------------------------------- */

/* Wakes every domain of every heap; atomic, set before the first frame is
 * opened. */
extern void (*alqi_limit_wake_all_sigsafe)(void);

/* ---- the timer ---------------------------------------------------------- */

/* Wakes the frame's thread at alarm_ns of the monotonic clock, or a little
 * later; false: there is no timer thread, and there will be none. */
bool alqi_limit_timer_add(struct alqi_limit_frame *f);
void alqi_limit_timer_remove(struct alqi_limit_frame *f);
/* By the frame's thread: puts it in again if a fork since then made this
 * process. */
void alqi_limit_timer_renew(struct alqi_limit_frame *f);

/* Processor time of the calling thread.  In a forked child it goes on from the
 * value in the parent. */
uint64_t alqi_limit_cpu_ns(void);

#endif
