/* exec.h -- programs that the program executes (exec.c), and what of the
 * configuration they are given (config.c) */
#ifndef ALQI_PRELOAD_EXEC_H
#define ALQI_PRELOAD_EXEC_H

#include <stdbool.h>

/* When the configuration is read; until then nothing is followed. */
void alqi_preload_exec_start(void);

/* Our variables are in the environment. */
bool alqi_preload_config_is_kept(void);
/* "ALIQUOT=...", as it was; "" if nothing is to be followed. */
char *alqi_preload_config_passed(void);
/* What is ours in LD_PRELOAD; "": nothing was said. */
const char *alqi_preload_config_own_entry(void);
/* Takes that out of LD_PRELOAD, in place. */
void alqi_preload_config_entry_remove(char **envp);
/* The file of programs that are not recorded; "": there is none. */
const char *alqi_preload_config_notes(void);

#endif
