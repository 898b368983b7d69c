/* sql_figures.c -- what the report says of a trace, as rows of a table
 *
 * A row for each measure of the whole trace, and of each site that names a call
 * stack: the estimates, their standard errors and intervals. An interval cannot
 * be summed of rows, as a variance can; so those of the report are told. */
#include "cli/export/export.h"
#include "cli/export/sql.h"
#include "cli/report/draw.h"
#include "cli/tool/cli.h"

/* What the rows have in common. */
struct writer {
    const struct alqi_cli_sql_rows *rows;
    const struct alqi_cli_sink *sink;
    const struct alqi_cli_estimator *estimator;
    const char *day;
};

/* One measure. False: the sink takes no more. */
static bool
row_put(const struct writer *w, const char *measure, uint64_t site,
        bool is_mapping, const struct alqi_cli_sum *s)
{
    struct alqi_view_interval bytes = alqi_cli_bytes_interval(w->estimator, s);
    struct alqi_view_interval objects =
        alqi_cli_objects_interval(w->estimator, s);
    const char *release = w->rows->sql->release;
    union alqi_cli_cell cells[] = {
        {.number = (int64_t)w->rows->trace_id},
        {.text = w->day},
        {.text = release != NULL ? release : ""},
        {.text = measure},
        {.number = (int64_t)site},
        {.number = is_mapping},
        {.real = s->bytes},
        {.real = alqi_cli_stderr(s->bytes_var)},
        {.real = bytes.low},
        {.real = bytes.high},
        {.real = s->objects},
        {.real = alqi_cli_stderr(s->objects_var)},
        {.real = objects.low},
        {.real = objects.high},
        {.number = (int64_t)s->n_blocks},
    };

    return w->sink->row(w->sink->arg, ALQI_CLI_FIGURES, cells);
}

/* All measures of one sum. */
static bool
sums_put(const struct writer *w, uint64_t site, bool is_mapping,
         const struct alqi_cli_sum *sums)
{
    bool is_taken = true;

    for (int m = 0; is_taken && m < ALQI_CLI_N_MEASURES; m++)
        is_taken = row_put(w, alqi_cli_measure_name((enum alqi_cli_measure)m),
                           site, is_mapping, &sums[m]);
    return is_taken;
}

/* A group without a block, of a trace that is filtered, has no site. */
int
alqi_cli_sql_figures_put(const struct alqi_cli_sql_rows *rows,
                         const struct alqi_cli_sql_stacks *stacks,
                         const char *day, const struct alqi_cli_sink *sink)
{
    struct alqi_cli_analysis *a = &rows->export->analysis;
    const struct writer w = {rows, sink, &a->estimator, day};
    struct alqi_cli_groups groups;
    bool is_taken = sums_put(&w, 0, false, a->totals);

    alqi_cli_groups_make(&groups, a, ALQI_CLI_BY_LINE, ALQI_CLI_ALLOCATED);
    for (uint32_t i = 0; is_taken && i < groups.n_groups; i++) {
        const struct alqi_cli_group *g = &groups.groups[i];
        uint64_t site = stacks->site_ids[a->sites[g->heaviest].node];

        if (site != 0)
            is_taken = sums_put(&w, site, g->is_mapping, g->sums);
    }
    alqi_cli_groups_free(&groups);
    return is_taken ? -1 : ALQI_CLI_UNREADABLE;
}
