/* reach.c -- the classes of blocks that a trace tells  [wire/reach.h]
 *
 * They are kept with the objects until the end, when those that are there have
 * never been freed. */
#include <stdlib.h>
#include <string.h>

#include "cli/analysis/analysis.h"
#include "cli/tool/cli.h"
#include "wire/reach.h"

static enum alqi_view_reach
reach_named(const char *line)
{
    char name[16];

    if (!alqi_side_get(line, "class", name, sizeof name))
        return ALQI_VIEW_UNTOLD;
    for (int i = ALQI_VIEW_LOST; i < ALQI_VIEW_REACHES; i++)
        if (strcmp(name, alqi_view_reach_name((enum alqi_view_reach)i)) == 0)
            return (enum alqi_view_reach)i;
    return ALQI_VIEW_UNTOLD; /* of a later version */
}

/* What the objects of the record keep. */
static unsigned
reach_kept(const char *line)
{
    enum alqi_view_reach reach = reach_named(line);

    return reach == ALQI_VIEW_POSSIBLE &&
                   alqi_side_get_number(line, "old", 10) != 0
               ? ALQI_CLI_REACH_OLD
               : reach;
}

/* The blocks of a record get its class. No more are told of than were
 * allocated, so a forged record costs no more than true ones. */
static bool
blocks_take(struct alqi_cli_analysis *a, struct alqi_side_reach_runs *runs)
{
    const char *line = a->notes.reach;
    unsigned reach = reach_kept(line);
    uint64_t holder = alqi_side_get_number(line, "holder", 10), first, n;
    bool is_well = alqi_side_reach_open(runs, line);

    while (is_well && alqi_side_reach_next(runs, &first, &n)) {
        is_well = n <= a->n_allocs - a->n_reached &&
                  (holder == 0 ||
                   alqi_cli_holders_add(&a->holders, holder, first, n));
        for (uint64_t i = 0; is_well && i < n; i++, a->n_reached++) {
            struct alqi_cli_object *object =
                alqi_cli_objects_find(&a->objects, first + i);

            if (object != NULL)
                object->reach = reach & 7;
            else
                a->n_strange++;
        }
    }
    return is_well && *runs->at == '\0';
}

/* A first record says when it was looked. */
static void
classes_take(struct alqi_cli_analysis *a)
{
    struct alqi_side_reach_runs *runs;
    char at[16];

    a->has_reach = true;
    if (alqi_side_get(a->notes.reach, "at", at, sizeof at)) {
        a->is_reach_early |= strcmp(at, ALQI_SIDE_REACH_END) != 0;
        return;
    }
    runs = alqi_cli_realloc(NULL, 1, sizeof *runs);
    a->n_strange += !blocks_take(a, runs);
    free(runs);
}

void
alqi_cli_reach_take(struct alqi_cli_analysis *a)
{
    if (a->notes.reach != NULL)
        classes_take(a);
    if (a->notes.holder != NULL)
        a->n_strange +=
            !alqi_cli_holders_take(&a->holders, a->names, a->notes.holder);
}

enum alqi_view_looked
alqi_cli_reach_looked(const struct alqi_cli_analysis *a)
{
    if (!a->has_reach)
        return ALQI_VIEW_LOOKED_NEVER;
    return a->is_reach_early ? ALQI_VIEW_LOOKED_EARLY : ALQI_VIEW_LOOKED_AT_END;
}
