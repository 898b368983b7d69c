/* stash.h -- stacks that wait with an entry for its alloc callback */
#ifndef ALQI_MEMPROF_STASH_H
#define ALQI_MEMPROF_STASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memprof/engine.h"
#include "memprof/entry.h"

/* Copies a stack into nodes of the entry; false: no memory, and no node is
 * left. */
bool alqi_stash_make(struct alqi_memprof_thread *t,
                     struct alqi_memprof_entry *e, const uintptr_t *frames,
                     size_t n_frames);
/* Returns the saved stack for the callback, and frees its nodes: in t->frames,
 * or in pages of its own if it is deeper, until _release. */
const uintptr_t *alqi_stash_take(struct alqi_memprof_thread *t,
                                 struct alqi_memprof_entry *e,
                                 size_t *n_frames);
/* Ends the use of what _take returned. */
void alqi_stash_release(struct alqi_memprof_thread *t, const uintptr_t *frames,
                        size_t n_frames);
/* Frees the nodes of an entry whose alloc callback will not run, if it has
 * any. */
void alqi_stash_free(struct alqi_memprof_thread *t,
                     struct alqi_memprof_entry *e);

#endif
