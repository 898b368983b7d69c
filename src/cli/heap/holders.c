/* holders.c -- aliquot heap --holders: bytes by the names of what holds them,
 * and the sites of sampled blocks               [doc/design/heap-snapshot]
 *
 * Groups' figures are exact; those of sites are estimates from samples. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/analysis/estimate.h"
#include "cli/heap/facts.h"
#include "cli/heap/groups.h"
#include "cli/heap/print.h"
#include "cli/tool/cli.h"
#include "cli/tool/text.h"
#include "view/interval.h"

#define NOTHING ALQI_CLI_HEAP_NOTHING

enum {
    USED = ALQI_CLI_HEAP_BYTES + ALQI_CLI_HEAP_BLOCKS + 2,
    STEP = 2,
    WORD_BYTES = 8,
    ERROR_BYTES = 96
};

/* The sampled blocks of one group and one site. */
struct estimate {
    uint32_t group, site;
    struct alqi_cli_sum sum;
};

struct holders {
    struct alqi_cli_heap_run *run;
    struct alqi_cli_heap_snapshot *s;
    struct alqi_cli_heap_groups groups;
    uint32_t *order;            /* groups: by parent, the most words first */
    struct estimate *estimates; /* by group, the most bytes first */
    uint32_t n_estimates;
    double least_rate;    /* samples a word */
    uint64_t least_words; /* what has less is not listed */
};

/* ---- samples ------------------------------------------------------------- */

/* Facts of all sampled blocks, by number. */
static void
samples_find(struct holders *h, struct alqi_cli_heap_facts *facts)
{
    for (uint32_t i = 0; i < h->s->n_samples; i++) {
        uint32_t number =
            alqi_cli_heap_find(&h->s->addresses, h->s->samples[i].block);

        if (number != NOTHING)
            alqi_cli_heap_facts_want_number(facts, number);
    }
    alqi_cli_heap_facts_fill(facts, h->s);
}

static void
sample_add(struct holders *h, const struct alqi_cli_heap_sample *sample,
           const struct alqi_cli_heap_fact *fact, struct alqi_base_map *map)
{
    uint32_t group = alqi_cli_heap_group_of(&h->groups, h->s, h->s->names,
                                            fact->number, fact->kind);
    double p = -expm1((double)fact->words * log1p(-sample->rate));
    struct alqi_cli_weight weight =
        alqi_cli_weight((double)fact->words * WORD_BYTES, p);
    bool is_new;
    uint64_t *at = alqi_cli_map_at(
        map, (uint64_t)group << 32 | (sample->site + 1), &is_new);

    if (is_new) {
        *at = h->n_estimates;
        h->estimates =
            alqi_cli_grow(h->estimates, h->n_estimates, sizeof *h->estimates);
        h->estimates[h->n_estimates++] =
            (struct estimate){.group = group, .site = sample->site};
    }
    alqi_cli_sum_add(&h->estimates[*at].sum, &weight, 0, sample->samples);
    if (sample->rate < h->least_rate)
        h->least_rate = sample->rate;
}

static int
estimate_compare(const void *a, const void *b)
{
    const struct estimate *x = a, *y = b;

    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->sum.bytes != y->sum.bytes)
        return x->sum.bytes > y->sum.bytes ? -1 : 1;
    return (x->site > y->site) - (x->site < y->site);
}

static void
samples_take(struct holders *h)
{
    struct alqi_cli_heap_facts facts = {0};
    struct alqi_base_map map = {0};

    samples_find(h, &facts);
    for (uint32_t i = 0; i < h->s->n_samples; i++) {
        const struct alqi_cli_heap_sample *sample = &h->s->samples[i];
        uint32_t number = alqi_cli_heap_find(&h->s->addresses, sample->block);
        struct alqi_cli_heap_fact fact;

        if (number == NOTHING ||
            alqi_cli_heap_dominator(h->s, number) == NOTHING)
            continue;
        fact = alqi_cli_heap_fact_of_number(&facts, h->s, number);
        sample_add(h, sample, &fact, &map);
    }
    if (h->n_estimates > 0)
        qsort(h->estimates, h->n_estimates, sizeof *h->estimates,
              estimate_compare);
    alqi_base_map_clear(&map);
    alqi_cli_heap_facts_free(&facts);
}

