/* inject.c -- a call for a thread of another process, by ptrace
 *
 *   runs --stop--> stopped --go--> runs
 *                     '--call--> runs the call --signal return--> runs on
 *
 * The call's frame is the one that the kernel makes for a signal handler, and
 * the address that the call returns to is that of the C library's return from
 * signals: the kernel itself puts the registers back (.inv.itself).
 *
 *       sp of the thread
 *       red zone, 128 bytes
 *       argument
 *       extended registers, 64-byte aligned
 *       context: registers, signal mask       <- sp when the call has returned
 *       address of the return from signals    <- sp of the call
 *
 * doc/design/attach.md, "Giving a thread a call". */
#include "plat/inject.h"

#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>

#include "base/base.h"
#include "plat/interrupted.h"

bool
alqi_plat_memory_read(pid_t pid, uintptr_t from, void *to, size_t n_bytes)
{
    struct iovec local = {to, n_bytes}, remote = {(void *)from, n_bytes};

    return process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)n_bytes;
}

bool
alqi_plat_memory_write(pid_t pid, uintptr_t to, const void *from,
                       size_t n_bytes)
{
    struct iovec local = {(void *)from, n_bytes},
                 remote = {(void *)to, n_bytes};

    return process_vm_writev(pid, &local, 1, &remote, 1, 0) == (ssize_t)n_bytes;
}

int
alqi_plat_tie(pid_t pid)
{
    return ptrace(PTRACE_SEIZE, pid, NULL, (void *)PTRACE_O_EXITKILL) == 0
               ? 0
               : errno;
}

#if defined(__x86_64__)

#include <cpuid.h>
#include <elf.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>

enum {
    RED_ZONE_BYTES = 128,
    SIGSET_BYTES = 8,
    STOP_MS = 10000, /* a thread of which nothing is known is not left traced */
    /* The processor's save area of extended registers. */
    VECTORS_AT = 160,
    LEGACY_BYTES = 512,
    HEADER_BYTES = 64,
    SOFTWARE_AT = 464, /* words for the system, in the legacy part */
    FEATURES_MAX = 63
};

#define MAGIC_FIRST 0x46505853u /* the kernel's FP_XSTATE_MAGIC1 */
#define MAGIC_LAST 0x46505845u  /* and 2, behind the area        */
#define CONTEXT_FLAGS 7u        /* extended area; segment registers, strictly */
#define NO_ALTERNATE 0x7fff     /* a mode that no stack of signals has */

/* What the kernel returns inside a system call that it is to make again. */
enum { RESTART_SYS = 512, RESTART_NOINTR, RESTART_NOHAND, RESTART_BLOCK = 516 };

/* As in the legacy part at SOFTWARE_AT. */
struct software {
    uint32_t magic;
    uint32_t bytes; /* of area and last magic */
    uint64_t features;
    uint32_t area_bytes;
    uint32_t unused[7];
};

/* What is written below the thread's stack, from the lowest address on. */
struct frame {
    uintptr_t come_back;
    ucontext_t context;
};

bool
alqi_plat_can_inject(void)
{
    return true;
}

/* ---- stop and go --------------------------------------------------------- */

static bool
is_stopped(pid_t tid, int *status)
{
    const struct timespec a_while = {.tv_nsec = 100000};

    for (unsigned i = 0; i < STOP_MS * 10; i++) {
        pid_t got = waitpid(tid, status, __WALL | WNOHANG);

        if (got == tid)
            return WIFSTOPPED(*status);
        if (got < 0 && errno != EINTR)
            return false;
        nanosleep(&a_while, NULL);
    }
    return false;
}

/* A restartable sequence that is under way would not be seen to be
 * interrupted: its descriptor is not NULL. */
static bool
is_in_sequence(pid_t tid)
{
    struct __ptrace_rseq_configuration rseq = {0};
    uint64_t descriptor = 0;

    if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, tid, sizeof rseq, &rseq) !=
            (long)sizeof rseq ||
        rseq.rseq_abi_pointer == 0)
        return false;
    return !alqi_plat_memory_read(tid, rseq.rseq_abi_pointer + 8, &descriptor,
                                  sizeof descriptor) ||
           descriptor != 0;
}

