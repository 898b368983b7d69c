/* refuse.c -- in the way of whoever wants to look into a process
 *
 * usage: refuse calls COMMAND...   runs it without ptrace and process_vm_readv,
 *                                  which fail as in a container that forbids
 *                                  them; so do those of its children
 *        refuse trace PID          traces the process until standard input
 * ends; says "traces" Status 77: the system does not have that. */
#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NOT_HERE = 77, ROUND_MS = 1 };

static int
calls_refuse(char **command)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM)};
    struct sock_fprog filter = {sizeof rules / sizeof *rules, rules};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
        return NOT_HERE;
    execvp(command[0], command);
    perror(command[0]);
    return 127;
}

static int
threads_seize(const char *pid)
{
    char path[64];
    struct dirent *entry;
    DIR *tasks;
    int error = ESRCH;

    snprintf(path, sizeof path, "/proc/%s/task", pid);
    tasks = opendir(path);
    while (tasks != NULL && (entry = readdir(tasks)) != NULL)
        if (entry->d_name[0] != '.')
            error = ptrace(PTRACE_SEIZE, atoi(entry->d_name), NULL, NULL) == 0
                        ? 0
                        : errno;
    if (tasks != NULL)
        closedir(tasks);
    return error;
}

/* Signals are passed on, and stops of a group are kept. */
static void
stops_pass(void)
{
    int status;
    pid_t tid;

    while ((tid = waitpid(-1, &status, __WALL | WNOHANG)) > 0) {
        if (!WIFSTOPPED(status))
            continue;
        if (status >> 16 != 0)
            ptrace(WSTOPSIG(status) == SIGTRAP ? PTRACE_CONT : PTRACE_LISTEN,
                   tid, NULL, NULL);
        else
            ptrace(PTRACE_CONT, tid, NULL, (void *)(long)WSTOPSIG(status));
    }
}

/* The system lets all go when this ends. */
static int
process_trace(const char *pid)
{
    struct pollfd input = {.events = POLLIN};

    if (threads_seize(pid) != 0)
        return NOT_HERE;
    puts("traces");
    fflush(stdout);
    while (poll(&input, 1, ROUND_MS) == 0)
        stops_pass();
    return 0;
}

int
main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "calls") == 0)
        return calls_refuse(argv + 2);
    if (argc == 3 && strcmp(argv[1], "trace") == 0)
        return process_trace(argv[2]);
    return 2;
}
