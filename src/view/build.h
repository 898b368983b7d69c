/* build.h -- makes an index (index.h) of a trace that is told event by event
 *
 * Bytes go out as they are ready, front to back.  What grows with the trace and
 * stays in memory is, for each row, 9 bytes and its end's place in the event
 * stream.  The first thing that goes wrong is kept, and all that follows does
 * nothing. */
#ifndef ALQI_VIEW_BUILD_H
#define ALQI_VIEW_BUILD_H

#include "view/index.h"

/* Takes the next bytes of the index; false ends the making. */
typedef bool alqi_view_write_fn(void *arg, const void *bytes, size_t n);

struct alqi_view_build;

/* NULL: no memory. */
struct alqi_view_build *alqi_view_build_new(alqi_view_write_fn *write,
                                            void *arg);
void alqi_view_build_drop(struct alqi_view_build *build);
/* Another one of the same state: both can go on and be finished. The bytes that
 * this one has written are the caller's to write in front of the other's. NULL:
 * no memory. */
struct alqi_view_build *
alqi_view_build_copy(const struct alqi_view_build *build,
                     alqi_view_write_fn *write, void *arg);

/* ---- names: each call returns a number, in order from 0 on --------------- */

uint32_t alqi_view_build_text(struct alqi_view_build *build, const char *text);
uint32_t alqi_view_build_function(struct alqi_view_build *build,
                                  const struct alqi_view_function *function);
/* Node 0 is there; its function is that of an empty stack. */
uint32_t alqi_view_build_node(struct alqi_view_build *build,
                              const struct alqi_view_node *node);
uint32_t alqi_view_build_stack(struct alqi_view_build *build,
                               const struct alqi_view_stack *stack);
uint32_t alqi_view_build_class(struct alqi_view_build *build,
                               const struct alqi_view_class *class_);
uint32_t alqi_view_build_origin(struct alqi_view_build *build,
                                const struct alqi_view_origin *origin);
void alqi_view_build_thread(struct alqi_view_build *build,
                            const struct alqi_view_thread *thread);
void alqi_view_build_resident(struct alqi_view_build *build, uint64_t us,
                              uint64_t bytes);
/* In order of time. */
void alqi_view_build_mark(struct alqi_view_build *build, uint64_t us,
                          uint32_t text);
void alqi_view_build_note(struct alqi_view_build *build, uint32_t text);
/* Behind the step that it names. */
uint32_t alqi_view_build_step(struct alqi_view_build *build,
                              const struct alqi_view_holder_step *step);

/* ---- events, in order ---------------------------------------------------- */

/* A block that is born. */
struct alqi_view_row {
    /* since the trace's start */
    uint64_t born_us;
    /* as the trace counts them */
    uint64_t n_samples;
    /* numbers of the tables; the rows there may be added later */
    uint32_t class_, stack, origin;
    unsigned colours; /* peak.h */
};

/* Rows born so far. */
uint32_t alqi_view_build_rows(const struct alqi_view_build *build);
/* Adds a row; returns its number, from 0 on. UINT32_MAX when there are too
 * many, or something has failed. */
uint32_t alqi_view_build_birth(struct alqi_view_build *build,
                               const struct alqi_view_row *row);
/* The row is freed, so long after its birth. Numbers that are no row are
 * ignored, here and below. */
void alqi_view_build_free(struct alqi_view_build *build, uint32_t row,
                          uint64_t life_us);
void alqi_view_build_promote(struct alqi_view_build *build, uint32_t row,
                             uint64_t after_us);

/* The row was never freed, and was there for life_us: until the trace's end
 * (stays), or until its process ended. The colours of at_peak count it at the
 * peak.  is_old: ALQI_VIEW_OLD. */
void alqi_view_build_left(struct alqi_view_build *build, uint32_t row,
                          uint64_t life_us, bool stays, unsigned at_peak,
                          enum alqi_view_reach reach, bool is_old);
/* That step, by its number, holds the row. */
void alqi_view_build_held(struct alqi_view_build *build, uint32_t row,
                          uint32_t step);
/* The row is the generation-th sampled block, from 1, of a chain of realloc,
 * whose life it has. */
void alqi_view_build_chain(struct alqi_view_build *build, uint32_t row,
                           uint32_t generation, uint64_t life_us);
/* A process ended, and all that it held went. */
void alqi_view_build_gone(struct alqi_view_build *build, uint32_t process,
                          uint64_t us);
/* What is live now, before the next event, is the peak so far for these
 * colours. */
void alqi_view_build_peak(struct alqi_view_build *build, unsigned colours);

/* ---- the end ------------------------------------------------------------- */

/* Writes what is left; NULL, or what went wrong. */
const char *alqi_view_build_finish(struct alqi_view_build *build,
                                   const struct alqi_view_meta *meta,
                                   const unsigned char *key);

#endif
