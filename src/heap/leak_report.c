/* leak_report.c -- warnings of leaks: roots, pins and children left at the end
 *
 * Called when a domain ends and when the heap ends, before anything is dropped.
 * Without W=1 in ALIQUOTPARAM the calls return at once.  They count and change
 * nothing. */
#include <stdio.h>

#include "heap/leak_report.h"
#include "heap/root.h"
#include "heap/log.h"

static bool
is_wanted(const struct alqi_heap *heap)
{
    return heap->tuning.warns != 0;
}

/* Logs a count, unless it is 0. */
static void
say(const char *where, size_t n, const char *what)
{
    if (n > 0)
        alqi_heap_log_slow("warning: %s ends: %zu %s", where, n, what);
}

/* Boxed roots in use: all of the pages, less those on the free list.  A free
 * one holds the address of the next + 1, so it looks like an integer. */
static size_t
boxes(const struct alqi_heap_roots *roots)
{
    const struct alqi_heap_boxes *page;
    uintptr_t at;
    size_t n = 0;

    for (page = roots->boxes; page != NULL; page = page->next)
        n += ALQI_HEAP_BOXES;
    for (at = roots->free_box; at != 0;
         at = ((const struct alq_root *)(at - 1))->value)
        n--;
    return n;
}

/* Warns of what the domain's program has not dropped. */
void
alqi_heap_leak_domain(const struct alqi_domain *d)
{
    const struct alq_range *range;
    const struct alq_scanner *scanner;
    size_t n_ranges = 0, n_scanners = 0;
    char where[32];

    if (!is_wanted(d->heap))
        return;
    for (range = d->roots.ranges; range != NULL; range = range->next)
        n_ranges++;
    for (scanner = d->roots.scanners; scanner != NULL; scanner = scanner->next)
        n_scanners++;
    snprintf(where, sizeof where, "domain %u", d->slot);
    say(where, boxes(&d->roots), "boxed roots are not dropped");
    say(where, n_ranges, "ranges are not removed");
    say(where, n_scanners, "scanners are not removed");
}

/* Warns of what is the heap's: global roots, children, pins. */
void
alqi_heap_leak_heap(const struct alqi_heap *heap)
{
    size_t n_globals, n_transfer_roots;

    if (!is_wanted(heap))
        return;
    alqi_heap_roots_count_common(heap, &n_globals, &n_transfer_roots);
    say("the heap", n_globals, "global roots are not removed");
    say("the heap", n_transfer_roots, "children are not dropped");
    say("the heap", heap->pins.n, "blocks are pinned");
}
