/* profile_kit.h -- for tests: a tracker that notes every event
 *
 * Each tracked block gets a number from 1 on, which is its user data.  That
 * each block's events come in order is checked as they come. */
#ifndef ALQI_EMBED_PROFILE_KIT_H
#define ALQI_EMBED_PROFILE_KIT_H

#include <stddef.h>
#include <stdint.h>

#include <aliquot/aliquot.h>

#include "base/base.h"

enum { LOG_BLOCKS = 1 << 18, LOG_EVENTS = 64 };

enum log_state { LOG_NONE, LOG_MINOR, LOG_MAJOR, LOG_OVER };

struct log_block {
    uint64_t n_samples;
    uint64_t size_words;
    enum alq_source source;
    enum log_state state; /* atomic */
};

/* Counters are atomic: callbacks of several domains share one. */
struct log {
    struct alq_domain *d; /* of what the callback does; may be NULL */
    uint64_t n_blocks;
    uint64_t n_alloc_minor, n_alloc_major, n_promote;
    uint64_t n_dealloc_minor, n_dealloc_major, n_release;
    uint64_t n_words;             /* samples, of blocks told of */
    uint64_t n_of_source[4];      /* words, likewise */
    uint64_t n_frames;            /* most of a stack */
    uint64_t fail_at;             /* the how-manieth event fails; 0: none */
    uint64_t n_events;            /* all but release              */
    int answer;                   /* of alloc; KEEP */
    int promote_answer;           /* KEEP */
    void (*act)(struct log *log); /* within each event; may be NULL */
    char order[LOG_EVENTS + 1];   /* a A p d D r: the first events */
    struct log_block block[LOG_BLOCKS];
};

enum { LOG_CODE = -77 };

struct log *log_new(void);
struct alq_tracker log_tracker(struct log *log);
/* rate, with stacks of 16 frames, a seed, and these flags. */
struct alq_memprof_config log_config(double rate, unsigned flags);
struct alq_profile *log_start(struct log *log, struct alq_domain *d,
                              double rate, unsigned flags);

/* Blocks told of, and neither dead nor released. */
uint64_t log_alive(const struct log *log);

#endif
