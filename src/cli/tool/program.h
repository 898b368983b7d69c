/* program.h -- what can be said of a program before it is started */
#ifndef ALQI_CLI_TOOL_PROGRAM_H
#define ALQI_CLI_TOOL_PROGRAM_H

#include <stdbool.h>

#include "plat/program.h"

struct alqi_cli_program {
    enum alqi_plat_program kind;
    bool is_found;      /* in PATH, or where it says; else no more is known */
    bool is_executable; /* and if it is not, neither                        */
    char path[4096];    /* as exec will find it                             */
    char interpreter[ALQI_PLAT_PROGRAM_PATH]; /* of a script: what runs */
};

/* Looks `name` up as execvp does and reads its first bytes. */
void alqi_cli_program_inspect(const char *name, struct alqi_cli_program *out);

#endif
