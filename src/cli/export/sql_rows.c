/* sql_rows.c -- names, places, call stacks, threads, and the trace's own row
 *
 * Rows go to a sink in an order in which each number is told before it is used:
 * functions and frames when a stack first has them, then stacks, threads,
 * samples (sql_samples.c), figures (sql_figures.c), and the trace's row last,
 * which makes the others count. A number that was told in this run is not told
 * again (is_new).
 *
 * .inv.hash  A number is a hash of 63 bits of what it stands for, made of texts
 * and lines alone: never of numbers that differ from trace to trace. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/base.h"
#include "base/file_name.h"
#include "cli/tool/cli.h"
#include "cli/export/export.h"
#include "cli/analysis/remarks.h"
#include "cli/export/sql.h"
#include "cli/tool/text.h"

enum {
    TEXT_BYTES = 4096,
    END_YEAR = 2106 /* of ClickHouse's days */
};

#define NUMBER_MASK (UINT64_MAX >> 1)

/* ---- hashes ---------------------------------------------------------- */

/* 63 bits, as SQLite's integers are signed; never 0, which means none. */
static uint64_t
number_of(uint64_t hash)
{
    hash &= NUMBER_MASK;
    return hash != 0 ? hash : 1;
}

static uint64_t
hash_number(uint64_t hash, uint64_t number)
{
    return alqi_base_mix(hash ^
                         alqi_base_mix(number + UINT64_C(0x9E3779B97F4A7C15)));
}

/* The length goes first, so that two texts in a row cannot be cut elsewhere. */
static uint64_t
hash_text(uint64_t hash, const char *text)
{
    size_t n = strlen(text);

    hash = hash_number(hash, n);
    for (size_t i = 0; i < n; i += 8) {
        uint64_t word = 0;

        memcpy(&word, text + i, n - i < 8 ? n - i : 8);
        hash = hash_number(hash, word);
    }
    return hash;
}

/* A hash of the trace's header and of its counts. The bytes of the trace are
 * not hashed: they would have to be read once more. */
uint64_t
alqi_cli_sql_fingerprint(const struct alqi_cli_export *x)
{
    const struct alqi_cli_analysis *a = &x->analysis;
    uint64_t h = hash_text(1, a->info->host);

    h = hash_text(h, a->info->executable);
    h = hash_text(h, a->info->context);
    h = hash_number(h, a->info->pid);
    h = hash_number(h, a->info->start_us);
    h = hash_number(h, a->end_us);
    h = hash_number(h, a->n_allocs);
    h = hash_number(h, a->n_frees);
    return number_of(hash_number(h, a->n_samples));
}

/* ---- names and places ------------------------------------------------ */

/* One export of one trace. */
struct writer {
    const struct alqi_cli_sql_rows *rows;
    const struct alqi_cli_sink *sink;
    struct alqi_cli_analysis *a;
    struct alqi_base_map functions, frames, stacks; /* numbers told */
    /* of the node that is told; outermost first */
    struct alqi_cli_frame *stack;
    uint32_t stack_capacity;
    uint64_t *ids; /* of a stack's frames */
    uint32_t ids_capacity;
    bool is_over; /* the sink takes no more */
};

/* Gives a row to the sink, unless it takes no more. */
static void
tell(struct writer *w, enum alqi_cli_table table,
     const union alqi_cli_cell *cells)
{
    if (!w->is_over && !w->sink->row(w->sink->arg, table, cells))
        w->is_over = true;
}

/* False when it was told before. */
static bool
is_new(struct alqi_base_map *map, uint64_t number)
{
    bool is;

    alqi_cli_map_at(map, number, &is);
    return is;
}

static const char *
text_of(const struct writer *w, uint32_t name)
{
    return alqi_cli_names_text(w->a->names, name);
}

/* The number of a frame's function, whose row is told if it is new. */
static uint64_t
function_put(struct writer *w, const struct alqi_cli_frame *f)
{
    union alqi_cli_cell cells[4] = {{.text = NULL},
                                    {.text = text_of(w, f->function)},
                                    {.text = text_of(w, f->file)},
                                    {.text = text_of(w, f->module)}};
    uint64_t id = number_of(hash_text(
        hash_text(hash_text(2, cells[1].text), cells[2].text), cells[3].text));

    cells[0].number = (int64_t)id;
    if (is_new(&w->functions, id))
        tell(w, ALQI_CLI_FUNCTIONS, cells);
    return id;
}

