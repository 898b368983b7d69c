/* shares.h -- what each process of a trace made of several allocated
 *
 * A trace of one process costs nothing here. */
#ifndef ALQI_CLI_ANALYSIS_SHARES_H
#define ALQI_CLI_ANALYSIS_SHARES_H

#include "base/map.h"
#include "cli/analysis/estimate.h"
#include "view/peak.h"

/* What one process allocated; all zeros before its first block. */
struct alqi_cli_share {
    /* of all its blocks; live at the end of the trace */
    struct alqi_cli_sum allocated, live;
    /* estimate of its live bytes, now */
    double now_bytes;
    /* of this process alone */
    struct alqi_view_peak peak;
    /* by colour: what is live now, and what was at its moment of the peak */
    struct alqi_cli_sum now[ALQI_VIEW_COLOURS], at_peak[ALQI_VIEW_COLOURS];
    uint64_t n_now; /* sampled blocks alive now */
    /* of its allocations and frees, since 1970 */
    uint64_t first_us, last_us;
    /* it has ended, and what it held with it */
    bool is_gone;
    /* when: since the start of the trace */
    uint64_t gone_us;
    /* by colour: how many peaks there had been then */
    uint64_t gone_moments[ALQI_VIEW_COLOURS];
};

/* A block that is born, as a share counts it. */
struct alqi_cli_shared {
    /* what it stands for */
    struct alqi_cli_weight weight;
    /* the same in a colour; bytes of a sample there (view/peak.h) */
    struct alqi_cli_weight colour_weight;
    double sample_bytes;
    /* bits: colours that see the block */
    unsigned colours;
    /* its samples; time of its birth, since 1970 */
    uint64_t n_samples, time_us;
};

struct alqi_cli_shares {
    /* by number of the process; owned */
    struct alqi_cli_share *shares;
    uint32_t n_shares;
    /* id of a block alive -> its process */
    struct alqi_base_map process_of;
};

void alqi_cli_shares_free(struct alqi_cli_shares *shares);

/* A block was born in that process. Ends the command without memory. */
void alqi_cli_shares_born(struct alqi_cli_shares *shares, uint32_t process,
                          uint64_t id, const struct alqi_cli_shared *block);
/* A block died. bytes and colour_weight are those of its birth. Unknown ids are
 * ignored. */
void alqi_cli_shares_died(struct alqi_cli_shares *shares, uint64_t id,
                          double bytes,
                          const struct alqi_cli_weight *colour_weight,
                          unsigned colours, uint64_t time_us);
/* The process ended, after so many moments of each colour.  Returns its share,
 * with what it held; NULL: it had ended. */
const struct alqi_cli_share *
alqi_cli_shares_gone(struct alqi_cli_shares *shares, uint32_t process,
                     const uint64_t *moments, uint64_t us);
/* The colours for which it was there at the last moment. */
unsigned alqi_cli_share_at_peak(const struct alqi_cli_share *share,
                                const uint64_t *moments);
/* What it had live when it had the most; its samples are not counted. */
struct alqi_cli_sum alqi_cli_share_peak(const struct alqi_cli_share *share);

/* The process of a block that is alive, if it ended; else NULL. */
const struct alqi_cli_share *
alqi_cli_shares_gone_of(const struct alqi_cli_shares *shares, uint64_t id);

/* The block is alive at the end of the trace. */
void alqi_cli_shares_left(struct alqi_cli_shares *shares, uint64_t id,
                          const struct alqi_cli_weight *weight,
                          uint64_t n_samples);

#endif
