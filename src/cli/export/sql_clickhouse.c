/* sql_clickhouse.c -- a trace's rows into ClickHouse, by its HTTP interface
 *
 * Rows go in batches of some megabytes, as TabSeparated, which every version
 * reads.  There are no transactions: the trace's own row goes last, and what
 * has none does not count (every query of aliquot-fleet(7) asks for it).  Its
 * number is drawn by lot, so that what a failure left behind stays nobody's. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tool/cli.h"
#include "cli/export/sql.h"
#include "cli/tool/memory.h"
#include "cli/tool/text.h"

enum { BATCH_BYTES = 4 << 20 };

/* Rows of one table that are not sent yet; all zeros when none are. */
struct batch {
    char *text; /* of a stream in memory */
    size_t n;
    /* NULL: the batch is not open */
    FILE *out;
    uint64_t n_rows;
};

struct database {
    const struct alqi_cli_sql_options *sql;
    struct alqi_cli_web *web;
    /* the address without password and query, for messages */
    char *public;
    /* by table */
    struct batch batches[ALQI_CLI_N_TABLES];
};

/* ---- requests -------------------------------------------------------- */

/* The address with a query; '?' may be there already. */
static char *
address(const struct database *d, const char *query)
{
    const char *base = d->sql->url;
    const char *host = strstr(base, "//") + 2;
    char *escaped = alqi_cli_web_escape(query), *url = NULL;
    const char *between = strchr(base, '?') != NULL   ? "&query="
                          : strchr(host, '/') != NULL ? "?query="
                                                      : "/?query=";

    if (asprintf(&url, "%s%s%s", base, between, escaped) < 0)
        url = NULL;
    free(escaped);
    return url;
}

/* False, and said, when it is refused. */
static bool
ask(struct database *d, const char *query, const void *body, size_t n,
    struct alqi_cli_web_answer *answer)
{
    char *url = address(d, query);
    struct alqi_cli_web_request request = {
        .url = url, .type = "text/plain", .body = body, .n_bytes = n};
    bool is_done = false;

    if (url == NULL || !alqi_cli_web_post(d->web, &request, answer))
        alqi_cli_say("export: %s: %s", d->public,
                     url != NULL ? answer->error : "out of memory");
    else if (answer->status != 200)
        alqi_cli_say("export: %s answers %u: %s", d->public, answer->status,
                     alqi_cli_web_line(answer));
    else
        is_done = true;
    free(url);
    return is_done;
}

/* ---- rows ------------------------------------------------------------ */

/* The escapes of TabSeparated. */
static void
text_put(FILE *out, const char *text)
{
    for (const char *c = text; *c != '\0'; c++)
        switch (*c) {
        case '\t':
            fputs("\\t", out);
            break;
        case '\n':
            fputs("\\n", out);
            break;
        case '\\':
            fputs("\\\\", out);
            break;
        default:
            fputc(*c, out);
        }
}

/* 17 digits tell a double apart from its neighbours. */
static void
cell_put(FILE *out, enum alqi_cli_column_kind kind,
         const union alqi_cli_cell *cell)
{
    switch (kind) {
    case ALQI_CLI_COLUMN_REAL:
        fprintf(out, "%.17g", cell->real);
        break;
    case ALQI_CLI_COLUMN_TEXT:
    case ALQI_CLI_COLUMN_DAY:
        text_put(out, cell->text);
        break;
    default:
        fprintf(out, "%" PRId64, cell->number);
    }
}

static void
batch_close(struct batch *b)
{
    if (b->out != NULL)
        fclose(b->out);
    free(b->text);
    *b = (struct batch){0};
}

/* Sends the rows of a table, if there are any, and closes the batch either
 * way. */
static bool
batch_send(struct database *d, enum alqi_cli_table table)
{
    const struct alqi_cli_table_schema *t = &alqi_cli_tables[table];
    struct batch *b = &d->batches[table];
    struct alqi_cli_web_answer answer;
    char query[600];
    int k = snprintf(query, sizeof query, "INSERT INTO %s (", t->name);
    bool is_sent;

    for (uint32_t i = 0; t->columns[i].name != NULL; i++)
        k += snprintf(query + k, sizeof query - (size_t)k, "%s%s",
                      i > 0 ? ", " : "", t->columns[i].name);
    snprintf(query + k, sizeof query - (size_t)k, ") FORMAT TabSeparated");
    alqi_cli_memory_close(b->out, "a batch of rows");
    b->out = NULL;
    is_sent = b->n_rows == 0 || ask(d, query, b->text, b->n, &answer);
    batch_close(b);
    return is_sent;
}

