/* steps.c -- a signal handler between every two instructions of the profiler
 *
 * usage: steps WHAT blocks|fork
 * The processor traps after each instruction of WHAT, and the handler
 * allocates, reallocates and frees, or forks at every 61st.  It wants an
 * allocator that is async-signal-safe: see safe_malloc.c.  What hangs is ended
 * by an alarm.
 *
 * A fork is dear, and most steps are rounds of loops.  So a state, which is an
 * instruction with the stack it runs on, counts for its first 64 meetings: by
 * then it has been forked at once.
 * Prints "steps N", and dies when nothing was stepped through. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <aliquot/aliquot.h>

#if defined(__x86_64__)

enum { TRAP_FLAG = 0x100, FORK_EVERY = 61 };
enum { HUNG_SECONDS = 3600, CHILD_HUNG_SECONDS = 900 };

/* A slot of the table of states: the hash of one above, how often it has been
 * met below.  The table is shared, so that a fork need not copy it. */
enum { LOG_STATES = 18, MEETINGS = 64, MEETINGS_MASK = 127 };
static uint64_t *states;

static volatile sig_atomic_t is_stepping, is_forking, n_failed;
static volatile unsigned n_steps, n_counted;
static void *volatile held[16];
static void *volatile sink;

__attribute__((noinline)) void keep_one(size_t n);

__attribute__((noinline)) void
keep_one(size_t n)
{
    sink = malloc(n);
    __asm__ volatile("");
}

static void
use_blocks(unsigned step)
{
    void *volatile *at = &held[step % 16];

    switch (step / 16 % 3) {
    case 0:
        *at = realloc(*at, 100 + step % 100);
        break;
    case 1:
        free(*at);
        *at = malloc(step % 200);
        break;
    default:
        free(*at);
        *at = NULL;
        free(malloc(10));
        break;
    }
}

static void
use_fork(void)
{
    int status;
    pid_t pid = fork();

    if (pid == 0) {
        alarm(CHILD_HUNG_SECONDS);
        for (unsigned i = 0; i < 50; i++)
            use_blocks(i);
        _exit(0);
    }
    if (waitpid(pid, &status, 0) != pid || status != 0)
        n_failed++;
}

/* Whether the state has been met MEETINGS times; not when the table, which has
 * room for five times as many as there are, has none for it. */
static int
is_known(uintptr_t pc, uintptr_t sp)
{
    const unsigned n = 1u << LOG_STATES;
    uint64_t hash = (pc * 0x9e3779b97f4a7c15 ^ sp) * 0xff51afd7ed558ccd;
    uint64_t state = (hash | MEETINGS_MASK) - MEETINGS_MASK;

    for (unsigned i = 0; i < 100; i++) {
        uint64_t *at = &states[((hash >> (64 - LOG_STATES)) + i) % n];

        if (*at == 0)
            *at = state;
        if ((*at & ~(uint64_t)MEETINGS_MASK) == state)
            return (*at & MEETINGS_MASK) == MEETINGS || (++*at, 0);
    }
    return 0;
}

static void
on_trap(int signal, siginfo_t *info, void *context)
{
    ucontext_t *u = context;

    (void)signal;
    (void)info;
    if (!is_stepping) {
        u->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)TRAP_FLAG;
        return;
    }
    n_steps++;
    if (!is_forking)
        use_blocks(n_steps);
    else if (!is_known((uintptr_t)u->uc_mcontext.gregs[REG_RIP],
                       (uintptr_t)u->uc_mcontext.gregs[REG_RSP]) &&
             ++n_counted % FORK_EVERY == 0)
        use_fork();
}

static inline void
step_begin(void)
{
    is_stepping = 1;
    __asm__ volatile("lea -128(%%rsp), %%rsp\n\t" /* the red zone */
                     "pushfq\n\t"
                     "orl $0x100, (%%rsp)\n\t"
                     "popfq\n\t"
                     "lea 128(%%rsp), %%rsp"
                     :
                     :
                     : "memory", "cc");
}

static inline void
step_end(void)
{
    is_stepping = 0;
}

/* ---- what is stepped through ----------------------------------------------
 */

static void *
first_malloc(void *arg)
{
    step_begin();
    keep_one(1000);
    step_end();
    return arg;
}

static void *
first_free(void *arg)
{
    step_begin();
    free(arg);
    step_end();
    return NULL;
}

static void *
first_realloc(void *arg)
{
    step_begin();
    sink = realloc(arg, 500);
    step_end();
    return NULL;
}

static void
in_threads(void *(*run)(void *))
{
    for (int i = 0; i < 3; i++) {
        pthread_t thread;

        pthread_create(&thread, NULL, run, malloc(50));
        pthread_join(thread, NULL);
    }
}

