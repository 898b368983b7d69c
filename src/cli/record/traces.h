/* traces.h -- what a recorded program has left, as traces
 *
 * The preload has written raw recordings into a directory of the run, and the
 * programs' managed heaps traces of their own.  Each becomes a trace beside
 * what was asked for, and goes; what cannot become one stays, and is named. */
#ifndef ALQI_CLI_RECORD_TRACES_H
#define ALQI_CLI_RECORD_TRACES_H

#include "cli/record/run.h"

/* Whether what is at that path, if anything, may be overwritten. */
bool alqi_cli_record_may_overwrite(const struct alqi_cli_record_run *run,
                                   const char *path);

/* Makes the traces of each process that the run has had. The directory goes if
 * it is empty then. */
void alqi_cli_record_traces(struct alqi_cli_record_run *run);

#endif
