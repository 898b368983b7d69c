/* limit.h -- limits of a recorded program: a report when one is reached
 *
 * A process that passes a limit writes that into its recording, and its
 * recording's name into a pipe in the directory of the run (wire/raw.h). It
 * goes on, or has killed itself. The report is made here, of what there was at
 * that time, and then the signal is sent. Limits that did not come through the
 * pipe are found when the recordings become traces. */
#ifndef ALQI_CLI_RECORD_LIMIT_H
#define ALQI_CLI_RECORD_LIMIT_H

#include "cli/record/run.h"

/* --on-limit, to struct alqi_cli_record_limits (alqi_cli_take_fn of
 * tool/cli.h). */
bool alqi_cli_record_limit_action_take(void *limits, const char *verb,
                                       const char *value);

bool alqi_cli_record_limit_is_set(const struct alqi_cli_record_limits *limits);
/* A mean interval that estimates these limits to 3 %. */
double alqi_cli_record_limit_interval_bytes(
    const struct alqi_cli_record_limits *limits);
/* Writes the limits as settings for ALIQUOT: text that begins with ",", or
 * "". */
void alqi_cli_record_limit_settings(const struct alqi_cli_record_limits *limits,
                                    char *out, size_t capacity);

/* Makes the pipe in the run's directory. False: the reason has been said. */
bool alqi_cli_record_limit_open(struct alqi_cli_record_run *run);
/* Reads what is in the pipe and makes the reports; pid is the program's. A
 * callback of the launcher (tool/launch.h). */
void alqi_cli_record_limit_heard(void *run, pid_t pid);
/* Makes the reports of a recording's limits that have none yet. */
void alqi_cli_record_limit_look(struct alqi_cli_record_run *run,
                                const char *path);
/* Removes the pipe. Without limits it does nothing. */
void alqi_cli_record_limit_close(struct alqi_cli_record_run *run);

#endif
