/* pool.h -- pools of which the program tells          [doc/design/pool.md] */
#ifndef ALQI_PRELOAD_POOL_H
#define ALQI_PRELOAD_POOL_H

#pragma GCC visibility push(hidden)

void alqi_preload_pool_fork_prepare(void);
void alqi_preload_pool_fork_parent(void);
void alqi_preload_pool_fork_child(void);

#pragma GCC visibility pop

#endif
