/* callgrind.c -- Callgrind's profile format, for kcachegrind
 *
 * The cost of a stack is the self cost of its innermost function, and of each
 * call that leads to a function for the first time, from the outermost on.  So
 * every call is one that really was there, and the calls to a function sum to
 * the cost of the stacks that it is in, counted once also where it recurses:
 * that sum is what readers of the format take for its inclusive cost.  Calls
 * to a function that is active already stand there with no cost.  A function
 * "[root]" calls the outermost ones, lest one that recurses be called by
 * nothing but such calls. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/intern.h"
#include "cli/tool/cli.h"
#include "cli/export/export.h"
#include "cli/export/stacks.h"

enum {
    ALLOC_BYTES,
    ALLOC_BLOCKS,
    LIVE_BYTES,
    LIVE_BLOCKS,
    PEAK_BYTES,
    N_EVENTS,
    NONE = UINT32_MAX
};

/* What each event counts: a field of a measure's sums. */
static const struct {
    enum alqi_cli_measure measure;
    size_t field;
} events[N_EVENTS] = {
    [ALLOC_BYTES] = {ALQI_CLI_ALLOCATED, ALQI_CLI_FIELD(bytes)},
    [ALLOC_BLOCKS] = {ALQI_CLI_ALLOCATED, ALQI_CLI_FIELD(objects)},
    [LIVE_BYTES] = {ALQI_CLI_LIVE, ALQI_CLI_FIELD(bytes)},
    [LIVE_BLOCKS] = {ALQI_CLI_LIVE, ALQI_CLI_FIELD(objects)},
    [PEAK_BYTES] = {ALQI_CLI_PEAK, ALQI_CLI_FIELD(bytes)},
};

/* Readers end the header at the line "events". */
static const char events_lines[] =
    "event: AllocBytes : Bytes allocated\n"
    "event: AllocBlocks : Blocks allocated\n"
    "event: LiveBytes : Bytes live at the end\n"
    "event: LiveBlocks : Blocks live at the end\n"
    "event: PeakBytes : Bytes live at the peak\n"
    "events: AllocBytes AllocBlocks LiveBytes LiveBlocks PeakBytes\n";

/* A line of a function, or a call that it makes there. */
struct arc {
    uint32_t caller, callee; /* functions; callee NONE: self cost */
    /* where the caller stands; 0: not known */
    int32_t line;
    int64_t cost[N_EVENTS];
};

/* The call graph while it is made: one arc for each line and call, found by
 * hash. */
struct graph {
    const struct alqi_cli_export *export;
    struct alqi_cli_export_stacks stacks;
    int64_t *costs[N_EVENTS];         /* by stack */
    struct alqi_base_intern arc_keys; /* caller, callee, line */
    /* in the order of their making, then sorted */
    struct arc *arcs;
    uint32_t n_arcs;
};

/* ---- arcs ------------------------------------------------------------- */

/* Adds the stack's cost to the arc of caller, callee and line, or only makes
 * sure that the arc exists. */
static void
arc_enter(struct graph *g, uint32_t caller, uint32_t callee, int32_t line,
          uint32_t stack, bool has_cost)
{
    const uint32_t key[] = {caller, callee, (uint32_t)line};
    uint32_t i = alqi_cli_intern(&g->arc_keys, key);

    if (i == g->n_arcs) {
        g->arcs = alqi_cli_grow(g->arcs, i, sizeof *g->arcs);
        g->arcs[g->n_arcs++] = (struct arc){caller, callee, line, {0}};
    }
    for (int e = 0; e < N_EVENTS && has_cost; e++)
        g->arcs[i].cost[e] += g->costs[e][stack];
}

/* seen[function]: the last stack, plus one, that it was found in. */
static void
stack_enter(struct graph *g, uint32_t stack, uint32_t *frames, uint32_t *seen)
{
    uint32_t n = alqi_cli_export_stack_frames(&g->stacks, stack, frames);
    uint32_t caller = g->stacks.n_functions; /* the root */
    int32_t line = 0;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t function = g->stacks.function_of_frame[frames[i]];

        arc_enter(g, caller, function, line, stack,
                  seen[function] != stack + 1);
        seen[function] = stack + 1;
        caller = function;
        line = g->stacks.frames[frames[i]].frame.line;
    }
    arc_enter(g, caller, NONE, line, stack, true);
}

/* By caller, its self cost before its calls, then by line: the order of the
 * file. */
static int
compare_arcs(const void *left, const void *right)
{
    const struct arc *a = left;
    const struct arc *b = right;

    if (a->caller != b->caller)
        return a->caller < b->caller ? -1 : 1;
    if ((a->callee == NONE) != (b->callee == NONE))
        return a->callee == NONE ? -1 : 1;
    if (a->line != b->line)
        return a->line < b->line ? -1 : 1;
    return a->callee < b->callee ? -1 : a->callee > b->callee;
}

/* Enters each stack, then sorts. */
static void
arcs_make(struct graph *g)
{
    uint32_t *frames =
        alqi_cli_realloc(NULL, g->stacks.deepest, sizeof *frames);
    uint32_t *seen = alqi_cli_zeros(g->stacks.n_functions, sizeof *seen);

    g->arc_keys.n_words = 3;
    for (uint32_t i = 0; i < g->stacks.n_stacks; i++)
        stack_enter(g, i, frames, seen);
    qsort(g->arcs, g->n_arcs, sizeof *g->arcs, compare_arcs);
    free(frames);
    free(seen);
}