/* Of the save area the part from the vector registers' first words on; what
 * the processor does not have stays 0.  In a system call no function has
 * anything in them: the call is a function of the C library's, which need not
 * keep them, and a new thread begins with what its maker left there. */
static void
vectors_copy(pid_t tid, const struct user_regs_struct *r,
             uintptr_t to[ALQI_PLAT_VECTOR_WORDS])
{
    _Alignas(64) char
        area[VECTORS_AT + ALQI_PLAT_VECTOR_WORDS * sizeof(uintptr_t)] = {0};
    struct iovec io = {area, sizeof area};

    if ((long)r->orig_rax < 0 &&
        ptrace(PTRACE_GETREGSET, tid, (void *)NT_X86_XSTATE, &io) == 0)
        memcpy(to, area + VECTORS_AT, sizeof area - VECTORS_AT);
}

static void
registers_copy(const struct user_regs_struct *r, struct alqi_plat_stopped *out)
{
    const uintptr_t from[ALQI_PLAT_GENERAL_REGISTERS] = {
        r->rax, r->rbx, r->rcx, r->rdx, r->rsi, r->rdi, r->rbp, r->rsp,
        r->r8,  r->r9,  r->r10, r->r11, r->r12, r->r13, r->r14, r->r15};

    out->sp = r->rsp;
    out->thread_pointer = r->fs_base;
    memcpy(out->registers, from, sizeof from);
}

int
alqi_plat_thread_stop_ask(pid_t tid)
{
    int error;

    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) != 0)
        return errno;
    if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) == 0)
        return 0;
    error = errno;
    ptrace(PTRACE_DETACH, tid, NULL, NULL);
    return error;
}

int
alqi_plat_thread_stop(pid_t tid, struct alqi_plat_stopped *out)
{
    int error = alqi_plat_thread_stop_ask(tid);

    return error == 0 ? alqi_plat_thread_stop_wait(tid, out) : error;
}

int
alqi_plat_thread_stop_wait(pid_t tid, struct alqi_plat_stopped *out)
{
    struct user_regs_struct r;
    int status = 0, error;

    if (!is_stopped(tid, &status)) {
        error = errno == ESRCH || WIFEXITED(status) ? ESRCH : EBUSY;
        ptrace(PTRACE_DETACH, tid, NULL, NULL);
        return error;
    }
    *out = (struct alqi_plat_stopped){.tid = tid};
    /* Another stop than ours, with a signal to give: not now. */
    if (status >> 16 != PTRACE_EVENT_STOP || WSTOPSIG(status) != SIGTRAP ||
        ptrace(PTRACE_GETREGS, tid, NULL, &r) != 0) {
        ptrace(PTRACE_DETACH, tid, NULL,
               (void *)(long)(status >> 16 == 0 ? WSTOPSIG(status) : 0));
        return EBUSY;
    }
    registers_copy(&r, out);
    vectors_copy(tid, &r, out->registers + ALQI_PLAT_GENERAL_REGISTERS);
    out->call = (long)r.orig_rax;
    out->is_in_sequence = is_in_sequence(tid);
    return 0;
}

static bool
has_signals(pid_t tid)
{
    struct __ptrace_peeksiginfo_args own = {.nr = 1},
                                     shared = {.flags =
                                                   PTRACE_PEEKSIGINFO_SHARED,
                                               .nr = 1};
    siginfo_t info;

    return ptrace(PTRACE_PEEKSIGINFO, tid, &own, &info) != 0 ||
           ptrace(PTRACE_PEEKSIGINFO, tid, &shared, &info) != 0;
}

/* A wait that comes back for a stop, and no signal is there. */
static bool
is_given_up(pid_t tid, const struct user_regs_struct *r)
{
    return -(long)r->rax == EINTR &&
           alqi_plat_is_given_up_by_stop(r->orig_rax) && !has_signals(tid);
}

/* .inv.anew: where the kernel was about to make the system call again, or
 * gave up a wait for the stop alone, the thread makes it.  True: r is
 * changed. */
