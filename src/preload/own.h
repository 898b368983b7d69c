/* own.h -- an allocator that is linked into the program [doc/design/patch.md]
 */
#ifndef ALQI_PRELOAD_OWN_H
#define ALQI_PRELOAD_OWN_H

#include "plat/prologue.h"
#include "preload/preload.h"

#pragma GCC visibility push(hidden)

/* What a function does, by its arguments. */
enum alqi_preload_own_kind {
    ALQI_OWN_SIZE,        /* (size, ...)               */
    ALQI_OWN_SIZE_SECOND, /* (align or heap, size, ...) */
    ALQI_OWN_PRODUCT,     /* (n, size)                 */
    ALQI_OWN_STATUS,      /* (&block, align, size)     */
    ALQI_OWN_TEXT,        /* (text): a copy of it      */
    ALQI_OWN_TEXT_PART,   /* (text, most bytes)        */
    ALQI_OWN_REALLOC,     /* (block, size, ...)        */
    ALQI_OWN_FREE,        /* (block, ...)              */
    ALQI_OWN_KINDS
};

typedef uintptr_t alqi_preload_own_fn(uintptr_t a, uintptr_t b, uintptr_t c);

/* A function of the program's whose first instructions are a jump here. */
struct alqi_preload_own_entry {
    alqi_preload_own_fn *real; /* the function as it was */
    const char *name;          /* the program's; of the mapped file while it is
                                  looked for, then NULL */
    uintptr_t at;
    size_t n_bytes;
    enum alqi_preload_own_kind kind;
    uint8_t was[ALQI_PLAT_JUMP_BYTES]; /* where the jump is */
};

/* Called in the place of an entry's function, with the entry behind its
 * arguments. */
typedef uintptr_t
alqi_preload_own_hook(uintptr_t a, uintptr_t b, uintptr_t c,
                      const struct alqi_preload_own_entry *entry);

extern alqi_preload_own_hook *const alqi_preload_own_hooks[ALQI_OWN_KINDS];

/* Finds the program's own allocators and records them from now on; logs why
 * one is not.  Before main(); nothing is recorded of what they gave before.
 * False: there is none, or none is recorded. */
bool alqi_preload_own_start(void);

/* Writes a jump to the entry's hook over the function's first instructions,
 * which are copied.  False: the reason has been logged. */
bool alqi_preload_own_patch(struct alqi_preload_own_entry *entries, size_t n);

#pragma GCC visibility pop

#endif
