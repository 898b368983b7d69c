/* final.c -- finalisers: registered, found dead, due, called
 *
 * finalise and finalise_last have a table each.  A pass goes through a table
 * downwards, in place, in steps of the weak phase (weak_phase.h): what stays
 * moves up to `to`, what was found dead goes to the queue `todo`.  Entries from
 * n_old on may hold young values; a minor collection sees to these.
 *
 * Keeps .inv.pass: A pass ends with its hole at the front of the table.
 * Keeps .inv.place: `todo` has room for all that the tables hold, so finding a
 *   dead value needs no memory. */
#include <stdlib.h>
#include <string.h>

#include "heap/final_request.h"
#include "heap/final.h"
#include "heap/major_mark.h"
#include "heap/minor_promote.h"

enum { SIZE_FIRST = ALQI_HEAP_IS_HARD ? 1 : 32, AHEAD = 16 };

/* ---- registering -------------------------------------------------------- */

/* Doubles an array of entries; false: no memory, and it is as before. */
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

/* Entries of the table: those that a pass has left, and those that it has not
 * come to. */
static size_t
count(const struct alqi_heap_final_table *t)
{
    return t->n - t->to + (t->from - t->first);
}

/* Stops the program unless the table and the queue are as they have to be. */
static void
check(const struct alqi_heap_final *f, const struct alqi_heap_final_table *t)
{
    ALQI_ASSERT(t->first <= t->from && t->from <= t->to); /* .inv.pass */
    ALQI_ASSERT(t->to <= t->n_old && t->n_old <= t->n);   /* .inv.pass */
    ALQI_ASSERT(t->n <= t->size);                         /* .inv.pass */
    ALQI_ASSERT(f->todo_first <= f->todo_end);            /* .inv.place */
    ALQI_ASSERT(f->todo_size - f->todo_end >=
                count(&f->tables[0]) + count(&f->tables[1])); /* .inv.place */
}

/* Makes room in the queue for one entry more than the tables hold (.inv.place);
 * false: no memory.  Calls that are over leave room at the front; if that is
 * half the queue, the rest moves there instead. */
