/* sql_sqlite.c -- a trace's rows into a file of SQLite
 *
 * A new file is made beside its name and appears when it is whole; rows for one
 * that is there are one transaction: all of a trace, or nothing. Phases of a
 * database: opened, begun, checked to be ours or empty, tables made, rows put,
 * indexes made, committed. Closing without the last step rolls back. */
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/tool/cli.h"
#include "cli/tool/output.h"
#include "cli/tool/pack.h"
#include "cli/export/sql.h"

enum {
    APPLICATION_ID = 0x616C7131, /* "alq1" */
    BUSY_MS = 60000
};

/* What fails leaves nothing behind, so nothing is kept to restore. */
#define UNSAFE "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF"

struct database {
    sqlite3 *db;
    const char *path; /* as it is told */
    /* by table; NULL until it is prepared */
    sqlite3_stmt *insert[ALQI_CLI_N_TABLES];
};

/* Says SQLite's reason; returns false for the caller to pass on. */
static bool
fault(const struct database *d, const char *what)
{
    return alqi_cli_refuse("export: %s: %s: %s", d->path, what,
                           sqlite3_errmsg(d->db));
}

/* Runs statements; false, and said. */
static bool
run(const struct database *d, const char *sql)
{
    return sqlite3_exec(d->db, sql, NULL, NULL, NULL) == SQLITE_OK ||
           fault(d, "SQLite refuses");
}

/* ---- rows ------------------------------------------------------------ */

/* Makes the table's INSERT. A row whose key is there already is left as it is
 * (.inv.hash: it is the same). */
static bool
insert_prepare(struct database *d, enum alqi_cli_table table)
{
    const struct alqi_cli_table_schema *t = &alqi_cli_tables[table];
    uint32_t n = alqi_cli_table_columns(table);
    char text[300];
    int k = snprintf(text, sizeof text, "INSERT %sINTO %s VALUES (",
                     t->key[0] != '\0' ? "OR IGNORE " : "", t->name);

    for (uint32_t i = 0; i < n; i++)
        k += snprintf(text + k, sizeof text - (size_t)k, "%s",
                      i + 1 < n ? "?," : "?)");
    return sqlite3_prepare_v2(d->db, text, -1, &d->insert[table], NULL) ==
               SQLITE_OK ||
           fault(d, "SQLite refuses");
}

/* The sink of rows. Texts are bound without a copy: they outlive the step. */
static bool
row_put(void *arg, enum alqi_cli_table table, const union alqi_cli_cell *cells)
{
    struct database *d = arg;
    const struct alqi_cli_column *columns = alqi_cli_tables[table].columns;
    sqlite3_stmt *s = d->insert[table];

    for (int i = 0; columns[i].name != NULL; i++)
        switch (columns[i].kind) {
        case ALQI_CLI_COLUMN_REAL:
            sqlite3_bind_double(s, i + 1, cells[i].real);
            break;
        case ALQI_CLI_COLUMN_TEXT:
        case ALQI_CLI_COLUMN_DAY:
            sqlite3_bind_text(s, i + 1, cells[i].text, -1, SQLITE_STATIC);
            break;
        default:
            sqlite3_bind_int64(s, i + 1, cells[i].number);
        }
    if (sqlite3_step(s) != SQLITE_DONE)
        return fault(d, "a row cannot be written");
    sqlite3_reset(s);
    return true;
}

/* ---- a database ------------------------------------------------------ */

/* The first number that a query gives; -1 if it gives none. */
static int64_t
number_ask(const struct database *d, const char *sql)
{
    sqlite3_stmt *s;
    int64_t number = -1;

    if (sqlite3_prepare_v2(d->db, sql, -1, &s, NULL) == SQLITE_OK &&
        sqlite3_step(s) == SQLITE_ROW)
        number = sqlite3_column_int64(s, 0);
    sqlite3_finalize(s);
    return number;
}

/* After the rows: an index that is filled at once is faster. */
static bool
indexes_make(const struct database *d)
{
    bool is_made = true;

    for (enum alqi_cli_table t = 0; is_made && t < ALQI_CLI_N_TABLES; t++) {
        char *sql = alqi_cli_table_index(t);

        is_made = run(d, sql);
        free(sql);
    }
    return is_made;
}

/* Makes what is missing, prepares the inserts and marks the file as ours. */
static bool
tables_make(struct database *d)
{
    char pragma[100];

    for (enum alqi_cli_table t = 0; t < ALQI_CLI_N_TABLES; t++) {
        char *sql = alqi_cli_table_create(t, true);
        bool is_made = run(d, sql);

        free(sql);
        if (!is_made || !insert_prepare(d, t))
            return false;
    }
    snprintf(pragma, sizeof pragma,
             "PRAGMA application_id = %d; PRAGMA user_version = %d",
             APPLICATION_ID, ALQI_CLI_SQL_SCHEMA);
    return run(d, alqi_cli_sites_create(true)) && run(d, pragma);
}

/* An empty database is fine, and one of ours. */
static bool
is_ours(const struct database *d)
{
    int64_t id = number_ask(d, "PRAGMA application_id");
    int64_t schema = number_ask(d, "PRAGMA user_version");

    if (number_ask(d, "SELECT count(*) FROM sqlite_master") == 0)
        return true;
    if (id == APPLICATION_ID && schema == ALQI_CLI_SQL_SCHEMA)
        return true;
    return alqi_cli_refuse(
        id == APPLICATION_ID
            ? "export: %s was made by another version of aliquot"
            : "export: %s is not a database that aliquot made",
        d->path);
}