/* The number of a frame: a function and a line. */
static uint64_t
frame_put(struct writer *w, const struct alqi_cli_frame *f)
{
    uint64_t function = function_put(w, f);
    uint64_t id = number_of(
        hash_number(hash_number(3, function), (uint64_t)(uint32_t)f->line));
    union alqi_cli_cell cells[3] = {{.number = (int64_t)id},
                                    {.number = (int64_t)function},
                                    {.number = f->line}};

    if (is_new(&w->frames, id))
        tell(w, ALQI_CLI_FRAMES, cells);
    return id;
}

/* ---- call stacks ----------------------------------------------------- */

/* Position 0 is the innermost frame. */
static void
stack_put(struct writer *w, uint64_t stack, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        union alqi_cli_cell cells[3] = {{.number = (int64_t)stack},
                                        {.number = i},
                                        {.number = (int64_t)w->ids[n - 1 - i]}};

        tell(w, ALQI_CLI_STACKS, cells);
    }
}

/* Fills w->ids, outermost first; at least one. */
static uint32_t
places_put(struct writer *w, uint32_t node)
{
    struct alqi_cli_frame none = {0};
    uint32_t n =
        alqi_cli_stack_frames(w->a, node, &w->stack, &w->stack_capacity);

    if (w->ids_capacity < n + 1) {
        w->ids_capacity = 2 * n + 64;
        w->ids = alqi_cli_realloc(w->ids, w->ids_capacity, sizeof *w->ids);
    }
    for (uint32_t i = 0; i < n; i++)
        w->ids[i] = frame_put(w, &w->stack[i]);
    if (n > 0)
        return n;
    none.function = alqi_cli_names_intern(w->a->names, "[no stack]");
    none.module = none.function;
    w->ids[0] = frame_put(w, &none);
    return 1;
}

/* Numbers of a node's stack and of the place that names it. */
static void
node_put(struct writer *w, uint32_t node, struct alqi_cli_sql_stacks *out)
{
    uint32_t n = places_put(w, node);
    uint64_t h = 4;

    for (uint32_t i = 0; i < n; i++)
        h = hash_number(h, w->ids[i]);
    out->stack_ids[node] = number_of(h);
    out->site_ids[node] =
        w->ids[node != 0 ? alqi_cli_naming_frame(w->stack, n) : 0];
    if (is_new(&w->stacks, out->stack_ids[node])) /* addresses may differ */
        stack_put(w, out->stack_ids[node], n);
}

/* Tells the stacks of all sites and fills out, by node. A node that no site has
 * keeps 0. */
static void
stacks_put(struct writer *w, struct alqi_cli_sql_stacks *out)
{
    size_t n = w->a->stacks.n_nodes;

    out->stack_ids = alqi_cli_zeros(n, sizeof *out->stack_ids);
    out->site_ids = alqi_cli_zeros(n, sizeof *out->site_ids);
    for (uint32_t i = 0; i < w->a->n_sites; i++) {
        const struct alqi_cli_site *site = &w->a->sites[i];

        if (site->sums[ALQI_CLI_ALLOCATED].n_blocks > 0 &&
            out->stack_ids[site->node] == 0)
            node_put(w, site->node, out);
    }
}

/* A row for each thread that was seen. */
static void
threads_put(struct writer *w)
{
    const struct alqi_cli_notes *n = &w->a->notes;

    for (uint32_t i = 0; i < n->threads_capacity; i++) {
        union alqi_cli_cell cells[4] = {
            {.number = (int64_t)w->rows->trace_id},
            {.number = i},
            {.number = (int64_t)n->threads[i].tid},
            {.text = text_of(w, n->threads[i].name)}};

        if (n->threads[i].is_seen)
            tell(w, ALQI_CLI_THREADS, cells);
    }
}

/* ---- the trace ------------------------------------------------------- */

/* The day that was given, else that of the start in UTC; 1970 where ClickHouse
 * has no such day. */
