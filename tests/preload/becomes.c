/* becomes.c -- a program that becomes another; see exec.sh
 *
 * becomes CALL FILE [ARG]: allocates, and executes FILE by that call; by
 * `child`, `vfork`, `spawn`, `spawnp`, `system` and `sh` in a child, whose
 * status is its own.  becomes last: allocates, says so, and ends with 3. */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FAILED = 4 };

static void *volatile sink;

__attribute__((noinline)) void become_first(void);
__attribute__((noinline)) void become_last(void);

__attribute__((noinline)) void
become_first(void)
{
    sink = malloc(50000);
    __asm__ volatile("");
}

__attribute__((noinline)) void
become_last(void)
{
    sink = malloc(70000);
    __asm__ volatile("");
}

static int
child_status(pid_t pid)
{
    int status = 0;

    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : FAILED;
}

static int
in_child(const char *how, char **argv)
{
    char *shell[] = {(char *)"sh", (char *)"-c", argv[0], NULL};
    pid_t pid = 0;

    if (strcmp(how, "system") == 0)
        return WEXITSTATUS(system(argv[0]));
    if (strcmp(how, "sh") == 0)
        return posix_spawnp(&pid, "sh", NULL, NULL, shell, environ) == 0
                   ? child_status(pid)
                   : FAILED;
    if (strcmp(how, "spawn") == 0)
        return posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) == 0
                   ? child_status(pid)
                   : FAILED;
    if (strcmp(how, "spawnp") == 0)
        return posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ) == 0
                   ? child_status(pid)
                   : FAILED;
    pid = strcmp(how, "vfork") == 0 ? vfork() : fork();
    if (pid == 0) {
        execve(argv[0], argv, environ);
        _exit(FAILED);
    }
    return child_status(pid);
}

static void
become(const char *how, char **argv)
{
    if (strcmp(how, "execve") == 0)
        execve(argv[0], argv, environ);
    if (strcmp(how, "execv") == 0)
        execv(argv[0], argv);
    if (strcmp(how, "execvp") == 0)
        execvp(argv[0], argv);
    if (strcmp(how, "execvpe") == 0)
        execvpe(argv[0], argv, environ);
    if (strcmp(how, "execl") == 0)
        execl(argv[0], argv[0], argv[1], (char *)NULL);
    if (strcmp(how, "execlp") == 0)
        execlp(argv[0], argv[0], argv[1], (char *)NULL);
    if (strcmp(how, "execle") == 0)
        execle(argv[0], argv[0], argv[1], (char *)NULL, environ);
    if (strcmp(how, "fexecve") == 0)
        fexecve(open(argv[0], O_RDONLY | O_CLOEXEC), argv, environ);
    if (strcmp(how, "execveat") == 0)
        execveat(AT_FDCWD, argv[0], argv, environ, 0);
}

int
main(int argc, char **argv)
{
    static const char *const children[] = {"child",  "vfork",  "spawn",
                                           "spawnp", "system", "sh"};

    if (argc == 2 && strcmp(argv[1], "last") == 0) {
        become_last();
        puts("last");
        return 3;
    }
    if (argc < 3)
        return 2;
    become_first();
    for (size_t i = 0; i < sizeof children / sizeof *children; i++)
        if (strcmp(argv[1], children[i]) == 0)
            return in_child(argv[1], argv + 2);
    become(argv[1], argv + 2);
    return FAILED;
}
