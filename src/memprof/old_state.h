/* old_state.h -- the list of a domain's entries whose blocks are old: old.c */
#ifndef ALQI_MEMPROF_OLD_STATE_H
#define ALQI_MEMPROF_OLD_STATE_H

#include <stdint.h>

#include "memprof/entry.h"

enum { ALQI_OLD_AHEAD = 8 }; /* entries */

/* Used by the domain's thread, or by a collector while that is stopped. */
struct alqi_memprof_old {
    struct alqi_memprof_entry *head;
    struct alqi_memprof_entry *tail; /* NULL: the list is empty */
    /* Entries that were appended since the list was last gone through. */
    uint32_t n;
    /* The last ones, by their number modulo the size; NULL: there are fewer,
     * or it has left the list (.inv.ahead). */
    struct alqi_memprof_entry *window[ALQI_OLD_AHEAD];
};

#endif