static void
day_make(const struct writer *w, char *day, size_t n)
{
    time_t s = (time_t)(w->a->info->start_us / 1000000);
    struct tm tm;

    if (w->rows->sql->day != NULL)
        snprintf(day, n, "%s", w->rows->sql->day);
    else if (gmtime_r(&s, &tm) == NULL || tm.tm_year >= END_YEAR - 1900 ||
             strftime(day, n, "%Y-%m-%d", &tm) == 0)
        snprintf(day, n, "1970-01-01");
}

/* Samples that the recorder lost, for whatever reason. */
static uint64_t
dropped(const struct alqi_cli_notes *n)
{
    uint64_t all = 0;

    for (int i = 0; i < ALQI_CLI_N_COUNTERS; i++)
        if (strncmp(alqi_cli_counters[i].key, "dropped_", 8) == 0)
            all += n->counts[i];
    return all;
}

/* A name: of the main program; the empty one where it is not known. */
static uint32_t
build_id_of(const struct writer *w)
{
    const struct alqi_cli_notes *n = &w->a->notes;
    uint32_t name = alqi_cli_names_intern(w->a->names, w->a->info->executable);

    for (uint32_t i = 0; i < n->n_modules; i++)
        if (n->modules[i].path == name)
            return n->modules[i].build_id;
    return ALQI_CLI_NO_NAME;
}

/* The trace's own row; its cells are in the order of the schema. */
static void
trace_put(struct writer *w, const char *day)
{
    const struct alqi_cli_sql_options *sql = w->rows->sql;
    const struct alqi_cli_analysis *a = w->a;
    char host[TEXT_BYTES], executable[TEXT_BYTES];
    int64_t start_us = (int64_t)a->info->start_us;
    const uint32_t build_id = build_id_of(w); /* a new name may move others */
    union alqi_cli_cell cells[] = {
        {.number = (int64_t)w->rows->trace_id},
        {.number = (int64_t)w->rows->fingerprint},
        {.text = day},
        {.text = sql->release != NULL ? sql->release : ""},
        {.text = NULL},
        {.text = host},
        {.text = executable},
        {.text = text_of(w, build_id)},
        {.text = text_of(w, a->notes.cmdline)},
        {.number = (int64_t)a->info->pid},
        {.number = start_us},
        {.number = start_us + (int64_t)a->end_us},
        {.number = start_us + (int64_t)alqi_cli_peak_us(a)},
        {.real = a->estimator.has_rate ? a->estimator.interval_bytes : 0},
        {.number = alqi_cli_is_exact(a)},
        {.text = text_of(w, a->notes.ended)},
        {.number = (int64_t)dropped(&a->notes)},
        {.number = (int64_t)a->n_allocs},
        {.number = ALQI_CLI_SQL_SCHEMA},
    };

    alqi_cli_clean(host, sizeof host, a->info->host);
    alqi_cli_clean(executable, sizeof executable, a->info->executable);
    cells[4].text =
        sql->service != NULL ? sql->service : alqi_base_file_name(executable);
    tell(w, ALQI_CLI_TRACES, cells);
}

/* The trace's row is told only if all before it were taken. */
int
alqi_cli_sql_rows_put(const struct alqi_cli_sql_rows *rows,
                      const struct alqi_cli_sink *sink)
{
    struct writer w = {
        .rows = rows, .sink = sink, .a = &rows->export->analysis};
    struct alqi_cli_sql_stacks stacks;
    char day[32];
    int rc = -1;

    day_make(&w, day, sizeof day);
    stacks_put(&w, &stacks);
    threads_put(&w);
    if (!w.is_over)
        rc = alqi_cli_sql_samples_put(rows, &stacks, day, sink);
    if (!w.is_over && rc < 0)
        rc = alqi_cli_sql_figures_put(rows, &stacks, day, sink);
    if (rc < 0)
        trace_put(&w, day);
    alqi_base_map_clear(&w.functions);
    alqi_base_map_clear(&w.frames);
    alqi_base_map_clear(&w.stacks);
    free(w.stack);
    free(w.ids);
    free(stacks.stack_ids);
    free(stacks.site_ids);
    return rc < 0 && w.is_over ? ALQI_CLI_UNREADABLE : rc;
}