/* -1 to go on. */
static int
trace_check(const struct database *d, const struct alqi_cli_sql_rows *rows)
{
    char sql[120];

    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM traces WHERE fingerprint = %lld",
             (long long)rows->fingerprint);
    if (rows->sql->is_forced || number_ask(d, sql) <= 0)
        return -1;
    return alqi_cli_finding(
        "export: %s has this trace already; -f adds it once more", d->path);
}

/* One transaction. IMMEDIATE takes the write lock before anything is read, so
 * that two exports cannot both find the trace missing. */
static int
rows_put(struct database *d, struct alqi_cli_sql_rows *rows)
{
    struct alqi_cli_sink sink = {d, row_put};
    int rc;

    if (!run(d, "BEGIN IMMEDIATE") || !is_ours(d) || !tables_make(d))
        return ALQI_CLI_UNREADABLE;
    rc = trace_check(d, rows);
    if (rc < 0)
        rc = alqi_cli_sql_rows_put(rows, &sink);
    if (rc < 0 && (!indexes_make(d) || !run(d, "COMMIT")))
        rc = ALQI_CLI_UNREADABLE;
    return rc;
}

/* Opens `file`, which differs from `path` while a new one is made. A new file
 * needs no journal. */
static int
database_write(const char *file, const char *path,
               struct alqi_cli_sql_rows *rows)
{
    struct database d = {.path = path};
    int rc = ALQI_CLI_UNREADABLE;

    if (sqlite3_open_v2(file, &d.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                        NULL) != SQLITE_OK) {
        fault(&d, "cannot be opened");
    } else {
        sqlite3_busy_timeout(d.db, BUSY_MS);
        if (file == path || run(&d, UNSAFE)) /* a new file goes, or is whole */
            rc = rows_put(&d, rows);
    }
    for (int t = 0; t < ALQI_CLI_N_TABLES; t++)
        sqlite3_finalize(d.insert[t]);
    sqlite3_close(d.db);
    return rc;
}

/* ---- the file -------------------------------------------------------- */

/* Says so; returns the status. */
static int
exists(const char *path)
{
    alqi_cli_say("export: %s exists; --append adds the trace, -f overwrites "
                 "the file",
                 path);
    return ALQI_CLI_USAGE;
}

/* Makes an empty file beside `path`, or for "-" in the folder of temporary
 * files. Returns its name, to be freed; NULL: no file was made, and that was
 * said. */
static char *
temporary_make(const char *path)
{
    const char *directory = getenv("TMPDIR");
    const bool is_beside = strcmp(path, "-") != 0;
    char *name;
    int fd = -1;

    if (directory == NULL || directory[0] == '\0')
        directory = "/tmp";
    if (asprintf(&name, "%s%s.XXXXXX", is_beside ? path : directory,
                 is_beside ? "" : "/aliquot") < 0)
        name = NULL;
    if (name != NULL)
        fd = mkstemp(name);
    if (fd >= 0) {
        close(fd);
        return name;
    }
    alqi_cli_say("export: cannot create a file for %s: %s", path,
                 strerror(errno));
    free(name);
    return NULL;
}

/* A link fails where a file is, a rename takes its place. */
static int
file_place(const char *temporary, const char *path, bool is_forced)
{
    mode_t mask = umask(0);

    umask(mask);
    chmod(temporary, 0666 & ~mask);
    if (is_forced ? alqi_cli_output_replace(temporary, path)
                  : link(temporary, path) == 0)
        return -1;
    if (errno == EEXIST && !is_forced)
        return exists(path);
    if (errno == EEXIST) {
        alqi_cli_say(
            "export: %s is not a regular file: use -o - to write to it", path);
        return ALQI_CLI_USAGE;
    }
    return alqi_cli_unreadable("export: cannot create %s: %s", path,
                               strerror(errno));
}

/* Copies the database to standard output, or to a compressed file. -1, or the
 * status to exit with. */
static int
file_copy(const char *temporary, const char *path, bool is_forced)
{
    struct alqi_cli_output out;
    char buffer[1 << 16];
    FILE *in = fopen(temporary, "rb");
    size_t n;
    int rc;

    if (in == NULL)
        return alqi_cli_unreadable("export: cannot read %s: %s", temporary,
                                   strerror(errno));
    rc = alqi_cli_output_open(&out, path, is_forced);
    if (rc < 0) {
        while ((n = fread(buffer, 1, sizeof buffer, in)) > 0 &&
               fwrite(buffer, 1, n, out.file) == n)
            continue;
        rc = alqi_cli_output_close(&out);
    }
    fclose(in);
    return rc == ALQI_CLI_OK ? -1 : rc;
}

/* Makes the whole file, then moves or copies it. The temporary one is removed
 * on every way out; after a rename there is none. */
static int
file_make(struct alqi_cli_sql_rows *rows)
{
    const char *path = rows->sql->path;
    bool is_copied = strcmp(path, "-") == 0 || alqi_cli_pack_is_meant(path);
    char *temporary = temporary_make(path);
    int rc;

    if (temporary == NULL)
        return ALQI_CLI_UNREADABLE;
    rc = database_write(temporary, path, rows);
    if (rc < 0)
        rc = (is_copied ? file_copy : file_place)(temporary, path,
                                                  rows->sql->is_forced);
    unlink(temporary);
    free(temporary);
    return rc;
}

/* A file that exists is refused before the trace is read again; file_place()
 * asks once more. */
int
alqi_cli_sql_sqlite(struct alqi_cli_sql_rows *rows)
{
    const struct alqi_cli_sql_options *sql = rows->sql;

    if (sql->appends)
        return database_write(sql->path, sql->path, rows);
    if (!sql->is_forced && strcmp(sql->path, "-") != 0 &&
        access(sql->path, F_OK) == 0)
        return exists(sql->path);
    return file_make(rows);
}
