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
#include "wire/side_write.h"

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
    /* the step that holds it: its number; 0: none */
    uint32_t holder;
    /* possible for memory that may be old alone */
    bool is_old;
};

/* A step of ways to blocks (wire/reach.h); the first has the number 1. */
struct alqi_cli_reached_step {
    char *name; /* owned */
    uint32_t in, most;
};

/* All zeros: nothing is known. */
struct alqi_cli_reaches {
    struct alqi_cli_reached *at; /* owned */
    size_t n, capacity;
    struct alqi_cli_reached_step *steps; /* owned */
    uint32_t n_steps;
    /* steps that the trace has from elsewhere: their numbers come first */
    uint64_t n_before;
    /* the process was at its very end, after all of its code */
    bool is_end;
    /* recording that they are of: its process, and when that began */
    uint32_t pid;
    uint64_t start_ns;
};

/* Ends the command without memory. */
void alqi_cli_reaches_add(struct alqi_cli_reaches *reaches, uint64_t address,
                          uint32_t stream, uint64_t number);
/* Adds a step behind the step `in`, or behind none: 0; returns its number. */
uint32_t alqi_cli_reaches_step(struct alqi_cli_reaches *reaches, uint32_t in,
                               const char *name, uint32_t most);
void alqi_cli_reaches_free(struct alqi_cli_reaches *reaches);

/* A block of the trace, by its number there. */
struct alqi_cli_told {
    uint64_t id;
    uint32_t holder;
    enum alqi_view_reach reach;
    bool is_old;
};

/* Writes the moment of the look, the steps, and what is told of blocks, which
 * is sorted. */
enum alq_status alqi_cli_told_write(const struct alqi_cli_reaches *reaches,
                                    struct alqi_cli_told *told, size_t n,
                                    const struct alqi_side_writer *side);

#endif
