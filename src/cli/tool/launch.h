/* launch.h -- running the program under the preload, faithfully */
#ifndef ALQI_CLI_TOOL_LAUNCH_H
#define ALQI_CLI_TOOL_LAUNCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct alqi_cli_launch {
    char *const *argv;     /* of the program */
    const char *preload;   /* path of libaliquot-preload.so, NULL: none */
    const char *settings;  /* value of ALIQUOT */
    const char *late_text; /* said at the first ^C after the program's end; the
                            * second ends this process.  NULL: neither */
    /* Called with `arg` whenever watch_fd can be read while the program runs.
     * NULL: nothing is watched. */
    void (*watched)(void *arg, pid_t pid);
    /* Called with `arg` once, when the program runs. NULL: nothing is. */
    void (*began)(void *arg, pid_t pid);
    void *arg;
    /* valid where watched is not NULL */
    int watch_fd;
};

struct alqi_cli_launched {
    pid_t pid;
    int wait_status; /* as waitpid() tells it */
    /* CLOCK_MONOTONIC when its end was seen */
    uint64_t ended_ns;
    /* as the kernel tells it of the program and of the children it waited for;
     * no less than this command had when it made the process */
    uint64_t most_rss_bytes;
    int exec_errno; /* why the program could not be started; 0 */
};

/* Starts the program, passes signals on to it, and waits for its end; after
 * that signals that would end this process are ignored, but for late_text's.
 * Returns false, with a message said, when no process could be made. */
bool alqi_cli_launch(const struct alqi_cli_launch *launch,
                     struct alqi_cli_launched *out);

/* From here on a file that may not grow is an error to be told, not the end of
 * this process; programs that it starts have the signal as it was. */
void alqi_cli_launch_ignore_xfsz(void);

/* Ends this process the way the program ended: same status, same signal. */
int alqi_cli_launch_mirror(int wait_status);

/* Absolute path of the preload: ALIQUOT_PRELOAD_PATH, or beside this command
 * as built or installed; false, with a message said, when it is not there. */
bool alqi_cli_preload_find(char *path, size_t capacity);

#endif
