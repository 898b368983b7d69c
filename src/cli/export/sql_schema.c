/* sql_schema.c -- the tables, as aliquot-fleet(7) documents them
 *
 * One list of columns a table for SQLite, ClickHouse and the writers, who give
 * cells in its order (sql_rows.c, sql_samples.c, sql_figures.c). A
 * changed meaning raises ALQI_CLI_SQL_SCHEMA. A test compares the text with
 * examples/fleet/schema.sql. */
#include <string.h>

#include "cli/export/sql.h"
#include "cli/tool/memory.h"

/* Short names for the columns below. */
#define ID ALQI_CLI_COLUMN_ID
#define INT ALQI_CLI_COLUMN_INT
#define FLAG ALQI_CLI_COLUMN_FLAG
#define REAL ALQI_CLI_COLUMN_REAL
#define TEXT ALQI_CLI_COLUMN_TEXT
#define DAY ALQI_CLI_COLUMN_DAY

static const struct alqi_cli_column functions[] = {
    {"function_id", ID}, {"name", TEXT}, {"file", TEXT}, {"module", TEXT}, {0}};

static const struct alqi_cli_column frames[] = {
    {"frame_id", ID}, {"function_id", ID}, {"line", INT}, {0}};

static const struct alqi_cli_column stacks[] = {
    {"stack_id", ID}, {"position", INT}, {"frame_id", ID}, {0}};

static const struct alqi_cli_column threads[] = {
    {"trace_id", ID}, {"thread", INT}, {"tid", INT}, {"name", TEXT}, {0}};

static const struct alqi_cli_column samples[] = {{"trace_id", ID},
                                                 {"day", DAY},
                                                 {"release", TEXT},
                                                 {"thread", INT},
                                                 {"source", TEXT},
                                                 {"alloc_us", INT},
                                                 {"free_us", INT},
                                                 {"promoted_us", INT},
                                                 {"life_us", INT},
                                                 {"size_bytes", INT},
                                                 {"sampled_words", INT},
                                                 {"objects", REAL},
                                                 {"objects_var", REAL},
                                                 {"bytes", REAL},
                                                 {"bytes_var", REAL},
                                                 {"is_at_peak", FLAG},
                                                 {"peak_objects", REAL},
                                                 {"peak_objects_var", REAL},
                                                 {"peak_bytes", REAL},
                                                 {"peak_bytes_var", REAL},
                                                 {"stack_id", ID},
                                                 {"site_id", ID},
                                                 {0}};

static const struct alqi_cli_column figures[] = {
    {"trace_id", ID},        {"day", DAY},
    {"release", TEXT},       {"measure", TEXT},
    {"site_id", ID},         {"is_mapping", FLAG},
    {"bytes", REAL},         {"bytes_stderr", REAL},
    {"bytes_low", REAL},     {"bytes_high", REAL},
    {"objects", REAL},       {"objects_stderr", REAL},
    {"objects_low", REAL},   {"objects_high", REAL},
    {"sampled_blocks", INT}, {0}};

static const struct alqi_cli_column traces[] = {
    {"trace_id", ID},     {"fingerprint", ID},
    {"day", DAY},         {"release", TEXT},
    {"service", TEXT},    {"host", TEXT},
    {"executable", TEXT}, {"build_id", TEXT},
    {"command", TEXT},    {"pid", INT},
    {"start_us", INT},    {"end_us", INT},
    {"peak_us", INT},     {"interval_bytes", REAL},
    {"is_exact", FLAG},   {"ended", TEXT},
    {"dropped", INT},     {"sampled_blocks", INT},
    {"schema", INT},      {0}};

const struct alqi_cli_table_schema alqi_cli_tables[ALQI_CLI_N_TABLES] = {
    [ALQI_CLI_FUNCTIONS] = {"functions", functions, "function_id",
                            "function_id", NULL, ""},
    [ALQI_CLI_FRAMES] = {"frames", frames, "frame_id", "frame_id", NULL, ""},
    [ALQI_CLI_STACKS] = {"stacks", stacks, "stack_id, position",
                         "(stack_id, position)", NULL, ""},
    [ALQI_CLI_THREADS] = {"threads", threads, "trace_id, thread",
                          "(trace_id, thread)", NULL, ""},
    [ALQI_CLI_SAMPLES] = {"samples", samples, "",
                          "(release, site_id, trace_id, alloc_us)",
                          "toYYYYMM(day)", "site_id;trace_id"},
    [ALQI_CLI_FIGURES] = {"figures", figures,
                          "trace_id, measure, site_id, is_mapping",
                          "(trace_id, measure, site_id, is_mapping)", NULL, ""},
    [ALQI_CLI_TRACES] = {"traces", traces, "trace_id", "trace_id", NULL,
                         "fingerprint"},
};

