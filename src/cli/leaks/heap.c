/* heap.c -- glibc's memory, by the words in front of its blocks
 *
 *   block - 16: size of the block before, if that is free; of a block that is
 *               mapped by itself: bytes in front of it
 *   block - 8:  size with these two words; bits: the one before is in use, this
 *               one is a mapping of its own, this one is of another arena
 *
 * Three kinds of memory have blocks: the heap that grows by brk, heaps of other
 * arenas at multiples of 64 MiB, which begin with their size, and mappings of
 * one block.
 *
 * .inv.chain   The blocks of a heap are a chain: each ends where the next one
 *              begins, up to the last, which reaches the end of the heap.  A
 *              chain that breaks is none: then what lies between the known
 *              blocks is not said to be free. */
#include <stdlib.h>
#include <string.h>

#include "cli/leaks/heap.h"
#include "cli/tool/cli.h"

enum {
    IN_USE_BEFORE = 1,
    IS_MAPPED = 2,
    IS_OF_ARENA = 4,
    SIZE_LEAST = 32,
    HEAD = 16,            /* bytes of a block's own words */
    ARENA_SEARCH = 4096,  /* the first block of a heap is so near its begin */
    WINDOW_BYTES = 65536, /* read at a time along a chain */
    ARENA_FIELDS = 3      /* words of an arena's heap: arena, last, size */
};

#define ARENA_ALIGN (UINT64_C(64) << 20)
#define SIZE_OF(word) ((word) & ~UINT64_C(7))

struct finding {
    struct alqi_cli_leak_heap *heap;
    struct alqi_cli_leak_memory *memory;
    struct alqi_cli_leak_table *table;
    bool is_whole;
    uint64_t end; /* of all extents so far */
};

/* ---- extents ------------------------------------------------------------- */

static void
extent_add(struct finding *f, uint64_t from, uint64_t to, bool is_known)
{
    struct alqi_cli_leak_heap *h = f->heap;

    h->extents =
        alqi_cli_realloc(h->extents, h->n_extents + 1, sizeof *h->extents);
    h->extents[h->n_extents++] =
        (struct alqi_cli_leak_extent){from, to, is_known};
    if (to > f->end)
        f->end = to;
}

/* Blocks come in the order of their addresses: the last extents are near, and
 * most blocks that are in none lie behind all. */
static bool
is_in_extent(const struct finding *f, uint64_t address)
{
    if (address >= f->end)
        return false;
    for (size_t i = f->heap->n_extents; i-- > 0;)
        if (address >= f->heap->extents[i].from &&
            address < f->heap->extents[i].to)
            return true;
    return false;
}

/* ---- a chain ------------------------------------------------------------- */

/* What of the memory is at hand. */
struct window {
    uint64_t from;
    size_t n_bytes;
    uint64_t words[WINDOW_BYTES / 8];
};

static bool
size_at(struct finding *f, struct window *w, uint64_t chunk, uint64_t *size)
{
    uint64_t at = chunk + 8;

    if (at < w->from || at + 8 > w->from + w->n_bytes) {
        w->from = chunk;
        w->n_bytes = alqi_cli_core_read(f->memory->core, chunk, w->words,
                                        sizeof w->words);
    }
    if (at + 8 > w->from + w->n_bytes)
        return false;
    *size = w->words[(at - w->from) / 8];
    return true;
}

static bool
is_size(uint64_t word)
{
    return SIZE_OF(word) >= SIZE_LEAST && word % 16 < 8;
}

/* Goes along the chain to the end of the heap; `each` may be NULL.  False: it
 * breaks (.inv.chain). */
static bool
chain_walk(struct finding *f, struct window *w, uint64_t first, uint64_t end,
           void (*each)(struct finding *f, uint64_t chunk, uint64_t bytes))
{
    uint64_t chunk = first, size, next;

    while (size_at(f, w, chunk, &size) && is_size(size) &&
           SIZE_OF(size) <= end - chunk) {
        uint64_t behind = chunk + SIZE_OF(size);

        if (end - behind < SIZE_LEAST)
            return true; /* the last: room to grow into */
        if (!size_at(f, w, behind, &next))
            return false;
        if (SIZE_OF(next) == HEAD) /* a fence, where a heap could not grow */
            return true;
        if ((next & IN_USE_BEFORE) != 0 && each != NULL)
            each(f, chunk, SIZE_OF(size));
        chunk = behind;
    }
    return false;
}

