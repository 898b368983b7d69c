/* reach.h -- what a scan of a process found of its blocks, until it is in the
 * trace                                               [doc/design/leaks.md]
 *
 * The verb `leaks` fills it, which looks into the process; a conversion writes
 * it. */
#ifndef ALQI_CLI_CONVERT_REACH_H
#define ALQI_CLI_CONVERT_REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "view/index.h"

/* Of a block of an exact recording, which has no stream and ordinal. */
#define ALQI_CLI_REACHED_EXACT UINT32_MAX

/* A block as its recording knows it. */
struct alqi_cli_reached {
    uint64_t address;
    /* the sample's in its stream; exact: the object's in the trace of all that
     * came before the scan */
    uint64_t number;
    uint32_t stream;
    /* UNTOLD until the scan has run */
    enum alqi_view_reach reach;
};

/* All zeros: nothing is known. */
struct alqi_cli_reaches {
    struct alqi_cli_reached *at; /* owned */
    size_t n, capacity;
    /* the process was at its very end, after all of its code */
    bool is_end;
    /* recording that they are of: its process, and when that began */
    uint32_t pid;
    uint64_t start_ns;
};

/* Ends the command without memory. */
void alqi_cli_reaches_add(struct alqi_cli_reaches *reaches, uint64_t address,
                          uint32_t stream, uint64_t number);
void alqi_cli_reaches_free(struct alqi_cli_reaches *reaches);

#endif