uint32_t
alqi_cli_table_columns(enum alqi_cli_table table)
{
    uint32_t n = 0;

    while (alqi_cli_tables[table].columns[n].name != NULL)
        n++;
    return n;
}

/* The engine's word for a kind of column. */
static const char *
type_of(enum alqi_cli_column_kind kind, bool is_sqlite)
{
    static const char *const sqlite[] = {
        [ALQI_CLI_COLUMN_ID] = "INTEGER",   [ALQI_CLI_COLUMN_INT] = "INTEGER",
        [ALQI_CLI_COLUMN_FLAG] = "INTEGER", [ALQI_CLI_COLUMN_REAL] = "REAL",
        [ALQI_CLI_COLUMN_TEXT] = "TEXT",    [ALQI_CLI_COLUMN_DAY] = "TEXT"};
    static const char *const clickhouse[] = {
        [ALQI_CLI_COLUMN_ID] = "UInt64",   [ALQI_CLI_COLUMN_INT] = "Int64",
        [ALQI_CLI_COLUMN_FLAG] = "UInt8",  [ALQI_CLI_COLUMN_REAL] = "Float64",
        [ALQI_CLI_COLUMN_TEXT] = "String", [ALQI_CLI_COLUMN_DAY] = "Date"};

    return is_sqlite ? sqlite[kind] : clickhouse[kind];
}

/* Rows of a table with a key may be told again: the engine keeps one. */
static void
clickhouse_tail(const struct alqi_cli_table_schema *t, FILE *out)
{
    fprintf(out, "\n) ENGINE = %s",
            t->key[0] != '\0' ? "ReplacingMergeTree()" : "MergeTree()");
    if (t->days != NULL)
        fprintf(out, " PARTITION BY %s", t->days);
    fprintf(out, " ORDER BY %s", t->order);
}

/* The end of SQLite's statement; a table with a key is stored by it. */
static void
sqlite_tail(const struct alqi_cli_table_schema *t, FILE *out)
{
    if (t->key[0] != '\0')
        fprintf(out, ",\n    PRIMARY KEY (%s)\n) WITHOUT ROWID", t->key);
    else
        fputs("\n)", out);
}

/* One statement for each index in the schema's list. */
char *
alqi_cli_table_index(enum alqi_cli_table table)
{
    const struct alqi_cli_table_schema *t = &alqi_cli_tables[table];
    const char *index = t->index;
    char *sql;
    size_t n_sql;
    FILE *out = alqi_cli_memory_open(&sql, &n_sql);

    while (index[0] != '\0') {
        int n = (int)strcspn(index, ";");

        fprintf(out, "CREATE INDEX IF NOT EXISTS %s_by_%.*s ON %s (%.*s);\n",
                t->name, n, index, t->name, n, index);
        index += n + (index[n] == ';');
    }
    alqi_cli_memory_close(out, "a statement");
    return sql;
}

/* ClickHouse's view joins with ANY, as a row may be there twice until it merges
 * them. */
const char *
alqi_cli_sites_create(bool is_sqlite)
{
    return is_sqlite
               ? "CREATE VIEW IF NOT EXISTS sites AS\n"
                 "SELECT frame_id AS site_id, name, file, module, line\n"
                 "FROM frames JOIN functions USING (function_id)"
               : "CREATE VIEW IF NOT EXISTS sites AS\n"
                 "SELECT site_id, name, file, module, line\n"
                 "FROM (SELECT frame_id AS site_id, function_id, line FROM "
                 "frames)\n"
                 "GLOBAL ANY INNER JOIN functions USING (function_id)";
}

/* Columns are in the schema's order, which writers' cells have, too. */
char *
alqi_cli_table_create(enum alqi_cli_table table, bool is_sqlite)
{
    const struct alqi_cli_table_schema *t = &alqi_cli_tables[table];
    char *sql;
    size_t n_sql;
    FILE *out = alqi_cli_memory_open(&sql, &n_sql);

    fprintf(out, "CREATE TABLE IF NOT EXISTS %s (", t->name);
    for (uint32_t i = 0; t->columns[i].name != NULL; i++)
        fprintf(out, "%s\n    %s %s%s", i > 0 ? "," : "", t->columns[i].name,
                type_of(t->columns[i].kind, is_sqlite),
                is_sqlite ? " NOT NULL" : "");
    if (is_sqlite)
        sqlite_tail(t, out);
    else
        clickhouse_tail(t, out);
    alqi_cli_memory_close(out, "a statement");
    return sql;
}
