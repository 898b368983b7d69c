/* paths.h -- operands that name traces: files, and directories of them */
#ifndef ALQI_CLI_READ_PATHS_H
#define ALQI_CLI_READ_PATHS_H

#include <stdbool.h>
#include <stdint.h>

struct alqi_cli_path {
    /* owned */
    char *path;
    /* found in a directory, not named: a damaged one is skipped */
    bool is_listed;
};

struct alqi_cli_paths {
    struct alqi_cli_path *paths;
    uint32_t n_paths;
    /* the operands were a directory, or more than one */
    bool has_many;
};

/* Adds a file, or the traces and recordings that lie in a directory, in order
 * of name.  -1 to go on, or the exit status; the reason has been said. */
int alqi_cli_paths_add(struct alqi_cli_paths *paths, const char *operand);
/* Adds all of argv[first] ... argv[argc - 1]; at least one must be there. */
int alqi_cli_paths_from(struct alqi_cli_paths *paths, const char *verb,
                        int argc, char **argv, int first);
void alqi_cli_paths_free(struct alqi_cli_paths *paths);

#endif