/* Keys are destroyed in their order, so this one's part of a round comes after
 * the profiler's; by the last round that has ended the thread. */
static pthread_key_t key;

static void
on_exit_round(void *arg)
{
    uintptr_t round = (uintptr_t)arg;

    if (round < 3) {
        pthread_setspecific(key, (void *)(round + 1));
        step_begin();
    } else {
        step_end();
    }
}

static void *
ending(void *arg)
{
    keep_one(1000);
    pthread_setspecific(key, (void *)1);
    return arg;
}

static void
blocks(void)
{
    for (int i = 0; i < 3; i++) {
        void *p;

        step_begin();
        keep_one(1000);
        p = malloc(100);
        p = realloc(p, 200);
        free(p);
        free(calloc(3, 70));
        step_end();
    }
}

static int
track(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    (void)arg;
    (void)a;
    (void)data;
    return ALQ_TRACK_KEEP;
}

static void
profile(void)
{
    const struct alq_memprof_config config = {.rate = 0.5};
    const struct alq_tracker tracker = {.alloc_major = track};

    for (int i = 0; i < 3; i++) {
        struct alq_profile *p = NULL;

        step_begin();
        if (alq_memprof_start(NULL, &config, &tracker, &p) != ALQ_OK)
            n_failed++;
        keep_one(1000);
        if (alq_memprof_stop(NULL) != ALQ_OK)
            n_failed++;
        if (alq_memprof_discard(p) != ALQ_OK)
            n_failed++;
        alq_profile_drop(p);
        step_end();
    }
}

static enum alq_status
limited(struct alq_domain *d, void *arg)
{
    (void)d;
    for (int i = 0; i < 3; i++) {
        void *p = malloc(100);

        free(realloc(p, 200));
        free(calloc(3, 70));
    }
    free(malloc(1000000));
    (void)alq_malloc_poll();
    *(int *)arg += 1; /* not where it is left */
    return ALQ_OK;
}

/* What the handler asks for counts, and is refused as the task's is. */
static void
limits(unsigned flags)
{
    struct alq_limits l = ALQ_LIMITS_NONE;
    int n_ended = 0;

    l.words = 100000;
    l.sampled_words = 10000000;
    l.time_ns = (uint64_t)HUNG_SECONDS * 1000000000;
    l.flags = flags;
    for (int i = 0; i < 2; i++) {
        step_begin();
        if (alq_limit_run(NULL, &l, limited, &n_ended, NULL) != ALQ_ELIMIT)
            n_failed++;
        step_end();
        keep_one(1000000);
        n_failed += sink == NULL;
    }
    n_failed += n_ended != (flags == 0 ? 2 : 0);
}

static void
unload(const char *path)
{
    for (int i = 0; i < 2; i++) {
        void *handle = dlopen(path, RTLD_NOW);

        if (handle == NULL)
            n_failed++;
        keep_one(1000);
        step_begin();
        dlclose(handle);
        step_end();
    }
}

int
main(int argc, char **argv)
{
    struct sigaction action = {.sa_sigaction = on_trap,
                               .sa_flags = SA_SIGINFO | SA_NODEFER};
    const char *what = argc > 2 ? argv[1] : "";

    states = mmap(NULL, sizeof(*states) << LOG_STATES, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (states == MAP_FAILED)
        return 1;
    sigaction(SIGTRAP, &action, NULL);
    alarm(HUNG_SECONDS);
    is_forking = argc > 2 && strcmp(argv[2], "fork") == 0;
    if (strcmp(what, "attach") == 0)
        in_threads(first_malloc);
    else if (strcmp(what, "attach-free") == 0)
        in_threads(first_free);
    else if (strcmp(what, "attach-realloc") == 0)
        in_threads(first_realloc);
    else if (strcmp(what, "end") == 0 &&
             pthread_key_create(&key, on_exit_round) == 0)
        in_threads(ending);
    else if (strcmp(what, "blocks") == 0)
        blocks();
    else if (strcmp(what, "profile") == 0)
        profile();
    else if (strcmp(what, "limits") == 0)
        limits(0);
    else if (strcmp(what, "limits-unwinding") == 0)
        limits(ALQ_LIMIT_UNWINDS);
    else if (strcmp(what, "dlclose") == 0 && argc > 3)
        unload(argv[3]);
    printf("steps %s, %d failed\n", n_steps > 100 ? "many" : "none", n_failed);
    return n_failed != 0 || n_steps < 100;
}

#else

int
main(void)
{
    return 77;
}

#endif
