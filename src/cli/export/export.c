/* export.c -- aliquot export: options and the table of formats
 *
 * A format is a row of FORMATS. Three kinds of row: write gets an analysis;
 * rewrite gets the events alone; neither means rows of a database. Phases:
 * options, the format (format_find), the input, then write_out() or rewrite().
 * The output is opened after the analysis, so that a trace that cannot be read
 * leaves no file. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/base.h"
#include "base/defaults.h"
#include "cli/tool/cli.h"
#include "cli/export/export.h"
#include "cli/tool/output.h"
#include "cli/tool/pack.h"
#include "cli/export/page_index.h"
#include "cli/analysis/remarks.h"
#include "cli/export/sql.h"
#include "cli/tool/text.h"

/* The formats: name; suffix of OUT, without that of a compression; and what
 * struct alqi_cli_export_format has from `write` on.  Of suffixes that OUT ends
 * with the last row counts.  FIRST is NEXT but for the blank between names. */
#define FORMATS(FIRST, NEXT)                                                   \
    FIRST("folded", ".folded", alqi_cli_export_folded)                         \
    NEXT("csv", ".csv", alqi_cli_export_csv)                                   \
    NEXT("pprof", ".pb.gz", alqi_cli_export_pprof)                             \
    NEXT("speedscope", ".speedscope.json", alqi_cli_export_speedscope)         \
    NEXT("dhat", ".dhat.json", alqi_cli_export_dhat, .needs_blocks = true)     \
    NEXT("massif", ".massif", alqi_cli_export_massif, .needs_blocks = true)    \
    NEXT("callgrind", ".callgrind", alqi_cli_export_callgrind)                 \
    NEXT("html", ".html", alqi_cli_export_page, .needs_index = true)           \
    NEXT("html-summary", ".summary.html", alqi_cli_export_html)                \
    NEXT("sqlite", ".sqlite", NULL) /* rows: sql.h */                          \
    NEXT("memtrace", ".memtrace.ctf", NULL, .rewrite = alqi_cli_export_memtrace)

#define FIRST_NAME(name, ...) name
#define NEXT_NAME(name, ...) " " name
#define FORMAT_CHOICES FORMATS(FIRST_NAME, NEXT_NAME)

static const double CLICKHOUSE_US = 60e6;

/* Of --format=html: some 5 MiB. */
static const uint64_t MAX_SAMPLES = 300000;

/* What most mail servers take in one piece, with room for the coding. */
static const double LARGE_BYTES = 10 << 20;

#define FORMAT_ROW(...) {__VA_ARGS__},
static const struct alqi_cli_export_format formats[] = {
    FORMATS(FORMAT_ROW, FORMAT_ROW)};

static const struct alqi_cli_export_format clickhouse = {.name = "clickhouse"};

struct request {
    struct alqi_cli_export export;
    struct alqi_cli_analysis_options options;
    /* NULL until format_find() has chosen */
    const struct alqi_cli_export_format *format;
    int format_number; /* in formats; -1: not given */
    /* as parsed; the export has it in 32 bits */
    uint64_t max_stacks;
    struct alqi_cli_sql_options sql;
    /* of the output; "-": standard output; NULL with --to */
    const char *path;
    /* -f: of a file, or of a trace that a database has */
    bool overwrites;
};

/* ---- options ------------------------------------------------------------- */

/* "2026-11-22", of a month that has such a day. */
static bool
is_day(const char *text)
{
    struct tm tm = {0}, same;
    char again[16];
    time_t s;

    if (strlen(text) != 10 || strptime(text, "%Y-%m-%d", &tm) != text + 10)
        return false;
    s = timegm(&tm);
    return gmtime_r(&s, &same) != NULL &&
           strftime(again, sizeof again, "%Y-%m-%d", &same) == 10 &&
           strcmp(again, text) == 0 && tm.tm_year >= 70 && tm.tm_year < 206;
}

/* Keeps the text; only its form is checked. */
static bool
day_take(void *to, const char *verb, const char *value)
{
    *(const char **)to = value;
    if (is_day(value))
        return true;
    alqi_cli_usage(verb, "%s: --day=%s: write YYYY-MM-DD", verb, value);
    return false;
}

/* Takes --subsample: above 0 and below 1. */
static bool
share_take(void *to, const char *verb, const char *value)
{
    double *share = to;
    char *end;

    *share = strtod(value, &end);
    if (end != value && *end == '\0' && *share > 0 && *share < 1)
        return true;
    alqi_cli_usage(verb, "%s: --subsample=%s: a number above 0 and below 1",
                   verb, value);
    return false;
}

