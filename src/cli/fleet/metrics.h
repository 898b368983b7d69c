/* metrics.h -- a trace as the text that Prometheus reads
 *
 * Estimates have their standard errors beside them.  A counter never goes back,
 * though sums of fractions may by a last bit: what was told before is kept, as
 * long as it is of the same recording. */
#ifndef ALQI_CLI_FLEET_METRICS_H
#define ALQI_CLI_FLEET_METRICS_H

#include <stdio.h>

#include "cli/fleet/reading.h"

/* All zeros: nothing was told yet. */
struct alqi_cli_metrics {
    /* of the recording that was told last: another one counts from 0 */
    uint64_t start_us, pid;
    /* as told last */
    uint64_t allocated_bytes;
    uint64_t allocated_objects;
};

void alqi_cli_metrics_write(struct alqi_cli_metrics *metrics,
                            const struct alqi_cli_reading *reading, FILE *out);

#endif
