/* confined.c -- a program that forbids itself system calls
 *
 * confined few|nomap|strict|bare [threads]: says what it may do from then on,
 * and allocates.  A call that is forbidden kills it (SIGSYS). */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ALLOW(name)                                                            \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (name), 0, 1),                         \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

enum { ROUNDS = 20000, SIZE = 300 };

static void *volatile sink;
static void *blocks[ROUNDS];

static const struct sock_filter few[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    ALLOW(SYS_brk),
    ALLOW(SYS_mmap),
    ALLOW(SYS_munmap),
    ALLOW(SYS_futex),
    ALLOW(SYS_write),
    ALLOW(SYS_exit_group),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

static const struct sock_filter nomap[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    ALLOW(SYS_brk),
    ALLOW(SYS_futex),
    ALLOW(SYS_write),
    ALLOW(SYS_exit_group),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

/* And what a thread of the program's own needs to begin and to end. */
static const struct sock_filter threads[] = {
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
    ALLOW(SYS_brk),
    ALLOW(SYS_mmap),
    ALLOW(SYS_munmap),
    ALLOW(SYS_futex),
    ALLOW(SYS_write),
    ALLOW(SYS_exit_group),
    ALLOW(SYS_mprotect),
    ALLOW(SYS_madvise),
    ALLOW(SYS_clone3),
    ALLOW(SYS_set_robust_list),
    ALLOW(SYS_rseq),
    ALLOW(SYS_rt_sigprocmask),
    ALLOW(SYS_rt_sigaction),
    ALLOW(SYS_exit),
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
};

static int
install(const struct sock_filter *filter, size_t bytes)
{
    struct sock_fprog program = {
        .len = (unsigned short)(bytes / sizeof *filter),
        .filter = (struct sock_filter *)(size_t)filter,
    };

    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0;
}

/* By the instruction, which no library sees. */
static int
install_bare(void)
{
    struct sock_fprog program = {
        .len = sizeof few / sizeof *few,
        .filter = (struct sock_filter *)(size_t)few,
    };
    long result = SYS_seccomp;

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return 1;
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"(SECCOMP_SET_MODE_FILTER), "S"(0), "d"(&program)
                     : "rcx", "r11", "memory");
    return result != 0;
}

__attribute__((noinline)) void work(void);

__attribute__((noinline)) void
work(void)
{
    for (int i = 0; i < ROUNDS; i++)
        blocks[i] = malloc(SIZE);
    sink = blocks;
}

static void *
thread_work(void *arg)
{
    for (int i = 0; i < ROUNDS; i++)
        free(malloc(SIZE));
    return arg;
}

static void
say(const char *text)
{
    if (write(1, text, strlen(text)) < 0)
        _exit(3);
}

static int
threads_run(void)
{
    pthread_t t[3];

    for (int i = 0; i < 3; i++)
        if (pthread_create(&t[i], NULL, thread_work, NULL) != 0)
            return 1;
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    return 0;
}

/* In the strict mode malloc must not need the system, either: it has what was
 * freed before. */
static int
strict(void)
{
    work();
    for (int i = 0; i < ROUNDS; i += 2)
        free(blocks[i]);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0)
        return 1;
    for (int i = 0; i < ROUNDS / 4; i++)
        blocks[i] = malloc(SIZE);
    say("done\n");
    syscall(SYS_exit, 0);
    return 1;
}

int
main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int failed;

    sink = malloc(100000); /* so that brk is what malloc asks for */
    if (strcmp(how, "strict") == 0)
        return strict();
    if (strcmp(how, "few") == 0)
        failed = install(few, sizeof few);
    else if (strcmp(how, "nomap") == 0)
        failed = install(nomap, sizeof nomap);
    else if (strcmp(how, "bare") == 0)
        failed = install_bare();
    else
        failed = install(threads, sizeof threads);
    if (failed)
        return 2;
    work();
    if (strcmp(how, "threads") == 0 && threads_run() != 0)
        return 1;
    say("done\n");
    return 0;
}
