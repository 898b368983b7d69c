/* told.c -- what a scan found, for the trace: classes, and what holds blocks
 *
 * [convert/reach.h] A step of ways gets its number when the first block is held
 * by it, behind the steps before it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/convert/reach.h"
#include "cli/leaks/leaks.h"
#include "cli/report/draw.h"
#include "cli/tool/cli.h"

enum { NAME_BYTES = 1024, PLACE_BYTES = 512 };

/* "table_new (table.c:12)"; of a root its name. */
static void
step_name(struct alqi_cli_leaks_run *r, const struct alqi_cli_leak_step *step,
          char *name, size_t name_bytes)
{
    const struct alqi_cli_names *names = r->found.analysis.names;
    char place[PLACE_BYTES];
    size_t n;

    if (step->parent == ALQI_CLI_LEAK_NO_STEP) {
        snprintf(name, name_bytes, "%s",
                 alqi_cli_names_text(names, step->root));
        return;
    }
    snprintf(name, name_bytes, "memory that is not recorded");
    if (step->site.function == ALQI_CLI_NO_NAME)
        return;
    alqi_cli_draw_group(name, name_bytes, names, &step->site,
                        ALQI_CLI_BY_FUNCTION);
    alqi_cli_draw_place(place, sizeof place, names, &step->site);
    n = strlen(name);
    if (place[0] != '\0')
        snprintf(name + n, name_bytes - n, " (%s)", place);
}

/* The number that the trace has for what is before the step; 0: none. Parents
 * come first, so they have theirs. */
static uint32_t
step_tell(struct alqi_cli_leaks_run *r, uint32_t *numbers, uint32_t step)
{
    const struct alqi_cli_leak_step *s;
    char name[NAME_BYTES];
    uint32_t in;

    if (step == ALQI_CLI_LEAK_NO_STEP)
        return 0;
    s = &r->holders.steps[step];
    if (numbers[step] != 0 ||
        (s->parent == ALQI_CLI_LEAK_NO_STEP && s->root == ALQI_CLI_NO_NAME))
        return numbers[step];
    in = step_tell(r, numbers, s->parent);
    step_name(r, s, name, sizeof name);
    numbers[step] =
        alqi_cli_reaches_step(r->reaches, in, name, s->most > 0 ? s->most : 1);
    return numbers[step];
}

/* Of a sample it is chance which steps are known, so the root is what holds
 * (holders.h .def.row). */
static uint32_t
holder_of(struct alqi_cli_leaks_run *r, uint32_t *numbers, uint32_t block)
{
    const struct alqi_cli_leak_step *s;

    if (r->holders.rows_of[block] == 0)
        return 0;
    s = &r->holders.steps[r->holders.rows[r->holders.rows_of[block] - 1].step];
    return step_tell(r, numbers,
                     alqi_cli_is_sampled(&r->found.analysis.estimator)
                         ? s->first
                         : s->parent);
}

/* Classes are numbered alike in both. */
void
alqi_cli_leaks_tell(struct alqi_cli_leaks_run *r)
{
    uint32_t *numbers, block;

    if (r->reaches == NULL)
        return;
    numbers = alqi_cli_zeros(r->holders.n_steps + 1, sizeof *numbers);
    for (size_t i = 0; i < r->reaches->n; i++) {
        struct alqi_cli_reached *b = &r->reaches->at[i];

        if (alqi_cli_leak_table_find(&r->scan.table, b->address, &block) &&
            r->scan.table.blocks[block].start == b->address) {
            b->reach = (enum alqi_view_reach)(r->scan.graph.classes[block] +
                                              ALQI_VIEW_LOST);
            b->holder = holder_of(r, numbers, block);
            b->is_old = alqi_cli_leak_is_old(&r->scan, block);
        }
    }
    free(numbers);
}
