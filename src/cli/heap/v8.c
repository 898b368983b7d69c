/* v8.c -- aliquot heap --export: a snapshot as V8's .heapsnapshot
 *                                               [doc/design/heap-snapshot]
 *
 * JSON of two long arrays of numbers, nodes and then edges, and a table of
 * texts that they name.  Each node's edges lie together, in the order of nodes:
 *
 *   root -> "(GC roots)" -> holders -> blocks, in the order of the file
 *
 * Garbage is left out: the reader takes all nodes to be held.  A pointer to no
 * block of the heap is left out, too. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/heap/chain.h"
#include "cli/heap/heap.h"
#include "cli/tool/cli.h"
#include "cli/tool/json.h"
#include "cli/tool/output.h"

#define NOTHING ALQI_CLI_HEAP_NOTHING

enum {
    FIELDS = 7, /* numbers of a node */
    FIRST = 2,  /* node of the first holder */
    TEXT = 2048,
    BUFFER = 1 << 16,
    WORD_BYTES = 8,
    /* places in node_types and edge_types below */
    ARRAY = 1,
    STRING = 2,
    OBJECT = 3,
    NUMBER = 7,
    NATIVE = 8,
    SYNTHETIC = 9,
    ELEMENT = 1,
    /* tags of blocks without pointers (value.h) */
    TAG_ABSTRACT = 251,
    TAG_STRING = 252,
    TAG_DOUBLE = 253,
    TAG_DOUBLES = 254,
    TAG_CUSTOM = 255
};

static const char meta[] =
    "{\"snapshot\":{\"meta\":{\"node_fields\":[\"type\",\"name\",\"id\","
    "\"self_size\",\"edge_count\",\"trace_node_id\",\"detachedness\"],"
    "\"node_types\":[[\"hidden\",\"array\",\"string\",\"object\",\"code\","
    "\"closure\",\"regexp\",\"number\",\"native\",\"synthetic\","
    "\"concatenated string\",\"sliced string\",\"symbol\",\"bigint\","
    "\"object shape\"],\"string\",\"number\",\"number\",\"number\",\"number\","
    "\"number\"],\"edge_fields\":[\"type\",\"name_or_index\",\"to_node\"],"
    "\"edge_types\":[[\"context\",\"element\",\"property\",\"internal\","
    "\"hidden\",\"shortcut\",\"weak\"],\"string_or_number\",\"node\"],"
    "\"trace_function_info_fields\":[\"function_id\",\"name\","
    "\"script_name\",\"script_id\",\"line\",\"column\"],"
    "\"trace_node_fields\":[\"id\",\"function_info_index\",\"count\","
    "\"size\",\"children\"],\"sample_fields\":[\"timestamp_us\","
    "\"last_assigned_id\"],\"location_fields\":[\"object_index\","
    "\"script_id\",\"line\",\"column\"]},";

/* A file of numbers under way. */
struct v8 {
    struct alqi_cli_heap_snapshot *s;
    FILE *out;
    char buffer[BUFFER];
    size_t n;
    bool is_first;            /* of an array: no comma yet */
    uint32_t *inner, *leaves; /* by number: node; NOTHING: garbage */
    uint32_t n_nodes;
    uint64_t n_edges;
    uint32_t *texts; /* names' numbers, by place in the table of texts */
    uint32_t n_texts;
    struct alqi_base_map text_of; /* name -> place */
};

/* ---- numbers ------------------------------------------------------------- */

static void
flush(struct v8 *v)
{
    fwrite(v->buffer, 1, v->n, v->out);
    v->n = 0;
}

