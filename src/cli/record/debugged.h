/* debugged.h -- the program under gdb */
#ifndef ALQI_CLI_RECORD_DEBUGGED_H
#define ALQI_CLI_RECORD_DEBUGGED_H

#include "cli/tool/launch.h"

/* Changes what is to be launched into gdb, which runs the program with the
 * preload and the settings. */
void alqi_cli_record_debugged(struct alqi_cli_launch *launch);

#endif
