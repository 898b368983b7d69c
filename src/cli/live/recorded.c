/* recorded.c -- the recording that a process writes, found in its memory map
 *
 * A recording is a file mapped shared and writable whose first page names the
 * process; a process of another root is found below /proc/PID/root.  When there
 * is none, the message tells a deleted recording from what can be done
 * (advice.h). */
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
#include "cli/live/advice.h"
#include "cli/live/recorded.h"
#include "wire/raw.h"

/* What /proc/PID/maps told. */
struct found {
    pid_t pid;
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
    return strncmp(flags, " rw-s", 5) == 0 && file_look(f, file);
}

/* Why no recording was found. Returns the status to exit with. */
static int
say_none(const char *verb, const struct found *f)
{
    if (f->is_deleted)
        return alqi_cli_finding("%s: the recording of process %d was deleted",
                                verb, (int)f->pid);
    return alqi_cli_advise(verb, f->pid, NULL);
}

/* Reads the process's map line by line. errno is 0 before it: the read may fail
 * where the open did not.  0, or why the map cannot be read. */
static int
maps_look(struct found *f, bool *is_found)
{
    char name[64], *line = NULL;
    size_t capacity = 0;
    FILE *maps;
    int error;

    *is_found = false;
    snprintf(name, sizeof name, "/proc/%d/maps",
             (int)alqi_cli_proc_living(f->pid));
    maps = fopen(name, "re");
    if (maps == NULL)
        return errno;
    errno = 0;
    while (!*is_found && getline(&line, &capacity, maps) > 0)
        *is_found = line_look(f, line);
    error = *is_found ? 0 : errno;
    free(line);
    fclose(maps);
    return error;
}

int
alqi_cli_recorded(const char *verb, pid_t pid, char *path, size_t n)
{
    struct found f = {.pid = pid, .path = path, .n = n};
    bool is_found;
    int error = maps_look(&f, &is_found);

    if (is_found)
        return -1;
    if (error == ENOENT)
        return alqi_cli_finding("%s: there is no process %d", verb, (int)pid);
    if (error == EACCES || error == EPERM)
        return alqi_cli_finding("%s: what process %d has mapped cannot be "
                                "read: run this as its user, or as root",
                                verb, (int)pid);
    return say_none(verb, &f);
}

bool
alqi_cli_recorded_quietly(pid_t pid, char *path, size_t n)
{
    struct found f = {.pid = pid, .path = path, .n = n};
    bool is_found;

    (void)maps_look(&f, &is_found);
    return is_found;
}

/* The operand alone, or with -p none; a file whose name is digits alone is
 * reached as ./NAME. */
int
alqi_cli_recorded_operand(const char *verb, int argc, char **argv, int first,
                          pid_t *pid, char *path, size_t n)
{
    const char *operand = first < argc ? argv[first] : NULL;
    char *end;
    long number;

    if (operand == NULL && *pid == 0)
        return alqi_cli_usage(verb,
                              "%s: of what? Give a process by -p PID, or "
                              "name a trace",
                              verb);
    if (argc - first + (*pid != 0) > 1)
        return alqi_cli_usage(verb, "%s: one at a time; '%s' is too many", verb,
                              argv[argc - 1]);
    if (*pid != 0)
        return alqi_cli_recorded(verb, *pid, path, n);
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
