/* beside.c -- who holds the blocks of a trace that has a snapshot beside it
 *
 *   NONE --a record names one--> NAMED --all is read--> applied to the objects,
 *        or why not
 *
 * What the snapshot tells is what a trace of `aliquot record --leaks` has as
 * side records (reach.c). It is applied at the end, when the packets of all
 * streams have been read: objects that died since have gone. */
#include <stdlib.h>

#include "cli/analysis/analysis.h"
#include "cli/convert/heap_beside.h"
#include "cli/tool/cli.h"

void
alqi_cli_beside_take(struct alqi_cli_analysis *a)
{
    if (a->notes.snapshot == NULL)
        return;
    if (a->beside == NULL)
        a->beside = alqi_cli_zeros(1, sizeof *a->beside);
    alqi_cli_heap_beside_find(
        a->beside, a->input != NULL ? alqi_cli_input_name(a->input) : "",
        a->info->pid, a->notes.snapshot);
}

static void
steps_take(struct alqi_cli_analysis *a, const struct alqi_cli_reaches *r)
{
    for (uint32_t i = 0; i < r->n_steps; i++)
        (void)alqi_cli_holders_step(
            &a->holders, a->names,
            &(struct alqi_side_holder){.id = i + 1,
                                       .in = r->steps[i].in,
                                       .most = r->steps[i].most,
                                       .name = r->steps[i].name});
}

static void
blocks_take(struct alqi_cli_analysis *a, const struct alqi_cli_reaches *r)
{
    for (size_t i = 0; i < r->n; i++) {
        const struct alqi_cli_reached *b = &r->at[i];
        struct alqi_cli_object *object =
            alqi_cli_objects_find(&a->objects, b->number);

        if (object == NULL)
            continue; /* it died while the snapshot was written */
        object->reach = b->reach;
        if (b->holder > 0)
            (void)alqi_cli_holders_add(&a->holders, b->holder, b->number, 1);
    }
}

/* What the trace tells itself is nearer to it. */
void
alqi_cli_beside_apply(struct alqi_cli_analysis *a)
{
    struct alqi_cli_reaches r;

    if (a->beside == NULL || !a->options.is_held_wanted || a->has_reach ||
        a->beside->why[0] != '\0')
        return;
    if (alqi_cli_heap_beside_read(a->beside, &r)) {
        a->has_reach = true;
        a->is_reach_early = !r.is_end;
        steps_take(a, &r);
        blocks_take(a, &r);
    }
    alqi_cli_reaches_free(&r);
}
