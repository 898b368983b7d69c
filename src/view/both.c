/* both.c -- common numbers for the functions of two indexes
 *
 * [both.h] Functions are matched by name (match.h). Those of B without a match
 * get numbers behind A's. One index compared with itself needs no matching:
 * numbers are equal. */
#include <stdlib.h>

#include "view/both.h"
#include "view/match.h"

_Static_assert((int)ALQI_VIEW_NO_MATCH == (int)ALQI_VIEW_NO_FUNCTION,
               "a function without a match is none");

/* The functions' names, to be freed by the caller. NULL: no memory. */
static struct alqi_view_name *
names_make(const struct alqi_view_index *x)
{
    struct alqi_view_name *names =
        calloc((size_t)x->n_functions + 1, sizeof *names);

    for (uint32_t i = 0; names != NULL && i < x->n_functions; i++) {
        const struct alqi_view_function *f = &x->functions[i];

        names[i].function = alqi_view_text(x, f->name);
        names[i].file = alqi_view_text(x, f->file);
        names[i].module = alqi_view_text(x, f->module);
    }
    return names;
}

/* Fills both tables with matches. False: no memory. */
static bool
match(struct alqi_view_both *both)
{
    const struct alqi_view_index *x[2] = {both->a, both->b};
    struct alqi_view_names sides[2];
    bool is_made;

    for (int i = 0; i < 2; i++)
        sides[i] = (struct alqi_view_names){
            .program = alqi_view_text(x[i], x[i]->meta->program),
            .names = names_make(x[i]),
            .n = x[i]->n_functions,
        };
    is_made = sides[0].names != NULL && sides[1].names != NULL &&
              alqi_view_match(&sides[0], &sides[1], both->b_of, both->of_b);
    free((void *)sides[0].names);
    free((void *)sides[1].names);
    return is_made;
}

/* Gives numbers to B's functions that are none of A's. */
static void
others_number(struct alqi_view_both *both)
{
    for (uint32_t i = 0; i < both->b->n_functions; i++)
        if (both->of_b[i] == ALQI_VIEW_NO_FUNCTION) {
            both->of_b[i] = both->n;
            both->b_of[both->n++] = i;
        }
}

bool
alqi_view_both_make(struct alqi_view_both *both,
                    const struct alqi_view_index *a,
                    const struct alqi_view_index *b)
{
    size_t n_a = a->n_functions, n_b = b->n_functions;
    bool is_made;

    both->a = a;
    both->b = b;
    both->n = a->n_functions;
    both->of_b = malloc(n_b * sizeof *both->of_b);
    both->b_of = malloc((n_a + n_b) * sizeof *both->b_of);
    is_made = both->of_b != NULL && both->b_of != NULL;
    for (uint32_t i = 0; is_made && a == b && i < both->n; i++)
        both->of_b[i] = both->b_of[i] = i;
    if (is_made && a != b)
        is_made = match(both);
    if (is_made)
        others_number(both);
    return is_made;
}

void
alqi_view_both_free(struct alqi_view_both *both)
{
    free(both->of_b);
    free(both->b_of);
}

const struct alqi_view_index *
alqi_view_both_names(const struct alqi_view_both *both, uint32_t *function)
{
    if (*function < both->a->n_functions)
        return both->a;
    *function = both->b_of[*function];
    return both->b;
}
