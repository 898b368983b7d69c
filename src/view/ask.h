/* ask.h -- what the answers share; for the files of this folder
 *
 * A question goes through: its filter is taken, the scan and the shape that it
 * needs are found or made, and the answer writes its members. */
#ifndef ALQI_VIEW_ASK_H
#define ALQI_VIEW_ASK_H

#include "view/both.h"
#include "view/json.h"
#include "view/query.h"
#include "view/set.h"
#include "view/sum.h"

enum {
    ALQI_VIEW_POINTS_MAX = 2000,
    ALQI_VIEW_ROWS_BYTES = 900000 /* what the rows of an answer may take */
};

/* A question while it is answered. */
struct alqi_view_ask {
    /* all traces */
    struct alqi_view_set *set;
    /* parsed; holds what the filter points into, and the error */
    struct alqi_view_query query;
    /* of the query */
    struct alqi_view_filter filter;
    /* that the filter names */
    struct alqi_view_trace *trace;
    /* its index */
    const struct alqi_view_index *x;
    /* the answer; its object is open */
    struct alqi_view_json *out;
    /* 200 until something is refused */
    int status;
};

/* Writes the members of the answer's object; false after alqi_view_refuse. */
typedef bool alqi_view_answer_fn(struct alqi_view_ask *ask);

alqi_view_answer_fn alqi_view_diff;
alqi_view_answer_fn alqi_view_difftree;
alqi_view_answer_fn alqi_view_function;
alqi_view_answer_fn alqi_view_functions;
alqi_view_answer_fn alqi_view_graph;
alqi_view_answer_fn alqi_view_grouped;
alqi_view_answer_fn alqi_view_growing;
alqi_view_answer_fn alqi_view_heat;
alqi_view_answer_fn alqi_view_held;
alqi_view_answer_fn alqi_view_hot;
alqi_view_answer_fn alqi_view_info;
alqi_view_answer_fn alqi_view_reached;
alqi_view_answer_fn alqi_view_samples;
alqi_view_answer_fn alqi_view_sites;
alqi_view_answer_fn alqi_view_source;
alqi_view_answer_fn alqi_view_timeline;
alqi_view_answer_fn alqi_view_tree;

/* Makes the answer an error with that status; the first one stands. Returns
 * false. */
bool alqi_view_refuse(struct alqi_view_ask *ask, int status, const char *format,
                      ...) __attribute__((format(printf, 3, 4)));
/* Refuses because there is no memory. Returns false. */
bool alqi_view_give_up(struct alqi_view_ask *ask);
/* Takes the number of a function from that key; refused when it is missing or
 * is none, or that of a whole. */
bool alqi_view_take_function(struct alqi_view_ask *ask, const char *key,
                             uint32_t *function);
/* Called when all keys were asked for. False, with an error, when the query
 * has a key that nobody asked for. */
bool alqi_view_ready(struct alqi_view_ask *ask);

/* The trace's scan and shape for the filter; false after a refusal. */
bool alqi_view_look(struct alqi_view_ask *ask,
                    const struct alqi_view_scan **scan,
                    const struct alqi_view_shape **shape);

/* Writes an interval as members: KEY_range, its ends, and KEY_few: it is told
 * in place of a standard error. */
void alqi_view_put_interval(struct alqi_view_json *out, const char *key,
                            const struct alqi_view_interval *interval);
/* Writes a sum as a member: estimates, their errors and 95 % ranges, counts. */
void alqi_view_put_sum(struct alqi_view_json *out, const char *key,
                       const struct alqi_view_sum *sum);
/* Writes the first and the last of the colours' peaks. */
void alqi_view_put_peak_us(struct alqi_view_json *out,
                           const struct alqi_view_index *index);
/* Writes what was cut: rows, and their sum. */
void alqi_view_put_rest(struct alqi_view_json *out, uint64_t n_rows,
                        const struct alqi_view_sum *sum);

/* Writes a function as an object: {"id", "name", "file", "module"}. */
void alqi_view_put_function(struct alqi_view_json *out,
                            const struct alqi_view_index *index,
                            uint32_t function);

/* ---- the functions that an answer names ---------------------------------- */

/* Functions get positions in the order in which an answer first uses them;
 * rows name a function by its position. */
struct alqi_view_used {
    /* whose functions are used; side A of two */
    const struct alqi_view_index *x;
    /* whose common numbers are used; NULL: those of x */
    const struct alqi_view_both *both;
    /* by function: position + 1; 0: not used; owned */
    uint32_t *position;
    /* by position: the function; owned */
    uint32_t *list;
    uint32_t n;
    /* estimate of the bytes of JSON that they take */
    size_t bytes;
};

/* Begins with none used. False: no memory; to be freed in any case. */
bool alqi_view_used_new(struct alqi_view_used *used,
                        const struct alqi_view_index *index);
bool alqi_view_used_new_both(struct alqi_view_used *used,
                             const struct alqi_view_both *both);
void alqi_view_used_free(struct alqi_view_used *used);
/* Forgets all of them. */
void alqi_view_used_clear(struct alqi_view_used *used);
/* The position of a function, given out at its first use. */
uint32_t alqi_view_used_position(struct alqi_view_used *used,
                                 uint32_t function);
/* The member "functions". */
void alqi_view_used_put(const struct alqi_view_used *used,
                        struct alqi_view_json *out);

#endif
