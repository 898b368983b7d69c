/* read.h -- memory of the interpreter, checked before it is read
 *
 * Keeps .inv.checked (python.h). */
#ifndef ALQI_PYTHON_READ_H
#define ALQI_PYTHON_READ_H

#include <string.h>

#include "base/base.h"
#include "plat/plat.h"
#include "python/python.h"

enum { ALQI_PYTHON_PAGE_BYTES = 4096, ALQI_PYTHON_ADDRESS_BITS = 48 };

/* Whether the kernel can read the page; each is asked for once a walk, as long
 * as there is room to remember it. */
static inline bool
alqi_python_page_is_readable(struct alqi_python_reader *r, uintptr_t page)
{
    for (uint32_t i = 0; i < r->n_pages && i < ALQI_PYTHON_PAGES; i++)
        if (r->pages[i] == page)
            return true;
    if (!alqi_plat_is_readable_sigsafe(page))
        return false;
    r->pages[r->n_pages++ % ALQI_PYTHON_PAGES] = page;
    return true;
}

static inline bool
alqi_python_is_readable(struct alqi_python_reader *r, uintptr_t from, size_t n)
{
    uintptr_t page = from & ~(uintptr_t)(ALQI_PYTHON_PAGE_BYTES - 1);

    if (from < ALQI_PYTHON_PAGE_BYTES ||
        (from + n) >> ALQI_PYTHON_ADDRESS_BITS != 0)
        return false;
    if (ALQI_LIKELY(r->is_trusted))
        return true;
    for (; page < from + n; page += ALQI_PYTHON_PAGE_BYTES)
        if (!alqi_python_page_is_readable(r, page))
            return false;
    return true;
}

/* Copies n bytes; false: they cannot be read. */
static inline bool
alqi_python_read(struct alqi_python_reader *r, uintptr_t from, void *to,
                 size_t n)
{
    if (!alqi_python_is_readable(r, from, n))
        return false;
    memcpy(to, (const void *)from, n);
    return true;
}

/* An aligned word. */
static inline bool
alqi_python_word(struct alqi_python_reader *r, uintptr_t from, uintptr_t *word)
{
    return from % sizeof *word == 0 &&
           alqi_python_read(r, from, word, sizeof *word);
}

/* Whether there is a structure of n bytes: then its members are loaded. */
static inline bool
alqi_python_is_struct(struct alqi_python_reader *r, uintptr_t at, size_t n)
{
    return at % sizeof(uintptr_t) == 0 && alqi_python_is_readable(r, at, n);
}

/* A member of such a structure. */
static inline uintptr_t
alqi_python_load(uintptr_t at, uint16_t offset)
{
    return *(const uintptr_t *)(at + offset);
}

/* Whether there is an object of the type at the address, of n bytes at least.
 */
static inline bool
alqi_python_is_a(struct alqi_python_reader *r, uintptr_t at, size_t n,
                 uint16_t offset, uintptr_t type)
{
    return alqi_python_is_struct(r, at, n) &&
           alqi_python_load(at, offset) == type;
}

#endif
