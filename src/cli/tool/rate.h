/* rate.h -- how finely to sample, as options tell it */
#ifndef ALQI_CLI_TOOL_RATE_H
#define ALQI_CLI_TOOL_RATE_H

#include <stdbool.h>

/* "64K", "1.5M": a number and a unit of 1024; false when it is neither. */
bool alqi_cli_bytes_parse(const char *text, double *bytes);

/* A rate above 0, of 1 at most. */
bool alqi_cli_rate_parse(const char *text, double *rate);

/* --interval=N[K|M|G] and --rate=R of a verb, to a double: samples per word
 * (alqi_cli_take_fn of cli.h). */
bool alqi_cli_interval_take(void *rate, const char *verb, const char *value);
bool alqi_cli_rate_take(void *rate, const char *verb, const char *value);

#endif
