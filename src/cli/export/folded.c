/* folded.c -- folded stacks: "outer;inner;site WEIGHT" a line
 *
 * Stacks with equal names are one line; lines are sorted, so that the output
 * of equal traces is equal.  Weights are apportioned: their sum is the total
 * of `report --json`. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/analysis/apportion.h"
#include "cli/tool/cli.h"
#include "cli/export/export.h"

struct line {
    /* of malloc: names joined by ';' */
    char *text;
    /* before it is apportioned */
    double weight;
};

struct folding {
    struct alqi_cli_export *export;
    /* of the stack that is joined; grown as needed */
    struct alqi_cli_frame *frames;
    uint32_t capacity;
};

/* Leaves each function once in a stack, at its first place. Functions are
 * compared by name alone, as the format has nothing else. */
static uint32_t
fold_names(struct alqi_cli_frame *frames, uint32_t n)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = kept;

        while (k > 0 && frames[k - 1].function != frames[i].function)
            k--;
        if (k == 0)
            frames[kept++] = frames[i];
    }
    return kept;
}

/* The line's text, to be freed. */
static char *
join(const struct folding *f, uint32_t n)
{
    const struct alqi_cli_names *names = f->export->analysis.names;
    size_t size = 2;
    char *text;
    char *end;

    for (uint32_t i = 0; i < n; i++)
        size += strlen(alqi_cli_names_text(names, f->frames[i].function)) + 1;
    text = alqi_cli_realloc(NULL, size + sizeof "[no stack]", 1);
    end = text;
    for (uint32_t i = 0; i < n; i++) {
        const char *c = alqi_cli_names_text(names, f->frames[i].function);

        if (i > 0)
            *end++ = ';';
        for (; *c != '\0'; c++)
            *end++ = *c == ';' ? ':' : *c;
    }
    *end = '\0';
    if (n == 0)
        strcpy(text, "[no stack]");
    return text;
}

/* The weight that was chosen, of one site or of the totals. */
static double
weight_of(const struct alqi_cli_export *x, const struct alqi_cli_sum *sums)
{
    const struct alqi_cli_sum *s = &sums[x->measure];

    switch (x->weight) {
    case ALQI_CLI_WEIGHT_OBJECTS:
        return s->objects;
    case ALQI_CLI_WEIGHT_SAMPLES:
        return (double)s->n_samples;
    case ALQI_CLI_WEIGHT_BYTES:
        break;
    }
    return s->bytes;
}

/* By bytes, whatever the locale: the output is the same everywhere. */
static int
compare(const void *left, const void *right)
{
    const struct line *a = left;
    const struct line *b = right;

    return strcmp(a->text, b->text);
}

/* A line for each site with a weight; returns how many. Their texts are to be
 * freed. */
static uint32_t
lines_make(struct folding *f, struct line *lines)
{
    struct alqi_cli_analysis *a = &f->export->analysis;
    uint32_t n_lines = 0;

    for (uint32_t i = 0; i < a->n_sites; i++) {
        double weight = weight_of(f->export, a->sites[i].sums);
        uint32_t n;

        if (weight <= 0)
            continue;
        n = alqi_cli_stack_frames(a, a->sites[i].node, &f->frames,
                                  &f->capacity);
        if (f->export->folds_recursion)
            n = fold_names(f->frames, n);
        lines[n_lines].text = join(f, n);
        lines[n_lines++].weight = weight;
    }
    return n_lines;
}

/* Joins equal lines, which are neighbours; returns how many are left. */
static uint32_t
lines_join(struct line *lines, uint32_t n)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (kept > 0 && strcmp(lines[kept - 1].text, lines[i].text) == 0) {
            lines[kept - 1].weight += lines[i].weight;
            free(lines[i].text);
        } else {
            lines[kept++] = lines[i];
        }
    }
    return kept;
}

/* Apportions the weights to the rounded total and writes the lines. */
static void
lines_put(const struct alqi_cli_export *x, const struct line *lines, uint32_t n,
          FILE *out)
{
    int64_t *whole = alqi_cli_apportioned(&lines[0].weight, sizeof *lines, n,
                                          weight_of(x, x->analysis.totals));

    for (uint32_t i = 0; i < n; i++)
        fprintf(out, "%s %" PRId64 "\n", lines[i].text, whole[i]);
    free(whole);
}

/* Sorts before joining: equal lines are neighbours then. */
void
alqi_cli_export_folded(struct alqi_cli_export *export, FILE *out)
{
    struct folding f = {export, NULL, 0};
    struct line *lines =
        alqi_cli_realloc(NULL, export->analysis.n_sites, sizeof *lines);
    uint32_t n = lines_make(&f, lines);

    qsort(lines, n, sizeof *lines, compare);
    n = lines_join(lines, n);
    lines_put(export, lines, n, out);
    for (uint32_t i = 0; i < n; i++)
        free(lines[i].text);
    free(lines);
    free(f.frames);
}
