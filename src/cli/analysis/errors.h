/* errors.h -- the error of an estimate, as text
 *
 * With many effective samples an error is one standard error. With few it is
 * the 95% interval, for there the distribution is far from symmetric. */
#ifndef ALQI_CLI_ANALYSIS_ERRORS_H
#define ALQI_CLI_ANALYSIS_ERRORS_H

#include "cli/analysis/estimate.h"
#include "cli/tool/text.h"

enum { ALQI_CLI_ERROR_TEXT = 96 };

struct alqi_cli_error_text {
    char text[ALQI_CLI_ERROR_TEXT]; /* "" where every block is recorded */
};

/* "± 1.2 MiB", "[1.2 MiB, 3.4 MiB]"; of no sample "at most 3.4 MiB". */
struct alqi_cli_error_text
alqi_cli_error_of_bytes(const struct alqi_cli_estimator *estimator,
                        const struct alqi_cli_sum *sum);
/* The same of bytes allocated in so many seconds: "± 1.2 MiB/s". */
struct alqi_cli_error_text
alqi_cli_error_of_rate(const struct alqi_cli_estimator *estimator,
                       const struct alqi_cli_sum *sum, double seconds);
/* "±3%", "[1.2K, 3.4K]"; of no sample "". */
struct alqi_cli_error_text
alqi_cli_error_of_objects(const struct alqi_cli_estimator *estimator,
                          const struct alqi_cli_sum *sum);
/* The error of the bytes in percent of them: "3%", "-40+120%"; of none "". */
struct alqi_cli_text
alqi_cli_error_percent(const struct alqi_cli_estimator *estimator,
                       const struct alqi_cli_sum *sum);

#endif
