/* scan.c -- roots, and the pointers in blocks
 *
 * A root is a word of: a thread's registers; its stack from the stack pointer
 * on; any other memory that the process can write, but for what an allocator
 * keeps (heap.h), what the preload keeps for itself, and the recording.
 *
 * .inv.ranges  Each address is read at most once: extents of the heap in their
 *              order, then what is left of the mappings.  So the blocks' edges
 *              come in the order of the blocks.
 * .inv.words   A pointer is a word at a multiple of 8 bytes.
 * .inv.below   What lies below a stack pointer is no root where it is of the
 *              stack for certain.  A stack that the program made has other data
 *              below it: a coroutine's, one among its globals.
 * .inv.behind  The C library keeps the address of the two words in front of
 *              what is free, and the first of them may be the last of the block
 *              before: as its word it is no pointer to that block.
 * .inv.program The preload tells where its module ends (copy.c), which is not
 *              where its last mapping does: memory of the program may lie
 *              behind it, and be shown as one mapping with it. */
#include "cli/leaks/scan.h"

#include <stdlib.h>
#include <string.h>

#include "base/file_name.h"
#include "cli/leaks/thread.h"
#include "cli/tool/cli.h"

enum { RED_ZONE_BYTES = 128 };

/* ---- words --------------------------------------------------------------- */

static void
edge_add(struct alqi_cli_leak_scan *s, uint32_t edge)
{
    if (s->n_edges == s->edges_capacity) {
        s->edges_capacity =
            s->edges_capacity == 0 ? 4096 : 2 * s->edges_capacity;
        s->edges =
            alqi_cli_realloc(s->edges, s->edges_capacity, sizeof *s->edges);
    }
    s->edges[s->n_edges++] = edge;
}

static void
root_add(struct alqi_cli_leak_scan *s, uint64_t at, uint32_t edge)
{
    if (s->graph.n_roots == ALQI_CLI_LEAK_BY_ROOT - 1)
        alqi_cli_die("leaks: too many roots");
    if (s->graph.n_roots == s->roots_capacity) {
        s->roots_capacity =
            s->roots_capacity == 0 ? 4096 : 2 * s->roots_capacity;
        s->roots =
            alqi_cli_realloc(s->roots, s->roots_capacity, sizeof *s->roots);
    }
    s->roots[s->graph.n_roots++] = (struct alqi_cli_leak_root){
        .at = at,
        .edge = edge,
        .is_weak = s->is_weak,
        .is_passing = s->is_stack && alqi_cli_leak_thread_of_tls(
                                         s->memory.core, s->tls_bytes, at) ==
                                         ALQI_CLI_LEAK_NO_THREAD};
}

/* The pointer that a word is; false: none. */
static bool
word_edge(const struct alqi_cli_leak_scan *s, uint64_t word, uint32_t *edge)
{
    uint32_t block;

    if (!alqi_cli_leak_table_find(&s->table, word, &block))
        return false;
    *edge = alqi_cli_leak_edge(
        block, alqi_cli_leak_into(&s->table.blocks[block], word));
    return true;
}

/* The block that holds the address, or the first behind it. */
static uint32_t
block_reach(struct alqi_cli_leak_scan *s, uint64_t address)
{
    const struct alqi_cli_leak_table *t = &s->table;

    while (s->at < t->n &&
           t->blocks[s->at].start + t->blocks[s->at].bytes <= address) {
        s->at++;
        s->first[s->at] = s->n_edges;
    }
    return s->at;
}

/* Words of an extent of the heap: of a block, or outside (alqi_cli_leak_words
 * of memory.h). */
static void
heap_words(void *arg, uint64_t address, const uint64_t *words, size_t n)
{
    struct alqi_cli_leak_scan *s = arg;
    uint32_t edge;

    for (size_t i = 0; i < n; i++, address += 8) {
        uint32_t block;

        if (!word_edge(s, words[i], &edge))
            continue;
        block = block_reach(s, address);
        if (block < s->table.n && address >= s->table.blocks[block].start)
            edge_add(s, edge);
        else if (s->has_roots)
            root_add(s, address, edge);
    }
}

/* .inv.behind */
static bool
is_free_behind(const struct alqi_cli_leak_scan *s, uint64_t word, uint32_t edge)
{
    const struct alqi_cli_leak_block *b =
        &s->table.blocks[alqi_cli_leak_edge_block(edge)];

    return word % 16 == 0 && word > b->start && word + 8 >= b->start + b->bytes;
}

