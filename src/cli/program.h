/* program.h -- what can be said of a program before it is started */
#ifndef ALQI_CLI_PROGRAM_H
#define ALQI_CLI_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

enum alqi_cli_program_kind {
    ALQI_PROGRAM_OK,        /* dynamic: the preload will be loaded         */
    ALQI_PROGRAM_NOT_FOUND, /* no such file in PATH                        */
    ALQI_PROGRAM_NOT_EXEC,  /* found, but not executable                   */
    ALQI_PROGRAM_STATIC,    /* no dynamic linker to load a preload         */
    ALQI_PROGRAM_FOREIGN,   /* another machine's or another word size      */
    ALQI_PROGRAM_PRIVILEGED /* set-user-ID, set-group-ID or capabilities:
                               the dynamic linker ignores preloads         */
};

struct alqi_cli_program {
    enum alqi_cli_program_kind kind;
    char path[4096];        /* as exec will find it                         */
    char interpreter[4096]; /* of a script: the program that really runs    */
    char what[256];         /* for a message: why kind is what it is        */
};

/* Looks `name` up as execvp does and reads its first bytes; scripts are
 * followed to their interpreter. */
void alqi_cli_program_inspect(const char *name, struct alqi_cli_program *out);

#endif