/* Takes the address behind "clickhouse=". */
static bool
to_take(void *to, const char *verb, const char *value)
{
    static const char name[] = "clickhouse=";
    const char **url = to;

    *url = value + strlen(name);
    if (strncmp(value, name, strlen(name)) == 0 && alqi_cli_web_is_url(*url))
        return true;
    alqi_cli_usage(verb, "%s: --to=%s: write clickhouse=http://HOST:8123", verb,
                   value);
    return false;
}

#define MEASURE(n)                                                             \
    ALQI_CLI_FIXED(struct request, export.measure, n),                         \
        ALQI_CLI_ONE_OF("measure"),                                            \
        ALQI_CLI_ALSO(struct request, export.has_measure)

const struct alqi_cli_option alqi_cli_export_options[] = {
    {0, "format", "F", FORMAT_CHOICES,
     "the format; default: by the suffix of OUT",
     ALQI_CLI_CHOICE(struct request, format_number),
     .former = "firefox use dhat: the Firefox Profiler opens it"},
    {'o', "output", "OUT", NULL, "file to write; '-' is standard output",
     ALQI_CLI_TEXT(struct request, path)},
    {'f', "force", NULL, NULL, "overwrite OUT",
     ALQI_CLI_FLAG(struct request, overwrites)},
    {0, "to", "clickhouse=URL", NULL, "instead of OUT: send rows to ClickHouse",
     ALQI_CLI_TAKEN(to_take, offsetof(struct request, sql.url))},
    {0, "allocated", NULL, NULL, "weight by all blocks (default)",
     MEASURE(ALQI_CLI_ALLOCATED)},
    {0, "peak", NULL, NULL, "weight by blocks live at the peak",
     MEASURE(ALQI_CLI_PEAK)},
    {0, "live", NULL, NULL, "weight by blocks live when the trace ends",
     MEASURE(ALQI_CLI_LIVE)},
    {0, "leaks", NULL, NULL, "the same", MEASURE(ALQI_CLI_LIVE)},
    {0, "temporary", NULL, NULL, "weight by blocks that were freed at once",
     MEASURE(ALQI_CLI_TEMPORARY)},
    {0, "weight", "W", ALQI_CLI_WEIGHT_CHOICES,
     "folded: bytes (default), objects or samples",
     ALQI_CLI_CHOICE(struct request, export.weight)},
    {0, "fold-recursion", NULL, NULL, "folded: each function once in a stack",
     ALQI_CLI_FLAG(struct request, export.folds_recursion)},
    {0, "subsample", "S", NULL,
     "memtrace: a random part of the samples, such as 0.1",
     ALQI_CLI_TAKEN(share_take, offsetof(struct request, export.share))},
    {0, "strip-names", NULL, NULL, "memtrace: numbers instead of names",
     ALQI_CLI_FLAG(struct request, export.strips_names)},
    {'g', "group", "BY", ALQI_CLI_GROUPING_CHOICES,
     "csv, html: function (default), line, file or module",
     ALQI_CLI_CHOICE(struct request, export.grouping)},
    {0, "max-stacks", "N", NULL,
     "pprof: merge the rest (default " ALQI_DEFAULT_TEXT(
         ALQI_CLI_PPROF_STACKS) "; 0: keep all)",
     ALQI_CLI_COUNT(struct request, max_stacks), .most = UINT32_MAX},
    {0, "max-samples", "N", NULL,
     "html: N random blocks (default 300000; 0: all)",
     ALQI_CLI_COUNT(struct request, export.max_samples)},
    {0, "skip", "F[,F]...", NULL,
     "treat these functions as allocation wrappers",
     ALQI_CLI_TAKEN(alqi_cli_wrappers_take, 0)},
    {0, "time-unit", "U", ALQI_CLI_TIME_UNIT_CHOICES,
     "massif: ms (default), or B: bytes allocated so far",
     ALQI_CLI_CHOICE(struct request, export.time_unit)},
    {0, "min-life", "T", NULL,
     "only blocks that lived at least T: 10ms, 1.5s, 2h",
     ALQI_CLI_DURATION(struct request, options.min_life_us)},
    {0, "release", "TEXT", NULL, "sqlite, clickhouse: release of the program",
     ALQI_CLI_TEXT(struct request, sql.release)},
    {0, "service", "TEXT", NULL,
     "the same: service; default: the program's name",
     ALQI_CLI_TEXT(struct request, sql.service)},
    {0, "day", "YYYY-MM-DD", NULL,
     "the same: day; default: day of the start, UTC",
     ALQI_CLI_TAKEN(day_take, offsetof(struct request, sql.day))},
    {0, "append", NULL, NULL, "sqlite: add the trace to OUT",
     ALQI_CLI_FLAG(struct request, sql.appends)},
    {0, "create", NULL, NULL, "clickhouse: create missing tables",
     ALQI_CLI_FLAG(struct request, sql.creates)},
    {0, "header", "TEXT|@FILE", NULL,
     "clickhouse: a header, 'Name: value', or a file of them",
     ALQI_CLI_TAKEN(alqi_cli_web_header_take,
                    offsetof(struct request, sql.headers))},
    {0, "timeout", "T", NULL, "clickhouse: time for a request; default 1m",
     ALQI_CLI_DURATION(struct request, sql.timeout_us), .least = 1000,
     .wants = "write a number and a unit: ms s m h"},
    {0, "retries", "N", NULL,
     "clickhouse: repeats of a failed request; default 5",
     ALQI_CLI_COUNT(struct request, sql.n_retries),
     .most = ALQI_CLI_RETRIES_MOST},
    {0},
};