static bool
call_again(pid_t tid, struct user_regs_struct *r, bool is_given_up_only)
{
    long code = -(long)r->rax;

    if ((long)r->orig_rax < 0)
        return false;
    if (!is_given_up(tid, r) &&
        (is_given_up_only || ((code < RESTART_SYS || code > RESTART_NOHAND) &&
                              code != RESTART_BLOCK)))
        return false;
    r->rax = r->orig_rax;
    r->orig_rax = (unsigned long)-1;
    r->rip -= 2; /* the length of the instruction */
    return true;
}

void
alqi_plat_thread_go(const struct alqi_plat_stopped *thread)
{
    struct user_regs_struct r;

    if (ptrace(PTRACE_GETREGS, thread->tid, NULL, &r) == 0 &&
        call_again(thread->tid, &r, true))
        ptrace(PTRACE_SETREGS, thread->tid, NULL, &r);
    ptrace(PTRACE_DETACH, thread->tid, NULL, NULL);
}

/* ---- to the end ---------------------------------------------------------- */

int
alqi_plat_thread_watch(pid_t tid)
{
    return ptrace(PTRACE_SEIZE, tid, NULL,
                  (void *)(PTRACE_O_TRACEEXIT | PTRACE_O_TRACEEXEC)) == 0
               ? 0
               : errno;
}

/* Of a stop; its end is not waited for, which is somebody else's. */
static bool
is_standing(pid_t tid, int *event, int *signal)
{
    siginfo_t info = {0};

    if (waitid(P_PID, (id_t)tid, &info, WSTOPPED | __WALL | WNOHANG) != 0 ||
        info.si_pid == 0)
        return false;
    *event = info.si_status >> 8;
    *signal = info.si_status & 0xFF;
    return true;
}

static bool
is_job_control(int signal)
{
    return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN ||
           signal == SIGTTOU;
}

/* Of a thread that stands at its end. */
static void
end_take(pid_t tid, struct alqi_plat_stopped *out)
{
    struct user_regs_struct r;

    *out = (struct alqi_plat_stopped){.tid = tid};
    if (ptrace(PTRACE_GETREGS, tid, NULL, &r) != 0)
        return;
    registers_copy(&r, out);
    vectors_copy(tid, &r, out->registers + ALQI_PLAT_GENERAL_REGISTERS);
}

enum alqi_plat_thread_event
alqi_plat_thread_look(pid_t tid, struct alqi_plat_stopped *out)
{
    int event, signal;

    if (!is_standing(tid, &event, &signal))
        return ALQI_PLAT_THREAD_RUNS;
    switch (event) {
    case PTRACE_EVENT_EXIT:
        end_take(tid, out);
        return ALQI_PLAT_THREAD_ENDS;
    case PTRACE_EVENT_EXEC:
        return ALQI_PLAT_THREAD_EXECS;
    case PTRACE_EVENT_STOP:
        ptrace(is_job_control(signal) ? PTRACE_LISTEN : PTRACE_CONT, tid, NULL,
               NULL);
        return ALQI_PLAT_THREAD_RUNS;
    default:
        ptrace(PTRACE_CONT, tid, NULL, (void *)(long)signal);
        return ALQI_PLAT_THREAD_RUNS;
    }
}

/* One that runs is stopped for that. */
void
alqi_plat_thread_unwatch(pid_t tid)
{
    const struct timespec a_while = {.tv_nsec = 100000};
    int event, signal = 0;

    if (ptrace(PTRACE_DETACH, tid, NULL, NULL) == 0 ||
        ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) != 0)
        return;
    for (unsigned i = 0; i < STOP_MS * 10; i++) {
        if (is_standing(tid, &event, &signal)) {
            ptrace(PTRACE_DETACH, tid, NULL,
                   (void *)(long)(event == 0 ? signal : 0));
            return;
        }
        if (kill(tid, 0) != 0)
            return;
        nanosleep(&a_while, NULL);
    }
}

/* ---- the frame ----------------------------------------------------------- */

/* How many bytes the features take that are not in their initial state. */
static size_t
area_bytes(uint64_t in_use)
{
    size_t end = LEGACY_BYTES + HEADER_BYTES;

    for (unsigned i = 2; i < FEATURES_MAX; i++) {
        unsigned size, at, c, d;

        if ((in_use >> i & 1) == 0 ||
            __get_cpuid_count(0xD, i, &size, &at, &c, &d) == 0)
            continue;
        if (at + size > end)
            end = at + size;
    }
    return end;
}