static struct alqi_view_interval
interval_of(const struct holders *h, const struct alqi_cli_sum *sum)
{
    struct alqi_view_moments m = {
        .estimate = sum->bytes,
        .variance = sum->bytes_var,
        .third = sum->bytes_third,
        .seen = sum->seen_bytes,
        .most = h->least_rate < 1 ? WORD_BYTES / h->least_rate : 0};

    return alqi_view_interval(&m);
}

/* "± 6%", of few samples "[1.2 MiB, 3.4 MiB]", of all "". */
static void
error_text(const struct holders *h, const struct alqi_cli_sum *sum, char *out,
           size_t capacity)
{
    struct alqi_view_interval i = interval_of(h, sum);

    out[0] = '\0';
    if (sum->bytes_var <= 0)
        return;
    if (alqi_view_is_few(&i))
        snprintf(out, capacity, " [%s, %s]", alqi_cli_text_bytes(i.low).text,
                 alqi_cli_text_bytes(i.high).text);
    else
        snprintf(out, capacity, " ± %s",
                 alqi_cli_text_percent(sqrt(sum->bytes_var) / sum->bytes).text);
}

static void
site_text(struct holders *h, uint32_t site, char *out, size_t capacity)
{
    if (site == NOTHING)
        snprintf(out, capacity, "unknown site");
    else
        alqi_cli_heap_site_name(h->s, site, out, capacity);
}

/* ---- order --------------------------------------------------------------- */

static const struct alqi_cli_heap_group *compared;

static int
group_compare(const void *a, const void *b)
{
    const struct alqi_cli_heap_group *x = &compared[*(const uint32_t *)a];
    const struct alqi_cli_heap_group *y = &compared[*(const uint32_t *)b];

    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    if (x->all.words != y->all.words)
        return x->all.words > y->all.words ? -1 : 1;
    return (x > y) - (x < y);
}

static void
groups_sort(struct holders *h)
{
    h->order = alqi_cli_zeros(h->groups.n, sizeof *h->order);
    for (uint32_t i = 0; i < h->groups.n; i++)
        h->order[i] = i;
    compared = h->groups.groups;
    qsort(h->order + 1, h->groups.n - 1, sizeof *h->order, group_compare);
}

