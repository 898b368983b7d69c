/* databases.c -- export to databases: which one, and what is told with a trace
 *
 * The trace's number is random and never 0: two exports of one trace are two
 * traces to a database, and a failed export leaves rows that belong to no
 * trace. The fingerprint says that the two are the same. */

#include "cli/tool/cli.h"
#include "cli/export/export.h"
#include "cli/export/sql.h"
#include "plat/plat.h"

uint64_t
alqi_cli_sql_number(void)
{
    uint64_t number;

    do
        number = alqi_plat_entropy() >> 1;
    while (number == 0);
    return number;
}

int
alqi_cli_sql_export(struct alqi_cli_export *export,
                    const struct alqi_cli_analysis_options *options,
                    const struct alqi_cli_sql_options *sql)
{
    struct alqi_cli_sql_rows rows = {
        .export = export,
        .options = options,
        .sql = sql,
        .fingerprint = alqi_cli_sql_fingerprint(export),
        .trace_id = alqi_cli_sql_number(),
    };
    const char *error = alqi_cli_rows_end(&export->rows, export->input);

    if (error != NULL)
        return alqi_cli_unreadable("export: the rows of the blocks cannot be "
                                   "made: %s",
                                   error);
    return sql->url != NULL ? alqi_cli_sql_clickhouse(&rows)
                            : alqi_cli_sql_sqlite(&rows);
}
