/* writer.h -- which process writes a recording, or may begin one */
#ifndef ALQI_CLI_RECORD_WRITER_H
#define ALQI_CLI_RECORD_WRITER_H

#include <sys/types.h>

#include "wire/raw.h"

/* Its number here; in a container it has another one there.  0: it has ended,
 * or goes on as another program. */
pid_t alqi_cli_record_writer(const struct alqi_raw_header *header,
                             const char *path);

/* Visits the processes that run and may begin a recording in the directory:
 * children of what this command has started, which were not sampled yet. */
void alqi_cli_record_writers_later(const char *directory,
                                   void (*visit)(void *arg, pid_t pid),
                                   void *arg);

#endif
