/* got.h -- addresses of the malloc family in the modules of a running process
 *                                                     [doc/design/attach.md] */
#ifndef ALQI_PRELOAD_GOT_H
#define ALQI_PRELOAD_GOT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"

#pragma GCC visibility push(hidden)

struct alqi_preload_got_count {
    uint32_t n_modules; /* with at least one such word */
    uint32_t n_words;
};

/* Every module calls this library from now on; modules that are loaded later
 * do once they were noticed.  Any thread that holds no lock of ours. */
struct alqi_preload_got_count alqi_preload_got_write(void);

/* Every module calls the allocator again. */
void alqi_preload_got_restore(void);

/* What the program's modules call by that name.  NULL: there is none, or the
 * name's address is a stub of the program, which has not bound it yet. */
void *alqi_preload_got_real(const char *name);

void alqi_preload_got_fork_child(void);

enum { ALQI_PRELOAD_GOT_LOOK_NS = 10000000 };

extern _Atomic(bool) alqi_preload_got_is_stale;

void alqi_preload_got_look_slow(uint64_t every_ns);

/* Walks the modules again where one may have been loaded, if the last walk is
 * so long ago.  errno is preserved. */
static inline void
alqi_preload_got_look(uint64_t every_ns)
{
    if (ALQI_UNLIKELY(atomic_load_explicit(&alqi_preload_got_is_stale,
                                           memory_order_relaxed)))
        alqi_preload_got_look_slow(every_ns);
}

#pragma GCC visibility pop

#endif
