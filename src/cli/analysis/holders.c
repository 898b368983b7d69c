/* holders.c -- steps by their names, and runs of blocks in order  [holders.h]
 *
 * Runs are put as records come, and sorted when the first block is asked for:
 * lines are in the order of holders. */
#include "cli/analysis/holders.h"

#include <stdlib.h>

#include "cli/tool/cli.h"
#include "view/sort.h"

enum { KEY_WORDS = 2 };

/* The step behind `in` of that name. */
static uint32_t
step_at(struct alqi_cli_holders *h, uint32_t in, uint32_t name)
{
    uint32_t number;

    h->keys.n_words = KEY_WORDS;
    number = alqi_cli_intern(&h->keys, (const uint32_t[]){in, name});
    if (number == h->n_steps) {
        h->steps = alqi_cli_grow(h->steps, number, sizeof *h->steps);
        h->steps[h->n_steps++] =
            (struct alqi_cli_holder_step){.in = in, .name = name, .most = 1};
    }
    return number;
}

bool
alqi_cli_holders_step(struct alqi_cli_holders *h, struct alqi_cli_names *names,
                      const struct alqi_side_holder *holder)
{
    uint64_t in = ALQI_CLI_NO_STEP;
    struct alqi_cli_holder_step *step;
    uint32_t number;

    if (holder->most > UINT32_MAX ||
        (holder->in != 0 &&
         !alqi_base_map_get(&h->step_of_id, holder->in, &in)))
        return false;
    number =
        step_at(h, (uint32_t)in, alqi_cli_names_intern(names, holder->name));
    step = &h->steps[number];
    if (holder->most > step->most)
        step->most = (uint32_t)holder->most;
    alqi_cli_map_put(&h->step_of_id, holder->id, number);
    return true;
}

bool
alqi_cli_holders_take(struct alqi_cli_holders *h, struct alqi_cli_names *names,
                      const char *line)
{
    struct alqi_side_holder holder;
    char name[ALQI_SIDE_HOLDER_BYTES];

    return alqi_side_holder_get(&holder, line, name) &&
           alqi_cli_holders_step(h, names, &holder);
}

bool
alqi_cli_holders_add(struct alqi_cli_holders *h, uint64_t id, uint64_t first,
                     uint64_t n)
{
    struct alqi_cli_holder_run run = {.first = first};
    const struct alqi_cli_holder_run *last =
        h->n_runs > 0 ? &h->runs[h->n_runs - 1] : NULL;
    uint64_t step;

    if (n > UINT32_MAX || h->n_runs == UINT32_MAX ||
        !alqi_base_map_get(&h->step_of_id, id, &step))
        return false;
    run.n = (uint32_t)n;
    run.step = (uint32_t)step;
    h->is_unsorted |= last != NULL && first < last->first;
    h->runs = alqi_cli_grow(h->runs, h->n_runs, sizeof *h->runs);
    h->runs[h->n_runs++] = run;
    return true;
}

static int
compare(const void *left, const void *right, void *arg)
{
    const struct alqi_cli_holder_run *a = left, *b = right;

    (void)arg;
    return a->first < b->first ? -1 : a->first > b->first;
}

uint32_t
alqi_cli_holders_of(struct alqi_cli_holders *h, uint64_t block)
{
    uint32_t low = 0, high = h->n_runs; /* runs from high on are behind it */

    if (h->is_unsorted)
        alqi_view_sort(h->runs, h->n_runs, sizeof *h->runs, compare, NULL);
    h->is_unsorted = false;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (h->runs[middle].first <= block)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || block - h->runs[low - 1].first >= h->runs[low - 1].n)
        return ALQI_CLI_NO_STEP;
    return h->runs[low - 1].step;
}

void
alqi_cli_holders_free(struct alqi_cli_holders *h)
{
    alqi_base_intern_clear(&h->keys);
    free(h->steps);
    alqi_base_map_clear(&h->step_of_id);
    free(h->runs);
    *h = (struct alqi_cli_holders){0};
}
