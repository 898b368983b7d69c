/* sql.h -- a trace as rows of tables, for databases     [aliquot-fleet(7)]
 *
 * One schema for all engines.  Names, places and call stacks have numbers that
 * are hashes of what they are: the same in each trace, so that tables of many
 * traces agree and rows may be told again without harm. */
#ifndef ALQI_CLI_EXPORT_SQL_H
#define ALQI_CLI_EXPORT_SQL_H

#include "cli/analysis/analysis.h"
#include "cli/tool/web_again.h"

struct alqi_cli_export;

enum { ALQI_CLI_SQL_SCHEMA = 2 }; /* raised when a column's meaning changes */

enum alqi_cli_table {
    ALQI_CLI_FUNCTIONS,
    ALQI_CLI_FRAMES,
    ALQI_CLI_STACKS,
    ALQI_CLI_THREADS,
    ALQI_CLI_SAMPLES,
    ALQI_CLI_FIGURES,
    ALQI_CLI_TRACES, /* last: a trace is there when its row is */
    ALQI_CLI_N_TABLES
};

enum alqi_cli_column_kind {
    ALQI_CLI_COLUMN_ID,   /* 63 bits */
    ALQI_CLI_COLUMN_INT,  /* signed, 64 bits */
    ALQI_CLI_COLUMN_FLAG, /* 0 or 1 */
    ALQI_CLI_COLUMN_REAL,
    ALQI_CLI_COLUMN_TEXT,
    ALQI_CLI_COLUMN_DAY /* text, YYYY-MM-DD */
};

struct alqi_cli_column {
    const char *name; /* NULL behind the last */
    enum alqi_cli_column_kind kind;
};

struct alqi_cli_table_schema {
    const char *name;
    const struct alqi_cli_column *columns;
    const char *key;   /* columns that no two rows share; "" */
    const char *order; /* ClickHouse's ORDER BY */
    const char *days;  /* ClickHouse's PARTITION BY; or NULL */
    const char *index; /* SQLite's indexes, by ';'; or "" */
};

extern const struct alqi_cli_table_schema alqi_cli_tables[ALQI_CLI_N_TABLES];

uint32_t alqi_cli_table_columns(enum alqi_cli_table table);

/* What makes a table, if it is not there, of SQLite or of ClickHouse; what
 * makes SQLite's indexes of it, ending with ';' or nothing. To be freed. */
char *alqi_cli_table_create(enum alqi_cli_table table, bool is_sqlite);
char *alqi_cli_table_index(enum alqi_cli_table table);

/* What makes the view of sites: a place with its names. */
const char *alqi_cli_sites_create(bool is_sqlite);

union alqi_cli_cell {
    int64_t number;
    double real;
    const char *text;
};

/* Takes a row, a cell for each column, in their order; false: no more. */
struct alqi_cli_sink {
    void *arg;
    bool (*row)(void *arg, enum alqi_cli_table table,
                const union alqi_cli_cell *cells);
};

struct alqi_cli_sql_options {
    const char *release, *service, *day; /* NULL: not given */
    bool appends;                        /* to SQLite's file */
    /* ClickHouse's tables that are missing */
    bool creates;
    /* overwrites a file; adds a trace that is there already */
    bool is_forced;
    const char *path; /* SQLite's file, or NULL and ... */
    const char *url;  /* ... ClickHouse's address */
    struct alqi_cli_web_headers headers;
    /* of a request */
    double timeout_us;
    uint64_t n_retries;
};

struct alqi_cli_sql_rows {
    struct alqi_cli_export *export;
    const struct alqi_cli_analysis_options *options;
    const struct alqi_cli_sql_options *sql;
    uint64_t fingerprint; /* of the trace: 63 bits */
    uint64_t trace_id;    /* drawn by lot; 63 bits, never 0 */
};

/* A number for a trace, drawn by lot. */
uint64_t alqi_cli_sql_number(void);
uint64_t alqi_cli_sql_fingerprint(const struct alqi_cli_export *export);

/* Writes all rows of a trace, whose blocks have been made an index (x->rows);
 * may be called again.  Returns -1, or the exit status; the reason was
 * said by whoever failed. */
int alqi_cli_sql_rows_put(const struct alqi_cli_sql_rows *rows,
                          const struct alqi_cli_sink *sink);

/* Numbers of stacks and of the places that name them, by node of the analysis;
 * 0: nothing was allocated there. */
struct alqi_cli_sql_stacks {
    /* of malloc, freed by the caller */
    uint64_t *stack_ids, *site_ids;
};

/* The samples alone; day is the trace's. */
int alqi_cli_sql_samples_put(const struct alqi_cli_sql_rows *rows,
                             const struct alqi_cli_sql_stacks *stacks,
                             const char *day, const struct alqi_cli_sink *sink);

/* The figures of the report alone. */
int alqi_cli_sql_figures_put(const struct alqi_cli_sql_rows *rows,
                             const struct alqi_cli_sql_stacks *stacks,
                             const char *day, const struct alqi_cli_sink *sink);

/* By the options' path or url; -1 or the exit status, said. */
int alqi_cli_sql_export(struct alqi_cli_export *export,
                        const struct alqi_cli_analysis_options *options,
                        const struct alqi_cli_sql_options *sql);
int alqi_cli_sql_sqlite(struct alqi_cli_sql_rows *rows);
int alqi_cli_sql_clickhouse(struct alqi_cli_sql_rows *rows);

#endif