static void
put(struct v8 *v, uint64_t number)
{
    char digits[24];
    size_t n = 0;

    if (v->n + sizeof digits > sizeof v->buffer)
        flush(v);
    if (!v->is_first)
        v->buffer[v->n++] = ',';
    v->is_first = false;
    do
        digits[n++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    while (n > 0)
        v->buffer[v->n++] = digits[--n];
}

static void
array_begin(struct v8 *v, const char *name)
{
    flush(v);
    fprintf(v->out, ",\n\"%s\":[", name);
    v->is_first = true;
}

static void
array_end(struct v8 *v)
{
    flush(v);
    fputc(']', v->out);
}

/* ---- texts --------------------------------------------------------------- */

static uint32_t
text(struct v8 *v, const char *words)
{
    uint32_t name = alqi_cli_names_intern(v->s->names, words);
    bool is_new;
    uint64_t *at = alqi_cli_map_at(&v->text_of, name, &is_new);

    if (is_new) {
        *at = v->n_texts;
        v->texts = alqi_cli_grow(v->texts, v->n_texts, sizeof *v->texts);
        v->texts[v->n_texts++] = name;
    }
    return (uint32_t)*at;
}

/* A sampled block tells its site, too. */
static uint32_t
block_text(struct v8 *v, const struct alqi_dump_block_read *block)
{
    const struct alqi_cli_heap_sample *sample =
        alqi_cli_heap_sample_at(v->s, block->address);
    const char *kind =
        alqi_cli_heap_kind_name(v->s, alqi_cli_heap_kind_number(block));
    char site[TEXT], words[TEXT + 256];

    if (sample == NULL || sample->site == NOTHING)
        return text(v, kind);
    alqi_cli_heap_site_name(v->s, sample->site, site, sizeof site);
    snprintf(words, sizeof words, "%.200s of %s", kind, site);
    return text(v, words);
}

/* ---- nodes --------------------------------------------------------------- */

/* Where a block's node stands; NOTHING: it is no block, or garbage. */
static uint32_t *
place(const struct v8 *v, uint32_t number)
{
    return alqi_cli_heap_is_leaf(number)
               ? &v->leaves[number & ~ALQI_CLI_HEAP_LEAF]
               : &v->inner[number];
}

static uint32_t
node_at(const struct v8 *v, uint64_t address)
{
    uint32_t number = alqi_cli_heap_find(&v->s->addresses, address);

    return number == ALQI_CLI_HEAP_NONE ? NOTHING : *place(v, number);
}

/* Numbers of nodes, and how many edges there are. */
static void
places_fill(struct v8 *v)
{
    size_t n_inner = v->s->addresses.n_inner,
           n_leaves = v->s->addresses.n_leaves;
    struct alqi_cli_heap_walk walk;
    struct alqi_dump_block_read block;

    v->inner = alqi_cli_realloc(NULL, n_inner + 1, sizeof *v->inner);
    v->leaves = alqi_cli_realloc(NULL, n_leaves + 1, sizeof *v->leaves);
    memset(v->inner, 0xFF, n_inner * sizeof *v->inner);
    memset(v->leaves, 0xFF, n_leaves * sizeof *v->leaves);
    v->n_nodes = FIRST + v->s->n_holders;
    alqi_cli_heap_walk_begin(&walk, &v->s->file);
    while (alqi_cli_heap_walk_block(&walk, &block)) {
        uint32_t number = alqi_cli_heap_find(&v->s->addresses, block.address);

        if (alqi_cli_heap_dominator(v->s, number) != NOTHING)
            *place(v, number) = v->n_nodes++;
    }
}

static void
node_put(struct v8 *v, unsigned type, uint32_t name, uint32_t node,
         uint64_t bytes, uint64_t n_edges)
{
    put(v, type);
    put(v, name);
    put(v, 2 * (uint64_t)node + 1); /* V8's objects have odd numbers */
    put(v, bytes);
    put(v, n_edges);
    put(v, 0);
    put(v, 0);
    v->n_edges += n_edges;
}

static unsigned
type_of(const struct alqi_dump_block_read *block)
{
    switch (block->tag) {
    case TAG_STRING:
        return STRING;
    case TAG_DOUBLE:
        return NUMBER;
    case TAG_DOUBLES:
        return ARRAY;
    case TAG_ABSTRACT:
    case TAG_CUSTOM:
        return NATIVE;
    default:
        return OBJECT;
    }
}

static uint64_t
edges_count(const struct v8 *v, struct alqi_dump_decoder *d)
{
    uint64_t target, n = 0;

    while (alqi_dump_next_edge(d, &target))
        n += node_at(v, target) != NOTHING;
    return n;
}

/* Roots of a holder that lead to a block; they come by holder. */
static uint64_t
roots_count(const struct v8 *v, uint32_t *at, uint32_t holder)
{
    uint64_t n = 0;

    for (; *at < v->s->n_roots && v->s->roots[*at].holder == holder; ++*at)
        n += node_at(v, v->s->roots[*at].block) != NOTHING;
    return n;
}

static void
nodes_put(struct v8 *v)
{
    struct alqi_cli_heap_walk walk;
    struct alqi_dump_block_read block;
    uint32_t at = 0;

    array_begin(v, "nodes");
    node_put(v, SYNTHETIC, text(v, ""), 0, 0, 1);
    node_put(v, SYNTHETIC, text(v, "(GC roots)"), 1, 0, v->s->n_holders);
    for (uint32_t i = 0; i < v->s->n_holders; i++)
        node_put(v, SYNTHETIC, text(v, alqi_cli_heap_holder_name(v->s, i)),
                 FIRST + i, 0, roots_count(v, &at, i));
    alqi_cli_heap_walk_begin(&walk, &v->s->file);
    while (alqi_cli_heap_walk_block(&walk, &block)) {
        uint32_t node = node_at(v, block.address);

        if (node != NOTHING)
            node_put(v, type_of(&block), block_text(v, &block), node,
                     (block.wosize + 1) * WORD_BYTES, edges_count(v, &walk.d));
    }
    array_end(v);
}

/* ---- edges --------------------------------------------------------------- */

static void
edge_put(struct v8 *v, uint64_t index, uint32_t to)
{
    put(v, ELEMENT);
    put(v, index);
    put(v, (uint64_t)to * FIELDS);
}

static void
holders_edges_put(struct v8 *v)
{
    edge_put(v, 1, 1);
    for (uint32_t i = 0; i < v->s->n_holders; i++)
        edge_put(v, i + 1, FIRST + i);
    for (uint32_t i = 0; i < v->s->n_roots; i++) {
        uint32_t to = node_at(v, v->s->roots[i].block);

        if (to != NOTHING)
            edge_put(v, i, to);
    }
}

static void
edges_put(struct v8 *v)
{
    struct alqi_cli_heap_walk walk;
    struct alqi_dump_block_read block;

    array_begin(v, "edges");
    holders_edges_put(v);
    alqi_cli_heap_walk_begin(&walk, &v->s->file);
    while (alqi_cli_heap_walk_block(&walk, &block)) {
        uint64_t target, index = 0;

        if (node_at(v, block.address) == NOTHING)
            continue;
        for (; alqi_dump_next_edge(&walk.d, &target); index++) {
            uint32_t to = node_at(v, target);

            if (to != NOTHING)
                edge_put(v, index, to);
        }
    }
    array_end(v);
}

/* The count of edges stands in front of them: nodes are gone through first, to
 * nowhere. */
static void
counts_put(struct v8 *v)
{
    FILE *out = v->out, *nowhere = fopen("/dev/null", "w");

    if (nowhere == NULL)
        alqi_cli_die("heap: /dev/null cannot be opened");
    v->out = nowhere;
    nodes_put(v);
    fclose(nowhere);
    v->out = out;
    fprintf(out,
            "%s\n\"node_count\":%" PRIu32 ",\"edge_count\":%" PRIu64
            ",\"trace_function_count\":0,\"extra_native_bytes\":0}",
            meta, v->n_nodes, v->n_edges);
}

static void
texts_put(struct v8 *v)
{
    fputs(",\n\"trace_function_infos\":[],\n\"trace_tree\":[],\n\"samples\":[],"
          "\n\"locations\":[],\n\"strings\":[",
          v->out);
    for (uint32_t i = 0; i < v->n_texts; i++) {
        fputs(i > 0 ? ",\n" : "", v->out);
        alqi_cli_json_text(v->out,
                           alqi_cli_names_text(v->s->names, v->texts[i]));
    }
    fputs("]}\n", v->out);
}

int
alqi_cli_heap_export(struct alqi_cli_heap_run *run)
{
    struct alqi_cli_output out;
    int rc = alqi_cli_output_open(&out, run->export, run->overwrites);
    struct v8 *v;

    if (rc >= 0)
        return rc;
    v = alqi_cli_zeros(1, sizeof *v);
    v->s = &run->snapshot;
    v->out = out.file;
    places_fill(v);
    counts_put(v);
    nodes_put(v);
    edges_put(v);
    texts_put(v);
    rc = alqi_cli_output_close(&out);
    alqi_base_map_clear(&v->text_of);
    free(v->inner);
    free(v->leaves);
    free(v->texts);
    free(v);
    return rc;
}
