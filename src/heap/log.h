/* log.h -- verbose messages, on stderr     [ALQ_GC_LOG_...] */
#ifndef ALQI_HEAP_LOG_H
#define ALQI_HEAP_LOG_H

#include "heap/state.h"

/* One line, begun with "aliquot: " and ended here. */
void alqi_heap_log_slow(const char *format, ...)
    __attribute__((format(printf, 1, 2), cold, noinline));

#define ALQI_HEAP_LOG(heap, what, ...)                                         \
    (ALQI_UNLIKELY(((heap)->tuning.control.verbose & (what)) != 0)             \
         ? alqi_heap_log_slow(__VA_ARGS__)                                     \
         : (void)0)

#endif
