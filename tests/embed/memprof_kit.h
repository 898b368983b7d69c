/* memprof_kit.h -- what the tests of profiles on the heap have in common
 *
 * A probe is a tracker that keeps a record of each block it is told of and
 * holds each event against it, on whatever thread: alloc, promote, dealloc come
 * at most once and in this order, the dealloc is that of the heap in which the
 * block was last, and no datum is handed in twice.  So each test that uses one
 * tests that as well (spec statmemprof 1.6 K1, K2). */
#ifndef ALQI_EMBED_MEMPROF_KIT_H
#define ALQI_EMBED_MEMPROF_KIT_H

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#include "base/base.h"
#include "domains_kit.h"

/* Builds that check much, or are slow, do so many times less. */
enum { LESS = ALQI_TEST_ROUNDS(1, 10, 50) };

enum event {
    ALLOC_MINOR,
    ALLOC_MAJOR,
    PROMOTE,
    DEALLOC_MINOR,
    DEALLOC_MAJOR,
    RELEASE,
    EVENTS
};

/* A block that was told of. */
struct record {
    uint32_t n_samples;
    uint32_t size_words;
    uint32_t mark;  /* the test's own */
    uint8_t source; /* enum alq_source */
    _Atomic(uint8_t) state;
    struct record *next_free;
};

struct probe {
    _Atomic(uint64_t) n[EVENTS];
    _Atomic(uint64_t) samples[2];    /* of ALLOC_MINOR, ALLOC_MAJOR      */
    _Atomic(uint64_t) blocks_of[4];  /* of each source                   */
    _Atomic(uint64_t) samples_of[4]; /* ... and their samples            */
    _Atomic(uint64_t) open;          /* data that nobody has handed back */
    _Atomic(uint64_t) n_failures;    /* negative results given           */
    /* Called in each event; its result is the callback's.  NULL: KEEP.  In
     * ALLOC_* `alloc` is set; afterwards `record` is, if it was kept. */
    int (*act)(struct probe *p, enum event event,
               const struct alq_allocation *alloc, struct record *record);
    void *own; /* the test's */
    /* Letters of the events so far, if `logs`: a A p d D r. */
    bool logs;
    size_t n_log;
    char log[1 << 12];
    struct record *records, *free;
    size_t n_records, max_records;
    pthread_mutex_t lock;
};

enum { SEED = 5 };

/* max_records: blocks kept at once. */
void probe_open(struct probe *p, size_t max_records);
/* Nothing may be open any more. */
void probe_close(struct probe *p);
/* All that was counted and logged so far is forgotten; records stay. */
void probe_forget(struct probe *p);
uint64_t probe_allocs(const struct probe *p);
uint64_t probe_samples(const struct probe *p);

/* A profile of `on` with the probe as its tracker. */
struct alq_profile *begin_with(struct alq_domain *on, struct probe *p,
                               const struct alq_memprof_config *config);
/* STRICT, all frames, seed SEED. */
struct alq_profile *begin(struct alq_domain *on, struct probe *p, double rate);
enum alq_status try_begin(struct alq_domain *on, struct probe *p, double rate,
                          unsigned flags, struct alq_profile **out);
/* Stops it if it samples, discards, drops: nothing is open then. */
void end_profile(struct alq_domain *on, struct alq_profile *profile,
                 struct probe *p);
/* Flushes; no callback may have failed. */
void settle(struct alq_domain *on);
/* Collects until all that is unreachable has been told of. */
void bury(struct alq_domain *on);
uint64_t live_entries(const struct alq_profile *profile);

/* ---- blocks ---------------------------------------------------------------
 */

/* A small block, fields all ALQ_UNIT. */
alq_value block(struct alq_domain *on, unsigned wosize);
/* In front of the list. */
alq_value cons(struct alq_domain *on, alq_value head, alq_value tail);
/* Seven blocks of 33 words in one request, in program order of 6, 5, 4, 6, 5,
 * 4, 3 words with their headers; 0: the request has failed. */
enum { SEVEN = 7, SEVEN_WORDS = 33 };
extern const unsigned seven_words[SEVEN];
int seven(struct alq_domain *on, alq_value out[SEVEN]);
/* They, in a block of eight words; ALQ_NULL: it has failed. */
alq_value seven_kept(struct alq_domain *on);
/* A message of a list of n pairs, for alq_unmarshal; free() it. */
void *message(struct alq_domain *on, unsigned n, size_t *bytes);
alq_value unmarshalled(struct alq_domain *on, const void *bytes, size_t n);

/* ---- statistics -----------------------------------------------------------
 */

/* Of `words` trials at `rate`, `hits` are told: fails if that is 8 standard
 * deviations from the mean or more.  Where both mean and the mean of misses are
 * 100 or more, that happens less than once in 1e11 times (Chernoff: a tail of
 * exp(-100 ((1.8) ln 1.8 - 0.8)) = 6e-12, the other one is smaller); fewer are
 * refused. */
void check_binomial(uint64_t hits, uint64_t words, double rate);
/* Counts against their means, which are 500 or more each, and variances: fails
 * less than once in 1e11 times.  For n squared normals P(X > n + 2 sqrt(n x) +
 * 2 x) < exp(-x) (Laurent and Massart), here with x = 26; as counts are not
 * quite normal so far out, a quarter is added. */
void check_chi_square(const double *hits, const double *means,
                      const double *variances, unsigned n);

#endif
