/* observe.h -- what the collector does, while it does it
 *
 *   listeners   a function of the program's hears of each event, with its time
 *   recording   the same into a file, for aliquot-gc-trace(1)
 *   pauses      how long the program waited for the collector: always kept
 *   census      what is in the heap: blocks and words, by tag and size
 *
 * While nobody listens an event costs one comparison.  Pauses cost two readings
 * of the clock for each time that the collector is entered. */
#ifndef ALIQUOT_OBSERVE_H
#define ALIQUOT_OBSERVE_H

#include <stdio.h>

#include <aliquot/heap.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- events ------------------------------------------------------------- */

/* What happens, and the numbers that come with its beginning | its end.  Words
 * count headers.  The first group lies in the pauses of a domain and nests; a
 * minor collection is of the domain that asked for it, whatever took part, and
 * lies in a stop unless that domain collected alone.  The
 * second is the heap's own and may last over many pauses, also nested.  The
 * third are moments; with the heap's end its listeners are forgotten. */
enum alq_event_kind {
    ALQ_EVENT_PAUSE,    /* - | bytes in use, bytes that could be         */
    ALQ_EVENT_MINOR,    /* young words, remembered fields | words promoted */
    ALQ_EVENT_SLICE,    /* words to do | words marked, words swept       */
    ALQ_EVENT_MAJOR,    /* why: 0 by a call, 1 memory was short | cycles  */
    ALQ_EVENT_COMPACT,  /* - | bytes given back, bytes moved; when no call
                          asked for it slices give back what it emptied   */
    ALQ_EVENT_STOP,     /* - | domains that took part; 0 for one that came
                          back in the middle and waited for the end       */
    ALQ_EVENT_FINALISE, /* - | functions run: of young custom blocks, in a
                           pause; finalisers and alarms, between them: their
                           own pauses lie in it                            */

    ALQ_EVENT_CYCLE, /* its number | words alive, about                  */
    ALQ_EVENT_MARK,  /* - | words marked                                 */
    ALQ_EVENT_EPHE,  /* - | weak references emptied; within MARK: its end,
                        from when all is marked that the roots lead to     */
    ALQ_EVENT_SWEEP, /* -                                                */

    ALQ_EVENT_GROW,         /* bytes of pools that have memory, before   */
    ALQ_EVENT_SHRINK,       /* the same                                  */
    ALQ_EVENT_DOMAIN_START, /*                                           */
    ALQ_EVENT_DOMAIN_END,   /*                                           */
    ALQ_EVENT_HEAP_END,     /* of the heap                               */
    ALQ_EVENT_KINDS
};

enum alq_event_point { ALQ_EVENT_BEGIN, ALQ_EVENT_END, ALQ_EVENT_MOMENT };

enum { ALQ_EVENT_VALUES = 2, ALQ_LISTENERS_MAX = 16 };

/* The domain of an event that is the heap's own. */
#define ALQ_EVENT_HEAP (~0u)

struct alq_event {
    enum alq_event_kind kind;
    enum alq_event_point point;
    unsigned domain;  /* number, from 0; or ALQ_EVENT_HEAP               */
    uint64_t time_ns; /* CLOCK_MONOTONIC                                 */
    uint64_t values[ALQ_EVENT_VALUES]; /* those of the kind; else 0      */
};

/* alq_event_text -- the name of a kind of event
 *
 * Returns  As "minor"; static.  For a number that is no kind, "unknown".
 * Threads  Any; async-signal-safe.
 * GC       No effect. */
ALQ_API const char *alq_event_text(unsigned kind);

/* alq_event_value_text -- the name of a number that comes with an event
 *
 * index    From 0.
 *
 * Returns  As "promoted_words"; static.  NULL: there is no such number.
 * Threads  Any; async-signal-safe.
 * GC       No effect. */
ALQ_API const char *alq_event_value_text(unsigned kind, unsigned point,
                                         unsigned index);

/* `event` is called on the thread where the event happens, within the
 * collector: other threads may stand still meanwhile, and may call it at the
 * same time.  It must not call the heap, nor add or remove listeners, and
 * should take microseconds.
 *
 * Times of a domain, and those of the heap, never go back.  Whoever begins to
 * listen in the middle hears ends without their beginnings. */
