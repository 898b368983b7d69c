/* recorded.c -- the recording that a process writes, found in its memory map
 *
 * A recording is a file mapped shared and writable whose first page names the
 * process; a process of another root is found below /proc/PID/root.  When there
 * is none, the message tells a deleted recording, a profiler that is off, and a
 * process without profiler apart. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/tool/cli.h"
#include "cli/tool/proc.h"
#include "cli/live/recorded.h"
#include "cli/tool/proc.h"
#include "wire/raw.h"

/* What /proc/PID/maps told. */
struct found {
    pid_t pid;
    /* the process has the preload mapped */
    bool has_preload;
    bool is_deleted; /* a recording was, and nothing can read it any more */
    /* the mapped file of the line before, as maps repeat it */
    char seen[PATH_MAX];
    /* the caller's, of n bytes; the recording when it is found */
    char *path;
    size_t n;
};

/* The first page of a recording of that process, or of the process that has
 * another number there than here. */
static bool
is_recording_of(const char *path, pid_t pid, bool is_other_root)
{
    struct alqi_raw_header h;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = fd >= 0 ? pread(fd, &h, sizeof h, 0) : -1;

    if (fd >= 0)
        close(fd);
    return n == (ssize_t)sizeof h &&
           memcmp(h.magic, ALQI_RAW_MAGIC, sizeof h.magic) == 0 &&
           (is_other_root || h.pid == (uint32_t)pid ||
            h.pid == (uint32_t)alqi_cli_proc_inner_pid(pid));
}

/* True when the mapped file is the recording. */
static bool
file_look(struct found *f, const char *file)
{
    static const char deleted[] = " (deleted)";
    size_t n = strlen(file), k = strlen(deleted);

    if (strcmp(file, f->seen) == 0)
        return false;
    snprintf(f->seen, sizeof f->seen, "%s", file);
    if (n > k && strcmp(file + n - k, deleted) == 0) {
        f->is_deleted |= strstr(file, ".alqraw") != NULL;
        return false;
    }
    snprintf(f->path, f->n, "%s", file);
    if (is_recording_of(f->path, f->pid, false))
        return true;
    /* Its paths may be another's here (containers). */
    snprintf(f->path, f->n, "/proc/%d/root%s", (int)f->pid, file);
    return access(file, F_OK) != 0 && is_recording_of(f->path, f->pid, true);
}

/* One line of maps: a recording is mapped shared, and writable. */
static bool
line_look(struct found *f, char *line)
{
    char *file = strchr(line, '/'), *flags = strchr(line, ' ');

    line[strcspn(line, "\n")] = '\0';
    if (file == NULL || flags == NULL)
        return false;
    if (strstr(file, "/libaliquot-preload.so") != NULL)
        f->has_preload = true;
    return strncmp(flags, " rw-s", 5) == 0 && file_look(f, file);
}

/* Why no recording was found. Returns the status to exit with. */
static int
say_none(const char *verb, const struct found *f)
{
    if (f->is_deleted)
        alqi_cli_say("%s: the recording of process %d was deleted", verb,
                     (int)f->pid);
    else if (f->has_preload)
        alqi_cli_say("%s: process %d records nothing now: 'aliquot start -p "
                     "%d' begins, if it was started with --control",
                     verb, (int)f->pid, (int)f->pid);
    else
        alqi_cli_say("%s: process %d is not recorded: 'aliquot record -p %d' "
                     "records it as it runs; or start it with 'aliquot "
                     "record', or name the trace of its heap",
                     verb, (int)f->pid, (int)f->pid);
    return ALQI_CLI_FINDING;
}

/* Reads the process's map line by line. errno is 0 before it: the read may fail
 * where the open did not. */
int
alqi_cli_recorded(const char *verb, pid_t pid, char *path, size_t n)
{
    struct found f = {.pid = pid, .path = path, .n = n};
    char name[64], *line = NULL;
    size_t capacity = 0;
    bool is_found = false;
    FILE *maps;

    snprintf(name, sizeof name, "/proc/%d/maps",
             (int)alqi_cli_proc_living(pid));
    maps = fopen(name, "re");
    if (maps == NULL && errno == ENOENT)
        return alqi_cli_finding("%s: there is no process %d", verb, (int)pid);
    errno = 0;
    while (maps != NULL && !is_found && getline(&line, &capacity, maps) > 0)
        is_found = line_look(&f, line);
    free(line);
    if (is_found) {
        fclose(maps);
        return -1;
    }
    if (maps == NULL || errno == EACCES || errno == EPERM) {
        alqi_cli_say("%s: what process %d has mapped cannot be read: run this "
                     "as its user, or as root",
                     verb, (int)pid);
        if (maps != NULL)
            fclose(maps);
        return ALQI_CLI_FINDING;
    }
    fclose(maps);
    return say_none(verb, &f);
}

/* A file whose name is digits alone is reached as ./NAME. */
int
alqi_cli_recorded_operand(const char *verb, const char *operand, pid_t *pid,
                          char *path, size_t n)
{
    char *end;
    long number;

    *pid = 0;
    if (operand[0] == '\0' || operand[strspn(operand, "0123456789")] != '\0') {
        snprintf(path, n, "%s", operand);
        return -1;
    }
    errno = 0;
    number = strtol(operand, &end, 10);
    if (errno != 0 || number <= 0 || number > 1 << 30)
        return alqi_cli_usage(verb, "%s: %s is not the number of a process",
                              verb, operand);
    *pid = (pid_t)number;
    return alqi_cli_recorded(verb, *pid, path, n);
}
