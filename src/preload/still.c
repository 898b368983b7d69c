/* still.c -- the other threads of the process stand still, by a signal
 *
 *   the caller                                  another thread
 *   asks each thread that is not asked  ----->  its handler: STANDS
 *   once more, until none has come              waits in it
 *   ... what it is for ...
 *   all go                              ----->  LEFT: goes on where it was
 *
 *   thread: UNASKED --signal--> ASKED --handler--> STANDS --> LEFT
 *                                '--it ends, has no code of its own--> GONE
 *                                '--STILL_MS--> UNKNOWN: its handler, when it
 *                                               runs at last, goes at once
 *
 * The signal is one that the C library keeps for itself (setuid of all
 * threads) and lets nobody block, so threads that block all signals stand, too.
 * The library's own handler runs for what is not ours; ours stays, once it is
 * there, for it could not be taken back without a moment in which the signal
 * would end the process.
 *
 * .inv.still_one    One thread of a process is the caller; another one is
 *                   refused, since each would wait for the other to stand.
 * .inv.still_bare   From the first signal to the last that goes the caller
 *                   makes system calls by the instruction: a thread that
 *                   stands may hold any lock.
 * .inv.still_place  A thread writes to its own place alone, and a place is
 *                   there for as long as its thread may write to it: it is
 *                   unmapped when all that were asked have left or gone, else
 *                   never.
 * .inv.still_anew   A wait that the system gave up for the signal alone is
 *                   made again, as after a command's stop (attach.md,
 *                   .inv.anew), where the code in front of it tells which one
 *                   it is.
 *
 * .pair.still  place_take() -> the caller: what a place says, then `stands`;
 *              and back: alqi_preload_still_end(), is_over.
 * .pair.still_left  place_leave() -> stale_drop(): it writes no more. */
#include "preload/still.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>

#include "base/base.h"
#include "plat/bare.h"
#include "plat/interrupted.h"
#include "plat/plat.h"

#if defined(__x86_64__)

#include <fcntl.h>
#include <linux/futex.h>

enum {
    SIGNAL = 33, /* SIGSETXID of glibc */
    SIGSET_BYTES = 8,
    STILL_MS = 1000, /* for all threads to stand */
    LOOK_MS = 2,     /* between two looks at those that do not */
    ROOM = 64,       /* for threads that come meanwhile */
    IS_IO_WORKER = 0x10,
    PAGE = 4096,
    ROWS_BYTES = 1024 /* on a stack of the program's */
};

#define RESTORER 0x04000000ul /* of the kernel: the action has a return */

/* A thread's, from when it was asked. */
struct place {
    struct alqi_copy_thread
        thread;               /* its own, but for the number; .pair.still */
    _Atomic(uint32_t) stands; /* .pair.still */
    bool is_gone;             /* the caller's */
};

struct alqi_preload_still {
    _Atomic(uint32_t) is_over; /* .pair.still */
    _Atomic(uint32_t) n_stand; /* threads that came to stand; .pair.still */
    _Atomic(uint32_t) n_left;  /* .pair.still_left */
    /* The caller's. */
    uint32_t n_asked, n_gone, n_unknown, capacity;
    int32_t pid, tid; /* its own */
    int tasks;        /* the directory of the process's threads */
    bool is_short;    /* there are more threads than places */
    size_t bytes;     /* of all this */
    uint64_t until_ns;
    struct place places[];
};

/* As the kernel has it. */
struct action {
    void (*handler)(int signal, siginfo_t *info, void *context);
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};

/* The last one; it stays here when it is over, for handlers that come late. */
static struct alqi_preload_still *_Atomic current; /* .pair.alone */

/* The process of the caller; 0: there is none.  A forked child finds its
 * parent's.  .pair.alone */
static _Atomic(uint32_t) caller;

/* Of the C library; written before ours is there. */
static struct action before;

/* As the C library's, by which debuggers know it. */
void alqi_preload_still_return(void);
__asm__(".pushsection .text\n"
        ".hidden alqi_preload_still_return\n"
        ".globl alqi_preload_still_return\n"
        ".type alqi_preload_still_return, @function\n"
        "nop\n"
        "alqi_preload_still_return:\n"
        "movq $15, %rax\n"
        "syscall\n"
        ".size alqi_preload_still_return, .-alqi_preload_still_return\n"
        ".popsection");

/* ---- a thread that stands ------------------------------------------------ */

