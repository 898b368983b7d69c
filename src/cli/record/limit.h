/* limit.h -- limits on what a recorded program may have: a report when
 * one is reached, and what is done to the program
 *
 * A process that passes a limit has written that into its recording, and its
 * recording's name into a pipe in the directory of the run (wire/raw.h).  It
 * goes on, or has killed itself; the report is made here, of what there was at
 * that moment, and then the signal is sent.  What the pipe did not tell is
 * found when the recordings become traces. */
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
/* For ALIQUOT: text that begins with ",", or "". */
void alqi_cli_record_limit_settings(const struct alqi_cli_record_limits *limits,
                                    char *out, size_t capacity);

/* Makes the pipe in the run's directory; false: said. */
bool alqi_cli_record_limit_open(struct alqi_cli_record_run *run);
/* The pipe can be read; pid is the program's. */
void alqi_cli_record_limit_heard(void *run, pid_t pid);
/* A recording, before it becomes a trace: what was not told of it. */
void alqi_cli_record_limit_look(struct alqi_cli_record_run *run,
                                const char *path);
void alqi_cli_record_limit_close(struct alqi_cli_record_run *run);

#endif