static void
root_words(void *arg, uint64_t address, const uint64_t *words, size_t n)
{
    struct alqi_cli_leak_scan *s = arg;
    uint32_t edge;

    for (size_t i = 0; i < n; i++)
        if (word_edge(s, words[i], &edge) &&
            !(s->is_libc && is_free_behind(s, words[i], edge)))
            root_add(s, address + 8 * i, edge);
}

/* ---- the heap ------------------------------------------------------------ */

/* Extents that overlap become one, of which all is known if it is of each. */
static void
extents_join(struct alqi_cli_leak_heap *h)
{
    size_t n = 0;

    for (size_t i = 0; i < h->n_extents; i++) {
        struct alqi_cli_leak_extent *e = &h->extents[i];

        if (n == 0 || e->from >= h->extents[n - 1].to) {
            h->extents[n++] = *e;
            continue;
        }
        h->extents[n - 1].is_known &= e->is_known;
        if (e->to > h->extents[n - 1].to)
            h->extents[n - 1].to = e->to;
    }
    h->n_extents = n;
}

static void
heap_scan(struct alqi_cli_leak_scan *s)
{
    s->first = alqi_cli_zeros(s->table.n + 1, sizeof *s->first);
    s->is_weak = true;
    for (size_t i = 0; i < s->heap.n_extents; i++) {
        const struct alqi_cli_leak_extent *e = &s->heap.extents[i];

        uint64_t before = s->memory.n_words;

        s->has_roots = !e->is_known;
        alqi_cli_leak_memory_each(&s->memory, e->from, e->to, false, heap_words,
                                  s);
        if (s->has_roots)
            s->weak_bytes += (s->memory.n_words - before) * 8;
    }
    s->n_weak = s->graph.n_roots;
    while (s->at < s->table.n)
        s->first[++s->at] = s->n_edges;
    s->is_weak = false;
}

/* ---- other memory -------------------------------------------------------- */

/* What is left out of the mappings, by address. */
struct holes {
    struct alqi_cli_leak_extent *at;
    size_t n;
    size_t first; /* those before lie in front of what comes */
};

static void
hole_add(struct holes *h, uint64_t from, uint64_t to)
{
    h->at = alqi_cli_realloc(h->at, h->n + 1, sizeof *h->at);
    h->at[h->n++] = (struct alqi_cli_leak_extent){from, to, true};
}

static int
compare(const void *left, const void *right)
{
    const struct alqi_cli_leak_extent *a = left, *b = right;

    return a->from < b->from ? -1 : a->from > b->from;
}

/* Whether all of the mapping below the thread's stack pointer is of its stack
 * (.inv.below).  glibc keeps a thread's own block at the upper end of its
 * stack, and memory that cannot be read below it. */
static bool
is_own_stack(const struct alqi_cli_core *core, size_t thread,
             const struct alqi_cli_mapping *m)
{
    const struct alqi_plat_stopped *t = &core->threads[thread];

    if (strcmp(m->path, "[stack]") == 0)
        return true;
    if (t->thread_pointer < t->sp || t->thread_pointer >= m->end ||
        m == core->target.mappings || m[-1].end != m->start ||
        m[-1].is_writable || m[-1].path[0] != '\0')
        return false;
    for (size_t i = 0; i < core->n_threads; i++)
        if (core->threads[i].thread_pointer - m->start < t->sp - m->start)
            return false;
    return true;
}

static void
stacks_leave(struct holes *h, const struct alqi_cli_core *core)
{
    for (size_t i = 0; i < core->n_threads; i++) {
        uint64_t sp = core->threads[i].sp;
        const struct alqi_cli_mapping *m =
            alqi_cli_attach_target_at(&core->target, sp);

        if (m != NULL && sp - m->start > RED_ZONE_BYTES &&
            is_own_stack(core, i, m))
            hole_add(h, m->start, sp - RED_ZONE_BYTES);
    }
}

static struct holes
holes_make(const struct alqi_cli_leak_scan *s, const struct alqi_cli_core *core)
{
    struct holes h = {0};

    for (size_t i = 0; i < s->heap.n_extents; i++)
        hole_add(&h, s->heap.extents[i].from, s->heap.extents[i].to);
    for (size_t i = 0; i < core->n_owned; i++) /* .inv.program */
        hole_add(&h, core->owned[i].start,
                 core->owned[i].start + core->owned[i].bytes);
    stacks_leave(&h, core);
    if (h.n > 0)
        qsort(h.at, h.n, sizeof *h.at, compare);
    return h;
}

/* The mapping but for the holes; both come in the order of their addresses. */
static void
mapping_scan(struct alqi_cli_leak_scan *s, const struct alqi_cli_mapping *m,
             struct holes *h)
{
    uint64_t from = m->start;

