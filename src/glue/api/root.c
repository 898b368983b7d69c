/* root.c -- <aliquot/root.h>: roots, ranges, globals, scanners, pins,
 * conservative threads
 *
 * Roots, ranges and scanners are the domain's, touched by the thread that runs
 * it; globals and pins are the heap's, under its lock. Checks of misuse
 * (rule.h) come first where the library is built with them. */
#include <aliquot/root.h>

#include "glue/api/rule.h"
#include "heap/major_cycle.h"
#include "heap/event.h"
#include "heap/list.h"
#include "heap/pin.h"
#include "heap/root.h"
#include "heap/root_stack.h"
#include "heap/domain_thread.h"
#include "heap/weak.h"

/* A forked child, where a thread that is not there may hold the lock. */
static bool
is_lost(const struct alq_domain *d)
{
    return ((const struct alqi_domain *)d)->heap->life.is_lost;
}

/* The range's struct is the caller's and a list's element until it is
 * removed. */
enum alq_status
alq_range_add(struct alq_domain *d, struct alq_range *range)
{
    ALQI_RULE_RUN_UNLESS_NULL(d);
    if (d == NULL || range == NULL || range->base == NULL || range->top == NULL)
        return ALQ_EINVAL;
    range->what = NULL;
    range->name = NULL;
    ALQI_HEAP_LIST_ADD(alqi_heap_domain(d)->roots.ranges, range);
    return ALQ_OK;
}

enum alq_status
alq_range_name(struct alq_domain *d, struct alq_range *range, const char *what,
               const char *(*name)(const struct alq_range *range, size_t index))
{
    ALQI_RULE_RUN_UNLESS_NULL(d);
    if (d == NULL || range == NULL || what == NULL)
        return ALQ_EINVAL;
    range->what = what;
    range->name = name;
    return ALQ_OK;
}

/* A list's element knows its neighbours: the domain is not needed. */
void
alq_range_remove(struct alq_domain *d, struct alq_range *range)
{
    (void)d;
    if (range != NULL)
        ALQI_HEAP_LIST_REMOVE(range);
}

/* Globals are the heap's: other domains' collections scan them, too. */
enum alq_status
alq_global_add(struct alq_domain *d, struct alq_global *global)
{
    ALQI_RULE_RUN_UNLESS_NULL(d);
    if (d == NULL || global == NULL)
        return ALQ_EINVAL;
    if (is_lost(d))
        return ALQ_ESTATE;
    alqi_heap_global_add(alqi_heap_domain(d)->heap, global);
    return ALQ_OK;
}

void
alq_global_remove(struct alq_domain *d, struct alq_global *global)
{
    if (d != NULL && global != NULL && !is_lost(d))
        alqi_heap_global_remove(global);
}

enum alq_status
alq_scanner_add(struct alq_domain *d, struct alq_scanner *scanner)
{
    ALQI_RULE_RUN_UNLESS_NULL(d);
    if (d == NULL || scanner == NULL || scanner->scan == NULL)
        return ALQ_EINVAL;
    ALQI_HEAP_LIST_ADD(alqi_heap_domain(d)->roots.scanners, scanner);
    return ALQ_OK;
}

void
alq_scanner_remove(struct alq_domain *d, struct alq_scanner *scanner)
{
    (void)d;
    if (scanner != NULL)
        ALQI_HEAP_LIST_REMOVE(scanner);
}

/* Before it is written: a free one holds the way to the next free one. */
static inline void
rule_root(const struct alq_domain *d, struct alq_root *root,
          const char *function)
{
#if ALQI_CHECKS >= 1
    alqi_glue_rule_run(d, function);
    if (!alqi_heap_root_is_used((const struct alqi_domain *)d, root))
        alqi_base_misuse(function,
                         "the root was dropped, or is another domain's",
                         "drop each root once, and use it only before that");
#else
    (void)d;
    (void)root;
    (void)function;
#endif
}

struct alq_root *
alq_root_new(struct alq_domain *d, alq_value v)
{
    ALQI_RULE_RUN(d);
    return d == NULL ? NULL : alqi_heap_root_new(alqi_heap_domain(d), v);
}

/* The rule comes first: a root that was dropped holds the way to the next free
 * one. */
void
alq_root_set(struct alq_domain *d, struct alq_root *root, alq_value v)
{
    if (root == NULL)
        return;
    rule_root(d, root, __func__);
    if (d != NULL)
        alqi_heap_root_set(alqi_heap_domain(d), root, v);
}

void
alq_root_drop(struct alq_domain *d, struct alq_root *root)
{
    if (root == NULL)
        return;
    rule_root(d, root, __func__);
    if (d != NULL)
        alqi_heap_root_drop(alqi_heap_domain(d), root);
}

/* ---- pins --------------------------------------------------------------- */

/* Weak arrays and ephemerons are emptied by the collector and are refused. */
enum alq_status
alq_pin(struct alq_domain *d, alq_value block)
{
    if (d == NULL || !alq_is_block(block) ||
        alqi_heap_weak_is(block, ALQI_HEAP_WEAK) ||
        alqi_heap_weak_is(block, ALQI_HEAP_EPHE))
        return ALQ_EINVAL;
    if (is_lost(d))
        return ALQ_ESTATE;
    return alqi_heap_pin(alqi_heap_domain(d), block);
}

enum alq_status
alq_unpin(struct alq_domain *d, alq_value block)
{
    if (d == NULL)
        return ALQ_EINVAL;
    return is_lost(d) ? ALQ_ESTATE
                      : alqi_heap_unpin(alqi_heap_domain(d), block);
}

/* ---- conservative threads ----------------------------------------------- */

/* ALQ_OK: the calling thread runs the domain, outside of the collector. */
static enum alq_status
is_run(struct alq_domain *d)
{
    if (d == NULL)
        return ALQ_EINVAL;
    return alqi_heap_thread_runs(d) && !is_lost(d) &&
                   !alqi_heap_event_is_inside(alqi_heap_domain(d))
               ? ALQ_OK
               : ALQ_ESTATE;
}

/* Weak blocks are in the major heap while there is such a thread: the minor
 * collection brings those that are young there. */
enum alq_status
alq_thread_conservative(struct alq_domain *d, const void *bottom)
{
    enum alq_status status = is_run(d);

    if (status == ALQ_OK)
        status = alqi_heap_stack_begin(alqi_heap_domain(d), bottom);
    if (status == ALQ_OK) /* weak blocks are old from now on */
        alqi_heap_minor(alqi_heap_domain(d));
    return status;
}

enum alq_status
alq_thread_precise(struct alq_domain *d)
{
    enum alq_status status = is_run(d);

    if (status == ALQ_OK)
        alqi_heap_stack_end(alqi_heap_domain(d)->threads.running);
    return status;
}
