/* speedscope.c -- speedscope's file format: five profiles in one file
 *
 * Of the sampled kind: a stack of frame numbers and its weight.  Stacks of
 * weight 0 are left out. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/base.h"
#include "cli/tool/cli.h"
#include "cli/export/export.h"
#include "cli/tool/json.h"
#include "cli/export/stacks.h"

struct profile {
    const char *name;
    enum alqi_cli_measure measure;
    size_t field; /* of its sums */
    const char *unit;
};

/* In the file's order; first_shown() finds the one of the measure. */
static const struct profile profiles[] = {
    {"allocated bytes", ALQI_CLI_ALLOCATED, ALQI_CLI_FIELD(bytes), "bytes"},
    {"allocated blocks", ALQI_CLI_ALLOCATED, ALQI_CLI_FIELD(objects), "none"},
    {"live at end", ALQI_CLI_LIVE, ALQI_CLI_FIELD(bytes), "bytes"},
    {"live at peak", ALQI_CLI_PEAK, ALQI_CLI_FIELD(bytes), "bytes"},
    {"temporary", ALQI_CLI_TEMPORARY, ALQI_CLI_FIELD(bytes), "bytes"},
};

/* The shared table of frames, in their numbers' order. */
static void
frames_put(const struct alqi_cli_export *x,
           const struct alqi_cli_export_stacks *s, FILE *out)
{
    const struct alqi_cli_names *names = x->analysis.names;

    for (uint32_t i = 0; i < s->n_frames; i++) {
        const struct alqi_cli_frame *f = &s->frames[i].frame;

        fprintf(out, "%s{\"name\":", i > 0 ? ",\n" : "");
        alqi_cli_json_text(out, alqi_cli_names_text(names, f->function));
        fputs(",\"file\":", out);
        alqi_cli_json_text(
            out, alqi_cli_names_text(
                     names, f->file != ALQI_CLI_NO_NAME ? f->file : f->module));
        if (f->line > 0)
            fprintf(out, ",\"line\":%d", f->line);
        fputc('}', out);
    }
}

/* A list of frame numbers, outermost first, for each stack with a weight.
 * profile_put() writes the weights in the same order. */
static void
samples_put(const struct alqi_cli_export_stacks *s, const int64_t *weights,
            FILE *out)
{
    uint32_t *frames = alqi_cli_realloc(NULL, s->deepest, sizeof *frames);
    uint64_t n_put = 0;

    for (uint32_t i = 0; i < s->n_stacks; i++) {
        uint32_t n;

        if (weights[i] == 0)
            continue;
        n = alqi_cli_export_stack_frames(s, i, frames);
        alqi_cli_json_next(out, &n_put);
        for (uint32_t k = 0; k < n; k++)
            fprintf(out, "%c%" PRIu32, k == 0 ? '[' : ',', frames[k]);
        fputc(']', out);
    }
    free(frames);
}

/* One profile; samples and weights leave out the same stacks. */
static void
profile_put(const struct alqi_cli_export *x,
            const struct alqi_cli_export_stacks *s, const struct profile *p,
            FILE *out)
{
    int64_t *weights =
        alqi_cli_export_stack_column(s, &x->analysis, p->measure, p->field);
    uint64_t n_put = 0;
    int64_t sum = 0;

    fprintf(out,
            "{\"type\":\"sampled\",\"name\":\"%s\",\"unit\":\"%s\","
            "\"samples\":[",
            p->name, p->unit);
    samples_put(s, weights, out);
    fputs("],\n\"weights\":[", out);
    for (uint32_t i = 0; i < s->n_stacks; i++) {
        if (weights[i] == 0)
            continue;
        alqi_cli_json_next(out, &n_put);
        fprintf(out, "%" PRId64, weights[i]);
        sum += weights[i];
    }
    fprintf(out, "],\"startValue\":0,\"endValue\":%" PRId64 "}", sum);
    free(weights);
}

/* The profile to show first. */
static unsigned
first_shown(const struct alqi_cli_export *x)
{
    unsigned i = 0;

    while (profiles[i].measure != x->measure)
        i++;
    return i;
}

/* Frames are shared by all profiles and stand before them. */
void
alqi_cli_export_speedscope(struct alqi_cli_export *x, FILE *out)
{
    struct alqi_cli_export_stacks stacks;

    alqi_cli_export_stacks_make(&stacks, &x->analysis);
    fputs("{\"$schema\":"
          "\"https://www.speedscope.app/file-format-schema.json\",\n\"name\":",
          out);
    alqi_cli_json_text(out, x->program);
    fprintf(out,
            ",\"exporter\":\"aliquot " ALQI_VERSION "\","
            "\"activeProfileIndex\":%u,\n\"shared\":{\"frames\":[",
            first_shown(x));
    frames_put(x, &stacks, out);
    fputs("]},\n\"profiles\":[", out);
    for (size_t i = 0; i < ALQI_COUNT_OF(profiles); i++) {
        fputs(i > 0 ? ",\n" : "", out);
        profile_put(x, &stacks, &profiles[i], out);
    }
    fputs("]}\n", out);
    alqi_cli_export_stacks_free(&stacks);
}
