/* symbol_array.h -- arrays that grow by doubling, up to a limit
 *
 * The limit keeps hostile input from growing them for ever. */
#ifndef ALQI_STACK_SYMBOL_ARRAY_H
#define ALQI_STACK_SYMBOL_ARRAY_H

#include <stdlib.h>

/* The array with twice the capacity, or the limit, which is set; NULL, and
 * nothing has changed, at the limit or without memory. */
static inline void *
alqi_symbol_array_grow(void *entries, size_t entry_bytes, size_t *capacity,
                       size_t limit)
{
    enum { FIRST = 64 };
    size_t n = *capacity != 0 ? 2 * *capacity : FIRST;
    void *grown;

    if (n > limit)
        n = limit;
    grown = n <= *capacity ? NULL : realloc(entries, n * entry_bytes);
    if (grown != NULL)
        *capacity = n;
    return grown;
}

/* Makes room for one entry behind the first `count`; false: there is none. */
#define ALQI_SYMBOL_ARRAY_FIT(entries, count, capacity, limit)                 \
    ({                                                                         \
        void *fit_ = (entries);                                                \
                                                                               \
        if ((count) == (capacity))                                             \
            fit_ = alqi_symbol_array_grow(fit_, sizeof *(entries),             \
                                          &(capacity), (limit));               \
        if (fit_ != NULL)                                                      \
            (entries) = fit_;                                                  \
        fit_ != NULL;                                                          \
    })

#endif
