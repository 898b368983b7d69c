/* pool_name.h -- pools of the program in the recording [doc/design/pool.md] */
#ifndef ALQI_PRELOAD_POOL_NAME_H
#define ALQI_PRELOAD_POOL_NAME_H

#include "preload/preload.h"

#pragma GCC visibility push(hidden)

uint32_t alqi_preload_pool_number_slow(void);

/* The recording's number of the pool of a block that is tried; 0: the block is
 * malloc's, or there was no room to write the pool's name.  The recording has a
 * file. */
static inline uint32_t
alqi_preload_pool_number(const void *block)
{
    return ALQI_UNLIKELY(alqi_preload_hot.pooled == block)
               ? alqi_preload_pool_number_slow()
               : 0;
}

/* The recording is closed; another may be begun. */
void alqi_preload_pool_name_close(void);
void alqi_preload_pool_name_fork_child(void);

#pragma GCC visibility pop

#endif
