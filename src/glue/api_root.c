/* api_root.c -- <aliquot/root.h>: arguments checked, then down */
#include <aliquot/root.h>

#include "heap/root.h"

/* Three lists whose elements the program owns: each has next, and link, the
 * pointer that leads to it. */
#define ADD(list, item)                                                        \
    do {                                                                       \
        (item)->next = (list);                                                 \
        (item)->link = &(list);                                                \
        if ((list) != NULL)                                                    \
            (list)->link = &(item)->next;                                      \
        (list) = (item);                                                       \
    } while (0)

#define REMOVE(item)                                                           \
    do {                                                                       \
        *(item)->link = (item)->next;                                          \
        if ((item)->next != NULL)                                              \
            (item)->next->link = (item)->link;                                 \
    } while (0)

enum alq_status
alq_range_add(struct alq_domain *d, struct alq_range *range)
{
    if (d == NULL || range == NULL || range->base == NULL || range->top == NULL)
        return ALQ_EINVAL;
    ADD(alqi_heap_domain(d)->roots.ranges, range);
    return ALQ_OK;
}

void
alq_range_remove(struct alq_domain *d, struct alq_range *range)
{
    (void)d;
    REMOVE(range);
}

enum alq_status
alq_global_add(struct alq_domain *d, struct alq_global *global)
{
    if (d == NULL || global == NULL)
        return ALQ_EINVAL;
    ADD(alqi_heap_domain(d)->roots.globals, global);
    return ALQ_OK;
}

void
alq_global_remove(struct alq_domain *d, struct alq_global *global)
{
    (void)d;
    REMOVE(global);
}

enum alq_status
alq_scanner_add(struct alq_domain *d, struct alq_scanner *scanner)
{
    if (d == NULL || scanner == NULL || scanner->scan == NULL)
        return ALQ_EINVAL;
    ADD(alqi_heap_domain(d)->roots.scanners, scanner);
    return ALQ_OK;
}

void
alq_scanner_remove(struct alq_domain *d, struct alq_scanner *scanner)
{
    (void)d;
    REMOVE(scanner);
}

struct alq_root *
alq_root_new(struct alq_domain *d, alq_value v)
{
    return d == NULL ? NULL : alqi_heap_root_new(alqi_heap_domain(d), v);
}

void
alq_root_set(struct alq_domain *d, struct alq_root *root, alq_value v)
{
    alqi_heap_root_set(alqi_heap_domain(d), root, v);
}

void
alq_root_drop(struct alq_domain *d, struct alq_root *root)
{
    if (root != NULL)
        alqi_heap_root_drop(alqi_heap_domain(d), root);
}