/* ---- the format ---------------------------------------------------------- */

/* Whether the format is a database. */
static bool
is_rows(const struct request *r)
{
    return r->format->write == NULL && r->format->rewrite == NULL;
}

/* Rows are added where SQLite can write them: to a file, in its place. */
static int
append_check(const struct request *r)
{
    if (!r->sql.appends)
        return -1;
    if (r->sql.url == NULL && is_rows(r) && strcmp(r->path, "-") != 0 &&
        !alqi_cli_pack_is_meant(r->path))
        return -1;
    return alqi_cli_usage("export", "export: --append adds to a file of "
                                    "SQLite that is not compressed: write "
                                    "-o FILE.sqlite");
}

/* Chooses the format: --to, then --format, then the last row whose suffix OUT
 * ends with: ".summary.html" stands behind the ".html" that it ends with. -1,
 * or the status to exit with. */
static int
format_find(struct request *r)
{
    if (r->format_number >= 0)
        r->format = &formats[r->format_number];
    if (r->sql.url != NULL) {
        if (r->path != NULL || r->format != NULL)
            return alqi_cli_usage("export", "export: --to stands in place of "
                                            "-o and --format");
        r->format = &clickhouse;
        return append_check(r);
    }
    if (r->path == NULL)
        return alqi_cli_usage("export",
                              "export: where to? Write -o FILE, or -o -");
    for (size_t i = ALQI_COUNT_OF(formats); r->format == NULL && i-- > 0;) {
        size_t n = alqi_cli_pack_stem(r->path);
        size_t k = strlen(formats[i].suffix);

        if (n > k && strncmp(r->path + n - k, formats[i].suffix, k) == 0)
            r->format = &formats[i];
    }
    if (r->format == NULL)
        return alqi_cli_usage("export",
                              "export: which format? Write --format=F; "
                              "F is one of: %s",
                              FORMAT_CHOICES);
    return append_check(r);
}

/* Fills x->program, which is never empty. */
static void
program_name(struct alqi_cli_export *x)
{
    const struct alqi_cli_analysis *a = &x->analysis;

    if (a->notes.cmdline != ALQI_CLI_NO_NAME)
        snprintf(x->program, sizeof x->program, "%s",
                 alqi_cli_names_text(a->names, a->notes.cmdline));
    else
        alqi_cli_clean(x->program, sizeof x->program, a->info->executable);
    if (x->program[0] == '\0')
        strcpy(x->program, "[unnamed program]");
}

/* Blocks that are too many for memory are joined; the user is told how coarse
 * times are then. */
static void
say_condensed(const struct alqi_cli_blocks *b)
{
    if (b->step_us > 1)
        alqi_cli_say("export: %" PRIu64 " sampled blocks are shown as %" PRIu32
                     ", with times in steps of %s; sums stay exact",
                     b->n_taken, b->n_blocks,
                     alqi_cli_text_duration((double)b->step_us).text);
}

/* Says how to make a page smaller that mail servers would refuse. */
static void
say_large(const struct request *r, FILE *file)
{
    off_t n = r->format->needs_index ? ftello(file) : 0;

    if ((double)n > LARGE_BYTES)
        alqi_cli_say("export: the page has %s: --max-samples=N makes it "
                     "smaller",
                     alqi_cli_text_bytes((double)n).text);
}

