/* stacks.c -- frames and stacks as other tools count them
 *
 * Phases: each site's frames are numbered (frame_add) and become a path; a trie
 * of the paths tells equal stacks apart; sums of sites with one stack are
 * joined. Then functions are made: frames that differ in the line alone.
 * Nothing changes after alqi_cli_export_stacks_make(). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/analysis/apportion.h"
#include "cli/tool/cli.h"
#include "cli/export/stacks.h"
#include "wire/code.h"

/* The number of a frame, which is new or known: its key is its names, its line
 * and its module. */
static uint32_t
frame_add(struct alqi_cli_export_stacks *s, const struct alqi_cli_frame *f,
          uint64_t code)
{
    const uint32_t key[] = {f->function, f->file, (uint32_t)f->line, f->module};
    uint32_t frame = alqi_cli_intern(&s->frame_keys, key);

    if (frame == s->n_frames) {
        s->frames = alqi_cli_grow(s->frames, s->n_frames, sizeof *s->frames);
        s->frames[s->n_frames++] = (struct alqi_cli_export_frame){*f, code};
    }
    return frame;
}

/* Frame numbers + 1 of one stack, outermost first. */
struct path {
    uint64_t *numbers;
    uint32_t n, capacity;
};

static void
path_add(struct path *p, uint32_t frame)
{
    if (p->n == p->capacity) {
        p->capacity = p->capacity == 0 ? 64 : 2 * p->capacity;
        p->numbers =
            alqi_cli_realloc(p->numbers, p->capacity, sizeof *p->numbers);
    }
    p->numbers[p->n++] = frame + 1;
}

static void
path_turn_around(struct path *p)
{
    for (uint32_t i = 0; i < p->n / 2; i++) {
        uint64_t swap = p->numbers[i];

        p->numbers[i] = p->numbers[p->n - 1 - i];
        p->numbers[p->n - 1 - i] = swap;
    }
}

/* The path of a node; never empty. Nodes and the frames within one location are
 * walked from the inside outwards, so the path is turned at the end. */
static void
path_of(struct alqi_cli_export_stacks *s, struct alqi_cli_analysis *a,
        uint32_t node, struct path *p)
{
    p->n = 0;
    for (; node != 0; node = a->stacks.nodes[node].parent) {
        uint64_t code = a->stacks.nodes[node].code;
        uint32_t k;
        const struct alqi_cli_frame *x =
            alqi_cli_names_frames(a->names, a->reader, code, &k);

        while (k-- > 0)
            path_add(p, frame_add(s, &x[k], code));
    }
    if (p->n == 0) {
        struct alqi_cli_frame none = {
            .function = alqi_cli_names_intern(a->names, "[no stack]")};

        none.module = none.function;
        path_add(p, frame_add(s, &none, 0));
    }
    path_turn_around(p);
}

/* ---- functions ------------------------------------------------------- */

/* By the names that make a function. */
static int
compare_functions(const void *left, const void *right, void *arg)
{
    const struct alqi_cli_export_frame *frames = arg;
    const struct alqi_cli_frame *a = &frames[*(const uint32_t *)left].frame;
    const struct alqi_cli_frame *b = &frames[*(const uint32_t *)right].frame;

    if (a->function != b->function)
        return a->function < b->function ? -1 : 1;
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    return a->module < b->module ? -1 : a->module > b->module;
}

/* By function, then by number: a function's first frame is the first that was
 * seen. */
static int
compare_frames(const void *left, const void *right, void *arg)
{
    uint32_t a = *(const uint32_t *)left;
    uint32_t b = *(const uint32_t *)right;
    int c = compare_functions(left, right, arg);

    return c != 0 ? c : a < b ? -1 : a > b;
}

/* Numbers the functions in the order of their names' numbers. */
static void
functions_make(struct alqi_cli_export_stacks *s)
{
    uint32_t n = s->n_frames;
    uint32_t *order = alqi_cli_realloc(NULL, n, sizeof *order);

    s->function_of_frame =
        alqi_cli_realloc(NULL, n, sizeof *s->function_of_frame);
    s->frame_of_function =
        alqi_cli_realloc(NULL, n, sizeof *s->frame_of_function);
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    qsort_r(order, n, sizeof *order, compare_frames, s->frames);
    for (uint32_t i = 0; i < n; i++) {
        if (i == 0 ||
            compare_functions(&order[i - 1], &order[i], s->frames) != 0)
            s->frame_of_function[s->n_functions++] = order[i];
        s->function_of_frame[order[i]] = s->n_functions - 1;
    }
    free(order);
}

