#include <stdlib.h>
#include <string.h>

#include "heap/ask.h"
#include "heap/final.h"
#include "heap/mark.h"
#include "heap/promote.h"

enum { SIZE_FIRST = ALQI_HEAP_IS_HARD ? 1 : 32, AHEAD = 16 };

/* ---- registering -------------------------------------------------------- */

static bool
entries_grow(struct alqi_heap_final_entry **entries, size_t *size)
{
    size_t more = *size == 0 ? SIZE_FIRST : *size * 2;
    struct alqi_heap_final_entry *grown =
        realloc(*entries, more * sizeof *grown);

    if (grown == NULL)
        return false;
    *entries = grown;
    *size = more;
    return true;
}

/* .inv.place, with one more. */
static bool
todo_ready(struct alqi_heap_final *f)
{
    size_t n = f->tables[0].n + f->tables[1].n + 1;

    if (f->todo_size - f->todo_end >= n)
        return true;
    if (f->todo_first >= f->todo_size / 2 && f->todo_first > 0) {
        f->todo_end -= f->todo_first;
        memmove(f->todo, f->todo + f->todo_first,
                f->todo_end * sizeof *f->todo);
        f->todo_first = 0;
    }
    while (f->todo_size - f->todo_end < n)
        if (!entries_grow(&f->todo, &f->todo_size))
            return false;
    return true;
}

bool
alqi_heap_final_add(struct alqi_domain *d, enum alqi_heap_final_kind kind,
                    const struct alqi_heap_final_entry *entry)
{
    struct alqi_heap_final *f = d->live.finals;
    struct alqi_heap_final_table *table;

    if (f == NULL) {
        f = calloc(1, sizeof *f);
        if (f == NULL)
            return false;
        d->live.finals = f;
    }
    table = &f->tables[kind];
    if (!todo_ready(f) || (table->n == table->size &&
                           !entries_grow(&table->entries, &table->size)))
        return false;
    table->entries[table->n++] = *entry;
    return true;
}

/* ---- calls that are due ------------------------------------------------- */

static void
todo_add(struct alqi_heap_final *f, struct alqi_heap_final_entry *entry,
         enum alqi_heap_final_kind kind)
{
    struct alqi_heap_final_entry *call = &f->todo[f->todo_end++];

    ALQI_ASSERT(f->todo_end <= f->todo_size);
    *call = *entry;
    if (kind == ALQI_HEAP_FINAL_LAST)
        call->value = ALQ_UNIT;
    entry->fn = NULL; /* to be taken out */
}

static void
table_close(struct alqi_heap_final_table *table)
{
    size_t i, to = 0, n_old = 0;

    for (i = 0; i < table->n; i++) {
        if (table->entries[i].fn == NULL)
            continue;
        n_old += i < table->n_old;
        table->entries[to++] = table->entries[i];
    }
    table->n = to;
    table->n_old = n_old;
}

bool
alqi_heap_final_take(struct alqi_domain *d, struct alqi_heap_final_entry *out)
{
    struct alqi_heap_final *f;

    for (f = d->live.finals; f != NULL; f = f->next) {
        if (f->todo_first == f->todo_end)
            continue;
        *out = f->todo[f->todo_first++];
        if (f->todo_first == f->todo_end)
            f->todo_first = f->todo_end = 0;
        return true;
    }
    return false;
}

/* ---- minor collection --------------------------------------------------- */

static void
promote_recent(struct alqi_domain *self, struct alqi_heap_final_table *table,
               enum alqi_heap_final_kind kind)
{
    size_t i;

    for (i = table->n_old; i < table->n; i++) {
        alqi_heap_promote(self, &table->entries[i].with);
        if (kind == ALQI_HEAP_FINAL_FIRST)
            alqi_heap_promote(self, &table->entries[i].value);
    }
}

/* Some held pinned blocks. */
static void
promote_todo(struct alqi_domain *self, struct alqi_heap_final *f)
{
    size_t i;

    for (i = f->todo_first; i < f->todo_end; i++) {
        alqi_heap_promote(self, &f->todo[i].with);
        alqi_heap_promote(self, &f->todo[i].value);
    }
}

void
alqi_heap_final_promote(struct alqi_domain *self, struct alqi_domain *of)
{
    struct alqi_heap_final *f;

    for (f = of->live.finals; f != NULL; f = f->next) {
        promote_recent(self, &f->tables[0], ALQI_HEAP_FINAL_FIRST);
        promote_recent(self, &f->tables[1], ALQI_HEAP_FINAL_LAST);
        if (self->heap->pins.is_collecting)
            promote_todo(self, f);
    }
}

/* From the first on that leads to a pinned young block they stay recent. */
static void
settle(struct alqi_domain *d, struct alqi_heap_final_table *table)
{
    while (table->n_old < table->n &&
           !alqi_heap_is_young(d, table->entries[table->n_old].value) &&
           !alqi_heap_is_young(d, table->entries[table->n_old].with))
        table->n_old++;
}