static int
write_rows(struct request *r)
{
    int rc;

    r->sql.path = r->path;
    r->sql.is_forced = r->overwrites;
    rc = alqi_cli_sql_export(&r->export, &r->options, &r->sql);
    return rc < 0 ? ALQI_CLI_OK : rc;
}

/* Writes a format that has a writer; a failed write is told at the close. */
static int
write_file(struct request *r)
{
    struct alqi_cli_output out;
    int rc = alqi_cli_output_open(&out, r->path, r->overwrites);

    if (rc >= 0)
        return rc;
    r->format->write(&r->export, out.file);
    say_large(r, out.file);
    return alqi_cli_output_close(&out);
}

/* Copies events. The input may be damaged and the trace finished all the same:
 * the status then tells of the damage. */
static int
rewrite(struct request *r, struct alqi_cli_input *input)
{
    struct alqi_cli_output out;
    int rc = alqi_cli_output_open(&out, r->path, r->overwrites), rc_close;

    if (rc >= 0)
        return rc;
    rc = r->format->rewrite(&r->export, input, out.file);
    if (rc != ALQI_CLI_OK) {
        alqi_cli_output_abandon(&out);
        return rc;
    }
    rc = alqi_cli_input_finish(input);
    rc_close = alqi_cli_output_close(&out);
    return rc_close != ALQI_CLI_OK ? rc_close : rc;
}

/* Analyses the input and writes the result. A failure to write decides the
 * status before one to read. */
static int
write_out(struct request *r, struct alqi_cli_input *input)
{
    struct alqi_cli_export *x = &r->export;
    struct alqi_cli_blocks blocks;
    int rc;
    int rc_write = -1;

    alqi_cli_blocks_init(&blocks, ALQI_CLI_BLOCKS_MAX);
    if (r->format->needs_blocks)
        r->options.blocks = &blocks;
    if (r->format->needs_index) {
        x->index = alqi_cli_page_index_new(&x->analysis, &r->options);
        if (x->index == NULL)
            return ALQI_CLI_UNREADABLE;
    }
    if (is_rows(r))
        alqi_cli_rows_begin(&x->rows, &x->analysis, &r->options);
    x->input = input;
    alqi_cli_analysis_run(&x->analysis, input, &r->options);
    rc = alqi_cli_input_finish(input);
    alqi_cli_end_say(&x->analysis.notes, input);
    program_name(x);
    say_condensed(&blocks);
    if (x->index != NULL)
        rc_write = alqi_cli_page_index_finish(x->index, input, x->max_samples);
    if (rc_write < 0)
        rc_write = is_rows(r) ? write_rows(r) : write_file(r);
    alqi_cli_page_index_drop(x->index);
    alqi_cli_rows_free(&x->rows);
    alqi_cli_analysis_free(&x->analysis);
    alqi_cli_blocks_free(&blocks);
    return rc_write != ALQI_CLI_OK ? rc_write : rc;
}

/* The output is compared with the input before anything is opened, as -f would
 * truncate it. */
int
alqi_cli_export(int argc, char **argv)
{
    struct request r;
    struct alqi_cli_input *input;
    const char *path;
    int first;
    int rc;

    memset(&r, 0, sizeof r);
    r.format_number = -1;
    r.max_stacks = ALQI_CLI_PPROF_STACKS;
    r.export.max_samples = MAX_SAMPLES;
    r.sql.timeout_us = CLICKHOUSE_US;
    r.sql.n_retries = ALQI_CLI_RETRIES;
    rc = alqi_cli_parse("export", argc, argv, &r, &first);
    r.export.max_stacks = (uint32_t)r.max_stacks;
    if (rc < 0)
        rc = alqi_cli_one_operand("export", "trace", argc, argv, first, &path);
    if (rc < 0)
        rc = format_find(&r);
    if (rc < 0 && r.path != NULL && alqi_cli_output_is(r.path, path))
        rc = alqi_cli_usage("export",
                            "export: %s is the trace to read; write to "
                            "another file",
                            r.path);
    if (rc < 0)
        rc = alqi_cli_input_open(path, NULL, NULL, &input);
    if (rc < 0) {
        rc = r.format->rewrite != NULL ? rewrite(&r, input)
                                       : write_out(&r, input);
        alqi_cli_input_drop(input);
    }
    alqi_cli_web_headers_free(&r.sql.headers);
    return rc;
}