/* One more than the largest number of a name, for tables by name. */
static void
texts_count(struct alqi_cli_export_stacks *s)
{
    s->n_texts = 1;
    for (uint32_t i = 0; i < s->n_frames; i++) {
        const struct alqi_cli_frame *f = &s->frames[i].frame;
        const uint32_t texts[] = {f->function, f->file, f->module};

        for (int k = 0; k < 3; k++)
            if (texts[k] >= s->n_texts)
                s->n_texts = texts[k] + 1;
    }
}

/* ---- stacks ---------------------------------------------------------- */

/* The number of the stack that ends at that node, made if it is new. */
static uint32_t
stack_of(struct alqi_cli_export_stacks *s, uint32_t node)
{
    uint32_t stack = alqi_cli_intern(&s->stack_keys, &node);

    if (stack == s->n_stacks)
        s->stacks[s->n_stacks++] = (struct alqi_cli_export_stack){.node = node};
    return stack;
}

/* Sites are taken in the analysis's order, which numbers frames and stacks
 * (.inv.number). */
void
alqi_cli_export_stacks_make(struct alqi_cli_export_stacks *s,
                            struct alqi_cli_analysis *a)
{
    struct path path = {NULL, 0, 0};

    memset(s, 0, sizeof *s);
    s->frame_keys.n_words = 4;
    s->stack_keys.n_words = 1;
    alqi_cli_stacks_init(&s->trie);
    s->stacks = alqi_cli_realloc(NULL, a->n_sites, sizeof *s->stacks);
    s->stack_of_site =
        alqi_cli_realloc(NULL, a->n_sites, sizeof *s->stack_of_site);
    for (uint32_t i = 0; i < a->n_sites; i++) {
        uint32_t stack;

        path_of(s, a, a->sites[i].node, &path);
        if (path.n > s->deepest)
            s->deepest = path.n;
        stack =
            stack_of(s, alqi_cli_stacks_add(&s->trie, path.numbers, path.n));
        s->stack_of_site[i] = stack;
        for (int m = 0; m < ALQI_CLI_N_MEASURES; m++)
            alqi_cli_sum_join(&s->stacks[stack].sums[m], &a->sites[i].sums[m]);
    }
    functions_make(s);
    texts_count(s);
    free(path.numbers);
}

void
alqi_cli_export_stacks_free(struct alqi_cli_export_stacks *s)
{
    free(s->frames);
    alqi_base_intern_clear(&s->frame_keys);
    alqi_base_intern_clear(&s->stack_keys);
    free(s->function_of_frame);
    free(s->frame_of_function);
    alqi_cli_stacks_free(&s->trie);
    free(s->stacks);
    free(s->stack_of_site);
}

uint32_t
alqi_cli_export_stack_frames(const struct alqi_cli_export_stacks *s,
                             uint32_t stack, uint32_t *frames)
{
    uint32_t node = s->stacks[stack].node;
    uint32_t n = s->trie.nodes[node].depth;

    for (uint32_t i = n; i-- > 0; node = s->trie.nodes[node].parent)
        frames[i] = (uint32_t)s->trie.nodes[node].code - 1;
    return n;
}

/* The form of Valgrind's tools: address, name, place. */
void
alqi_cli_export_frame_text(char *out, size_t capacity,
                           const struct alqi_cli_names *names,
                           const struct alqi_cli_export_frame *frame)
{
    const struct alqi_cli_frame *f = &frame->frame;
    const char *function = alqi_cli_names_text(names, f->function);
    uint64_t address = alqi_code_address(frame->code);

    if (f->file != ALQI_CLI_NO_NAME && f->line > 0)
        snprintf(out, capacity, "0x%" PRIX64 ": %s (%s:%d)", address, function,
                 alqi_cli_names_text(names, f->file), f->line);
    else
        snprintf(out, capacity, "0x%" PRIX64 ": %s (in %s)", address, function,
                 alqi_cli_names_text(
                     names, f->file != ALQI_CLI_NO_NAME ? f->file : f->module));
}

/* ---- integers -------------------------------------------------------- */

int64_t *
alqi_cli_export_stack_column(const struct alqi_cli_export_stacks *s,
                             const struct alqi_cli_analysis *a,
                             enum alqi_cli_measure measure, size_t field)
{
    double total;

    memcpy(&total, (const char *)&a->totals[measure] + field, sizeof total);
    return alqi_cli_apportioned(
        (const double *)((const char *)&s->stacks[0].sums[measure] + field),
        sizeof *s->stacks, s->n_stacks, total);
}
