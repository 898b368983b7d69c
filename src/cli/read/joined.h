/* joined.h -- the outcome of a merge, and how to know a merged trace
 *
 * Readers of several traces need both without the code that merges. */
#ifndef ALQI_CLI_READ_JOINED_H
#define ALQI_CLI_READ_JOINED_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

struct alqi_cli_join_result {
    /* traces that went in */
    uint32_t n_traces;
    /* sampled blocks written */
    uint64_t n_allocs;
    uint64_t n_strange;  /* events about blocks that are not there, left out */
    uint64_t n_unlinked; /* realloc chains cut: the old block was forgotten */
    int status; /* ALQI_CLI_OK, or ALQI_CLI_UNREADABLE when one is damaged */
};

/* True for the context of a trace that was made of several. */
static inline bool
alqi_cli_is_joined(const char *context)
{
    return strstr(context, " merged=") != NULL;
}

#endif