/* The first place in order of a group below the parent. */
static uint32_t
first_below(const struct holders *h, uint32_t parent)
{
    uint32_t low = 1, high = h->groups.n;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (h->groups.groups[h->order[middle]].parent < parent)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool
is_below(const struct holders *h, uint32_t at, uint32_t parent)
{
    return at < h->groups.n && h->groups.groups[h->order[at]].parent == parent;
}

static uint32_t
first_estimate(const struct holders *h, uint32_t group)
{
    uint32_t low = 0, high = h->n_estimates;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (h->estimates[middle].group < group)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- output -------------------------------------------------------------- */

static void
sites_print(struct holders *h, uint32_t group, int indent)
{
    const struct alqi_cli_term *t = &h->run->term;
    char site[ALQI_CLI_HEAP_TEXT], error[ERROR_BYTES];
    char text[ALQI_CLI_HEAP_TEXT + ERROR_BYTES + 80];

    for (uint32_t i = first_estimate(h, group), n = 0;
         i < h->n_estimates && h->estimates[i].group == group; i++, n++) {
        const struct estimate *e = &h->estimates[i];

        if (h->run->top != 0 && n == h->run->top)
            break;
        site_text(h, e->site, site, sizeof site);
        error_text(h, &e->sum, error, sizeof error);
        snprintf(text, sizeof text, "%s%s of %s",
                 alqi_cli_text_bytes(e->sum.bytes).text, error, site);
        fprintf(t->out, "%*s", USED + indent, "");
        alqi_cli_heap_rest(t, ALQI_CLI_DIM, USED + indent, text);
    }
}

static void
groups_print(struct holders *h, uint32_t parent, int indent)
{
    const struct alqi_cli_term *t = &h->run->term;
    uint64_t n = 0, n_more = 0;

    for (uint32_t i = first_below(h, parent); is_below(h, i, parent); i++) {
        const struct alqi_cli_heap_group *g = &h->groups.groups[h->order[i]];

        if (h->run->top != 0 && n == h->run->top) {
            n_more++;
            continue;
        }
        n++;
        alqi_cli_heap_figures(t, g->all.words, g->all.n_blocks);
        fprintf(t->out, "  %*s", indent, "");
        alqi_cli_heap_rest(t, indent == 0 ? ALQI_CLI_BOLD : ALQI_CLI_PLAIN,
                           USED + indent,
                           alqi_cli_names_text(h->s->names, g->name));
        sites_print(h, h->order[i], indent + STEP);
        groups_print(h, h->order[i], indent + STEP);
    }
    if (n_more > 0)
        fprintf(t->out, "%*s%" PRIu64 " more (--top=0 shows all)\n",
                USED + indent, "", n_more);
}

static json_t *
sites_json(struct holders *h, uint32_t group)
{
    json_t *to = json_array();
    char site[ALQI_CLI_HEAP_TEXT];

    for (uint32_t i = first_estimate(h, group);
         i < h->n_estimates && h->estimates[i].group == group; i++) {
        const struct alqi_cli_sum *sum = &h->estimates[i].sum;
        struct alqi_view_interval interval = interval_of(h, sum);
        json_t *one = json_object();

        site_text(h, h->estimates[i].site, site, sizeof site);
        alqi_cli_json_set(one, "site", alqi_cli_json_clean(site));
        alqi_cli_json_put_whole(one, "bytes", sum->bytes);
        alqi_cli_json_put_whole(one, "bytes_low", interval.low);
        alqi_cli_json_put_whole(one, "bytes_high", interval.high);
        alqi_cli_json_count(one, "seen_blocks", sum->n_blocks);
        json_array_append_new(to, one);
    }
    return to;
}

/* Members of the object: what is below it, and how many are not listed. */
static void
groups_json(struct holders *h, uint32_t parent, const char *key, json_t *of)
{
    json_t *to = json_array();
    uint64_t n_left_out = 0;

    for (uint32_t i = first_below(h, parent); is_below(h, i, parent); i++) {
        const struct alqi_cli_heap_group *g = &h->groups.groups[h->order[i]];
        json_t *one;

        if (g->all.words < h->least_words) {
            n_left_out++;
            continue;
        }
        one = json_object();
        alqi_cli_json_set(
            one, "name",
            json_string(alqi_cli_names_text(h->s->names, g->name)));
        alqi_cli_json_count(one, "bytes", g->all.words * WORD_BYTES);
        alqi_cli_json_count(one, "blocks", g->all.n_blocks);
        alqi_cli_json_count(one, "own_bytes", g->own.words * WORD_BYTES);
        alqi_cli_json_count(one, "own_blocks", g->own.n_blocks);
        alqi_cli_json_set(one, "sites", sites_json(h, h->order[i]));
        groups_json(h, h->order[i], "below", one);
        json_array_append_new(to, one);
    }
    alqi_cli_json_set(of, key, to);
    alqi_cli_json_count(of, "left_out", n_left_out);
}

static void
holders_show(struct holders *h)
{
    json_t *to;

    if (h->run->is_json) {
        to = alqi_cli_heap_head_json(h->run);
        groups_json(h, 0, "groups", to);
        alqi_cli_heap_json_end(h->run, to);
        return;
    }
    alqi_cli_heap_head(h->run);
    alqi_cli_heap_title(&h->run->term, "HOLDERS",
                        "by kind, and what goes with each; sites of sampled "
                        "blocks with their error");
    alqi_cli_heap_heads(&h->run->term, "root, then kinds");
    groups_print(h, 0, 0);
    if (h->groups.is_full)
        fprintf(h->run->term.out,
                "some groups are in those above them: there are more than "
                "%d\n",
                ALQI_CLI_HEAP_GROUPS_MOST);
}

void
alqi_cli_heap_holders(struct alqi_cli_heap_run *run)
{
    struct holders h = {.run = run, .s = &run->snapshot, .least_rate = 1};

    if (run->least_part > 0)
        h.least_words = h.s->held.words / run->least_part;
    alqi_cli_heap_groups_make(&h.groups, h.s, h.s->names, run->depth);
    samples_take(&h);
    groups_sort(&h);
    holders_show(&h);
    alqi_cli_heap_groups_free(&h.groups);
    free(h.order);
    free(h.estimates);
}
