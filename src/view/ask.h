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

struct alqi_view_ask {
    struct alqi_view_set *set;
    struct alqi_view_query query;
    struct alqi_view_filter filter;
    struct alqi_view_trace *trace;
    const struct alqi_view_index *x; /* of the trace */
    struct alqi_view_json *out;
    int status;
};

/* Writes the members of the answer's object; false after alqi_view_refuse. */
typedef bool alqi_view_answer_fn(struct alqi_view_ask *ask);

alqi_view_answer_fn alqi_view_diff;
alqi_view_answer_fn alqi_view_difftree;
alqi_view_answer_fn alqi_view_function;
alqi_view_answer_fn alqi_view_functions;
alqi_view_answer_fn alqi_view_heat;
alqi_view_answer_fn alqi_view_hot;
alqi_view_answer_fn alqi_view_info;
alqi_view_answer_fn alqi_view_samples;
alqi_view_answer_fn alqi_view_sites;
alqi_view_answer_fn alqi_view_source;
alqi_view_answer_fn alqi_view_timeline;
alqi_view_answer_fn alqi_view_tree;

/* The answer is an error: returns false. */
bool alqi_view_refuse(struct alqi_view_ask *ask, int status, const char *format,
                      ...) __attribute__((format(printf, 3, 4)));
/* No memory. */
bool alqi_view_give_up(struct alqi_view_ask *ask);
/* The number of a function by that key; refused when it is not there or none.
 */
bool alqi_view_take_function(struct alqi_view_ask *ask, const char *key,
                             uint32_t *function);
/* To be called when all keys were asked for; false when one was not known. */
bool alqi_view_ready(struct alqi_view_ask *ask);

/* The trace's scan and shape for the filter; false after a refusal. */
bool alqi_view_look(struct alqi_view_ask *ask,
                    const struct alqi_view_scan **scan,
                    const struct alqi_view_shape **shape);

void alqi_view_put_sum(struct alqi_view_json *out, const char *key,
                       const struct alqi_view_sum *sum);
void alqi_view_put_peak_us(struct alqi_view_json *out,
                           const struct alqi_view_index *index);
/* What was cut. */
void alqi_view_put_rest(struct alqi_view_json *out, uint64_t n_rows,
                        const struct alqi_view_sum *sum);

/* {"id", "name", "file", "module"} */
void alqi_view_put_function(struct alqi_view_json *out,
                            const struct alqi_view_index *index,
                            uint32_t function);

/* ---- the functions that an answer names ---------------------------------- */

/* They get positions in order of use. */
struct alqi_view_used {
    const struct alqi_view_index *x;
    const struct alqi_view_both *both; /* whose numbers they are; or NULL */
    uint32_t *position;                /* by function, + 1; 0: not used */
    uint32_t *list;
    uint32_t n;
    size_t bytes; /* of JSON that they take */
};

bool alqi_view_used_new(struct alqi_view_used *used,
                        const struct alqi_view_index *index);
bool alqi_view_used_new_both(struct alqi_view_used *used,
                             const struct alqi_view_both *both);
void alqi_view_used_free(struct alqi_view_used *used);
void alqi_view_used_clear(struct alqi_view_used *used);
uint32_t alqi_view_used_position(struct alqi_view_used *used,
                                 uint32_t function);
/* The member "functions". */
void alqi_view_used_put(const struct alqi_view_used *used,
                        struct alqi_view_json *out);

#endif
