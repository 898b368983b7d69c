/* paths.h -- operands that name traces: files, and directories of them */
#ifndef ALQI_CLI_READ_PATHS_H
#define ALQI_CLI_READ_PATHS_H

#include <stdbool.h>
#include <stdint.h>

struct alqi_cli_path {
    char *path;
    bool is_listed; /* found in a directory, not named */
};

struct alqi_cli_paths {
    struct alqi_cli_path *paths;
    uint32_t n_paths;
    bool has_many; /* a directory, or more than one operand */
};

/* Adds a file, or the traces and recordings that lie in a directory, in order
 * of name.  -1 to go on, or the exit status; the reason has been said. */
int alqi_cli_paths_add(struct alqi_cli_paths *paths, const char *operand);
/* Adds all of argv[first] ... argv[argc - 1]; at least one must be there. */
int alqi_cli_paths_from(struct alqi_cli_paths *paths, const char *verb,
                        int argc, char **argv, int first);
void alqi_cli_paths_free(struct alqi_cli_paths *paths);

#endif
