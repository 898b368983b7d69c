/* defaults.h -- default values that several parts use, each defined once
 *
 * The command line, the preload and the library must agree on them, and help
 * texts print them: a number that stands in a text is made of the same token.
 * devtools/check-man holds the manual pages to them. */
#ifndef ALQI_BASE_DEFAULTS_H
#define ALQI_BASE_DEFAULTS_H

#include "base/base.h"

/* The token's value as text. */
#define ALQI_DEFAULT_TEXT(token) ALQI_DEFAULT_TEXT_OF(token)
#define ALQI_DEFAULT_TEXT_OF(value) #value

/* The sampling interval: mean bytes from one sampled word to the next. */
#define ALQI_DEFAULT_INTERVAL_KIB 512
#define ALQI_DEFAULT_INTERVAL_TEXT ALQI_DEFAULT_TEXT(ALQI_DEFAULT_INTERVAL_KIB)
#define ALQI_DEFAULT_INTERVAL_BYTES (ALQI_DEFAULT_INTERVAL_KIB * 1024.0)
/* The default interval as samples per word. */
#define ALQI_DEFAULT_RATE (ALQI_WORD_BYTES / ALQI_DEFAULT_INTERVAL_BYTES)

/* Samples per word of a recording that memtrace's variables ask for. */
#define ALQI_DEFAULT_MEMTRACE_RATE 1e-6

/* Frames of a recorded call stack. */
#define ALQI_DEFAULT_DEPTH_FRAMES 256

/* Memory of an exact recording; beyond it the recording samples. */
#define ALQI_DEFAULT_MAX_MEMORY_MIB 256
#define ALQI_DEFAULT_MAX_MEMORY_BYTES                                          \
    (ALQI_DEFAULT_MAX_MEMORY_MIB * 1024.0 * 1024)

/* Prefixes of allocators that can be asked for, and bytes of one. */
enum { ALQI_ALLOCATORS_MAX = 8, ALQI_ALLOCATOR_BYTES_MAX = 48 };

#endif
