/* found.h -- blocks by class and site                [doc/design/leaks.md] */
#ifndef ALQI_CLI_LEAKS_FOUND_H
#define ALQI_CLI_LEAKS_FOUND_H

#include "cli/analysis/analysis.h"
#include "cli/leaks/scan.h"

/* Blocks of one class and of one site. */
struct alqi_cli_leak_row {
    enum alqi_cli_leak_class class;
    /* of the site; the line is the largest block's */
    struct alqi_cli_frame frame;
    struct alqi_cli_sum sum;
    uint32_t largest; /* block: the one of the most bytes */
    uint32_t node;    /* its stack; of the analysis       */
};

struct alqi_cli_leak_found {
    struct alqi_cli_analysis analysis; /* of the trace, up to its end */
    uint64_t start_us;                 /* of the recording, since 1970 */
    struct alqi_cli_leak_row *rows; /* by class, the most bytes first; owned */
    uint32_t n_rows;
    struct alqi_cli_sum totals[ALQI_CLI_LEAK_CLASSES];
    /* possible blocks that are held if no word of an allocator's is old */
    struct alqi_cli_sum may_be_old;
    /* blocks of the recording that are alive and were not found in the process
     */
    uint64_t n_elsewhere;
    /* by block: its stack's node + 1; 0: it is not in the recording; owned */
    uint32_t *nodes;
    /* by object, in the order in which they are gone through: its block + 1; 0:
     * it was not found in the process; owned */
    uint32_t *blocks;
    size_t n_blocks;
};

/* Reads the whole trace into the analysis. */
void alqi_cli_leak_found_read(struct alqi_cli_leak_found *found,
                              struct alqi_cli_input *input);
/* Puts the blocks of what was read together, as the scan classed them. */
void alqi_cli_leak_found_sum(struct alqi_cli_leak_found *found,
                             const struct alqi_cli_leak_scan *scan);
/* Calls each(arg, block, life) for every block of the recording that was found
 * in the process. */
typedef void alqi_cli_leak_block_fn(void *arg, uint32_t block,
                                    const struct alqi_cli_life *life);
void alqi_cli_leak_found_each(struct alqi_cli_leak_found *found,
                              alqi_cli_leak_block_fn *each, void *arg);
/* Adds what the block stands for. */
void alqi_cli_leak_found_add(struct alqi_cli_leak_found *found,
                             struct alqi_cli_sum *sum,
                             const struct alqi_cli_life *life);
void alqi_cli_leak_found_free(struct alqi_cli_leak_found *found);

/* The frame after which a stack's site is named. */
struct alqi_cli_frame alqi_cli_leak_site(struct alqi_cli_leak_found *found,
                                         uint32_t node);

/* "lost", "indirect" ... in JSON and in the trace. */
const char *alqi_cli_leak_class_name(enum alqi_cli_leak_class class);

#endif
