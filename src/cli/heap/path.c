/* path.c -- aliquot heap --path: shortest ways from a root to what was named
 *                                               [doc/design/heap-snapshot]
 *
 * The snapshot is opened flat: each block is a node.  A search in breadth from
 * all holders meets blocks by their distance, so the first that are met of
 * those that were named are the nearest. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/heap/chain.h"
#include "cli/heap/print.h"
#include "cli/tool/cli.h"
#include "cli/tool/text.h"

#define NOTHING ALQI_CLI_HEAP_NOTHING

enum { STEPS_SHOWN = 12, INDENT = 4 };

/* What was named, and the ways. */
struct ways {
    struct alqi_cli_heap_run *run;
    struct alqi_cli_heap_snapshot *s;
    uint8_t *named; /* by number: 1, or 0 */
    uint64_t n_named, n_reached;
    uint32_t *by; /* by node: who leads to it; a holder: itself */
    uint32_t *queue;
    uint32_t *nearest; /* nodes that were named, nearest first */
    uint32_t n_nearest;
    struct alqi_cli_heap_facts facts;
};

/* ---- what is named ------------------------------------------------------- */

static void
name_add(struct ways *w, uint64_t address)
{
    uint32_t number = alqi_cli_heap_find(&w->s->addresses, address);

    if (number == NOTHING || w->named[number] != 0)
        return;
    w->named[number] = 1;
    w->n_named++;
}

/* The block that has the address anywhere in it, its header included. */
static int
address_name(struct ways *w, const char *text)
{
    struct alqi_cli_heap_walk walk;
    struct alqi_dump_block_read block;
    char *end;
    uint64_t address;

    errno = 0;
    address = strtoull(text, &end, 0);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0)
        return alqi_cli_heap_refuse(w->run, true,
                                    "--path=%s: neither an address such as "
                                    "0x7f0012345678 nor kind:TEXT or site:TEXT",
                                    alqi_cli_shown(text).text);
    alqi_cli_heap_walk_begin(&walk, &w->s->file);
    while (w->n_named == 0 && alqi_cli_heap_walk_block(&walk, &block))
        if (address - (block.address - 8) < (block.wosize + 1) * 8)
            name_add(w, block.address);
    return -1;
}

static int
kind_name(struct ways *w, const char *text)
{
    struct alqi_cli_heap_walk walk;
    struct alqi_dump_block_read block;

    alqi_cli_heap_walk_begin(&walk, &w->s->file);
    while (alqi_cli_heap_walk_block(&walk, &block)) {
        uint32_t kind = alqi_cli_heap_kind_number(&block);

        if (strstr(alqi_cli_heap_kind_name(w->s, kind), text) != NULL)
            name_add(w, block.address);
    }
    return -1;
}

static int
site_name(struct ways *w, const char *text)
{
    char site[ALQI_CLI_HEAP_TEXT];

    if (w->s->n_samples == 0)
        return alqi_cli_heap_refuse(
            w->run, false,
            "%s has no sampled blocks: no profile was running when it "
            "was taken, so it has no sites",
            w->s->file.path);
    for (uint32_t i = 0; i < w->s->n_samples; i++) {
        if (w->s->samples[i].site == NOTHING)
            continue;
        alqi_cli_heap_site_name(w->s, w->s->samples[i].site, site, sizeof site);
        if (strstr(site, text) != NULL)
            name_add(w, w->s->samples[i].block);
    }
    return -1;
}

static int
names_find(struct ways *w)
{
    const char *what = w->run->path;
    int rc;

    if (strncmp(what, "kind:", 5) == 0)
        rc = kind_name(w, what + 5);
    else if (strncmp(what, "site:", 5) == 0)
        rc = site_name(w, what + 5);
    else
        rc = address_name(w, what);
    if (rc < 0 && w->n_named == 0)
        rc = alqi_cli_heap_refuse(w->run, false, "no block of %s is %s",
                                  w->s->file.path, alqi_cli_shown(what).text);
    return rc;
}

/* ---- the search ---------------------------------------------------------- */

static void
node_meet(struct ways *w, uint32_t node)
{
    if (node < w->s->graph.n_blocks && w->named[node] != 0) {
        w->n_reached++;
        if (w->run->top == 0 || w->n_nearest < w->run->top) {
            w->nearest =
                alqi_cli_grow(w->nearest, w->n_nearest, sizeof *w->nearest);
            w->nearest[w->n_nearest++] = node;
        }
    }
}

static void
search(struct ways *w)
{
    const struct alqi_cli_heap_graph *g = &w->s->graph;
    uint32_t n = 0;

    w->by = alqi_cli_realloc(NULL, g->n_nodes + 1, sizeof *w->by);
    w->queue = alqi_cli_realloc(NULL, g->n_nodes + 1, sizeof *w->queue);
    memset(w->by, 0xFF, g->n_nodes * sizeof *w->by);
    for (uint32_t i = g->n_blocks; i < g->n_nodes; i++)
        w->by[i] = w->queue[n++] = i;
    n = alqi_cli_heap_graph_breadth(g, w->by, w->queue, 0, n);
    for (uint32_t i = 0; i < n; i++)
        node_meet(w, w->queue[i]);
}

