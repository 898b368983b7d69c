/* export_csv.c -- sites as comma-separated values (RFC 4180), one a row
 *
 * The columns are documented in aliquot-export(1). */
#include <inttypes.h>

#include "cli/export.h"
#include "cli/report.h"

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

static void
put_header(FILE *out)
{
    fputs("function,file,line,module", out);
    for (int m = 0; m < ALQI_CLI_N_MEASURES; m++) {
        const char *name = alqi_cli_measure_name((enum alqi_cli_measure)m);

        fprintf(out,
                ",%s_bytes,%s_bytes_stderr,%s_objects,%s_objects_stderr,"
                "%s_samples,%s_average_life_us",
                name, name, name, name, name, name);
    }
    fputc('\n', out);
}

static void
put_sum(FILE *out, const struct alqi_cli_sum *s)
{
    fprintf(out, ",%.0f,%.0f,%.0f,%.0f,%" PRIu64 ",%.0f", s->bytes,
            alqi_cli_stderr(s->bytes_var), s->objects,
            alqi_cli_stderr(s->objects_var), s->n_samples,
            alqi_cli_mean_life_us(s));
}

static void
put_group(const struct alqi_cli_export *x, const struct alqi_cli_group *g,
          FILE *out)
{
    const struct alqi_cli_names *names = x->analysis.names;
    enum alqi_cli_grouping by = x->grouping;

    put_text(out, by >= ALQI_CLI_BY_FILE
                      ? ""
                      : alqi_cli_names_text(names, g->frame.function));
    fputc(',', out);
    put_text(out, by == ALQI_CLI_BY_MODULE
                      ? ""
                      : alqi_cli_names_text(names, g->frame.file));
    fprintf(out, ",%d,", by == ALQI_CLI_BY_LINE ? g->frame.line : 0);
    put_text(out, alqi_cli_names_text(names, g->frame.module));
    for (int m = 0; m < ALQI_CLI_N_MEASURES; m++)
        put_sum(out, &g->sums[m]);
    fputc('\n', out);
}

void
alqi_cli_export_csv(struct alqi_cli_export *export, FILE *out)
{
    struct alqi_cli_groups groups;

    alqi_cli_groups_make(&groups, &export->analysis, export->grouping,
                         export->measure);
    put_header(out);
    for (uint32_t i = 0; i < groups.n_groups; i++)
        put_group(export, &groups.groups[i], out);
    alqi_cli_groups_free(&groups);
}