struct alq_listener {
    void (*event)(void *arg, const struct alq_event *event);
    void *arg;
    uint64_t kinds; /* bits 1 << kind; 0: all of them */
};

/* alq_listener_add -- from now on the listener hears of events
 *
 * d        Of its whole heap, whatever the domain.
 * listener Stays where it is, and as it is, until alq_listener_remove.
 *
 * Errors   ALQ_EINVAL  d, listener or its event is NULL
 *          ALQ_EBUSY   ALQ_LISTENERS_MAX are there, a recording counted; or
 *                      this one is; or the caller is a listener's function
 *          ALQ_ESTATE  a process forked without the threads of its domains
 * Threads  Any.
 * GC       No effect. */
ALQ_API ALQ_MUSTUSE enum alq_status
alq_listener_add(struct alq_domain *d, const struct alq_listener *listener);

/* alq_listener_remove -- the listener hears of nothing any more
 *
 * When the call returns, no thread is in its function, and none will be.
 *
 * Errors   ALQ_EINVAL  d is NULL, or the listener is not there
 *          ALQ_EBUSY   the caller is a listener's function
 *          ALQ_ESTATE  a process forked without the threads of its domains
 * Threads  Any.
 * GC       No effect. */
ALQ_API enum alq_status
alq_listener_remove(struct alq_domain *d, const struct alq_listener *listener);

/* ---- recording ---------------------------------------------------------- */

/* With ALIQUOT_GC_TRACE=file in the environment a recording begins with the
 * process's first heap; "%p" in the name is the process's number.  What then
 * goes wrong is said on stderr, and the program runs on.  Events of a domain
 * are kept in a buffer and written behind a pause of its own, when that is half
 * full or a second has passed since its first event, and when it ends; those
 * that find it full are counted.
 * A buffer has 4096 words, or as e in ALIQUOTPARAM says.  What is in buffers is
 * lost with a process that is killed, the rest is not. */

/* alq_gc_trace_start -- records the events of the heap into a file
 *
 * path     Of a file that does not exist; aliquot-gc-trace(1) reads it.
 *
 * Errors   ALQ_EINVAL  d or path is NULL
 *          ALQ_EBUSY   a recording is under way, or ALQ_LISTENERS_MAX
 *                      listeners are there
 *          ALQ_EEXIST  the file exists
 *          ALQ_EIO     it cannot be made or written; errno says why
 *          ALQ_ENOMEM  no memory
 * Threads  Any.
 * GC       No effect. */
ALQ_API ALQ_MUSTUSE enum alq_status alq_gc_trace_start(struct alq_domain *d,
                                                       const char *path);

/* alq_gc_trace_stop -- ends the recording; the end of the heap does, too
 *
 * n_dropped  Receives how many events are not in the file, since buffers were
 *            full or the file could not be written.  May be NULL.
 *
 * Errors   ALQ_EINVAL   d is NULL
 *          ALQ_ENOTRUN  there is no recording
 *          ALQ_EIO      the file could not be written to its end
 * Threads  Any.
 * GC       No effect. */
ALQ_API enum alq_status alq_gc_trace_stop(struct alq_domain *d,
                                          uint64_t *n_dropped);

/* ---- pauses ------------------------------------------------------------- */

/* A pause is the time from where the program calls the collector, or is stopped
 * by it, until it runs on: what a minor collection and a slice take together
 * when one call does both.
 *
 * Bucket i counts those from alq_pauses_bucket_ns(i) up to below that of i + 1:
 * 16 buckets for each doubling, so bounds are 6.25 % apart at the most. */
enum { ALQ_PAUSE_BUCKETS = 640 };

struct alq_pauses {
    uint64_t count;
    uint64_t sum_ns;
    uint64_t min_ns; /* 0 when there is none */
    uint64_t max_ns;
    uint64_t buckets[ALQ_PAUSE_BUCKETS];
};

/* alq_pauses_get -- the pauses of a domain since it began, or was reset
 *
 * Errors   ALQ_EINVAL  d or out is NULL
 * Threads  The domain's.
 * GC       No effect. */
ALQ_API enum alq_status alq_pauses_get(const struct alq_domain *d,
                                       struct alq_pauses *out);

