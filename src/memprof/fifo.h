/* fifo.h -- FIFOs of entries that owe a callback (struct alqi_entry_fifo)
 *
 * An entry is on one FIFO or list at a time; its owner alone, a thread or a
 * domain, changes it (.inv.owner). */
#ifndef ALQI_MEMPROF_FIFO_H
#define ALQI_MEMPROF_FIFO_H

#include <stddef.h>

#include "memprof/engine.h"
#include "memprof/entry.h"

/* Appends the entry, which is on no other FIFO or list. */
static inline void
alqi_fifo_push(struct alqi_entry_fifo *f, struct alqi_memprof_entry *e)
{
    e->next = NULL;
    if (f->tail != NULL)
        f->tail->next = e;
    else
        f->head = e;
    f->tail = e;
}

/* Takes the first entry; NULL: the FIFO is empty. */
static inline struct alqi_memprof_entry *
alqi_fifo_pop(struct alqi_entry_fifo *f)
{
    struct alqi_memprof_entry *e = f->head;

    if (e == NULL)
        return NULL;
    f->head = e->next;
    if (f->head == NULL)
        f->tail = NULL;
    return e;
}

/* Appends all of `from`, which is empty then. */
static inline void
alqi_fifo_append(struct alqi_entry_fifo *to, struct alqi_entry_fifo *from)
{
    if (from->head == NULL)
        return;
    if (to->tail != NULL)
        to->tail->next = from->head;
    else
        to->head = from->head;
    to->tail = from->tail;
    *from = (struct alqi_entry_fifo){NULL, NULL};
}

#endif
