/* match.c -- names of two sides, matched in two rounds
 *
 * [match.h] The first round compares names exactly, the second without what a
 * new build changes (.inv.match). In each round the names of both sides that
 * are not matched yet are sorted, and both lists are gone through together.
 * Runs of equal names match only if each is of length one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file_name.h"
#include "view/match.h"
#include "view/sort.h"

/* A name as one round compares it. */
struct entry {
    struct alqi_view_name name;
    /* bytes of the module that count */
    size_t n_module;
    /* of the name on its side */
    uint32_t number;
};

/* A name as a round compares it. In the loose round the program's own module
 * has one name, ".so" ends a module, and a file has no directory. */
static struct entry
entry_from(const struct alqi_view_name *name, const char *program,
           bool is_loose, uint32_t number)
{
    struct entry e = {*name, strlen(name->module), number};
    const char *so = strstr(name->module, ".so");

    if (!is_loose)
        return e;
    e.name.file = alqi_base_file_name(name->file);
    program = alqi_base_file_name(program);
    if (program[0] != '\0' && strcmp(name->module, program) == 0) {
        e.name.module = "[program]";
        e.n_module = strlen(e.name.module);
    } else if (so != NULL) {
        e.n_module = (size_t)(so - name->module) + 3;
    }
    return e;
}

/* Order of the lines' digits, as texts. */
static int
compare_lines(int32_t a, int32_t b)
{
    char x[16], y[16];

    if (a == b)
        return 0;
    snprintf(x, sizeof x, "%d", (int)a);
    snprintf(y, sizeof y, "%d", (int)b);
    return strcmp(x, y);
}

/* Order of two entries; 0: they match. */
static int
compare(const struct entry *a, const struct entry *b)
{
    size_t n = a->n_module < b->n_module ? a->n_module : b->n_module;
    int order = (int)a->name.is_mapping - (int)b->name.is_mapping;

    if (order == 0)
        order = strcmp(a->name.function, b->name.function);
    if (order == 0)
        order = strcmp(a->name.file, b->name.file);
    if (order == 0)
        order = memcmp(a->name.module, b->name.module, n);
    if (order == 0 && a->n_module != b->n_module)
        order = a->n_module < b->n_module ? -1 : 1;
    return order != 0 ? order : compare_lines(a->name.line, b->name.line);
}

static int
by_name(const void *left, const void *right, void *arg)
{
    (void)arg;
    return compare(left, right);
}

int
alqi_view_name_order(const struct alqi_view_name *a, const char *a_program,
                     const struct alqi_view_name *b, const char *b_program)
{
    struct entry x = entry_from(a, a_program, true, 0);
    struct entry y = entry_from(b, b_program, true, 0);

    return compare(&x, &y);
}

/* The names of one side that have no match yet, sorted; returns how many. */
static uint32_t
entries_make(const struct alqi_view_names *side, const uint32_t *match_of,
             bool is_loose, struct entry *out)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < side->n; i++)
        if (match_of[i] == ALQI_VIEW_NO_MATCH)
            out[n++] = entry_from(&side->names[i], side->program, is_loose, i);
    alqi_view_sort(out, n, sizeof *out, by_name, NULL);
    return n;
}

/* How many entries from `from` on are equal. */
static uint32_t
run_length(const struct entry *entries, uint32_t from, uint32_t n)
{
    uint32_t i = from + 1;

    while (i < n && compare(&entries[i], &entries[from]) == 0)
        i++;
    return i - from;
}

/* Matches names that stand once on each side (.inv.match). */
static void
runs_match(const struct entry *x, uint32_t n_x, const struct entry *y,
           uint32_t n_y, uint32_t *b_of, uint32_t *a_of)
{
    for (uint32_t i = 0, k = 0; i < n_x && k < n_y;) {
        int order = compare(&x[i], &y[k]);
        uint32_t run_x = run_length(x, i, n_x);
        uint32_t run_y = run_length(y, k, n_y);

        if (order == 0 && run_x == 1 && run_y == 1) {
            b_of[x[i].number] = y[k].number;
            a_of[y[k].number] = x[i].number;
        }
        i += order <= 0 ? run_x : 0;
        k += order >= 0 ? run_y : 0;
    }
}

/* The loose round sees only what the exact one has left. */
bool
alqi_view_match(const struct alqi_view_names *a,
                const struct alqi_view_names *b, uint32_t *b_of, uint32_t *a_of)
{
    struct entry *x = malloc(((size_t)a->n + 1) * sizeof *x);
    struct entry *y = malloc(((size_t)b->n + 1) * sizeof *y);
    bool is_made = x != NULL && y != NULL;

    for (uint32_t i = 0; i < a->n; i++)
        b_of[i] = ALQI_VIEW_NO_MATCH;
    for (uint32_t i = 0; i < b->n; i++)
        a_of[i] = ALQI_VIEW_NO_MATCH;
    for (int is_loose = 0; is_made && is_loose <= 1; is_loose++)
        runs_match(x, entries_make(a, b_of, is_loose, x), y,
                   entries_make(b, a_of, is_loose, y), b_of, a_of);
    free(x);
    free(y);
    return is_made;
}
