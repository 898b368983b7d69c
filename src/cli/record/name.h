/* name.h -- what the files of a run are called
 *
 * The name that --output gives may have %e, the program's name, %h, the
 * host's, and %p, the process number. With %p it names the files of each
 * process; without, those of the program alone, and others are called after
 * it, their program and their process. */
#ifndef ALQI_CLI_RECORD_NAME_H
#define ALQI_CLI_RECORD_NAME_H

#include "cli/record/run.h"

/* What a recording's name ends with. */
#define ALQI_CLI_RECORDING_SUFFIX ".alqraw"
bool alqi_cli_record_is_recording(const char *name);

/* Sets the names of the run from the output. False: it stands for nothing,
 * which has been said. */
bool alqi_cli_record_name_set(struct alqi_cli_record_run *run);

/* The path that the output stands for; "" if it is too long. */
void alqi_cli_record_name(const struct alqi_cli_record_run *run,
                          const char *executable, uint32_t pid, char *path,
                          size_t capacity);
/* The same without what --output ends with, .ctf or .zst, to which a file's own
 * part is appended. is_named: it is a file of the program; else names of
 * program and process are appended, unless the output has %p. */
void alqi_cli_record_name_stem(const struct alqi_cli_record_run *run,
                               const char *executable, uint32_t pid,
                               bool is_named, char *stem, size_t capacity);

#endif