/* alq_pauses_get_all -- the pauses of all domains of the heap
 *
 * Those that have ended count; a domain that runs may be a pause ahead.
 *
 * Errors   ALQ_EINVAL  d or out is NULL
 *          ALQ_ESTATE  a process forked without the threads of its domains
 * Threads  Any.
 * GC       No effect. */
ALQ_API enum alq_status alq_pauses_get_all(const struct alq_domain *d,
                                           struct alq_pauses *out);

/* alq_pauses_reset -- forgets the pauses of all domains
 *
 * A pause under way counts when it ends.
 *
 * Errors   ALQ_EINVAL  d is NULL
 *          ALQ_ESTATE  a process forked without the threads of its domains
 * Threads  Any.
 * GC       No effect. */
ALQ_API enum alq_status alq_pauses_reset(struct alq_domain *d);

/* alq_pauses_bucket_ns -- the shortest pause that a bucket counts
 *
 * index    0 to ALQ_PAUSE_BUCKETS; the last is where no bucket begins.
 *
 * Returns  Nanoseconds.  The last bucket has no upper bound.
 * Threads  Any.
 * GC       No effect. */
ALQ_API uint64_t alq_pauses_bucket_ns(unsigned index);

/* alq_pauses_percentile_ns -- how long the pauses are, but the longest few
 *
 * percent  0 to 100, as 99.9; what lies outside is taken for the nearer of
 *          them.
 *
 * Returns  So many percent of the pauses took no longer; at most 6.25 % more
 *          than the least such number.  0 when there is no pause.
 * Threads  Any.
 * GC       No effect. */
ALQ_API uint64_t alq_pauses_percentile_ns(const struct alq_pauses *pauses,
                                          double percent);

/* alq_pauses_print -- one line of numbers, then a line for each doubling
 *
 * Errors   ALQ_EINVAL  pauses or out is NULL
 *          ALQ_EIO     out cannot be written; errno says why
 * Threads  Any.
 * GC       No effect. */
ALQ_API enum alq_status alq_pauses_print(const struct alq_pauses *pauses,
                                         FILE *out);

/* ---- census ------------------------------------------------------------- */

enum alq_census_place {
    ALQ_CENSUS_YOUNG,
    ALQ_CENSUS_OLD,  /* in the major heap, in a pool */
    ALQ_CENSUS_LARGE /* in the major heap, by itself */
};

/* Blocks alike: in one place, of one tag, one size class and, if they are
 * custom blocks, one alq_custom_ops. */
struct alq_census_row {
    enum alq_census_place place;
    unsigned tag;
    const struct alq_custom_ops *ops; /* NULL but for ALQ_TAG_CUSTOM     */
    const char *name;    /* ops->name; else of the tag, as "string"; of the
                            program's, as alq_tag_name_set, else "block" */
    uintptr_t words_max; /* a block has no more, the header included; the
                            sizes of slots, then powers of two        */
    uint64_t blocks;
    uint64_t words;      /* headers included                             */
    uint64_t slot_words; /* what they take up                            */
};

/* alq_census_take -- counts what is in the heap
 *
 * A block counts unless the collector knows it to be dead: after
 * alq_gc_full_major what is alive, at other times what has died since, too.
 *
 * row      Is called for each row after all is counted: by place, tag, name
 *          and size.  What it returns other than 0 ends the calls.  It may do
 *          whatever the caller may.
 *
 * Errors   ALQ_EINVAL  d or row is NULL
 *          ALQ_ENOMEM  no memory for the table; row was not called
 *          ALQ_ESTATE  the calling thread does not run the domain, or is in the
 *                      collector, or the process was forked without the threads
 *                      of the others
 * Threads  The domain's.
 * GC       Does not collect. */
ALQ_API enum alq_status
alq_census_take(struct alq_domain *d,
                int (*row)(void *arg, const struct alq_census_row *row),
                void *arg);

/* alq_census_print -- a table: a line for each name and tag, largest first
 *
 * Errors   ALQ_EINVAL  d or out is NULL
 *          ALQ_ENOMEM  no memory for the table; nothing was written
 *          ALQ_ESTATE  as alq_census_take
 *          ALQ_EIO     out cannot be written; errno says why
 * Threads  The domain's.
 * GC       Does not collect. */
ALQ_API enum alq_status alq_census_print(struct alq_domain *d, FILE *out);

#ifdef __cplusplus
}
#endif
#endif
