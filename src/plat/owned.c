/* owned.c -- a table of mappings that only grows, and whose rows are reused
 *
 *   row:  FREE (no pages) --add--> TAKEN (TAKING) --> pages --remove--> FREE
 *
 * .inv.owned_row   A row has the pages of one mapping, and its bytes before
 *              them; who maps and unmaps the pages alone changes it.
 * .pair.owned_row  alqi_plat_owned_add_sigsafe(): the bytes of a row, then its
 *              pages -> alqi_plat_owned_each(); and a page of rows, then the
 *              link to it -> whoever goes along the links.
 *
 * Pages that are mapped and unmapped again and again take the rows that are
 * free; those are looked for only while there are some. */
#include "plat/owned.h"

#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

#include "base/base.h"

enum { TABLE_BYTES = 4096, ROWS = (TABLE_BYTES - 16) / 16 };

#define TAKING ((uintptr_t)1)

struct row {
    _Atomic(uintptr_t) pages; /* 0: FREE; TAKING; .pair.owned_row */
    size_t bytes;
};

struct table {
    struct table *_Atomic next; /* .pair.owned_row */
    _Atomic(uint32_t) n_used;   /* rows ever used, or more; .pair.alone */
    struct row rows[ROWS];
};

static struct table first;
static _Atomic(uint32_t) n_free; /* rows below n_used; .pair.alone */

/* .pair.owned_row */
static struct table *
next_of(struct table *t)
{
    return atomic_load_explicit(&t->next, memory_order_acquire);
}

static uint32_t
n_rows(const struct table *t)
{
    uint32_t n = atomic_load_explicit(&t->n_used, memory_order_relaxed);

    return n < ROWS ? n : ROWS;
}

/* .pair.owned_row: the table behind t, made if there is none; NULL: there is no
 * memory. */
static struct table *
next_make(struct table *t)
{
    struct table *next = next_of(t), *made;

    if (next != NULL)
        return next;
    made = mmap(NULL, TABLE_BYTES, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (made == MAP_FAILED)
        return NULL;
    if (atomic_compare_exchange_strong(&t->next, &next, made))
        return made;
    munmap(made, TABLE_BYTES);
    return next;
}

static struct row *
row_reuse(void)
{
    for (struct table *t = &first; t != NULL; t = next_of(t))
        for (uint32_t i = 0; i < n_rows(t); i++) {
            uintptr_t none = 0;

            if (atomic_load_explicit(&t->rows[i].pages, memory_order_relaxed) ==
                    0 &&
                atomic_compare_exchange_strong(&t->rows[i].pages, &none,
                                               TAKING))
                return &t->rows[i];
        }
    return NULL;
}

static struct row *
row_new(void)
{
    for (struct table *t = &first; t != NULL; t = next_make(t)) {
        uintptr_t none = 0;
        uint32_t i = n_rows(t);

        if (i < ROWS)
            i = atomic_fetch_add(&t->n_used, 1);
        if (i < ROWS &&
            atomic_compare_exchange_strong(&t->rows[i].pages, &none, TAKING))
            return &t->rows[i];
    }
    return NULL;
}

static struct row *
row_take(void)
{
    uint32_t n = atomic_load_explicit(&n_free, memory_order_relaxed);
    struct row *row;

    while (n > 0)
        if (atomic_compare_exchange_weak(&n_free, &n, n - 1)) {
            row = row_reuse();
            return row != NULL ? row : row_new();
        }
    return row_new();
}

/* .pair.owned_row */
void
alqi_plat_owned_add_sigsafe(const void *pages, size_t bytes)
{
    struct row *row = row_take();

    if (row == NULL)
        return;
    row->bytes = bytes;
    atomic_store_explicit(&row->pages, (uintptr_t)pages, memory_order_release);
}

void
alqi_plat_owned_remove_sigsafe(const void *pages)
{
    for (struct table *t = &first; t != NULL; t = next_of(t))
        for (uint32_t i = 0; i < n_rows(t); i++)
            if (atomic_load_explicit(&t->rows[i].pages, memory_order_relaxed) ==
                (uintptr_t)pages) {
                atomic_store(&t->rows[i].pages, 0); /* .pair.alone */
                atomic_fetch_add(&n_free, 1);
                return;
            }
}

/* .pair.owned_row */
void
alqi_plat_owned_each(void (*visit)(void *arg, const void *pages, size_t bytes),
                     void *arg)
{
    for (struct table *t = &first; t != NULL; t = next_of(t)) {
        visit(arg, t, sizeof *t);
        for (uint32_t i = 0; i < n_rows(t); i++) {
            uintptr_t pages =
                atomic_load_explicit(&t->rows[i].pages, memory_order_acquire);

            if (pages != 0 && pages != TAKING)
                visit(arg, (const void *)pages, t->rows[i].bytes);
        }
    }
}
