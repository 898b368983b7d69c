/* proc.c -- /proc/PID/stat, numbers in namespaces, the owner of a process
 *
 * The command stands between the first '(' and the last ')', as it may have
 * both in it.  A process that is a zombie, is exiting, or has SIGKILL pending
 * counts as gone: it runs no more of its program. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/tool/proc.h"
#include "cli/tool/text.h"

/* Of /proc/PID/stat, behind the name: field 3 is number 0. */
enum {
    FIELD_STATE = 0,
    FIELD_PARENT = 1,
    FIELD_FLAGS = 6,
    FIELD_START = 19,
    FIELD_RSS = 21,
    FIELD_PENDING = 28,
    N_FIELDS
};

enum { FLAG_EXITING = 4 }; /* of the kernel: PF_EXITING */

/* Reads /proc/PID/stat into text, with a NUL behind it. False: the process is
 * gone, or its file cannot be read. */
static bool
stat_read(pid_t pid, char *text, size_t n_text)
{
    char path[64];
    size_t n = 0;
    FILE *f;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    f = fopen(path, "re");
    if (f == NULL)
        return false;
    n = fread(text, 1, n_text - 1, f);
    fclose(f);
    text[n] = '\0';
    return n > 0;
}

/* The process's age in microseconds. The kernel counts start times on the clock
 * that runs on while the machine sleeps, so the age is taken from that
 * clock. */
static uint64_t
age_us(uint64_t start_ticks)
{
    struct timespec now;
    double start_us = (double)start_ticks * 1e6 / (double)sysconf(_SC_CLK_TCK);
    double now_us;

    clock_gettime(CLOCK_BOOTTIME, &now);
    now_us = (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
    return now_us > start_us ? (uint64_t)(now_us - start_us) : 0;
}

/* Cuts the command out of text and writes it cleaned to out; leaves a NUL in
 * place of the ')' behind it. The fields must have been read before. */
static void
command_read(char *text, struct alqi_cli_proc *out)
{
    char *open = strchr(text, '('), *close = strrchr(text, ')');

    out->command[0] = '\0';
    if (open == NULL || close == NULL || close < open)
        return;
    *close = '\0';
    alqi_cli_clean(out->command, sizeof out->command, open + 1);
}

/* The fields behind the command are numbers but for the state, which strtoull()
 * passes over. */
bool
alqi_cli_proc_read(pid_t pid, struct alqi_cli_proc *out)
{
    char text[1024], *p;
    uint64_t fields[N_FIELDS] = {0};

    memset(out, 0, sizeof *out);
    if (!stat_read(pid, text, sizeof text))
        return false;
    p = strrchr(text, ')');
    if (p == NULL || p[1] == '\0')
        return false;
    p += 2;
    out->state = *p;
    for (int i = 0; i < N_FIELDS && p != NULL; i++) {
        fields[i] = strtoull(p, NULL, 10);
        p = strchr(p, ' ');
        p = p != NULL ? p + 1 : NULL;
    }
    command_read(text, out);
    out->parent = (pid_t)fields[FIELD_PARENT];
    out->start_ticks = fields[FIELD_START];
    out->age_us = age_us(out->start_ticks);
    out->rss_bytes = fields[FIELD_RSS] * (uint64_t)sysconf(_SC_PAGESIZE);
    /* One that is killed takes its time: it runs no more of its program. */
    return out->state != 'Z' && out->state != 'X' &&
           (fields[FIELD_FLAGS] & FLAG_EXITING) == 0 &&
           (fields[FIELD_PENDING] >> (SIGKILL - 1) & 1) == 0;
}

/* The last of the numbers that a line of it has is the innermost
 * namespace's. */
pid_t
alqi_cli_proc_inner_pid(pid_t pid)
{
    char line[1024];
    pid_t inner = 0;
    FILE *f;

    snprintf(line, sizeof line, "/proc/%d/status", (int)pid);
    f = fopen(line, "re");
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        if (inner == 0)
            inner = pid; /* of a kernel that has no namespaces */
        if (strncmp(line, "NSpid:", 6) == 0)
            inner = (pid_t)strtol(strrchr(line, '\t'), NULL, 10);
    }
    if (f != NULL)
        fclose(f);
    return inner;
}

/* Its first thread may have ended. */
static bool
is_process(pid_t pid, pid_t inner_pid, uint64_t start_ticks)
{
    struct alqi_cli_proc proc;

    return (alqi_cli_proc_read(pid, &proc) ||
            !alqi_cli_proc_is_over(alqi_cli_proc_living(pid))) &&
           proc.start_ticks == start_ticks &&
           alqi_cli_proc_inner_pid(pid) == inner_pid;
}

/* Mostly it is of this namespace. */
pid_t
alqi_cli_proc_here(pid_t inner_pid, uint64_t start_ticks)
{
    struct dirent *entry;
    pid_t found = 0, pid;
    DIR *directory;

    if (is_process(inner_pid, inner_pid, start_ticks))
        return inner_pid;
    directory = opendir("/proc");
    while (directory != NULL && found == 0 &&
           (entry = readdir(directory)) != NULL) {
        pid = (pid_t)atoi(entry->d_name);
        if (pid > 0 && is_process(pid, inner_pid, start_ticks))
            found = pid;
    }
    if (directory != NULL)
        closedir(directory);
    return found;
}

/* The owner of the process's folder is its effective user. */
bool
alqi_cli_proc_owner(pid_t pid, uid_t *uid)
{
    char path[64];
    struct stat st;

    snprintf(path, sizeof path, "/proc/%d", (int)pid);
    if (stat(path, &st) != 0)
        return false;
    *uid = st.st_uid;
    return true;
}

bool
alqi_cli_proc_is_over(pid_t pid)
{
    const char *name_end;
    char text[1024];

    if (!stat_read(pid, text, sizeof text))
        return true;
    name_end = strrchr(text, ')');
    return name_end == NULL || strncmp(name_end, ") Z", 3) == 0 ||
           strncmp(name_end, ") X", 3) == 0;
}

pid_t
alqi_cli_proc_living(pid_t pid)
{
    struct dirent *entry;
    pid_t found = pid, tid;
    char path[64];
    DIR *tasks;

    if (!alqi_cli_proc_is_over(pid))
        return pid;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    tasks = opendir(path);
    while (tasks != NULL && found == pid && (entry = readdir(tasks)) != NULL) {
        tid = (pid_t)atoi(entry->d_name);
        if (tid > 0 && !alqi_cli_proc_is_over(tid))
            found = tid;
    }
    if (tasks != NULL)
        closedir(tasks);
    return found;
}

bool
alqi_cli_proc_has(pid_t pid, const char *file, int end, const char *text)
{
    char path[64], *piece = NULL;
    size_t capacity = 0;
    bool is_found = false;
    FILE *in;

    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, file);
    in = fopen(path, "re");
    while (in != NULL && !is_found && getdelim(&piece, &capacity, end, in) > 0)
        is_found = strstr(piece, text) != NULL;
    if (in != NULL)
        fclose(in);
    free(piece);
    return is_found;
}