static void
futex_wake(_Atomic(uint32_t) *word)
{
    alqi_plat_bare_call3(SYS_futex, (long)word, FUTEX_WAKE_PRIVATE, INT32_MAX);
}

static void
futex_wait(_Atomic(uint32_t) *word, uint32_t value,
           const struct timespec *timeout)
{
    const long arg[6] = {(long)word, FUTEX_WAIT_PRIVATE, (long)value,
                         (long)timeout};

    alqi_plat_call(SYS_futex, arg);
}

static uintptr_t
thread_pointer(void)
{
    uintptr_t at;

    __asm__("movq %%fs:0, %0" : "=r"(at));
    return at;
}

/* .pair.still */
static void
place_take(struct alqi_preload_still *s, struct place *p, void *context)
{
    p->thread.context = (uintptr_t)context;
    p->thread.thread_pointer = thread_pointer();
    atomic_store(&p->stands, 1);
    atomic_fetch_add(&s->n_stand, 1);
    futex_wake(&s->n_stand);
    while (atomic_load(&s->is_over) == 0)
        futex_wait(&s->is_over, 0, NULL);
}

/* .pair.still_left */
static void
place_leave(struct alqi_preload_still *s)
{
    atomic_fetch_add(&s->n_left, 1);
}

/* .inv.still_anew: mov $number,%eax; syscall */
static void
wait_again(ucontext_t *c)
{
    greg_t *g = c->uc_mcontext.gregs;
    const uint8_t *code = (const uint8_t *)g[REG_RIP] - 7;
    uint32_t call;

    if (g[REG_RAX] != -EINTR || (uintptr_t)code % PAGE > PAGE - 7 ||
        code[0] != 0xb8 || code[5] != 0x0f || code[6] != 0x05)
        return;
    memcpy(&call, code + 1, sizeof call);
    if (alqi_plat_is_given_up_by_handler(call))
        g[REG_RIP] = (greg_t)code;
}

static bool
is_place_of(const struct alqi_preload_still *s, const struct place *p)
{
    return s != NULL && p >= s->places && p < s->places + s->capacity;
}

static void
on_signal(int signal, siginfo_t *info, void *context)
{
    struct alqi_preload_still *s = atomic_load(&current);
    struct place *p = info->si_value.sival_ptr;

    if (info->si_code != SI_QUEUE) {
        if ((uintptr_t)before.handler > (uintptr_t)SIG_IGN)
            before.handler(signal, info, context);
        return;
    }
    if (is_place_of(s, p) && info->si_pid == s->pid &&
        (long)p->thread.tid == alqi_plat_bare_call3(SYS_gettid, 0, 0, 0)) {
        if (atomic_load(&s->is_over) == 0)
            place_take(s, p, context);
        place_leave(s);
    }
    wait_again(context);
}

static int
handler_install(void)
{
    struct action now,
        ours = {.handler = on_signal,
                .flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART | RESTORER,
                .restorer = alqi_preload_still_return,
                .mask = UINT64_MAX};
    const long look[6] = {SIGNAL, 0, (long)&now, SIGSET_BYTES};
    const long set[6] = {SIGNAL, (long)&ours, 0, SIGSET_BYTES};
    long error = alqi_plat_call(SYS_rt_sigaction, look);

    if (error != 0 || now.handler == on_signal)
        return (int)-error;
    before = now;
    return (int)-alqi_plat_call(SYS_rt_sigaction, set);
}

/* ---- the threads there are ----------------------------------------------- */

typedef void task_fn(struct alqi_preload_still *s, uint32_t tid);

/* Calls it for each thread but the caller; false: the caller is not among
 * them, so they are numbered for others. */
static bool
tasks_each(struct alqi_preload_still *s, task_fn *each)
{
    _Alignas(8) char rows[ROWS_BYTES];
    bool is_found = false;
    long n;

    alqi_plat_bare_call3(SYS_lseek, s->tasks, 0, 0);
    while ((n = alqi_plat_bare_call3(SYS_getdents64, s->tasks, (long)rows,
                                     sizeof rows)) > 0)
        for (long at = 0; at < n;) {
            const char *name = rows + at + 19; /* behind number, place, size */
            uint16_t row_bytes;
            uint32_t tid = 0;

            memcpy(&row_bytes, rows + at + 16, sizeof row_bytes);
            at += row_bytes;
            for (; *name >= '0' && *name <= '9'; name++)
                tid = 10 * tid + (uint32_t)(*name - '0');
            if (tid == (uint32_t)s->tid)
                is_found = true;
            else if (tid != 0)
                each(s, tid);
        }
    return is_found;
}