static bool
todo_ready(struct alqi_heap_final *f)
{
    size_t n = count(&f->tables[0]) + count(&f->tables[1]) + 1;

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

/* Makes room for one entry more; false: no memory.  The room that finalisers
 * left at the front is used if it is large, but not while a pass is under way,
 * which has places in the table. */
static bool
table_ready(struct alqi_heap_final_table *t)
{
    size_t first = t->first;

    if (t->n < t->size)
        return true;
    if (t->from != t->to || t->from != first || first <= t->size / 2)
        return entries_grow(&t->entries, &t->size);
    memmove(t->entries, t->entries + first,
            (t->n - first) * sizeof *t->entries);
    t->n -= first;
    t->n_old -= first;
    t->first = t->from = t->to = 0;
    return true;
}

/* Registers a finaliser; false: no memory, and nothing has changed.  The queue
 * is made ready first: once an entry is in a table, it must find room there
 * (.inv.place). */
bool
alqi_heap_final_add(struct alqi_domain *d, enum alqi_heap_final_kind kind,
                    const struct alqi_heap_final_entry *entry)
{
    struct alqi_heap_final *f = d->weak_phase.finals;
    struct alqi_heap_final_table *table;

    if (f == NULL) {
        f = calloc(1, sizeof *f);
        if (f == NULL)
            return false;
        d->weak_phase.finals = f;
    }
    table = &f->tables[kind];
    if (!todo_ready(f) || !table_ready(table))
        return false;
    table->entries[table->n++] = *entry;
    check(f, table);
    return true;
}

static void
final_free(struct alqi_heap_final *f)
{
    free(f->tables[0].entries);
    free(f->tables[1].entries);
    free(f->todo);
    free(f);
}

/* ---- calls that are due ------------------------------------------------- */

/* Makes the call of an entry due.  There is room (.inv.place).  A value of the
 * second kind is dead for good, so the call gets the unit value. */
static void
todo_add(struct alqi_heap_final *f, const struct alqi_heap_final_entry *entry,
         enum alqi_heap_final_kind kind)
{
    struct alqi_heap_final_entry *call = &f->todo[f->todo_end++];

    ALQI_ASSERT(f->todo_end <= f->todo_size); /* .inv.place */
    *call = *entry;
    if (kind == ALQI_HEAP_FINAL_LAST)
        call->value = ALQ_UNIT;
}

/* Takes the next call that is due; false: none is.  Calls that ended domains
 * have left come after the domain's own. */
bool
alqi_heap_final_take(struct alqi_domain *d, struct alqi_heap_final_entry *out)
{
    struct alqi_heap_final *f;

    for (f = d->weak_phase.finals; f != NULL; f = f->next) {
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

/* Promotes what recent entries hold.  Values of the second kind are not roots:
 * the minor collection may find them dead. */
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

/* Promotes what calls that are due hold.  Nothing there is young but blocks
 * that were retained, so this is for collections with pinned blocks only. */
static void
promote_todo(struct alqi_domain *self, struct alqi_heap_final *f)
{
    size_t i;

    for (i = f->todo_first; i < f->todo_end; i++) {
        alqi_heap_promote(self, &f->todo[i].with);
        alqi_heap_promote(self, &f->todo[i].value);
    }
}

/* Promotes what recent finalisers hold, before the workers drain.  By the
 * worker that has the share of `of`. */
void
alqi_heap_final_promote(struct alqi_domain *self, struct alqi_domain *of)
{
    struct alqi_heap_final *f;

    for (f = of->weak_phase.finals; f != NULL; f = f->next) {
        promote_recent(self, &f->tables[0], ALQI_HEAP_FINAL_FIRST);
        promote_recent(self, &f->tables[1], ALQI_HEAP_FINAL_LAST);
        if (self->heap->pins.is_collecting)
            promote_todo(self, f);
    }
}

/* Makes the table's recent entries old, but for those that lead to a retained
 * block.
 *
 * These stay recent, behind the others.  Until the others are in their places
 * they stand in the queue's free room, which suffices (.inv.place). */
static void
resolve(struct alqi_domain *d, const struct alqi_heap_final *f,
        struct alqi_heap_final_table *table)
{
    struct alqi_heap_final_entry *aside;
    size_t i, n = 0;

    if (table->n_old == table->n)
        return;
    ALQI_ASSERT(f->todo_size - f->todo_end >=
                table->n - table->n_old); /* .inv.place */
    aside = f->todo + f->todo_end;
    for (i = table->n_old; i < table->n; i++) {
        const struct alqi_heap_final_entry *entry = &table->entries[i];

        if (alqi_heap_is_young(d, entry->value) ||
            alqi_heap_is_young(d, entry->with))
            aside[n++] = *entry;
        else
            table->entries[table->n_old++] = *entry;
    }
    memcpy(table->entries + table->n_old, aside, n * sizeof *aside);
    check(f, table);
}

/* Closes the gaps that recent entries with a dead value have left. */
static void
recent_close(struct alqi_heap_final_table *table)
{
    size_t i, to = table->n_old;

    for (i = to; i < table->n; i++)
        if (table->entries[i].fn != NULL)
            table->entries[to++] = table->entries[i];
    table->n = to;
}

/* Makes the calls of the second kind due whose young value has died, the last
 * registered first.  Values that live are replaced by where they are now. */
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
        if (moved == ALQ_NULL) {
            todo_add(f, entry, ALQI_HEAP_FINAL_LAST);
            entry->fn = NULL;
        } else {
            entry->value = moved;
        }
    }
    if (f->todo_end != before) {
        recent_close(table);
        alqi_heap_final_request(d);
    }
    resolve(d, f, table);
}

/* Resolves the recent entries, after all domains have promoted.  The first
 * kind's values were roots, so none of them is dead. */
void
alqi_heap_final_after_minor(struct alqi_domain *d)
{
    struct alqi_heap_final *f;

    for (f = d->weak_phase.finals; f != NULL; f = f->next) {
        resolve(d, f, &f->tables[0]);
        last_after_minor(d, f);
    }
}

/* ---- the cycle ---------------------------------------------------------- */

static void
entries_visit(struct alqi_heap_final_entry *entries, size_t n,
              void (*visit)(void *arg, alq_value *slot), void *arg)
{
    size_t i;

    for (i = 0; i < n; i++) {
        visit(arg, &entries[i].with);
        visit(arg, &entries[i].value);
    }
}

/* Visits all values, those that the calls come with and those that wait for
 * death; between `from` and `to` is nothing. */
void
alqi_heap_final_visit_stw(struct alqi_domain *d,
                          void (*visit)(void *arg, alq_value *slot), void *arg)
{
    struct alqi_heap_final *f;
    unsigned kind;

    ALQI_ASSERT(alqi_heap_is_stopped(d->heap));
    for (f = d->weak_phase.finals; f != NULL; f = f->next) {
        for (kind = 0; kind < 2; kind++) {
            const struct alqi_heap_final_table *t = &f->tables[kind];

            entries_visit(t->entries + t->first, t->from - t->first, visit,
                          arg);
            entries_visit(t->entries + t->to, t->n - t->to, visit, arg);
        }
        entries_visit(f->todo + f->todo_first, f->todo_end - f->todo_first,
                      visit, arg);
    }
}

static void
withs_visit(struct alqi_heap_final_entry *entries, size_t n,
            void (*visit)(void *arg, alq_value *slot), void *arg)
{
    size_t i;

    for (i = 0; i < n; i++)
        visit(arg, &entries[i].with);
}

/* Visits what is alive on account of a finaliser: not the values whose death it
 * waits for. */
void
alqi_heap_final_visit_held_stw(struct alqi_domain *d,
                               void (*visit)(void *arg, alq_value *slot),
                               void *arg)
{
    struct alqi_heap_final *f;
    unsigned kind;

    ALQI_ASSERT(alqi_heap_is_stopped(d->heap));
    for (f = d->weak_phase.finals; f != NULL; f = f->next) {
        for (kind = 0; kind < 2; kind++) {
            const struct alqi_heap_final_table *t = &f->tables[kind];

            withs_visit(t->entries + t->first, t->from - t->first, visit, arg);
            withs_visit(t->entries + t->to, t->n - t->to, visit, arg);
        }
        entries_visit(f->todo + f->todo_first, f->todo_end - f->todo_first,
                      visit, arg);
    }
}

/* Visits the values that no pass comes to, when marking begins: calls that are
 * due, and recent entries. */
void
alqi_heap_final_visit_due(struct alqi_domain *d,
                          void (*visit)(void *arg, alq_value *slot), void *arg)
{
    struct alqi_heap_final *f;
    unsigned kind;

    for (f = d->weak_phase.finals; f != NULL; f = f->next) {
        for (kind = 0; kind < 2; kind++) {
            const struct alqi_heap_final_table *t = &f->tables[kind];

            /* No pass looks at them, so their values live. */
            entries_visit(t->entries + t->n_old, t->n - t->n_old, visit, arg);
        }
        entries_visit(f->todo + f->todo_first, f->todo_end - f->todo_first,
                      visit, arg);
    }
}

/* ---- passes ------------------------------------------------------------- */

/* A value that is to be resurrected has this bit, and so looks like no block,
 * until a pass has come by to keep it. */
enum { FOUND = 1 };

/* The steps of a cycle whose pass goes through a table. */
static bool
has_pass(const struct alqi_heap_final *f, unsigned kind,
         enum alqi_heap_weak_phase_step step)
{
    switch (step) {
    case ALQI_HEAP_WEAK_PHASE_MARK:
        return true;
    case ALQI_HEAP_WEAK_PHASE_FIND:
        return kind == ALQI_HEAP_FINAL_FIRST;
    case ALQI_HEAP_WEAK_PHASE_RESURRECT:
        return kind == ALQI_HEAP_FINAL_FIRST && f->n_found > 0;
    case ALQI_HEAP_WEAK_PHASE_CLEAN:
        return kind == ALQI_HEAP_FINAL_LAST;
    default:
        return false;
    }
}

/* Frees the tables of ended domains that have nothing left. */
static void
drop_empty(struct alqi_domain *d)
{
    struct alqi_heap_final *f, **at = &d->weak_phase.finals;

    while ((f = *at) != NULL)
        if (f != d->weak_phase.finals && f->todo_first == f->todo_end &&
            count(&f->tables[0]) + count(&f->tables[1]) == 0) {
            *at = f->next;
            final_free(f);
        } else {
            at = &f->next;
        }
}

/* Begins the pass of the heap's step; false: there is nothing to go
 * through.  Recent entries are left out: their values were roots when marking
 * began, or in the program's hands since. */
bool
alqi_heap_final_pass_begin_stw(struct alqi_domain *d)
{
    enum alqi_heap_weak_phase_step step = d->heap->weak_phase.step;
    struct alqi_heap_final *f;
    bool has_work = false;
    unsigned kind;

    ALQI_ASSERT(alqi_heap_is_stopped(d->heap));
    drop_empty(d);
    for (f = d->weak_phase.finals; f != NULL; f = f->next)
        for (kind = 0; kind < 2; kind++) {
            struct alqi_heap_final_table *t = &f->tables[kind];

            ALQI_ASSERT(t->from == t->first &&
                        t->to == t->first); /* .inv.pass */
            ALQI_ASSERT(f->n_found == 0 ||
                        step == ALQI_HEAP_WEAK_PHASE_RESURRECT); /* .inv.pass */
            if (!has_pass(f, kind, step) || t->first == t->n_old)
                continue;
            t->from = t->to = t->n_old;
            has_work = true;
        }
    return has_work;
}

/* Does what the step demands of an entry; true: the entry leaves the table.
 *
 * FIND only marks the entry with a bit, and RESURRECT marks the value: if
 * values were marked as they are found, a dead value that another one leads to
 * would look alive, and its call would never be due. */
static bool
pass_entry(struct alqi_domain *d, struct alqi_heap_final *f,
           struct alqi_heap_final_entry *entry)
{
    switch (d->heap->weak_phase.step) {
    case ALQI_HEAP_WEAK_PHASE_MARK:
        alqi_heap_mark_darken(d, entry->with);
        return false;
    case ALQI_HEAP_WEAK_PHASE_FIND:
        if (!alqi_heap_mark_is_white(d, entry->value))
            return false;
        entry->value |= FOUND;
        f->n_found++;
        __atomic_add_fetch(&d->heap->weak_phase.n_found, 1, __ATOMIC_RELAXED);
        return false;
    case ALQI_HEAP_WEAK_PHASE_RESURRECT:
        if (!(entry->value & FOUND))
            return false;
        ALQI_ASSERT(f->n_found > 0); /* .inv.pass */
        entry->value &= ~(alq_value)FOUND;
        f->n_found--;
        alqi_heap_mark_darken(d, entry->value);
        todo_add(f, entry, ALQI_HEAP_FINAL_FIRST);
        return true;
    default:
        /* .inv.phase: what is white now is dead for good. */
        ALQI_ASSERT(d->heap->weak_phase.step == ALQI_HEAP_WEAK_PHASE_CLEAN);
        if (!alqi_heap_mark_is_white(d, entry->value))
            return false;
        todo_add(f, entry, ALQI_HEAP_FINAL_LAST);
        return true;
    }
}

/* Goes on with the pass, `most` entries at most; returns how many it has looked
 * at.
 *
 * It goes down the table, so that the last registered is due first.  At its end
 * `first` moves up to where the entries begin.  The header of a value is
 * fetched some entries ahead. */
static size_t
pass_table(struct alqi_domain *d, struct alqi_heap_final *f,
           struct alqi_heap_final_table *t, size_t most)
{
    size_t n = 0, due = f->todo_end;

    for (; t->from > t->first && n < most; n++) {
        struct alqi_heap_final_entry *entry = &t->entries[--t->from];

        if (t->from - t->first >= AHEAD)
            __builtin_prefetch((void *)(entry[-AHEAD].value - ALQ_WORD_BYTES),
                               1);
        if (pass_entry(d, f, entry))
            continue;
        if (--t->to != t->from)
            t->entries[t->to] = *entry;
    }
    if (t->from == t->first)
        t->first = t->from = t->to;
    if (t->first == t->n)
        t->first = t->from = t->to = t->n_old = t->n = 0;
    check(f, t);
    if (f->todo_end != due)
        alqi_heap_final_request(d);
    return n;
}

/* Goes on with the passes over all tables for about budget_words; 0: they are
 * over. */
size_t
alqi_heap_final_pass(struct alqi_domain *d, size_t budget_words)
{
    enum { ENTRY_WORDS = 2 };
    size_t most = budget_words / ENTRY_WORDS + 1, n = 0;
    struct alqi_heap_final *f;
    unsigned kind;

    for (f = d->weak_phase.finals; f != NULL && n < most; f = f->next)
        for (kind = 0; kind < 2; kind++)
            n += pass_table(d, f, &f->tables[kind], most - n);
    return n * ENTRY_WORDS;
}

/* ---- ends --------------------------------------------------------------- */

/* Whether a minor collection has to resolve entries of the domain. */
bool
alqi_heap_final_is_recent(const struct alqi_domain *d)
{
    const struct alqi_heap_final *f;

    for (f = d->weak_phase.finals; f != NULL; f = f->next)
        if (f->tables[0].n_old < f->tables[0].n ||
            f->tables[1].n_old < f->tables[1].n)
            return true;
    return false;
}

/* Hands the tables over to *o.  A pass under way is finished before, so the
 * adopter finds no hole. */
void
alqi_heap_final_leave(struct alqi_domain *d, struct alqi_heap_orphan *o)
{
    if (d->heap->cycle.phase == ALQI_HEAP_MARK)
        alqi_heap_final_pass(d, SIZE_MAX);
    o->finals = d->weak_phase.finals;
    d->weak_phase.finals = NULL;
}

/* Takes over the tables that *o has, behind the domain's own; if it has none,
 * the first of them becomes its own.  Calls among them may be due, so they are
 * asked for. */
void
alqi_heap_final_adopt(struct alqi_domain *d, struct alqi_heap_orphan *o)
{
    struct alqi_heap_final **end = &d->weak_phase.finals;

    if (o->finals == NULL)
        return;
    while (*end != NULL)
        end = &(*end)->next;
    *end = o->finals;
    o->finals = NULL;
    alqi_heap_final_request(d);
}

/* Frees all tables, when the heap ends.  No finaliser is called. */
void
alqi_heap_final_drop(struct alqi_domain *d)
{
    struct alqi_heap_final *f;

    while ((f = d->weak_phase.finals) != NULL) {
        d->weak_phase.finals = f->next;
        final_free(f);
    }
}
