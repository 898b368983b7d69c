/* csv.c -- sites as comma-separated values (RFC 4180), one a row
 *
 * The columns are documented in aliquot-export(1).  Bytes and objects are
 * apportioned, so that a column's sum is the total of `report --json`. */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/analysis/apportion.h"
#include "cli/tool/cli.h"
#include "cli/export/export.h"
#include "cli/report/draw.h"

/* A text in quotes; a quote within is doubled. */
static void
put_text(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"')
            fputc('"', out);
        fputc(*text, out);
    }
    fputc('"', out);
}

/* Ten columns for each measure, in the measures' order. */
static void
put_header(FILE *out)
{
    fputs("function,file,line,module", out);
    for (int m = 0; m < ALQI_CLI_N_MEASURES; m++) {
        const char *name = alqi_cli_measure_name((enum alqi_cli_measure)m);

        fprintf(out,
                ",%s_bytes,%s_bytes_stderr,%s_bytes_low,%s_bytes_high,"
                "%s_objects,%s_objects_stderr,%s_objects_low,%s_objects_high,"
                "%s_samples,%s_average_life_us",
                name, name, name, name, name, name, name, name, name, name);
    }
    fputc('\n', out);
}

/* Whole numbers of one measure, by group. */
struct column {
    /* of malloc */
    int64_t *bytes, *objects;
};

/* Apportions one measure among the groups; both arrays are the caller's to
 * free. */
static struct column
column_make(const struct alqi_cli_export *x,
            const struct alqi_cli_groups *groups, int measure)
{
    const struct alqi_cli_sum *total = &x->analysis.totals[measure];
    const struct alqi_cli_sum *first = &groups->groups[0].sums[measure];

    return (struct column){
        alqi_cli_apportioned(&first->bytes, sizeof *groups->groups,
                             groups->n_groups, total->bytes),
        alqi_cli_apportioned(&first->objects, sizeof *groups->groups,
                             groups->n_groups, total->objects)};
}

/* One estimate: itself, its standard error, its interval. */
static void
put_estimate(FILE *out, int64_t estimate, double variance,
             const struct alqi_view_interval *x)
{
    fprintf(out, ",%" PRId64 ",%.0f,%.0f,%.0f", estimate,
            alqi_cli_stderr(variance), x->low, x->high);
}

/* The ten cells of one measure. */
static void
put_sum(FILE *out, const struct alqi_cli_estimator *e,
        const struct alqi_cli_sum *s, int64_t bytes, int64_t objects)
{
    struct alqi_view_interval of_bytes = alqi_cli_bytes_interval(e, s);
    struct alqi_view_interval of_objects = alqi_cli_objects_interval(e, s);

    put_estimate(out, bytes, s->bytes_var, &of_bytes);
    put_estimate(out, objects, s->objects_var, &of_objects);
    fprintf(out, ",%" PRIu64 ",%.0f", s->n_samples, alqi_cli_mean_life_us(s));
}

/* The columns of names; those that the grouping does not tell are empty, and
 * the line is 0. */
static void
put_names(const struct alqi_cli_export *x, const struct alqi_cli_group *g,
          FILE *out)
{
    const struct alqi_cli_names *names = x->analysis.names;
    const struct alqi_cli_frame f =
        alqi_cli_frame_grouped(&g->frame, x->grouping);

    put_text(out, alqi_cli_names_text(names, f.function));
    fputc(',', out);
    put_text(out, alqi_cli_names_text(names, f.file));
    fprintf(out, ",%d,", f.line);
    put_text(out, alqi_cli_names_text(names, f.module));
}

/* A measure's columns are apportioned over all groups, so no row may be left
 * out. */
void
alqi_cli_export_csv(struct alqi_cli_export *export, FILE *out)
{
    struct alqi_cli_groups groups;
    struct column columns[ALQI_CLI_N_MEASURES];

    alqi_cli_groups_make(&groups, &export->analysis, export->grouping,
                         export->measure);
    for (int m = 0; m < ALQI_CLI_N_MEASURES; m++)
        columns[m] = column_make(export, &groups, m);
    put_header(out);
    for (uint32_t i = 0; i < groups.n_groups; i++) {
        put_names(export, &groups.groups[i], out);
        for (int m = 0; m < ALQI_CLI_N_MEASURES; m++)
            put_sum(out, &export->analysis.estimator, &groups.groups[i].sums[m],
                    columns[m].bytes[i], columns[m].objects[i]);
        fputc('\n', out);
    }
    for (int m = 0; m < ALQI_CLI_N_MEASURES; m++) {
        free(columns[m].bytes);
        free(columns[m].objects);
    }
    alqi_cli_groups_free(&groups);
}
