/* function.c -- the answer `function`: one function between callers and
 * callees
 *
 * The folds (shape.h) have each function once on a path. A fold of the
 * function adds to its total and to the caller above it; a fold directly below
 * adds to a callee. Lines are those of the function's outermost frames
 * (function_sums.h). */
#include <stdlib.h>
#include <string.h>

#include "view/function_sums.h"

/* Bounds of rows a side, and of lines. */
enum { MOST_ROWS = 300, MOST_LINES = 2000 };

/* What the answer is made of. */
struct butterfly {
    /* by function: what is between it and the one that is asked for */
    struct alqi_view_sum *callers, *callees;
    /* scratch of put_side */
    struct alqi_view_named *list;
    /* by fold: all that goes through it */
    struct alqi_view_sum *folds;
    /* by function: what it has as a site */
    struct alqi_view_sum *self;
    /* all that goes through the function */
    struct alqi_view_sum all;
    struct alqi_view_lines lines;
    struct alqi_view_used used;
};

/* Fills it in. False: no memory; to be freed in any case. */
static bool
butterfly_make(struct butterfly *b, struct alqi_view_ask *ask,
               const struct alqi_view_scan *scan,
               const struct alqi_view_shape *shape, uint32_t function)
{
    uint32_t n = ask->x->n_functions;
    bool is_made;

    memset(b, 0, sizeof *b);
    b->callers = calloc(n, sizeof *b->callers);
    b->callees = calloc(n, sizeof *b->callees);
    b->list = malloc(n * sizeof *b->list);
    b->folds = alqi_view_sums_of_folds(ask->x, shape, scan);
    b->self = alqi_view_sums_self(ask->x, shape, scan);
    is_made =
        alqi_view_used_new(&b->used, ask->x) && b->callers != NULL &&
        b->callees != NULL && b->list != NULL && b->folds != NULL &&
        b->self != NULL &&
        alqi_view_lines_make(&b->lines, ask->x, shape, scan, function, false);
    for (uint32_t i = 1; is_made && i < shape->n_folds; i++) {
        const struct alqi_view_fold *f = &shape->folds[i];
        const struct alqi_view_fold *above = &shape->folds[f->parent];

        if (f->parent != 0 && above->function == function)
            alqi_view_sum_join(&b->callees[f->function], &b->folds[i]);
        if (f->function != function)
            continue;
        alqi_view_sum_join(&b->all, &b->folds[i]);
        if (f->parent != 0)
            alqi_view_sum_join(&b->callers[above->function], &b->folds[i]);
    }
    return is_made;
}

static void
butterfly_free(struct butterfly *b)
{
    free(b->callers);
    free(b->callees);
    free(b->list);
    free(b->folds);
    free(b->self);
    free(b->lines.rows);
    alqi_view_used_free(&b->used);
}

/* Writes callers or callees, heaviest first, as many as fit. */
static void
put_side(struct alqi_view_ask *ask, struct butterfly *b, const char *key,
         const struct alqi_view_sum *sums)
{
    uint32_t n = alqi_view_sums_list(ask->x, sums, ask->filter.by, b->list);

    alqi_view_json_key(ask->out, key);
    alqi_view_json_open(ask->out, '[');
    for (uint32_t i = 0;
         i < n && i < MOST_ROWS && b->used.bytes < ALQI_VIEW_ROWS_BYTES / 3;
         i++) {
        alqi_view_used_position(&b->used, b->list[i].function);
        alqi_view_json_open(ask->out, '{');
        alqi_view_json_key_int(ask->out, "id", b->list[i].function);
        alqi_view_put_sum(ask->out, "sum", &b->list[i].sum);
        alqi_view_json_close(ask->out, '}');
    }
    alqi_view_json_close(ask->out, ']');
}

/* Lines that are written. */
static int64_t
max_lines(const struct butterfly *b)
{
    return b->lines.n < MOST_LINES ? b->lines.n : MOST_LINES;
}

/* Writes the lines, in order, with what each has. */
static void
put_lines(struct alqi_view_json *out, const struct butterfly *b)
{
    alqi_view_json_key(out, "lines");
    alqi_view_json_open(out, '[');
    for (int64_t i = 0; i < max_lines(b); i++) {
        alqi_view_json_open(out, '{');
        alqi_view_json_key_int(out, "line", b->lines.rows[i].line);
        alqi_view_put_sum(out, "sum", &b->lines.rows[i].sum);
        alqi_view_json_close(out, '}');
    }
    alqi_view_json_close(out, ']');
}

bool
alqi_view_function(struct alqi_view_ask *ask)
{
    const struct alqi_view_scan *scan;
    const struct alqi_view_shape *shape;
    struct butterfly b;
    uint32_t function;

    if (!alqi_view_take_function(ask, "id", &function) ||
        !alqi_view_ready(ask) || !alqi_view_look(ask, &scan, &shape))
        return false;
    if (butterfly_make(&b, ask, scan, shape, function)) {
        alqi_view_used_position(&b.used, function);
        alqi_view_put_sum(ask->out, "total", &scan->total);
        alqi_view_json_key(ask->out, "function");
        alqi_view_put_function(ask->out, ask->x, function);
        alqi_view_put_sum(ask->out, "self", &b.self[function]);
        alqi_view_put_sum(ask->out, "all", &b.all);
        put_side(ask, &b, "callers", b.callers);
        put_side(ask, &b, "callees", b.callees);
        put_lines(ask->out, &b);
        alqi_view_used_put(&b.used, ask->out);
    } else {
        alqi_view_give_up(ask);
    }
    butterfly_free(&b);
    return ask->status == 200;
}