static void
facts_find(struct ways *w)
{
    for (uint32_t i = 0; i < w->n_nearest; i++)
        for (uint32_t at = w->nearest[i]; w->by[at] != at; at = w->by[at])
            alqi_cli_heap_facts_want_number(&w->facts, at);
    alqi_cli_heap_facts_fill(&w->facts, w->s);
}

/* ---- output -------------------------------------------------------------- */

/* The nodes from the root to `node`; to be freed. */
static uint32_t *
way_of(const struct ways *w, uint32_t node, uint32_t *n)
{
    uint32_t *way = NULL, at = node;

    for (*n = 1; w->by[at] != at; at = w->by[at])
        ++*n;
    way = alqi_cli_realloc(NULL, *n, sizeof *way);
    at = node;
    for (uint32_t i = *n; i-- > 0; at = w->by[at])
        way[i] = at;
    return way;
}

static void
way_print(struct ways *w, uint32_t node)
{
    const struct alqi_cli_term *t = &w->run->term;
    char text[ALQI_CLI_HEAP_TEXT];
    uint32_t n, *way = way_of(w, node, &n);

    for (uint32_t i = 0; i < n; i++) {
        struct alqi_cli_heap_fact fact =
            alqi_cli_heap_fact_of_number(&w->facts, w->s, way[i]);

        if (n > STEPS_SHOWN && i == STEPS_SHOWN / 2) {
            fprintf(t->out, "%*s→ %" PRIu32 " blocks (--json has them)\n",
                    INDENT, "", n - STEPS_SHOWN);
            i = n - STEPS_SHOWN / 2;
        }
        alqi_cli_heap_fact_text(w->s, &fact, text, sizeof text);
        fprintf(t->out, "%*s", i > 0 ? INDENT : 0, i > 0 ? "→ " : "");
        alqi_cli_heap_rest(t, i > 0 ? ALQI_CLI_PLAIN : ALQI_CLI_BOLD, INDENT,
                           text);
    }
    fputc('\n', t->out);
    free(way);
}

static void
ways_print(struct ways *w)
{
    FILE *out = w->run->term.out;

    alqi_cli_heap_cut_say(&w->run->term, w->s);
    fprintf(out, "%s: %" PRIu64 " found; roots lead to %" PRIu64,
            alqi_cli_shown(w->run->path).text, w->n_named, w->n_reached);
    if (w->n_reached < w->n_named)
        fprintf(out, ", and not to %" PRIu64 ": garbage, not yet collected",
                w->n_named - w->n_reached);
    fprintf(out, "\n\n");
    for (uint32_t i = 0; i < w->n_nearest; i++)
        way_print(w, w->nearest[i]);
    if (w->n_reached > w->n_nearest)
        fprintf(out,
                "%" PRIu64 " more, farther from roots (--top=0 shows "
                "all)\n",
                w->n_reached - w->n_nearest);
}

static json_t *
way_json(struct ways *w, uint32_t node)
{
    uint32_t n, *way = way_of(w, node, &n);
    json_t *to = json_object(), *blocks = json_array();

    alqi_cli_json_set(to, "root",
                      json_string(alqi_cli_heap_holder_name(
                          w->s, way[0] - w->s->graph.n_blocks)));
    for (uint32_t i = 1; i < n; i++) {
        struct alqi_cli_heap_fact fact =
            alqi_cli_heap_fact_of_number(&w->facts, w->s, way[i]);
        json_t *block = json_object();

        alqi_cli_heap_block_json(w->s, &fact, block);
        json_array_append_new(blocks, block);
    }
    alqi_cli_json_set(to, "blocks", blocks);
    free(way);
    return to;
}

static void
ways_json(struct ways *w)
{
    json_t *to = json_object(), *all = json_array();

    alqi_cli_json_count(to, "blocks", w->n_named);
    alqi_cli_json_count(to, "held", w->n_reached);
    for (uint32_t i = 0; i < w->n_nearest; i++)
        json_array_append_new(all, way_json(w, w->nearest[i]));
    alqi_cli_json_set(to, "ways", all);
    alqi_cli_heap_json_end(w->run, to);
}

int
alqi_cli_heap_path(struct alqi_cli_heap_run *run)
{
    struct ways w = {.run = run, .s = &run->snapshot};
    int rc;

    w.named = alqi_cli_zeros((size_t)w.s->addresses.n_inner + 1, 1);
    rc = names_find(&w);
    if (rc < 0) {
        if (w.s->graph.n_nodes == 0) /* a server asks again */
            alqi_cli_heap_edges(w.s);
        search(&w);
        facts_find(&w);
        if (run->is_json)
            ways_json(&w);
        else
            ways_print(&w);
        rc = ALQI_CLI_OK;
    }
    alqi_cli_heap_facts_free(&w.facts);
    free(w.named);
    free(w.by);
    free(w.queue);
    free(w.nearest);
    return rc;
}
