/* peak.c -- what a program's memory came to
 *
 *   peak OUT PROGRAM [ARGUMENT]...
 *
 * Runs the program and writes "PEAK-KIB PAGE-FAULTS" to OUT.  The peak that
 * the kernel tells of a child begins with what its parent had when it forked,
 * so the parent must be small: this one is. */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
    struct rusage usage;
    int status;
    pid_t pid;
    FILE *out;

    if (argc < 3)
        return 2;
    pid = fork();
    if (pid == 0) {
        execvp(argv[2], argv + 2);
        _exit(127);
    }
    if (pid < 0 || wait4(pid, &status, 0, &usage) < 0)
        return 1;
    out = fopen(argv[1], "w");
    if (out == NULL)
        return 1;
    fprintf(out, "%ld %ld\n", usage.ru_maxrss, usage.ru_minflt);
    if (fclose(out) != 0)
        return 1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
