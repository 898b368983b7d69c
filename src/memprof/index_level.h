/* index_level.h -- what the growth of the filter (filter.c) asks of the index
 *
 * Apart from index.h: the index includes the filter. */
#ifndef ALQI_MEMPROF_INDEX_LEVEL_H
#define ALQI_MEMPROF_INDEX_LEVEL_H

enum { ALQI_INDEX_SHARDS = 64 };

/* From now on entries are counted at `level`, too, those in the index at
 * once. */
void alqi_index_count_at(unsigned level);

#endif
