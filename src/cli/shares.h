/* shares.h -- what each process of a trace made of several allocated
 *
 * A trace of one process costs nothing here. */
#ifndef ALQI_CLI_SHARES_H
#define ALQI_CLI_SHARES_H

#include "base/map.h"
#include "cli/estimate.h"

struct alqi_cli_share {
    struct alqi_cli_sum allocated, live; /* of all blocks; live at the end */
    double now_bytes, peak_bytes;
    uint64_t n_now;             /* sampled blocks alive now */
    uint64_t first_us, last_us; /* of its events, since 1970 */
    bool is_gone;               /* it ended, what it held with it ... */
    uint64_t gone_epoch;        /* ... in this epoch of analysis.c ... */
    uint64_t gone_us;           /* ... at this time of the trace */
};

struct alqi_cli_shares {
    struct alqi_cli_share *shares; /* by number of the process */
    uint32_t n_shares;
    struct alqi_base_map process_of; /* by id, of blocks alive */
};

void alqi_cli_shares_free(struct alqi_cli_shares *shares);

void alqi_cli_shares_born(struct alqi_cli_shares *shares, uint32_t process,
                          uint64_t id, const struct alqi_cli_weight *weight,
                          uint64_t n_samples, uint64_t time_us);
void alqi_cli_shares_died(struct alqi_cli_shares *shares, uint64_t id,
                          const struct alqi_cli_weight *weight,
                          uint64_t time_us);
/* The process ended.  Returns the bytes that it held. */
double alqi_cli_shares_gone(struct alqi_cli_shares *shares, uint32_t process,
                            uint64_t epoch, uint64_t us);

/* The process of a block that is alive, if it ended; else NULL. */
const struct alqi_cli_share *
alqi_cli_shares_gone_of(const struct alqi_cli_shares *shares, uint64_t id);

/* The block is alive at the end of the trace. */
void alqi_cli_shares_left(struct alqi_cli_shares *shares, uint64_t id,
                          const struct alqi_cli_weight *weight,
                          uint64_t n_samples);

#endif
