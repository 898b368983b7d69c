/* export.c -- aliquot export: options and the table of formats */
#include <inttypes.h>
#include <string.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/export.h"
#include "cli/output.h"
#include "cli/pack.h"
#include "cli/text.h"

#define FORMAT_CHOICES                                                         \
    "folded csv pprof speedscope firefox dhat massif callgrind html-summary"

enum {
    ID_FORMAT = 256,
    ID_LIVE,
    ID_PEAK,
    ID_ALLOCATED,
    ID_LEAKS,
    ID_MIN_LIFE,
    ID_SKIP,
    ID_WEIGHT,
    ID_TIME_UNIT,
    ID_FOLD,
    ID_MAX_STACKS
};

static const double TEMPORARY_US = 1000;

/* The most that Pyroscope takes unless told otherwise. */
static const uint32_t MAX_STACKS = 16000;

/* In the order of FORMAT_CHOICES. */
static const struct alqi_cli_export_format formats[] = {
    {"folded", ".folded", alqi_cli_export_folded, false},
    {"csv", ".csv", alqi_cli_export_csv, false},
    {"pprof", ".pb.gz", alqi_cli_export_pprof, false},
    {"speedscope", ".speedscope.json", alqi_cli_export_speedscope, false},
    {"firefox", ".firefox.json", alqi_cli_export_firefox, true},
    {"dhat", ".dhat.json", alqi_cli_export_dhat, true},
    {"massif", ".massif", alqi_cli_export_massif, true},
    {"callgrind", ".callgrind", alqi_cli_export_callgrind, false},
    {"html-summary", ".html", alqi_cli_export_html, false},
};

const struct alqi_cli_option alqi_cli_export_options[] = {
    {ID_FORMAT, "format", "F", FORMAT_CHOICES,
     "the format; else by the suffix of OUT"},
    {'o', "output", "OUT", NULL, "file to write; '-' is standard output"},
    {'f', "force", NULL, NULL, "overwrite OUT"},
    {ID_ALLOCATED, "allocated", NULL, NULL,
     "weigh by all that was allocated (default)"},
    {ID_PEAK, "peak", NULL, NULL, "by what was alive at the peak"},
    {ID_LIVE, "live", NULL, NULL, "by what is alive when the trace ends"},
    {ID_LEAKS, "leaks", NULL, NULL, "the same: by what was never freed"},
    {ID_WEIGHT, "weight", "W", ALQI_CLI_WEIGHT_CHOICES,
     "folded: bytes (default), objects or samples"},
    {ID_FOLD, "fold-recursion", NULL, NULL,
     "folded: each function once in a stack"},
    {'g', "group", "BY", ALQI_CLI_GROUPING_CHOICES,
     "csv, html: function (default), line, file or module"},
    {ID_MAX_STACKS, "max-stacks", "N", NULL,
     "pprof: fold the tail (default 16000; 0: keep all)"},
    {ID_SKIP, "skip", "F[,F]...", NULL,
     "do not name sites after these functions, either"},
    {ID_TIME_UNIT, "time-unit", "U", ALQI_CLI_TIME_UNIT_CHOICES,
     "massif: ms (default), or B: bytes allocated so far"},
    {ID_MIN_LIFE, "min-life", "T", NULL,
     "only blocks that lived at least T, as 10ms, 1.5s, 2h"},
    {0, NULL, NULL, NULL, NULL},
};

struct request {
    struct alqi_cli_export export;
    struct alqi_cli_analysis_options options;
    const struct alqi_cli_export_format *format;
    const char *path;
    bool overwrites;
};

static bool
set_min_life(struct request *r, const char *value)
{
    if (alqi_cli_parse_duration(value, &r->options.min_life_us))
        return true;
    alqi_cli_usage(
        "export",
        "export: --min-life=%s: write a number and a unit: ns us ms s m h",
        value);
    return false;
}

static bool
set_max_stacks(struct request *r, const char *value)
{
    uint64_t n;

    if (alqi_cli_parse_count(value, &n) && n <= UINT32_MAX) {
        r->export.max_stacks = (uint32_t)n;
        return true;
    }
    alqi_cli_usage("export", "export: --max-stacks=%s: write a whole number",
                   value);
    return false;
}

