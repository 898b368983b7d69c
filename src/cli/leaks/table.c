/* table.c -- sorted blocks, and the first of each page of 4 KiB
 *
 * .inv.large_apart  A block of many pages stands in a list of its own, and not
 *              in the table of pages: it may be of a terabyte. */
#include <stdlib.h>

#include "cli/leaks/table.h"
#include "cli/tool/cli.h"

enum { PAGE_SHIFT = 12, LARGE_BYTES = 64 << 10 };

void
alqi_cli_leak_table_add(struct alqi_cli_leak_table *t, uint64_t start,
                        uint64_t bytes, uint64_t id)
{
    if (t->n == ALQI_CLI_LEAK_BLOCKS_MOST)
        alqi_cli_die("leaks: more than %d blocks", ALQI_CLI_LEAK_BLOCKS_MOST);
    if (t->n == t->capacity) {
        t->capacity = t->capacity == 0 ? 1024 : 2 * t->capacity;
        t->blocks = alqi_cli_realloc(t->blocks, t->capacity, sizeof *t->blocks);
    }
    t->blocks[t->n++] = (struct alqi_cli_leak_block){start, bytes, id};
}

/* A block of no bytes has an address all the same. */
static uint64_t
end_of(const struct alqi_cli_leak_block *b)
{
    return b->start + (b->bytes > 0 ? b->bytes : 1);
}

/* At one address the block of the recording comes first. */
static int
compare(const void *left, const void *right)
{
    const struct alqi_cli_leak_block *a = left, *b = right;

    if (a->start != b->start)
        return a->start < b->start ? -1 : 1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static void
overlaps_drop(struct alqi_cli_leak_table *t)
{
    size_t n = 0;

    for (size_t i = 0; i < t->n; i++) {
        const struct alqi_cli_leak_block *b = &t->blocks[i];

        if (n == 0 || b->start >= end_of(&t->blocks[n - 1]))
            t->blocks[n++] = *b;
        else if (t->blocks[n - 1].id == ALQI_CLI_LEAK_NO_ID)
            t->blocks[n - 1] = *b;
    }
    t->n = n;
}

/* Pages before `next` have their first block, and the others have none yet:
 * blocks come in order, many to a page.  Returns the new `next`. */
static uint64_t
pages_put(struct alqi_cli_leak_table *t, size_t i, uint64_t next)
{
    const struct alqi_cli_leak_block *b = &t->blocks[i];
    uint64_t page = b->start >> PAGE_SHIFT;
    uint64_t behind = ((end_of(b) - 1) >> PAGE_SHIFT) + 1;

    for (page = page > next ? page : next; page < behind; page++)
        if (!alqi_base_map_put(&t->pages, page, i))
            alqi_cli_die("leaks: there is no memory");
    return behind > next ? behind : next;
}

void
alqi_cli_leak_table_sort(struct alqi_cli_leak_table *t)
{
    uint64_t next_page = 0;

    if (t->n == 0)
        return;
    qsort(t->blocks, t->n, sizeof *t->blocks, compare);
    overlaps_drop(t);
    alqi_base_map_clear(&t->pages);
    t->large = alqi_cli_realloc(t->large, t->n, sizeof *t->large);
    t->n_large = 0;
    for (size_t i = 0; i < t->n; i++)
        if (t->blocks[i].bytes < LARGE_BYTES)
            next_page = pages_put(t, i, next_page);
        else
            t->large[t->n_large++] = (uint32_t)i;
    t->from = t->blocks[0].start;
    t->to = end_of(&t->blocks[t->n - 1]);
}

void
alqi_cli_leak_table_free(struct alqi_cli_leak_table *t)
{
    alqi_base_map_clear(&t->pages);
    free(t->large);
    free(t->blocks);
    *t = (struct alqi_cli_leak_table){0};
}

/* The last block from `low` on that begins at the address or before it; blocks
 * of one page are few. */
static size_t
last_at(const struct alqi_cli_leak_table *t, size_t low, uint64_t address)
{
    size_t high = low + 1, step = 1;

    while (high < t->n && t->blocks[high].start <= address) {
        low = high;
        high += step;
        step *= 2;
    }
    if (high > t->n)
        high = t->n;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (t->blocks[middle].start <= address)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static bool
is_in(const struct alqi_cli_leak_table *t, size_t i, uint64_t address)
{
    return address >= t->blocks[i].start && address < end_of(&t->blocks[i]);
}

/* .inv.large_apart */
static bool
large_find(const struct alqi_cli_leak_table *t, uint64_t address,
           uint32_t *block)
{
    size_t low = 0, high = t->n_large;

    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        if (t->blocks[t->large[middle]].start <= address)
            low = middle;
        else
            high = middle;
    }
    if (t->n_large == 0 || !is_in(t, t->large[low], address))
        return false;
    *block = t->large[low];
    return true;
}

bool
alqi_cli_leak_table_find_slow(const struct alqi_cli_leak_table *t,
                              uint64_t address, uint32_t *block)
{
    uint64_t first;

    if (alqi_base_map_get(&t->pages, address >> PAGE_SHIFT, &first)) {
        *block = (uint32_t)last_at(t, first, address);
        if (is_in(t, *block, address))
            return true;
    }
    return large_find(t, address, block);
}
