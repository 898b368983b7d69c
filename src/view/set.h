/* set.h -- the traces of one server or page, with what answers keep of them */
#ifndef ALQI_VIEW_SET_H
#define ALQI_VIEW_SET_H

#include "view/filter.h"
#include "view/index.h"
#include "view/cells.h"
#include "view/levels.h"
#include "view/scan.h"
#include "view/shape.h"

enum {
    ALQI_VIEW_TRACES_MAX = 64,
    ALQI_VIEW_SCANS_KEPT = 4,
    ALQI_VIEW_SHAPES_KEPT = 4
};

/* The lines of a source file for its reader, from *from on, at most n of them:
 * returns their number, -1 when the file cannot be read, and they are valid
 * until the next call. */
typedef int alqi_view_lines_fn(void *arg, const char *path, uint64_t from,
                               const char **lines, int n);

/* A trace with what answers keep of it. */
struct alqi_view_trace {
    struct alqi_view_index index;
    /* kept by filter; bits is NULL in an empty place */
    struct alqi_view_scan scans[ALQI_VIEW_SCANS_KEPT];
    /* of the scan in the same place; cells is NULL: they were not asked for */
    struct alqi_view_cells cells[ALQI_VIEW_SCANS_KEPT];
    /* kept by what is hidden; folds is NULL in an empty place */
    struct alqi_view_shape shapes[ALQI_VIEW_SHAPES_KEPT];
    /* n_asked when it was last asked for */
    uint64_t scan_used[ALQI_VIEW_SCANS_KEPT];
    uint64_t shape_used[ALQI_VIEW_SHAPES_KEPT];
    /* questions for scans and shapes so far */
    uint64_t n_asked;
    /* lines of all rows, each as it was made last */
    struct alqi_view_levels levels[ALQI_VIEW_N_DRAWS];
};

struct alqi_view_set {
    /* [ALQI_VIEW_TRACES_MAX]; addresses do not change; owned */
    struct alqi_view_trace *traces;
    uint32_t n_traces;
    /* reads source files; NULL: there are none */
    alqi_view_lines_fn *lines;
    void *lines_arg;
};

/* NULL: no memory. */
struct alqi_view_set *alqi_view_set_new(void);
void alqi_view_set_drop(struct alqi_view_set *set);

/* Trace number t of the set, in order of the calls; the bytes stay the
 * caller's (index.h).  NULL, or what is wrong with them. */
const char *alqi_view_set_add(struct alqi_view_set *set, const void *bytes,
                              size_t n_bytes);
/* The trace has a new index, and what was kept of the old one is forgotten. The
 * old bytes are the caller's to free. What is wrong: the trace is as it was. */
const char *alqi_view_set_renew(struct alqi_view_set *set, uint32_t trace,
                                const void *bytes, size_t n_bytes);
/* Without it there is no answer about source files. */
void alqi_view_set_lines(struct alqi_view_set *set, alqi_view_lines_fn *lines,
                         void *arg);

/* What a filter needs, found or made.  NULL without memory; valid until the
 * others were asked for ALQI_VIEW_SHAPES_KEPT times: two sides fit. */
const struct alqi_view_scan *
alqi_view_scan_of(struct alqi_view_trace *trace,
                  const struct alqi_view_filter *filter);
const struct alqi_view_shape *
alqi_view_shape_of(struct alqi_view_trace *trace,
                   const struct alqi_view_filter *filter);
/* The shape of pictures of stacks (shape.h .inv.drawn). */
const struct alqi_view_shape *
alqi_view_drawn_of(struct alqi_view_trace *trace,
                   const struct alqi_view_filter *filter);
/* What passes, parted by thread. */
const struct alqi_view_cells *
alqi_view_cells_of(struct alqi_view_trace *trace,
                   const struct alqi_view_filter *filter);

#endif