    while (h->first < h->n && h->at[h->first].to <= from)
        h->first++;
    for (size_t i = h->first; i < h->n && from < m->end; i++) {
        if (h->at[i].to <= from)
            continue;
        if (h->at[i].from >= m->end)
            break;
        if (h->at[i].from > from)
            alqi_cli_leak_memory_each(&s->memory, from, h->at[i].from,
                                      m->is_shared, root_words, s);
        from = h->at[i].to;
    }
    if (from < m->end)
        alqi_cli_leak_memory_each(&s->memory, from, m->end, m->is_shared,
                                  root_words, s);
}

/* Reading a device may do anything. */
static bool
is_device(const struct alqi_cli_mapping *m)
{
    return strncmp(m->path, "/dev/", 5) == 0 &&
           strncmp(m->path, "/dev/shm/", 9) != 0 &&
           strncmp(m->path, "/dev/zero", 9) != 0;
}

static void
mappings_scan(struct alqi_cli_leak_scan *s, const struct alqi_cli_core *core,
              const char *recording)
{
    const struct alqi_cli_attach_target *t = &core->target;
    struct holes holes = holes_make(s, core);

    for (size_t i = 0; i < t->n_mappings; i++) {
        const struct alqi_cli_mapping *m = &t->mappings[i];

        if (!m->is_writable || strcmp(alqi_base_file_name(m->path),
                                      alqi_base_file_name(recording)) == 0)
            continue;
        s->is_libc = strncmp(alqi_base_file_name(m->path), "libc.so", 7) == 0 ||
                     strncmp(alqi_base_file_name(m->path), "libc-2.", 7) == 0;
        s->is_stack =
            alqi_cli_leak_thread_of_stack(core, m) != ALQI_CLI_LEAK_NO_THREAD;
        if (is_device(m))
            s->device_bytes += m->end - m->start;
        else
            mapping_scan(s, m, &holes);
    }
    free(holes.at);
}

static void
registers_scan(struct alqi_cli_leak_scan *s, const struct alqi_cli_core *core)
{
    uint32_t edge;

    s->is_stack = true;
    for (size_t i = 0; i < core->n_threads; i++)
        for (size_t k = 0; k < ALQI_PLAT_REGISTERS; k++)
            if (word_edge(s, core->threads[i].registers[k], &edge))
                root_add(s,
                         ALQI_CLI_LEAK_REGISTER | i * ALQI_PLAT_REGISTERS | k,
                         edge);
}

/* ---- all of it ----------------------------------------------------------- */

static void
classify(struct alqi_cli_leak_graph *graph)
{
    if (!alqi_cli_leak_classify(graph))
        alqi_cli_die("leaks: there is no memory");
}

static void
weak_set(struct alqi_cli_leak_scan *s, bool is_weak)
{
    for (uint32_t i = 0; i < s->n_weak; i++)
        s->roots[i].is_weak = is_weak;
}

/* What is held in these classes and possible in the others is so because an
 * allocator's memory may be old. */
static void
current_find(struct alqi_cli_leak_scan *s)
{
    struct alqi_cli_leak_graph graph = s->graph;

    if (s->n_weak == 0)
        return;
    weak_set(s, false);
    classify(&graph);
    weak_set(s, true);
    free(graph.by);
    s->current = graph.classes;
}

void
alqi_cli_leak_scan_run(struct alqi_cli_leak_scan *s,
                       const struct alqi_cli_core *core, const char *recording,
                       bool whole)
{
    alqi_cli_leak_memory_open(&s->memory, core);
    alqi_cli_leak_table_sort(&s->table);
    alqi_cli_leak_heap_find(&s->heap, &s->memory, &s->table, whole);
    extents_join(&s->heap);
    heap_scan(s);
    registers_scan(s, core);
    mappings_scan(s, core, recording);
    s->graph.n_blocks = (uint32_t)s->table.n;
    s->graph.first = s->first;
    s->graph.edges = s->edges;
    s->graph.roots = s->roots;
    alqi_cli_leak_whole_open(&s->whole, &s->memory, &s->table);
    s->graph.is_whole = alqi_cli_leak_is_whole;
    s->graph.arg = &s->whole;
    current_find(s);
    classify(&s->graph);
}

void
alqi_cli_leak_scan_free(struct alqi_cli_leak_scan *s)
{
    alqi_cli_leak_memory_close(&s->memory);
    alqi_cli_leak_table_free(&s->table);
    alqi_cli_leak_heap_free(&s->heap);
    free(s->first);
    free(s->edges);
    free(s->roots);
    alqi_cli_leak_whole_close(&s->whole);
    free(s->current);
    free(s->graph.classes);
    free(s->graph.by);
}
