/* seen.c -- what a program can see of its process
 *
 * seen [again]: prints it, one fact a line; what a forked child and, without
 * `again`, what it executes sees, too.  Run alone and under the recorder the
 * lines are to be the same, but for what aliquot-preload(7) lists. */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *who = "program";

static void
line(const char *what, const char *text)
{
    printf("%s\t%s\t%s\n", who, what, text);
}

static void
number(const char *what, long value)
{
    printf("%s\t%s\t%ld\n", who, what, value);
}

static void
entries(const char *path, const char *what, int with_links)
{
    DIR *dir = opendir(path);
    struct dirent *e;
    unsigned n = 0;

    while (dir != NULL && (e = readdir(dir)) != NULL) {
        char name[600], to[600] = "";

        if (e->d_name[0] == '.' || atoi(e->d_name) == dirfd(dir))
            continue;
        n++;
        snprintf(name, sizeof name, "%s/%s", path, e->d_name);
        if (with_links && readlink(name, to, sizeof to - 1) > 0)
            printf("%s\t%s\t%s -> %s\n", who, what, e->d_name, to);
    }
    if (!with_links)
        number(what, n);
    if (dir != NULL)
        closedir(dir);
}

/* The files that are mapped, each once; and lines that begin with a word. */
static void
maps(void)
{
    FILE *f = fopen("/proc/self/maps", "re");
    char text[4200], last[4200] = "";

    while (f != NULL && fgets(text, sizeof text, f) != NULL) {
        char *name = strchr(text, '/');

        if (name == NULL || strcmp(name, last) == 0)
            continue;
        strcpy(last, name);
        name[strcspn(name, "\n")] = '\0';
        line("mapped", name);
    }
    if (f != NULL)
        fclose(f);
}

static void
status_lines(void)
{
    static const char *const words[] = {
        "Name",   "Umask",  "TracerPid", "FDSize",     "Threads",
        "SigPnd", "ShdPnd", "SigBlk",    "SigIgn",     "SigCgt",
        "CapEff", "CapBnd", "Seccomp",   "NoNewPrivs", "THP_enabled"};
    FILE *f = fopen("/proc/self/status", "re");
    char text[500];

    while (f != NULL && fgets(text, sizeof text, f) != NULL)
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (strncmp(text, words[i], strlen(words[i])) == 0 &&
                text[strlen(words[i])] == ':') {
                text[strcspn(text, "\n")] = '\0';
                line("status", text);
            }
    if (f != NULL)
        fclose(f);
}

static void
bytes_of(const char *path, const char *what)
{
    FILE *f = fopen(path, "re");
    char *text = NULL;
    size_t n = 0;

    while (f != NULL && getdelim(&text, &n, '\0', f) > 0)
        if (text[0] != '\0')
            line(what, text);
    free(text);
    if (f != NULL)
        fclose(f);
}

static void
limits(void)
{
    for (int i = 0; i < RLIMIT_NLIMITS; i++) {
        struct rlimit r;

        if (getrlimit((__rlimit_resource_t)i, &r) == 0)
            printf("%s\trlimit %d\t%lu %lu\n", who, i, r.rlim_cur, r.rlim_max);
    }
}

static void
signals(void)
{
    stack_t stack;

    for (int i = 1; i <= SIGRTMAX; i++) {
        struct sigaction a;

        if (sigaction(i, NULL, &a) == 0 && a.sa_handler != SIG_DFL)
            printf("%s\tsignal %d\t%s\n", who, i,
                   a.sa_handler == SIG_IGN ? "ignored" : "handled");
    }
    if (sigaltstack(NULL, &stack) == 0)
        printf("%s\tsigaltstack\t%d %zu\n", who, stack.ss_flags, stack.ss_size);
}

static void
settings(void)
{
    char name[20] = "", directory[4200];
    mode_t mask = umask(0);

    umask(mask);
    number("umask", (long)mask);
    prctl(PR_GET_NAME, name);
    line("name", name);
    number("dumpable", prctl(PR_GET_DUMPABLE));
    number("keepcaps", prctl(PR_GET_KEEPCAPS));
    number("subreaper", prctl(PR_GET_CHILD_SUBREAPER, &(int){0}));
    number("timer slack", prctl(PR_GET_TIMERSLACK));
    number("priority", getpriority(PRIO_PROCESS, 0));
    line("directory", getcwd(directory, sizeof directory));
    number("session", getsid(0) == getsid(getppid()));
}

static void
look(int at_start)
{
    number("errno", at_start);
    entries("/proc/self/fd", "descriptor", 1);
    entries("/proc/self/task", "threads", 0);
    maps();
    status_lines();
    limits();
    signals();
    settings();
    for (char **e = environ; *e != NULL; e++)
        line("variable", *e);
    bytes_of("/proc/self/environ", "environ");
    bytes_of("/proc/self/cmdline", "argument");
    fflush(stdout);
}

static void
child_look(void)
{
    pid_t pid = fork();

    if (pid == 0) {
        void *volatile block = malloc(700000);

        who = "forked";
        look(0);
        free(block);
        _exit(0);
    }
    waitpid(pid, NULL, 0);
}

static void *
thread_look(void *arg)
{
    void *volatile block = malloc(500000);
    sigset_t mask;

    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    for (int i = 1; i <= SIGRTMAX; i++)
        if (sigismember(&mask, i) == 1)
            number("blocked in a thread", i);
    free(block);
    return arg;
}

int
main(int argc, char **argv)
{
    int at_start = errno;
    pthread_t thread;

    for (int i = 0; i < 3000; i++)
        free(malloc(5000));
    if (argc > 1)
        who = "executed";
    look(at_start);
    child_look();
    if (pthread_create(&thread, NULL, thread_look, NULL) == 0)
        pthread_join(thread, NULL);
    number("errno after", errno);
    fflush(stdout);
    if (argc == 1)
        execl(argv[0], argv[0], "again", (char *)NULL);
    return 0;
}