/* The recent ones, the last registered first. */
static void
last_after_minor(struct alqi_domain *d, struct alqi_heap_final *f)
{
    struct alqi_heap_final_table *table = &f->tables[ALQI_HEAP_FINAL_LAST];
    size_t i, before = f->todo_end;

    for (i = table->n; i-- > table->n_old;) {
        struct alqi_heap_final_entry *entry = &table->entries[i];
        alq_value moved;

        if (!alqi_heap_is_young(d, entry->value))
            continue;
        moved = alqi_heap_promoted(entry->value);
        if (moved == ALQ_NULL)
            todo_add(f, entry, ALQI_HEAP_FINAL_LAST);
        else
            entry->value = moved;
    }
    if (f->todo_end != before) {
        table_close(table);
        alqi_heap_ask(d);
    }
    settle(d, table);
}

void
alqi_heap_final_after_minor(struct alqi_domain *d)
{
    struct alqi_heap_final *f;

    for (f = d->live.finals; f != NULL; f = f->next) {
        settle(d, &f->tables[0]);
        last_after_minor(d, f);
    }
}

/* ---- the cycle ---------------------------------------------------------- */

static void
entries_visit(struct alqi_heap_final_entry *entries, size_t n, bool values,
              void (*visit)(void *arg, alq_value *slot), void *arg)
{
    size_t i;

    for (i = 0; i < n; i++) {
        visit(arg, &entries[i].with);
        if (values)
            visit(arg, &entries[i].value);
    }
}

void
alqi_heap_final_visit(struct alqi_domain *d, bool values,
                      void (*visit)(void *arg, alq_value *slot), void *arg)
{
    struct alqi_heap_final *f;
    unsigned kind;

    for (f = d->live.finals; f != NULL; f = f->next) {
        for (kind = 0; kind < 2; kind++)
            entries_visit(f->tables[kind].entries, f->tables[kind].n, values,
                          visit, arg);
        entries_visit(f->todo + f->todo_first, f->todo_end - f->todo_first,
                      true, visit, arg);
    }
}

/* Recent values were held by the program while marking went on, so they are
 * not looked at. */
void
alqi_heap_final_find(struct alqi_domain *d, enum alqi_heap_final_kind kind)
{
    struct alqi_heap_final *f;

    for (f = d->live.finals; f != NULL; f = f->next) {
        struct alqi_heap_final_table *table = &f->tables[kind];
        size_t i, before = f->todo_end;

        for (i = table->n_old; i-- > 0;) {
            if (i >= AHEAD)
                __builtin_prefetch(
                    (void *)(table->entries[i - AHEAD].value - ALQ_WORD_BYTES));
            if (alqi_heap_mark_is_white(d, table->entries[i].value))
                todo_add(f, &table->entries[i], kind);
        }
        if (f->todo_end == before)
            continue;
        __atomic_add_fetch(&d->heap->live.n_found,
                           (uint32_t)(f->todo_end - before), __ATOMIC_RELAXED);
        table_close(table);
        alqi_heap_ask(d);
    }
}

void
alqi_heap_final_keep(struct alqi_domain *d)
{
    struct alqi_heap_final *f;
    size_t i;

    for (f = d->live.finals; f != NULL; f = f->next)
        for (i = f->todo_first; i < f->todo_end; i++)
            alqi_heap_mark_darken(d, f->todo[i].value);
}

/* ---- ends --------------------------------------------------------------- */

bool
alqi_heap_final_is_recent(const struct alqi_domain *d)
{
    const struct alqi_heap_final *f;

    for (f = d->live.finals; f != NULL; f = f->next)
        if (f->tables[0].n_old < f->tables[0].n ||
            f->tables[1].n_old < f->tables[1].n)
            return true;
    return false;
}

void
alqi_heap_final_leave(struct alqi_domain *d, struct alqi_heap_orphan *o)
{
    o->finals = d->live.finals;
    d->live.finals = NULL;
}

/* The first one is the domain's own. */
void
alqi_heap_final_adopt(struct alqi_domain *d, struct alqi_heap_orphan *o)
{
    struct alqi_heap_final **end = &d->live.finals;

    if (o->finals == NULL)
        return;
    while (*end != NULL)
        end = &(*end)->next;
    *end = o->finals;
    o->finals = NULL;
    alqi_heap_ask(d);
}

void
alqi_heap_final_drop(struct alqi_domain *d)
{
    struct alqi_heap_final *f;

    while ((f = d->live.finals) != NULL) {
        d->live.finals = f->next;
        free(f->tables[0].entries);
        free(f->tables[1].entries);
        free(f->todo);
        free(f);
    }
}