/* Its number and "/stat". */
static void
stat_name(uint32_t tid, char name[24])
{
    char digits[12];
    unsigned n = 0;

    do
        digits[n++] = (char)('0' + tid % 10);
    while ((tid /= 10) > 0);
    while (n > 0)
        *name++ = digits[--n];
    memcpy(name, "/stat", sizeof "/stat");
}

/* The thread is no more, or only its number is, or it works for the kernel
 * alone: its flags are the seventh number behind the state. */
static bool
is_gone(const struct alqi_preload_still *s, uint32_t tid)
{
    char name[24], text[512];
    const char *at;
    unsigned long flags = 0;
    long fd, n;

    stat_name(tid, name);
    fd = alqi_plat_bare_call3(SYS_openat, s->tasks, (long)name, O_RDONLY);
    if (fd < 0)
        return fd == -ENOENT || fd == -ESRCH;
    n = alqi_plat_bare_call3(SYS_read, fd, (long)text, sizeof text - 1);
    alqi_plat_bare_call3(SYS_close, fd, 0, 0);
    text[n > 0 ? n : 0] = '\0';
    at = strrchr(text, ')');
    if (at == NULL || at[1] == '\0')
        return n <= 0;
    if (at[2] == 'Z' || at[2] == 'X')
        return true;
    at += 2;
    for (int field = 0; field < 6 && *at != '\0'; at++)
        field += *at == ' ';
    for (; *at >= '0' && *at <= '9'; at++)
        flags = 10 * flags + (unsigned long)(*at - '0');
    return (flags & IS_IO_WORKER) != 0;
}

static bool
is_asked(const struct alqi_preload_still *s, uint32_t tid)
{
    for (uint32_t i = 0; i < s->n_asked; i++)
        if (s->places[i].thread.tid == tid)
            return true;
    return false;
}

static void
task_ask(struct alqi_preload_still *s, uint32_t tid)
{
    siginfo_t info = {.si_signo = SIGNAL, .si_code = SI_QUEUE};
    struct place *p = &s->places[s->n_asked];
    const long arg[6] = {s->pid, (long)tid, SIGNAL, (long)&info};

    if (is_asked(s, tid))
        return;
    if (s->n_asked == s->capacity) {
        s->is_short = true;
        return;
    }
    p->thread.tid = tid;
    info.si_pid = s->pid;
    info.si_value.sival_ptr = p;
    s->n_asked++;
    if (alqi_plat_call(SYS_rt_tgsigqueueinfo, arg) == 0)
        return;
    p->is_gone = true; /* or unknown, where it cannot be asked */
    s->n_gone++;
    if (!is_gone(s, tid))
        s->n_unknown++;
}

/* ---- all of them --------------------------------------------------------- */

static void
gone_find(struct alqi_preload_still *s)
{
    for (uint32_t i = 0; i < s->n_asked; i++) {
        struct place *p = &s->places[i];

        if (p->is_gone || atomic_load(&p->stands) != 0 || /* .pair.still */
            !is_gone(s, p->thread.tid))
            continue;
        p->is_gone = true;
        s->n_gone++;
    }
}

/* Waits for those that were asked.  .pair.still */
static void
places_wait(struct alqi_preload_still *s)
{
    const struct timespec look = {.tv_nsec = LOOK_MS * 1000000L};
    uint32_t n;

    while ((n = atomic_load(&s->n_stand)) < s->n_asked - s->n_gone &&
           alqi_plat_bare_mono_ns() < s->until_ns) {
        futex_wait(&s->n_stand, n, &look);
        if (atomic_load(&s->n_stand) == n)
            gone_find(s);
    }
}

/* Again while threads come: those that stand make none. */
static int
threads_stop(struct alqi_preload_still *s)
{
    uint32_t n_before;

    do {
        n_before = s->n_asked;
        if (!tasks_each(s, task_ask))
            return ESRCH;
        places_wait(s);
    } while (s->n_asked > n_before && !s->is_short &&
             alqi_plat_bare_mono_ns() < s->until_ns);
    if (s->is_short)
        return EAGAIN;
    /* .pair.still */
    s->n_unknown += s->n_asked - s->n_gone - atomic_load(&s->n_stand);
    return 0;
}