/* The features that lie whole in so many bytes. */
static uint64_t
features_within(uint64_t features, size_t bytes)
{
    uint64_t kept = features & 3;

    for (unsigned i = 2; i < FEATURES_MAX; i++) {
        unsigned size, at, c, d;

        if ((features >> i & 1) != 0 &&
            __get_cpuid_count(0xD, i, &size, &at, &c, &d) != 0 &&
            at + size <= bytes)
            kept |= UINT64_C(1) << i;
    }
    return kept;
}

/* Reads the extended registers as a signal's frame has them; their bytes, the
 * last magic included; 0: errno says why not. */
static size_t
extended_read(pid_t tid, char *area, size_t capacity)
{
    struct iovec io = {area, capacity - sizeof(uint64_t)}; /* whole words */
    struct software software = {.magic = MAGIC_FIRST};
    uint64_t features, in_use;
    uint32_t last = MAGIC_LAST;
    size_t n;

    if (ptrace(PTRACE_GETREGSET, tid, (void *)NT_X86_XSTATE, &io) != 0)
        return 0;
    memcpy(&features, area + SOFTWARE_AT, sizeof features);
    memcpy(&in_use, area + LEGACY_BYTES, sizeof in_use);
    n = area_bytes(in_use);
    if (n > io.iov_len) {
        errno = ENOTSUP;
        return 0;
    }
    software.features = features_within(features, n);
    software.area_bytes = (uint32_t)n;
    software.bytes = (uint32_t)(n + sizeof last);
    memcpy(area + SOFTWARE_AT, &software, sizeof software);
    memcpy(area + n, &last, sizeof last);
    return n + sizeof last;
}

static void
context_fill(ucontext_t *c, const struct user_regs_struct *r, uintptr_t area,
             uint64_t signals)
{
    greg_t *g = c->uc_mcontext.gregs;

    memset(c, 0, sizeof *c);
    c->uc_flags = CONTEXT_FLAGS;
    c->uc_stack.ss_flags = NO_ALTERNATE; /* leaves it as it is */
    g[REG_R8] = (greg_t)r->r8;
    g[REG_R9] = (greg_t)r->r9;
    g[REG_R10] = (greg_t)r->r10;
    g[REG_R11] = (greg_t)r->r11;
    g[REG_R12] = (greg_t)r->r12;
    g[REG_R13] = (greg_t)r->r13;
    g[REG_R14] = (greg_t)r->r14;
    g[REG_R15] = (greg_t)r->r15;
    g[REG_RDI] = (greg_t)r->rdi;
    g[REG_RSI] = (greg_t)r->rsi;
    g[REG_RBP] = (greg_t)r->rbp;
    g[REG_RBX] = (greg_t)r->rbx;
    g[REG_RDX] = (greg_t)r->rdx;
    g[REG_RAX] = (greg_t)r->rax;
    g[REG_RCX] = (greg_t)r->rcx;
    g[REG_RSP] = (greg_t)r->rsp;
    g[REG_RIP] = (greg_t)r->rip;
    g[REG_EFL] = (greg_t)r->eflags;
    g[REG_CSGSFS] = (greg_t)(r->cs | r->ss << 48);
    c->uc_mcontext.fpregs = (void *)area;
    memcpy(&c->uc_sigmask, &signals, sizeof signals);
}

/* The one step that changes the thread; the mask only adds to it, and the
 * frame holds the one from before. */
static int
registers_set(pid_t tid, struct user_regs_struct r, uintptr_t sp,
              uintptr_t function, uintptr_t argument, unsigned long number)
{
    uint64_t all = ~UINT64_C(0);

    r.rip = function;
    r.rsp = sp;
    r.rbp = 0;
    r.rdi = argument;
    r.rsi = number;
    r.rax = 0;
    r.orig_rax = (unsigned long)-1;    /* no system call is to be made again */
    r.eflags &= ~(unsigned long)0x500; /* direction, single steps */
    if (ptrace(PTRACE_SETREGS, tid, NULL, &r) != 0)
        return errno;
    ptrace(PTRACE_SETSIGMASK, tid, SIGSET_BYTES, &all);
    return 0;
}

