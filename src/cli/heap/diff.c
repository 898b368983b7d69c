/* diff.c -- aliquot heap A B: what a heap has more in its second snapshot
 *                                               [doc/design/heap-snapshot]
 *
 * Blocks move, so none is met again: kinds are compared by name, and groups
 * (groups.h) by the names on their way.  A's graph is gone before B's is made.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/heap/groups.h"
#include "cli/heap/print.h"
#include "cli/report/draw.h"
#include "cli/tool/cli.h"
#include "cli/tool/text.h"

enum { WORD_BYTES = 8, CHANGE = 12, SIZE = 10, BLOCKS = 10, STEP = 2 };
enum { USED = CHANGE + 2 * SIZE + BLOCKS + 2 };

/* A kind, or a group, in both. */
struct both {
    uint32_t name, parent;
    struct alqi_cli_heap_sums sides[2];
};

struct diff {
    struct alqi_cli_heap_run *run;
    struct alqi_cli_names *names;
    struct both *groups; /* parents first; [0] is the heap */
    uint32_t n_groups;
    struct both *kinds;
    uint32_t n_kinds;
    struct alqi_base_map map; /* parent << 32 | name; kinds: below NO_PARENT */
    uint64_t wall_us[2];      /* of the sides, since 1970; 0: unknown */
    bool is_damaged;
};

static const double US_A_MINUTE = 60e6;

#define NO_PARENT UINT32_MAX

/* The one of that name; made if need be. */
static struct both *
both_at(struct diff *d, struct both **all, uint32_t *n, uint32_t parent,
        uint32_t name, uint32_t *index)
{
    bool is_new;
    uint64_t *at =
        alqi_cli_map_at(&d->map, (uint64_t)parent << 32 | name, &is_new);

    if (is_new) {
        *at = *n;
        *all = alqi_cli_grow(*all, *n, sizeof **all);
        (*all)[*n] = (struct both){.name = name, .parent = parent};
        ++*n;
    }
    *index = (uint32_t)*at;
    return &(*all)[*at];
}

static void
kinds_take(struct diff *d, struct alqi_cli_heap_snapshot *s, int side)
{
    uint32_t index;

    for (uint32_t i = 0; i < s->n_kinds; i++) {
        uint32_t name;
        struct both *b;

        if (s->kinds[i].held.n_blocks == 0)
            continue;
        name = alqi_cli_names_intern(d->names, alqi_cli_heap_kind_name(s, i));
        b = both_at(d, &d->kinds, &d->n_kinds, NO_PARENT, name, &index);
        b->sides[side].n_blocks += s->kinds[i].held.n_blocks;
        b->sides[side].words += s->kinds[i].held.words;
    }
}

static void
groups_take(struct diff *d, struct alqi_cli_heap_snapshot *s, int side)
{
    struct alqi_cli_heap_groups g;
    uint32_t *to;

    alqi_cli_heap_groups_make(&g, s, d->names, d->run->depth);
    to = alqi_cli_zeros(g.n, sizeof *to);
    d->groups[0].sides[side] = g.groups[0].all;
    for (uint32_t i = 1; i < g.n; i++)
        both_at(d, &d->groups, &d->n_groups, to[g.groups[i].parent],
                g.groups[i].name, &to[i])
            ->sides[side] = g.groups[i].all;
    free(to);
    alqi_cli_heap_groups_free(&g);
}

/* -1, or the exit status. */
static int
side_read(struct diff *d, const char *path, int side)
{
    struct alqi_cli_heap_snapshot *s = &d->run->snapshot;
    int rc = alqi_cli_heap_open(s, path, false);

    if (rc < 0) {
        alqi_cli_heap_solve(s);
        d->wall_us[side] = s->wall_us;
        d->is_damaged |= s->damage != NULL;
        kinds_take(d, s, side);
        groups_take(d, s, side);
        if (!d->run->is_json)
            fprintf(d->run->term.out, "%c: %s, process %" PRIu64 ", %s\n",
                    "AB"[side], alqi_cli_shown(path).text, s->pid,
                    alqi_cli_text_time(s->wall_us).text);
        if (!d->run->is_json)
            alqi_cli_heap_cut_say(&d->run->term, s);
    }
    alqi_cli_heap_close(s);
    return rc;
}

