/* old.c -- the list of entries whose blocks are old
 *
 * At the end of a major cycle the pause looks at each entry of the list: there
 * may be millions, and each look reads two lines of memory, the entry's and its
 * block's header.  So each entry has a pointer to the one ALQI_OLD_AHEAD
 * further on: the loop prefetches that one's block header, and through its own
 * pointer the line of an entry further still.
 *
 * .inv.ahead  `ahead` is NULL or the entry of the same list ALQI_OLD_AHEAD
 *             further on; the list's last ALQI_OLD_AHEAD entries are in
 *             `window`, by their number.
 * .inv.old    An entry on the list has an old block, which was alive when it
 *             was last looked at. */
#include <string.h>

#include "memprof/old.h"
#include "memprof/profile.h"

enum { WINDOW = ALQI_OLD_AHEAD };

/* The entry is the list's n-th of those that stay. */
static inline void
window_push(struct alqi_memprof_old *l, struct alqi_memprof_entry *e)
{
    l->window[l->n++ % WINDOW] = e;
}

/* As window_push; the entry ALQI_OLD_AHEAD before this one gets its pointer
 * (.inv.ahead). */
static inline void
window_link(struct alqi_memprof_old *l, struct alqi_memprof_entry *e)
{
    struct alqi_memprof_entry *before = l->window[l->n % WINDOW];

    if (before != NULL)
        before->ahead = e;
    window_push(l, e);
}

void
alqi_old_add(struct alqi_memprof_old *l, struct alqi_memprof_entry *e)
{
    e->next = e->ahead = NULL;
    if (l->tail != NULL)
        l->tail->next = e;
    else
        l->head = e;
    l->tail = e;
    window_link(l, e);
}

void
alqi_old_append(struct alqi_memprof_old *to, struct alqi_memprof_old *from)
{
    if (from->head == NULL)
        return;
    if (to->tail != NULL) {
        to->tail->next = from->head;
        from->head = to->head;
    }
    *to = *from;
    *from = (struct alqi_memprof_old){0};
}

struct alqi_memprof_entry *
alqi_old_pop(struct alqi_memprof_old *l)
{
    struct alqi_memprof_entry *e = l->head;

    if (e == NULL)
        return NULL;
    l->head = e->next;
    if (l->head == NULL)
        l->tail = NULL;
    for (unsigned i = 0; i < WINDOW; i++)
        if (l->window[i] == e)
            l->window[i] = NULL;
    return e;
}

/* ---- looking through ---------------------------------------------------- */

/* Prefetches what the loop reads later. */
static inline void
fetch_ahead(const struct alqi_memprof_entry *e)
{
    const struct alqi_memprof_entry *ahead = e->ahead;

    if (ALQI_LIKELY(ahead != NULL)) {
        __builtin_prefetch(ahead->ahead);
        __builtin_prefetch((const uintptr_t *)ahead->block - 1);
    }
}

/* The last entries have none ahead of them. */
static void
window_end(struct alqi_memprof_old *l)
{
    for (unsigned i = 0; i < WINDOW; i++)
        if (l->window[i] != NULL)
            l->window[i]->ahead = NULL;
}

typedef void removed_fn(void *arg, struct alqi_memprof_entry *e);
typedef bool picks_fn(const void *arg, const struct alqi_memprof_entry *e);

/* Goes through the list once and removes what `picks` chooses.  The window is
 * filled anew; `ahead` pointers are written only from the first removal on, as
 * before it they still hold (.inv.ahead). */
static inline __attribute__((always_inline)) void
look(struct alqi_memprof_old *l, picks_fn *picks, const void *picks_arg,
     removed_fn *removed, void *arg)
{
    struct alqi_memprof_entry **at = &l->head, *e, *last = NULL;
    bool any = false;

    l->n = 0;
    memset(l->window, 0, sizeof l->window);
    while ((e = *at) != NULL) {
        fetch_ahead(e);
        if (ALQI_UNLIKELY(picks(picks_arg, e))) {
            *at = e->next;
            any = true;
            removed(arg, e);
            continue;
        }
        if (ALQI_UNLIKELY(any))
            window_link(l, e);
        else
            window_push(l, e);
        at = &e->next;
        last = e;
    }
    l->tail = last;
    if (any)
        window_end(l);
}

static inline bool
is_dead(const void *arg, const struct alqi_memprof_entry *e)
{
    const struct alqi_memprof_domain *d = arg;

    return !d->subject->is_marked(d->heap, e->block);
}

static bool
is_dead_or_discarded(const void *arg, const struct alqi_memprof_entry *e)
{
    return is_dead(arg, e) ||
           alqi_profile_status(e->profile) == ALQI_PROFILE_DISCARDED;
}

static bool
is_of(const void *profile, const struct alqi_memprof_entry *e)
{
    return e->profile == profile;
}

void
alqi_old_remove_dead(struct alqi_memprof_domain *d, removed_fn *removed,
                     void *arg)
{
    look(&d->old, is_dead, d, removed, arg);
}

void
alqi_old_remove_ended(struct alqi_memprof_domain *d, removed_fn *removed,
                      void *arg)
{
    look(&d->old, is_dead_or_discarded, d, removed, arg);
}

void
alqi_old_remove_of(struct alqi_memprof_old *l, const struct alq_profile *p,
                   removed_fn *removed, void *arg)
{
    look(l, is_of, p, removed, arg);
}