static void
task_count(struct alqi_preload_still *s, uint32_t tid)
{
    (void)tid;
    s->capacity++;
}

/* .inv.still_place, .pair.still_left */
static void
stale_drop(void)
{
    struct alqi_preload_still *s = atomic_exchange(&current, NULL);

    if (s != NULL && atomic_load(&s->n_left) == s->n_asked - s->n_gone)
        alqi_plat_pages_unmap(s, s->bytes);
}

/* With places for all threads that there are; NULL with an errno. */
static struct alqi_preload_still *
still_map(int *error)
{
    struct alqi_preload_still counted = {
        .tid = (int32_t)alqi_plat_bare_call3(SYS_gettid, 0, 0, 0),
        .pid = (int32_t)alqi_plat_bare_call3(SYS_getpid, 0, 0, 0)};
    const long arg[6] = {AT_FDCWD, (long)"/proc/self/task",
                         O_RDONLY | O_DIRECTORY | O_CLOEXEC};
    struct alqi_preload_still *s = NULL;
    long fd = alqi_plat_call(SYS_openat, arg);

    *error = (int)-fd;
    if (fd < 0)
        return NULL;
    counted.tasks = (int)fd;
    *error = ESRCH;
    if (tasks_each(&counted, task_count)) {
        counted.capacity = 2 * counted.capacity + ROOM;
        counted.bytes = sizeof *s + counted.capacity * sizeof *s->places;
        s = alqi_plat_pages_map(counted.bytes);
        *error = ENOMEM;
    }
    if (s == NULL)
        alqi_plat_bare_call3(SYS_close, fd, 0, 0);
    else
        memcpy(s, &counted, sizeof counted);
    return s;
}

/* .inv.still_one */
static bool
caller_take(void)
{
    uint32_t own = (uint32_t)alqi_plat_bare_call3(SYS_getpid, 0, 0, 0);
    uint32_t was = atomic_load(&caller);

    return was != own && atomic_compare_exchange_strong(&caller, &was, own);
}

int
alqi_preload_still_begin(struct alqi_preload_still **out)
{
    struct alqi_preload_still *s;
    int error;

    if (!caller_take())
        return EBUSY;
    stale_drop();
    s = still_map(&error);
    if (s == NULL) {
        atomic_store(&caller, 0);
        return error;
    }
    atomic_store(&current, s); /* .pair.alone */
    error = handler_install();
    s->until_ns = alqi_plat_bare_mono_ns() + STILL_MS * UINT64_C(1000000);
    if (error == 0)
        error = threads_stop(s);
    *out = s;
    if (error != 0)
        alqi_preload_still_end(s);
    return error;
}

/* .pair.still */
void
alqi_preload_still_end(struct alqi_preload_still *s)
{
    alqi_plat_bare_call3(SYS_close, s->tasks, 0, 0);
    atomic_store(&s->is_over, 1);
    futex_wake(&s->is_over);
    atomic_store(&caller, 0);
}

uint32_t
alqi_preload_still_unknown(const struct alqi_preload_still *s)
{
    return s->n_unknown;
}

void
alqi_preload_still_caller(const struct alqi_preload_still *s,
                          struct alqi_copy_thread *out)
{
    *out = (struct alqi_copy_thread){.thread_pointer = thread_pointer(),
                                     .tid = (uint32_t)s->tid};
}

/* .pair.still */
bool
alqi_preload_still_thread(const struct alqi_preload_still *s, uint32_t *at,
                          struct alqi_copy_thread *out)
{
    while (*at < s->n_asked) {
        const struct place *p = &s->places[(*at)++];

        if (atomic_load(&p->stands) == 0)
            continue;
        *out = p->thread;
        return true;
    }
    return false;
}

#else

int
alqi_preload_still_begin(struct alqi_preload_still **out)
{
    (void)out;
    return ENOSYS;
}

void
alqi_preload_still_end(struct alqi_preload_still *s)
{
    (void)s;
}

uint32_t
alqi_preload_still_unknown(const struct alqi_preload_still *s)
{
    (void)s;
    return 0;
}

void
alqi_preload_still_caller(const struct alqi_preload_still *s,
                          struct alqi_copy_thread *out)
{
    (void)s;
    (void)out;
}

bool
alqi_preload_still_thread(const struct alqi_preload_still *s, uint32_t *at,
                          struct alqi_copy_thread *out)
{
    (void)s;
    (void)at;
    (void)out;
    return false;
}

#endif