/* A block may go on in the first word of the next one. */
static void
found_add(struct finding *f, uint64_t chunk, uint64_t bytes)
{
    alqi_cli_leak_table_add(f->table, chunk + HEAD, bytes - 8,
                            ALQI_CLI_LEAK_NO_ID);
    f->heap->n_found++;
}

/* A heap whose blocks are a chain, from some place near its begin on. */
static bool
chain_add(struct finding *f, uint64_t from, uint64_t end)
{
    struct window *w = alqi_cli_zeros(1, sizeof *w);
    bool ok = false;

    for (uint64_t first = from; !ok && first < from + ARENA_SEARCH; first += 16)
        if (chain_walk(f, w, first, end, NULL)) {
            ok = true;
            if (!f->is_whole)
                chain_walk(f, w, first, end, found_add);
        }
    free(w);
    return ok;
}

/* ---- kinds of memory ----------------------------------------------------- */

static const struct alqi_cli_mapping *
mapping_at(const struct finding *f, uint64_t address)
{
    return alqi_cli_attach_target_at(&f->memory->core->target, address);
}

/* The whole heap, if its chain can be followed; a whole recording needs no
 * chain to know which blocks there are. */
static void
heap_add(struct finding *f, uint64_t from, uint64_t to)
{
    extent_add(f, from, to, chain_add(f, from, to));
}

static bool
arena_add(struct finding *f, uint64_t block)
{
    uint64_t heap = block & ~(ARENA_ALIGN - 1), fields[ARENA_FIELDS];

    if (alqi_cli_core_read(f->memory->core, heap, fields, sizeof fields) !=
            sizeof fields ||
        fields[2] > ARENA_ALIGN || block >= heap + fields[2])
        return false;
    heap_add(f, heap, heap + fields[2]);
    return true;
}

/* Of a block that is in no extent yet. */
static void
block_place(struct finding *f, const struct alqi_cli_leak_block *b)
{
    const struct alqi_cli_mapping *m = mapping_at(f, b->start);
    uint64_t head[2];

    if (m == NULL)
        return;
    if (b->start % 16 == 0 &&
        alqi_cli_core_read(f->memory->core, b->start - HEAD, head,
                           sizeof head) == sizeof head &&
        is_size(head[1]) && SIZE_OF(head[1]) >= b->bytes + 8) {
        if ((head[1] & IS_MAPPED) != 0 && head[0] < m->end - m->start) {
            extent_add(f, b->start - HEAD - head[0],
                       b->start - HEAD + SIZE_OF(head[1]), true);
            return;
        }
        if ((head[1] & IS_OF_ARENA) != 0 && arena_add(f, b->start))
            return;
        if (strcmp(m->path, "[heap]") == 0) {
            heap_add(f, m->start, m->end);
            return;
        }
    }
    if (b->start == m->start) /* a mapping that was recorded as such */
        extent_add(f, b->start, b->start + b->bytes, true);
    else
        extent_add(f, m->start, m->end, false);
}

static int
compare(const void *left, const void *right)
{
    const struct alqi_cli_leak_extent *a = left, *b = right;

    return a->from < b->from ? -1 : a->from > b->from;
}

void
alqi_cli_leak_heap_find(struct alqi_cli_leak_heap *heap,
                        struct alqi_cli_leak_memory *memory,
                        struct alqi_cli_leak_table *table, bool is_whole)
{
    struct finding f = {heap, memory, table, is_whole, 0};
    const struct alqi_cli_mapping *brk =
        alqi_cli_attach_target_find(&memory->core->target, "[heap]");
    size_t n_known = table->n;

    *heap = (struct alqi_cli_leak_heap){0};
    if (brk != NULL && !is_whole)
        heap_add(&f, brk->start, brk->end);
    for (size_t i = 0; i < n_known; i++)
        if (!is_in_extent(&f, table->blocks[i].start))
            block_place(&f, &table->blocks[i]);
    if (heap->n_extents > 0)
        qsort(heap->extents, heap->n_extents, sizeof *heap->extents, compare);
    if (table->n > n_known)
        alqi_cli_leak_table_sort(table);
}

void
alqi_cli_leak_heap_free(struct alqi_cli_leak_heap *heap)
{
    free(heap->extents);
}
