/* metrics.h -- a trace as the text that Prometheus reads
 *
 * Estimates have their standard errors beside them.  A counter never goes back,
 * though sums of fractions may by a last bit: what was told before is kept. */
#ifndef ALQI_CLI_FLEET_METRICS_H
#define ALQI_CLI_FLEET_METRICS_H

#include <stdio.h>

#include "cli/fleet/reading.h"

/* All zeros: nothing was told yet. */
struct alqi_cli_metrics {
    /* as told last */
    uint64_t allocated_bytes;
    uint64_t allocated_objects;
};

void alqi_cli_metrics_write(struct alqi_cli_metrics *metrics,
                            const struct alqi_cli_reading *reading, FILE *out);

#endif