/* ---- order --------------------------------------------------------------- */

static int64_t
change(const struct both *b)
{
    return (int64_t)(b->sides[1].words - b->sides[0].words) * WORD_BYTES;
}

/* By parent, then by how much changed; of equal ones, by name. */
static int
both_compare(const void *a, const void *b)
{
    const struct both *x = *(struct both *const *)a;
    const struct both *y = *(struct both *const *)b;
    int64_t m = llabs(change(x)), n = llabs(change(y));

    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    if (m != n)
        return m > n ? -1 : 1;
    return (x->name > y->name) - (x->name < y->name);
}

/* Pointers to all in that order; to be freed. */
static struct both **
both_sorted(struct both *all, uint32_t n)
{
    struct both **sorted = alqi_cli_zeros(n + 1, sizeof(struct both *));

    for (uint32_t i = 0; i < n; i++)
        sorted[i] = &all[i];
    if (n > 0)
        qsort(sorted, n, sizeof(struct both *), both_compare);
    return sorted;
}

/* The first of those below the parent. */
static uint32_t
first_below(struct both **sorted, uint32_t n, uint32_t parent)
{
    uint32_t low = 0, high = n;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (sorted[middle]->parent < parent)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* From A to B; 0: B is not later, or the moments are unknown. */
static double
duration_us(const struct diff *d)
{
    if (d->wall_us[0] == 0 || d->wall_us[1] <= d->wall_us[0])
        return 0;
    return (double)(d->wall_us[1] - d->wall_us[0]);
}

/* ---- text ---------------------------------------------------------------- */

/* How fast it grows, where it does. */
static void
rate_print(const struct diff *d)
{
    double us = duration_us(d), more = (double)change(&d->groups[0]);

    if (us > 0 && more > 0)
        fprintf(d->run->term.out, "B is %s later: held blocks grow by %s\n",
                alqi_cli_text_duration(us).text,
                alqi_cli_text_growth(more / us * US_A_MINUTE, -1).text);
}

static void
both_print(struct diff *d, const struct both *b, const char *name, int indent)
{
    const struct alqi_cli_term *t = &d->run->term;
    int64_t more = change(b);
    int64_t blocks = (int64_t)(b->sides[1].n_blocks - b->sides[0].n_blocks);
    char text[64];

    snprintf(text, sizeof text, "%c%s", more < 0 ? '-' : '+',
             alqi_cli_text_bytes((double)llabs(more)).text);
    alqi_cli_draw_cell(t, more > 0 ? ALQI_CLI_WARM : ALQI_CLI_PLAIN, text,
                       CHANGE);
    for (int side = 0; side < 2; side++)
        alqi_cli_draw_right(
            t,
            alqi_cli_text_bytes((double)b->sides[side].words * WORD_BYTES).text,
            SIZE);
    snprintf(text, sizeof text, "%c%s", blocks < 0 ? '-' : '+',
             alqi_cli_text_count((double)llabs(blocks)).text);
    alqi_cli_draw_right(t, text, BLOCKS);
    fprintf(t->out, "  %*s", indent, "");
    alqi_cli_heap_rest(t, indent == 0 ? ALQI_CLI_BOLD : ALQI_CLI_PLAIN,
                       USED + indent, name);
}

static void
heads(const struct diff *d, const char *last)
{
    const struct alqi_cli_term *t = &d->run->term;

    fputs(alqi_cli_style(t, ALQI_CLI_DIM), t->out);
    alqi_cli_draw_right(t, "change", CHANGE);
    alqi_cli_draw_right(t, "A", SIZE);
    alqi_cli_draw_right(t, "B", SIZE);
    alqi_cli_draw_right(t, "blocks", BLOCKS);
    fprintf(t->out, "  %s%s\n", last, alqi_cli_style(t, ALQI_CLI_PLAIN));
}

/* Those below the parent, each with what is below it. */
static void
below_print(struct diff *d, struct both **sorted, uint32_t n, uint32_t parent,
            int indent)
{
    uint64_t n_shown = 0, n_more = 0;

    for (uint32_t i = first_below(sorted, n, parent);
         i < n && sorted[i]->parent == parent; i++) {
        if (sorted[i] == d->groups || change(sorted[i]) == 0)
            continue;
        if (d->run->top != 0 && n_shown == d->run->top) {
            n_more++;
            continue;
        }
        n_shown++;
        both_print(d, sorted[i], alqi_cli_names_text(d->names, sorted[i]->name),
                   indent);
        if (parent != NO_PARENT)
            below_print(d, sorted, n, (uint32_t)(sorted[i] - d->groups),
                        indent + STEP);
    }
    if (n_more > 0)
        fprintf(d->run->term.out, "%*s%" PRIu64 " more (--top=0 shows all)\n",
                USED + indent, "", n_more);
}

static void
diff_print(struct diff *d)
{
    struct both **groups = both_sorted(d->groups, d->n_groups);
    struct both **kinds = both_sorted(d->kinds, d->n_kinds);
    FILE *out = d->run->term.out;

    rate_print(d);
    fputc('\n', out);
    heads(d, "");
    both_print(d, &d->groups[0], "all held blocks", 0);
    fputc('\n', out);
    alqi_cli_heap_title(&d->run->term, "HOLDERS",
                        "whose bytes changed, with what goes with them");
    heads(d, "root, then kinds");
    below_print(d, groups, d->n_groups, 0, 0);
    fputc('\n', out);
    alqi_cli_heap_title(&d->run->term, "KINDS", "whose bytes changed");
    heads(d, "kind");
    below_print(d, kinds, d->n_kinds, NO_PARENT, 0);
    free(groups);
    free(kinds);
}

/* ---- JSON ---------------------------------------------------------------- */

static json_t *
both_json(const struct diff *d, const struct both *b)
{
    json_t *to = json_object();

    alqi_cli_json_set(to, "name",
                      json_string(alqi_cli_names_text(d->names, b->name)));
    alqi_cli_json_set(to, "change_bytes", json_integer(change(b)));
    alqi_cli_json_count(to, "a_bytes", b->sides[0].words * WORD_BYTES);
    alqi_cli_json_count(to, "b_bytes", b->sides[1].words * WORD_BYTES);
    alqi_cli_json_count(to, "a_blocks", b->sides[0].n_blocks);
    alqi_cli_json_count(to, "b_blocks", b->sides[1].n_blocks);
    return to;
}

static json_t *
below_json(const struct diff *d, struct both **sorted, uint32_t n,
           uint32_t parent)
{
    json_t *to = json_array();

    for (uint32_t i = first_below(sorted, n, parent);
         i < n && sorted[i]->parent == parent; i++) {
        json_t *one;

        if (sorted[i] == d->groups)
            continue;
        one = both_json(d, sorted[i]);
        if (parent != NO_PARENT)
            alqi_cli_json_set(
                one, "below",
                below_json(d, sorted, n, (uint32_t)(sorted[i] - d->groups)));
        json_array_append_new(to, one);
    }
    return to;
}

static void
diff_json(struct diff *d)
{
    struct both **groups = both_sorted(d->groups, d->n_groups);
    struct both **kinds = both_sorted(d->kinds, d->n_kinds);
    json_t *to = json_object();

    alqi_cli_json_put_whole(to, "duration_us", duration_us(d));
    alqi_cli_json_set(to, "all", both_json(d, &d->groups[0]));
    alqi_cli_json_set(to, "groups", below_json(d, groups, d->n_groups, 0));
    alqi_cli_json_set(to, "kinds", below_json(d, kinds, d->n_kinds, NO_PARENT));
    alqi_cli_heap_json_end(d->run, to);
    free(groups);
    free(kinds);
}

int
alqi_cli_heap_diff(struct alqi_cli_heap_run *run, const char *a, const char *b)
{
    struct diff d = {.run = run, .names = alqi_cli_names_new()};
    int rc;

    d.groups = alqi_cli_grow(NULL, 0, sizeof *d.groups);
    d.groups[0] = (struct both){0};
    d.n_groups = 1;
    rc = side_read(&d, a, 0);
    if (rc < 0)
        rc = side_read(&d, b, 1);
    if (rc < 0) {
        if (run->is_json)
            diff_json(&d);
        else
            diff_print(&d);
        rc = d.is_damaged ? ALQI_CLI_UNREADABLE : ALQI_CLI_OK;
    }
    alqi_base_map_clear(&d.map);
    alqi_cli_names_drop(d.names);
    free(d.groups);
    free(d.kinds);
    return rc;
}
