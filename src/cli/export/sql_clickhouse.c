/* sql_clickhouse.c -- a trace's rows into ClickHouse, by its HTTP interface
 *
 * Rows go in batches of some megabytes, as TabSeparated, which every version
 * reads.  There are no transactions: the trace's own row goes last, and what
 * has none does not count (every query of aliquot-fleet(7) asks for it).  Its
 * number is drawn by lot, so that what a failure left behind stays nobody's.
 *
 * A request that failed in a way that may pass is sent again.  Where rows have
 * no key and no answer says whether they came, that would count them twice:
 * the trace is begun anew, with another number, instead.  Rows of a number that
 * is given up are removed, or the statements that do it are printed.
 *
 * Keeps .inv.whole (doc/design/fleet.md): A trace is there when its row is. */
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
    struct alqi_cli_web_again again;
    /* the last one */
    struct alqi_cli_web_answer answer;
    /* by table */
    struct batch batches[ALQI_CLI_N_TABLES];
    /* rows of the trace may be in the table */
    bool was_sent[ALQI_CLI_N_TABLES];
    /* rows may come in after they were removed: their request had no answer */
    bool is_unsure;
    /* rows without a key have no answer */
    bool begins_anew;
};

/* When a request may be sent again. */
enum repeat { NEVER, UNLESS_IT_CAME, ALWAYS };

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

/* The server may have done what was asked, although it does not say so. */
static bool
may_have_come(const struct alqi_cli_web_answer *a)
{
    return a->status == 0 ? a->is_broken
                          : alqi_cli_web_is_passing(a) && a->status != 429 &&
                                a->status != 503;
}

/* Says why the last answer is not the one that is wanted. */
static void
say_answer(struct database *d)
{
    if (d->answer.status == 0)
        alqi_cli_say("export: %s: %s", d->public, d->answer.error);
    else
        alqi_cli_say("export: %s answers %u: %s", d->public, d->answer.status,
                     alqi_cli_web_line(&d->answer));
}

/* Posts a query; false, and said, when it is refused or the retries are used
 * up. */
static bool
ask(struct database *d, const char *query, const void *body, size_t n,
    enum repeat repeat)
{
    char *url = address(d, query);
    struct alqi_cli_web_request request = {.url = url,
                                           .type = "text/plain",
                                           .body = body,
                                           .n_bytes = n,
                                           .ends = &d->again.signals,
                                           .is_once = repeat == UNLESS_IT_CAME};
    bool is_done = false, was_ending = d->again.is_ending;