int
alqi_plat_thread_call(const struct alqi_plat_stopped *thread,
                      uintptr_t function, const char *argument,
                      unsigned long number, uintptr_t come_back)
{
    _Alignas(64) char area[ALQI_PLAT_INJECT_EXTENDED_BYTES];
    struct frame frame = {.come_back = come_back};
    size_t n_argument = strlen(argument) + 1, n_area;
    uintptr_t argument_at, area_at, frame_at;
    struct user_regs_struct now, back;
    uint64_t signals;
    int error;

    n_area = extended_read(thread->tid, area, sizeof area);
    if (n_area == 0 || ptrace(PTRACE_GETREGS, thread->tid, NULL, &now) != 0 ||
        ptrace(PTRACE_GETSIGMASK, thread->tid, SIGSET_BYTES, &signals) != 0)
        return errno;
    argument_at = (now.rsp - RED_ZONE_BYTES - n_argument) & ~(uintptr_t)15;
    area_at = (argument_at - n_area) & ~(uintptr_t)63;
    /* A function finds its stack 8 bytes off a multiple of 16. */
    frame_at = ((area_at - sizeof frame) & ~(uintptr_t)15) - 8;
    back = now;
    call_again(thread->tid, &back, false);
    context_fill(&frame.context, &back, area_at, signals);
    if (!alqi_plat_memory_write(thread->tid, argument_at, argument,
                                n_argument) ||
        !alqi_plat_memory_write(thread->tid, area_at, area, n_area) ||
        !alqi_plat_memory_write(thread->tid, frame_at, &frame, sizeof frame))
        return errno != 0 ? errno : EFAULT;
    error = registers_set(thread->tid, now, frame_at, function, argument_at,
                          number);
    if (error == 0)
        ptrace(PTRACE_DETACH, thread->tid, NULL, NULL);
    return error;
}

uintptr_t
alqi_plat_come_back_find(pid_t pid, uintptr_t text, size_t n_bytes)
{
    /* mov $15,%rax; syscall */
    static const unsigned char code[] = {0x48, 0xc7, 0xc0, 0x0f, 0,
                                         0,    0,    0x0f, 0x05};
    unsigned char piece[65536];

    for (size_t at = 0; at < n_bytes; at += sizeof piece - sizeof code) {
        size_t n = n_bytes - at < sizeof piece ? n_bytes - at : sizeof piece;
        const unsigned char *found;

        if (!alqi_plat_memory_read(pid, text + at, piece, n))
            return 0;
        found = memmem(piece, n, code, sizeof code);
        if (found != NULL)
            return text + at + (size_t)(found - piece);
    }
    return 0;
}

#else

bool
alqi_plat_can_inject(void)
{
    return false;
}

int
alqi_plat_thread_stop(pid_t tid, struct alqi_plat_stopped *out)
{
    (void)tid;
    (void)out;
    return ENOSYS;
}

int
alqi_plat_thread_stop_ask(pid_t tid)
{
    (void)tid;
    return ENOSYS;
}

int
alqi_plat_thread_stop_wait(pid_t tid, struct alqi_plat_stopped *out)
{
    (void)tid;
    (void)out;
    return ENOSYS;
}

void
alqi_plat_thread_go(const struct alqi_plat_stopped *thread)
{
    (void)thread;
}

int
alqi_plat_thread_watch(pid_t tid)
{
    (void)tid;
    return ENOSYS;
}

enum alqi_plat_thread_event
alqi_plat_thread_look(pid_t tid, struct alqi_plat_stopped *out)
{
    (void)tid;
    (void)out;
    return ALQI_PLAT_THREAD_RUNS;
}

void
alqi_plat_thread_unwatch(pid_t tid)
{
    (void)tid;
}

int
alqi_plat_thread_call(const struct alqi_plat_stopped *thread,
                      uintptr_t function, const char *argument,
                      unsigned long number, uintptr_t come_back)
{
    (void)thread;
    (void)function;
    (void)argument;
    (void)number;
    (void)come_back;
    return ENOSYS;
}

uintptr_t
alqi_plat_come_back_find(pid_t pid, uintptr_t text, size_t n_bytes)
{
    (void)pid;
    (void)text;
    (void)n_bytes;
    return 0;
}

#endif
