/* stacks.c -- the trie of call stacks
 *
 * [stacks.h] Three shortcuts, because each allocation adds a stack: frames
 * that equal those of the stack before keep their nodes (path); a small cache
 * of recent steps answers most others; the hash table answers the rest. The
 * table is at most half full, and is rebuilt when the nodes double. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/tool/cli.h"
#include "cli/analysis/stacks.h"

enum { NODES_FIRST = 1024, RECENT_BITS = 14 };

_Static_assert(1 << RECENT_BITS == ALQI_CLI_RECENT, "all are reached");

/* The slot of a child, or the free one where it belongs. */
static uint32_t *
slot_find(const struct alqi_cli_stacks *s, uint32_t parent, uint64_t code)
{
    uint32_t mask = s->n_slots - 1;
    uint64_t hash = alqi_base_mix(code ^ ((uint64_t)parent << 32) ^ parent);
    uint32_t i = (uint32_t)hash & mask;

    for (;; i = (i + 1) & mask) {
        uint32_t node = s->slots[i];

        if (node == 0 ||
            (s->nodes[node].code == code && s->nodes[node].parent == parent))
            return &s->slots[i];
    }
}

/* Doubles the nodes and rebuilds the table. */
static void
grow(struct alqi_cli_stacks *s)
{
    uint32_t n = s->nodes_capacity == 0 ? NODES_FIRST : 2 * s->nodes_capacity;

    s->nodes = alqi_cli_realloc(s->nodes, n, sizeof *s->nodes);
    s->nodes_capacity = n;
    free(s->slots);
    s->n_slots = 2 * n;
    s->slots = alqi_cli_realloc(NULL, s->n_slots, sizeof *s->slots);
    memset(s->slots, 0, s->n_slots * sizeof *s->slots);
    for (uint32_t i = 1; i < s->n_nodes; i++)
        *slot_find(s, s->nodes[i].parent, s->nodes[i].code) = i;
}

void
alqi_cli_stacks_init(struct alqi_cli_stacks *s)
{
    memset(s, 0, sizeof *s);
    s->path_stream = ALQI_CLI_NO_STREAM;
    grow(s);
    memset(&s->nodes[0], 0, sizeof s->nodes[0]);
    s->n_nodes = 1;
    s->recent = alqi_cli_realloc(NULL, ALQI_CLI_RECENT, sizeof *s->recent);
    memset(s->recent, 0, ALQI_CLI_RECENT * sizeof *s->recent);
}

void
alqi_cli_stacks_free(struct alqi_cli_stacks *s)
{
    free(s->nodes);
    free(s->slots);
    free(s->path_codes);
    free(s->path);
    free(s->recent);
}

/* The child of a node by its code, made if there is none. */
static ALQI_NOINLINE uint32_t
child_find(struct alqi_cli_stacks *s, uint32_t parent, uint64_t code)
{
    uint32_t *slot;

    if (s->n_nodes == s->nodes_capacity)
        grow(s);
    slot = slot_find(s, parent, code);
    if (*slot == 0) {
        struct alqi_cli_node *node = &s->nodes[s->n_nodes];

        node->code = code;
        node->parent = parent;
        node->depth = s->nodes[parent].depth + 1;
        *slot = s->n_nodes++;
    }
    return *slot;
}

/* The same through the cache. Calls come in runs, so it saves most of the
 * searches in the large tables. */
static inline uint32_t
child(struct alqi_cli_stacks *s, uint32_t parent, uint64_t code)
{
    uint64_t hash =
        (code + (uint64_t)parent * 0xD6E8FEB86659FD93u) * 0x9E3779B97F4A7C15u;
    struct alqi_cli_child *r = &s->recent[hash >> (64 - RECENT_BITS)];

    if (ALQI_UNLIKELY(r->code != code || r->parent != parent || r->node == 0)) {
        r->node = child_find(s, parent, code);
        r->parent = parent;
        r->code = code;
    }
    return r->node;
}

/* Makes room for a path of n frames. */
static void
path_room(struct alqi_cli_stacks *s, uint32_t n)
{
    s->path_capacity = 2 * n;
    s->path = alqi_cli_realloc(s->path, s->path_capacity, sizeof *s->path);
    s->path_codes = alqi_cli_realloc(s->path_codes, s->path_capacity,
                                     sizeof *s->path_codes);
}

/* n_same is a promise of the caller; further frames are compared. */
uint32_t
alqi_cli_stacks_next(struct alqi_cli_stacks *s, const uint64_t *codes,
                     uint32_t n_codes, uint32_t n_same)
{
    uint32_t n = n_codes < s->n_path ? n_codes : s->n_path;
    uint32_t i = n_same < n ? n_same : n;
    uint32_t node;

    if (ALQI_UNLIKELY(n_codes > s->path_capacity))
        path_room(s, n_codes);
    while (i < n && s->path_codes[i] == codes[i])
        i++;
    node = i > 0 ? s->path[i - 1] : 0;
    for (; i < n_codes; i++) {
        s->path_codes[i] = codes[i];
        s->path[i] = node = child(s, node, codes[i]);
    }
    s->n_path = n_codes;
    return node;
}

uint32_t
alqi_cli_stacks_add(struct alqi_cli_stacks *s, const uint64_t *codes,
                    uint32_t n_codes)
{
    return alqi_cli_stacks_next(s, codes, n_codes, 0);
}

/* The trace says how many frames the stack shares with the one before it in its
 * stream; that holds for `path` only if the stream is the same. */
uint32_t
alqi_cli_stacks_of_event(struct alqi_cli_stacks *s,
                         const struct alqi_ctf_event *e)
{
    uint64_t n_same = e->domain == s->path_stream ? e->n_shared : 0;

    if (n_same > e->n_codes)
        n_same = e->n_codes; /* a stack cut short stays as it was */
    s->path_stream = e->domain;
    return alqi_cli_stacks_next(s, e->codes, e->n_codes, (uint32_t)n_same);
}

/* Fills from the end, as the parents lead. */
void
alqi_cli_stacks_codes(const struct alqi_cli_stacks *s, uint32_t node,
                      uint64_t *codes)
{
    for (uint32_t i = s->nodes[node].depth; i > 0; i--) {
        codes[i - 1] = s->nodes[node].code;
        node = s->nodes[node].parent;
    }
}