    for (uint64_t round = 0; url != NULL; round++) {
        is_done = alqi_cli_web_post(d->web, &request, &d->answer) &&
                  d->answer.status == 200;
        alqi_cli_web_again_rest(&d->again, 0);
        if (is_done || d->again.is_ending || repeat == NEVER ||
            (repeat == UNLESS_IT_CAME && may_have_come(&d->answer)) ||
            !alqi_cli_web_again_wait(&d->again, round, &d->answer))
            break;
    }
    free(url);
    if (d->again.is_ending && !was_ending)
        alqi_cli_say("export: interrupted");
    else if (!is_done)
        say_answer(d);
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

/* The table's rows are each of one trace; others are shared by many. */
static bool
is_of_trace(enum alqi_cli_table table)
{
    return strcmp(alqi_cli_tables[table].columns[0].name, "trace_id") == 0;
}

/* Sends the rows of a table, if there are any, and closes the batch either
 * way. */
static bool
batch_send(struct database *d, enum alqi_cli_table table)
{
    const struct alqi_cli_table_schema *t = &alqi_cli_tables[table];
    struct batch *b = &d->batches[table];
    bool has_key = t->key[0] != '\0';
    char query[600];
    int k = snprintf(query, sizeof query, "INSERT INTO %s (", t->name);
    bool is_sent;

    for (uint32_t i = 0; t->columns[i].name != NULL; i++)
        k += snprintf(query + k, sizeof query - (size_t)k, "%s%s",
                      i > 0 ? ", " : "", t->columns[i].name);
    snprintf(query + k, sizeof query - (size_t)k, ") FORMAT TabSeparated");
    alqi_cli_memory_close(b->out, "a batch of rows");
    b->out = NULL;
    d->was_sent[table] |= b->n_rows > 0;
    is_sent = b->n_rows == 0 ||
              ask(d, query, b->text, b->n, has_key ? ALWAYS : UNLESS_IT_CAME);
    batch_close(b);
    if (!is_sent && is_of_trace(table) && may_have_come(&d->answer)) {
        d->is_unsure = true;
        d->begins_anew = !has_key;
    }
    return is_sent && !d->again.is_ending;
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
    bool is_made = true;

    for (enum alqi_cli_table t = 0; is_made && t < ALQI_CLI_N_TABLES; t++) {
        char *sql = alqi_cli_table_create(t, false);

        is_made = ask(d, sql, "", 0, ALWAYS);
        free(sql);
    }
    return is_made && ask(d, alqi_cli_sites_create(false), "", 0, ALWAYS);
}

/* -1 to go on. */
static int
trace_check(struct database *d, const struct alqi_cli_sql_rows *rows)
{
    char query[120];

    snprintf(query, sizeof query,
             "SELECT count() FROM traces WHERE fingerprint = %" PRIu64,
             rows->fingerprint);
    if (!ask(d, query, "", 0, ALWAYS)) {
        if (d->answer.status != 0)
            alqi_cli_say("export: if its tables are not there: --create makes "
                         "them");
        return ALQI_CLI_UNREADABLE;
    }
    if (d->sql->is_forced || strtoull(d->answer.text, NULL, 10) == 0)
        return -1;
    return alqi_cli_finding(
        "export: %s has this trace already; -f adds it once more", d->public);
}

/* The statement that removes the trace's rows from a table. NULL: none of them
 * are there, or the rows are shared with other traces. */
static const char *
removal(const struct database *d, enum alqi_cli_table table, uint64_t trace_id)
{
    static char query[120];

    if (!d->was_sent[table] || !is_of_trace(table))
        return NULL;
    snprintf(query, sizeof query,
             "ALTER TABLE %s DELETE WHERE trace_id = %" PRIu64,
             alqi_cli_tables[table].name, trace_id);
    return query;
}

/* Removes what came of a trace that is given up, its own row first, so that
 * none is there in part. Prints the statements where that fails, or where rows
 * may come in later. */
static void
rows_remove(struct database *d, uint64_t trace_id)
{
    bool is_removed = true;
    const char *query;

    for (enum alqi_cli_table t = ALQI_CLI_N_TABLES; is_removed && t-- > 0;)
        if ((query = removal(d, t, trace_id)) != NULL)
            is_removed = ask(d, query, "", 0, NEVER);
    if (is_removed && !d->is_unsure)
        return;
    alqi_cli_say("export: rows of an unfinished trace may be left in %s; no "
                 "query counts them, and this removes them:",
                 d->public);
    for (enum alqi_cli_table t = ALQI_CLI_N_TABLES; t-- > 0;)
        if ((query = removal(d, t, trace_id)) != NULL)
            fprintf(stderr, "    %s;\n", query);
}

/* Sends all rows, and the trace's own last. Batches
 * are closed on every way out. */
static int
rows_send(struct database *d, struct alqi_cli_sql_rows *rows)
{
    struct alqi_cli_sink sink = {d, row_put};
    int rc;

    d->is_unsure = d->begins_anew = false;
    memset(d->was_sent, 0, sizeof d->was_sent);
    rc = alqi_cli_sql_rows_put(rows, &sink);
    if (rc < 0 && !rest_send(d))
        rc = ALQI_CLI_UNREADABLE;
    for (enum alqi_cli_table t = 0; t < ALQI_CLI_N_TABLES; t++)
        batch_close(&d->batches[t]);
    return rc;
}

/* Checks, and sends the trace until it is taken, refused, or the retries are
 * used up. */
static int
trace_send(struct database *d, struct alqi_cli_sql_rows *rows)
{
    int rc;

    if (d->sql->creates && !tables_make(d))
        return ALQI_CLI_UNREADABLE;
    rc = trace_check(d, rows);
    if (rc >= 0)
        return rc;
    for (uint64_t round = 0;; round++) {
        struct alqi_cli_web_answer answer;

        rc = rows_send(d, rows);
        if (rc < 0)
            return rc;
        answer = d->answer;
        rows_remove(d, rows->trace_id);
        if (!d->begins_anew ||
            !alqi_cli_web_again_wait(&d->again, round, &answer))
            return rc;
        alqi_cli_say("export: the trace is sent anew");
        rows->trace_id = alqi_cli_sql_number();
    }
}

/* The public address is for messages; requests use the whole one. */
int
alqi_cli_sql_clickhouse(struct alqi_cli_sql_rows *rows)
{
    struct database d = {.sql = rows->sql,
                         .again = {.n_retries = rows->sql->n_retries}};
    int rc;

    d.web =
        alqi_cli_web_open("export", rows->sql->timeout_us, &rows->sql->headers);
    if (d.web == NULL)
        return ALQI_CLI_UNREADABLE;
    d.public = alqi_cli_web_public(rows->sql->url);
    d.public[strcspn(d.public, "?")] = '\0'; /* it may have a password */
    alqi_cli_web_again_begin(&d.again);
    rc = trace_send(&d, rows);
    free(d.public);
    alqi_cli_web_drop(d.web);
    return rc;
}
