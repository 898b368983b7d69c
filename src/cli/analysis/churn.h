/* churn.h -- by how much the peak may lie above what was found of it
 *
 * .def.lack    The highest point of a heap whose blocks come and go lies above
 *              what it had at the moments that its sample chose.  Of the blocks
 *              that were live at one of the three moments and not at another,
 *              let T be the sum of bytes^2, which is the variance of the true
 *              heap; V that of bytes^2 (1 - p) / p, the variance that sampling
 *              adds; C the same in a colour.  A highest point of c standard
 *              deviations has the height c sqrt(T) in the true heap,
 *              c sqrt(T + V) in the sample, and the true heap has
 *              c T / sqrt(T + C) where a colour is highest.  The height of the
 *              sample above the estimate tells c.  So of that height a share f
 *              is the true heap's.
 * .def.grow    Blocks that were live at two moments are a share s of those at
 *              either, by the variance that sampling adds: 0 in a heap whose
 *              blocks all come and go, near 1 in one that only grows.  In such
 *              a heap the sample's highest point lies later than the moments,
 *              by what has come since; beside it goes the noise of those that
 *              come and go, which is about as much.  So of what f leaves, s / 2
 *              is the true heap's, too.
 *
 * .inv.moments  sums[m] holds the blocks that are gone and were live at the
 * last moments of just the colours of the set m.  When a colour gets a later
 * moment, no block that is gone was live at it. */
#ifndef ALQI_CLI_ANALYSIS_CHURN_H
#define ALQI_CLI_ANALYSIS_CHURN_H

#include "cli/analysis/estimate.h"
#include "view/peak.h"

/* Sums over blocks of one set of colours; estimates from those that are seen.
 */
struct alqi_cli_churn_sum {
    double own;     /* bytes^2 */
    double sampled; /* bytes^2 (1 - p) / p */
    double colour;  /* the same of the chance of one colour */
};

/* All zeros before the first block. */
struct alqi_cli_churn {
    struct alqi_cli_churn_sum sums[ALQI_VIEW_ALL_COLOURS + 1];
};

/* The colours of these bits have a later moment. */
void alqi_cli_churn_moment(struct alqi_cli_churn *churn, unsigned colours);
/* A block is gone that was live at the last moments of these colours; what it
 * stands for, and what in one colour. */
void alqi_cli_churn_gone(struct alqi_cli_churn *churn, unsigned colours,
                         const struct alqi_cli_weight *weight,
                         const struct alqi_cli_weight *in_colour);
/* By how many bytes; above: the height of the sample above the estimate. */
double alqi_cli_churn_lack(const struct alqi_cli_churn *churn, double above);

#endif
