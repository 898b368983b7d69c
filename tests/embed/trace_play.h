/* trace_play.h -- for tests of traces: a heap that is played
 *
 * The calls of <aliquot/memprof.h> are stood in for: what a test tells the
 * tracker is what the heap does, so that all of the file is known beforehand.
 */
#ifndef ALQI_EMBED_TRACE_PLAY_H
#define ALQI_EMBED_TRACE_PLAY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#include "base/base.h"
#include "trace_read.h"

enum { FRAMES_MAX = 40, BLOCKS_MAX = 60000 };

struct block {
    uintptr_t data;
    bool is_minor;
    bool is_live;
};

extern struct alq_domain fake_domain;
extern _Thread_local uint64_t self; /* domain that runs, from 1 */
extern struct alq_tracker tracker;  /* of the trace */
extern struct alq_memprof_config started;
extern enum alq_status start_status; /* of the next profile */
extern unsigned n_running;           /* profiles */
extern const struct alq_listener *listener;
extern uint64_t clock_ns; /* added to the real one; atomic */
extern long fail_in;      /* allocations until one fails; negative: none does */
extern struct block blocks[BLOCKS_MAX]; /* those that were kept */
extern size_t n_blocks;
extern uint64_t seed;

uint64_t rnd(uint64_t below);
const char *path_of(const char *name); /* in the tests' directory */

/* The source of frames; NULL: the machine's. */
void source_set(size_t (*fn)(void *arg, uintptr_t frame,
                             struct alq_location *out, size_t max));
/* One that names a frame by name_of, at program.scm, line frame % 1000; every
 * third is inlined into "outer". */
size_t describe(void *arg, uintptr_t frame, struct alq_location *out,
                size_t max);
void name_of(uintptr_t frame, char name[32]);

/* Starts a trace, and the play from its beginning. */
void begin(const char *path, unsigned format);

/* What the tracker said; kept blocks are added to `blocks`. */
int play_alloc(bool is_minor, enum alq_source source, uint64_t words,
               uint64_t n_samples, const uintptr_t *frames, size_t n_frames);
void play_one(void); /* a small block of one stack */
void play_promote(struct block *b);
void play_collect(struct block *b);
size_t random_stack(uintptr_t *frames); /* FRAMES_MAX at most */

void compare_counts(const struct read_trace *t,
                    const struct alq_trace_counts *c);

int setup(void **state);
int teardown(void **state);

#endif