static bool
set_measure(struct request *r, enum alqi_cli_measure measure)
{
    r->export.measure = measure;
    r->export.has_measure = true;
    return true;
}

static bool
set(void *arg, int id, const char *value)
{
    struct request *r = arg;

    switch (id) {
    case ID_FORMAT:
        r->format = &formats[alqi_cli_choice(FORMAT_CHOICES, value)];
        break;
    case 'o':
        r->path = value;
        break;
    case 'f':
        r->overwrites = true;
        break;
    case ID_LIVE:
    case ID_LEAKS:
        return set_measure(r, ALQI_CLI_LIVE);
    case ID_PEAK:
        return set_measure(r, ALQI_CLI_PEAK);
    case ID_ALLOCATED:
        return set_measure(r, ALQI_CLI_ALLOCATED);
    case ID_WEIGHT:
        r->export.weight = (enum alqi_cli_weight_kind)alqi_cli_choice(
            ALQI_CLI_WEIGHT_CHOICES, value);
        break;
    case ID_TIME_UNIT:
        r->export.time_unit = (enum alqi_cli_time_unit)alqi_cli_choice(
            ALQI_CLI_TIME_UNIT_CHOICES, value);
        break;
    case ID_FOLD:
        r->export.folds_recursion = true;
        break;
    case 'g':
        r->export.grouping = (enum alqi_cli_grouping)alqi_cli_choice(
            ALQI_CLI_GROUPING_CHOICES, value);
        break;
    case ID_SKIP:
        alqi_cli_wrappers_add(value);
        break;
    case ID_MAX_STACKS:
        return set_max_stacks(r, value);
    case ID_MIN_LIFE:
        return set_min_life(r, value);
    }
    return true;
}

static int
format_find(struct request *r)
{
    if (r->path == NULL)
        return alqi_cli_usage("export",
                              "export: where to? Write -o FILE, or -o -");
    for (size_t i = 0; r->format == NULL && i < ALQI_COUNT_OF(formats); i++) {
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
    return -1;
}

/* As the report's title. */
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

static void
say_condensed(const struct alqi_cli_blocks *b)
{
    if (b->step_us > 1)
        alqi_cli_say("export: %" PRIu64 " sampled blocks are shown as %" PRIu32
                     ", with times in steps of %s; sums stay exact",
                     b->n_taken, b->n_blocks,
                     alqi_cli_text_duration((double)b->step_us).text);
}

static int
write_out(struct request *r, struct alqi_cli_input *input)
{
    struct alqi_cli_output out;
    struct alqi_cli_blocks blocks;
    int rc;
    int rc_write;

    alqi_cli_blocks_init(&blocks, ALQI_CLI_BLOCKS_MAX);
    if (r->format->needs_blocks)
        r->options.blocks = &blocks;
    r->export.input = input;
    alqi_cli_analysis_run(&r->export.analysis, input, &r->options);
    rc = alqi_cli_input_finish(input);
    program_name(&r->export);
    say_condensed(&blocks);
    rc_write = alqi_cli_output_open(&out, r->path, r->overwrites);
    if (rc_write < 0) {
        r->format->write(&r->export, out.file);
        rc_write = alqi_cli_output_close(&out);
    }
    alqi_cli_analysis_free(&r->export.analysis);
    alqi_cli_blocks_free(&blocks);
    return rc_write != ALQI_CLI_OK ? rc_write : rc;
}

int
alqi_cli_export(int argc, char **argv)
{
    struct request r;
    struct alqi_cli_input *input;
    const char *path;
    int first;
    int rc;

    memset(&r, 0, sizeof r);
    r.options.temporary_us = TEMPORARY_US;
    r.export.max_stacks = MAX_STACKS;
    rc = alqi_cli_parse("export", argc, argv, set, &r, &first);
    if (rc < 0)
        rc = alqi_cli_one_operand("export", argc, argv, first, &path);
    if (rc < 0)
        rc = format_find(&r);
    if (rc < 0)
        rc = alqi_cli_input_open(path, NULL, NULL, &input);
    if (rc >= 0)
        return rc;
    rc = write_out(&r, input);
    alqi_cli_input_drop(input);
    return rc;
}