/* The sink of rows. A batch goes out when it is large, without what stdio has
 * gathered still; false ends the export. */
static bool
row_put(void *arg, enum alqi_cli_table table, const union alqi_cli_cell *cells)
{
    struct database *d = arg;
    const struct alqi_cli_column *columns = alqi_cli_tables[table].columns;
    struct batch *b = &d->batches[table];

    if (b->out == NULL)
        b->out = alqi_cli_memory_open(&b->text, &b->n);
    for (uint32_t i = 0; columns[i].name != NULL; i++) {
        if (i > 0)
            fputc('\t', b->out);
        cell_put(b->out, columns[i].kind, &cells[i]);
    }
    fputc('\n', b->out);
    b->n_rows++;
    return b->n < BATCH_BYTES || batch_send(d, table);
}

/* The traces are the last table. */
static bool
rest_send(struct database *d)
{
    for (enum alqi_cli_table t = 0; t < ALQI_CLI_N_TABLES; t++)
        if (d->batches[t].out != NULL && !batch_send(d, t))
            return false;
    return true;
}

/* ---- the database ---------------------------------------------------- */

/* Makes the tables and the view of sites; false, and said. */
static bool
tables_make(struct database *d)
{
    struct alqi_cli_web_answer answer;
    bool is_made = true;

    for (enum alqi_cli_table t = 0; is_made && t < ALQI_CLI_N_TABLES; t++) {
        char *sql = alqi_cli_table_create(t, false);

        is_made = ask(d, sql, "", 0, &answer);
        free(sql);
    }
    return is_made && ask(d, alqi_cli_sites_create(false), "", 0, &answer);
}

/* -1 to go on. */
static int
trace_check(struct database *d, const struct alqi_cli_sql_rows *rows)
{
    struct alqi_cli_web_answer answer;
    char query[120];

    snprintf(query, sizeof query,
             "SELECT count() FROM traces WHERE fingerprint = %" PRIu64,
             rows->fingerprint);
    if (!ask(d, query, "", 0, &answer)) {
        if (answer.status != 0)
            alqi_cli_say("export: if its tables are not there: --create makes "
                         "them");
        return ALQI_CLI_UNREADABLE;
    }
    if (d->sql->is_forced || strtoull(answer.text, NULL, 10) == 0)
        return -1;
    return alqi_cli_finding(
        "export: %s has this trace already; -f adds it once more", d->public);
}

/* Checks, sends all rows, and the trace's own last. Batches are closed on every
 * way out. */
static int
rows_send(struct database *d, struct alqi_cli_sql_rows *rows)
{
    struct alqi_cli_sink sink = {d, row_put};
    int rc;

    if (d->sql->creates && !tables_make(d))
        return ALQI_CLI_UNREADABLE;
    rc = trace_check(d, rows);
    if (rc < 0)
        rc = alqi_cli_sql_rows_put(rows, &sink);
    if (rc < 0 && !rest_send(d))
        rc = ALQI_CLI_UNREADABLE;
    for (enum alqi_cli_table t = 0; t < ALQI_CLI_N_TABLES; t++)
        batch_close(&d->batches[t]);
    return rc;
}

/* The public address is for messages; requests use the whole one. */
int
alqi_cli_sql_clickhouse(struct alqi_cli_sql_rows *rows)
{
    struct database d = {.sql = rows->sql};
    int rc;

    d.web =
        alqi_cli_web_open("export", rows->sql->timeout_us, &rows->sql->headers);
    if (d.web == NULL)
        return ALQI_CLI_UNREADABLE;
    d.public = alqi_cli_web_public(rows->sql->url);
    d.public[strcspn(d.public, "?")] = '\0'; /* it may have a password */
    rc = rows_send(&d, rows);
    free(d.public);
    alqi_cli_web_drop(d.web);
    return rc;
}