/* ---- writing ---------------------------------------------------------- */

/* Each kind of name is numbered for itself. */
struct writer {
    const struct graph *graph;
    FILE *out;
    bool *is_object_known, *is_file_known; /* by number of the text */
    /* by function; the last is the root's */
    bool *is_function_known;
};

/* All names are unknown at first. */
static void
writer_make(struct writer *w, const struct graph *g, FILE *out)
{
    uint32_t n_texts = g->stacks.n_texts;

    w->graph = g;
    w->out = out;
    w->is_object_known = alqi_cli_zeros(n_texts, sizeof(bool));
    w->is_file_known = alqi_cli_zeros(n_texts, sizeof(bool));
    w->is_function_known =
        alqi_cli_zeros(g->stacks.n_functions + 1, sizeof(bool));
}

static void
writer_free(struct writer *w)
{
    free(w->is_object_known);
    free(w->is_file_known);
    free(w->is_function_known);
}

/* A name stands once, with the number that stands for it from then on. */
static void
name_put(const struct writer *w, const char *key, bool *is_known,
         uint32_t number, const char *text)
{
    bool is_blank = text[strspn(text, " ")] == '\0';

    fprintf(w->out, "%s=(%" PRIu32 ")", key, number + 1);
    if (!*is_known)
        fprintf(w->out, " %s", is_blank ? "???" : text);
    *is_known = true;
    fputc('\n', w->out);
}

/* The object, file and name of a function; the keys differ for a callee. */
static void
function_put(const struct writer *w, bool is_callee, uint32_t function)
{
    const struct graph *g = w->graph;
    const struct alqi_cli_names *names = g->export->analysis.names;
    bool is_root = function == g->stacks.n_functions;
    struct alqi_cli_frame root = {0};
    uint32_t file;
    const struct alqi_cli_frame *f =
        is_root
            ? &root
            : &g->stacks.frames[g->stacks.frame_of_function[function]].frame;

    file = alqi_cli_export_source(f);
    name_put(w, is_callee ? "cob" : "ob", &w->is_object_known[f->module],
             f->module, alqi_cli_names_text(names, f->module));
    name_put(w, is_callee ? "cfi" : "fl", &w->is_file_known[file], file,
             alqi_cli_names_text(names, file));
    name_put(w, is_callee ? "cfn" : "fn", &w->is_function_known[function],
             function,
             is_root ? "[root]" : alqi_cli_names_text(names, f->function));
}

static void
costs_put(const struct writer *w, const int64_t *cost)
{
    for (int e = 0; e < N_EVENTS; e++)
        fprintf(w->out, " %" PRId64, cost[e]);
    fputc('\n', w->out);
}

/* A call has a line of its own, then both kinds have a line of costs. Readers
 * want at least one call. */
static void
arc_put(const struct writer *w, const struct arc *arc)
{
    if (arc->callee != NONE) {
        function_put(w, true, arc->callee);
        fprintf(w->out, "calls=%" PRId64 " 0\n",
                arc->cost[ALLOC_BLOCKS] > 0 ? arc->cost[ALLOC_BLOCKS] : 1);
    }
    fprintf(w->out, "%d", arc->line > 0 ? arc->line : 0);
    costs_put(w, arc->cost);
}

/* Writes the arcs of each caller under its name. The totals are sums over the
 * stacks, not over arcs, which count a cost in each caller. */
static void
graph_put(const struct graph *g, FILE *out)
{
    struct writer w;
    int64_t totals[N_EVENTS] = {0};

    writer_make(&w, g, out);
    for (uint32_t i = 0; i < g->n_arcs; i++) {
        if (i == 0 || g->arcs[i].caller != g->arcs[i - 1].caller) {
            fputc('\n', out);
            function_put(&w, false, g->arcs[i].caller);
        }
        arc_put(&w, &g->arcs[i]);
    }
    for (uint32_t i = 0; i < g->stacks.n_stacks; i++)
        for (int e = 0; e < N_EVENTS; e++)
            totals[e] += g->costs[e][i];
    fputs("\ntotals:", out);
    costs_put(&w, totals);
    writer_free(&w);
}

/* The lines before the first function. */
static void
head_put(const struct alqi_cli_export *x, FILE *out)
{
    fprintf(out,
            "# callgrind format\nversion: 1\ncreator: aliquot " ALQI_VERSION
            "\npid: %" PRIu64 "\ncmd: %s\npart: 1\npositions: line\n%s",
            x->analysis.info->pid, x->program, events_lines);
}

/* All five costs are apportioned by stack before the graph is made: each then
 * sums up to its total. */
void
alqi_cli_export_callgrind(struct alqi_cli_export *x, FILE *out)
{
    struct graph g;

    memset(&g, 0, sizeof g);
    g.export = x;
    alqi_cli_export_stacks_make(&g.stacks, &x->analysis);
    for (int e = 0; e < N_EVENTS; e++)
        g.costs[e] = alqi_cli_export_stack_column(
            &g.stacks, &x->analysis, events[e].measure, events[e].field);
    arcs_make(&g);
    head_put(x, out);
    graph_put(&g, out);
    for (int e = 0; e < N_EVENTS; e++)
        free(g.costs[e]);
    free(g.arcs);
    alqi_base_intern_clear(&g.arc_keys);
    alqi_cli_export_stacks_free(&g.stacks);
}
