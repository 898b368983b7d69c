/* linux.c -- the port contract on Linux, through libc
 *
 *   FREE --a filter--> FEW_CALLS --the strict mode--> NO_CALLS
 *
 * A call that the kernel forbids may end the process.  So a function that
 * may be called then looks at the confinement first, and does without: pages
 * come from the reserve, time stands still, a wait is a futex or a spin.
 *
 * Once there is a reserve, pages come from it as long as any are left; its
 * pages are never unmapped.  errno is preserved: malloc calls all of this. */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/base.h"
#include "plat/owned.h"
#include "plat/plat.h"
#include "plat/ticks.h"

enum {
    MEMBARRIER_PRIVATE_EXPEDITED = 1 << 3,
    MEMBARRIER_REGISTER_PRIVATE_EXPEDITED = 1 << 4,
    KERNEL_SIGSET_BYTES = 8,
    SPINS_BEFORE_YIELD = 128,
    NULL_BYTES = 4096, /* nothing that is readable lies lower */
    CONFINED_WAIT_NS = 50000
};

static _Atomic(enum alqi_plat_confinement) confinement;
static uint64_t still_ns; /* the time, while there are no calls */

/* The kernel's strict mode takes the processor's clock from the process, and
 * with it what the C library reads without a call. */
void
alqi_plat_confine(enum alqi_plat_confinement how)
{
    if (how == ALQI_PLAT_NO_CALLS) {
        still_ns = alqi_plat_mono_ns_sigsafe();
        alqi_plat_ticks_stop();
    } else if (atomic_load(&confinement) == ALQI_PLAT_NO_CALLS) {
        alqi_plat_ticks_start(); /* it was not to be */
    }
    atomic_store(&confinement, how);
}

enum alqi_plat_confinement
alqi_plat_confinement_sigsafe(void)
{
    return atomic_load_explicit(&confinement, memory_order_relaxed);
}

/* ---- pages --------------------------------------------------------------- */

static struct {
    char *_Atomic start; /* NULL: there is none; written last */
    size_t n_bytes;
    _Atomic(size_t) used_bytes; /* or more: what did not fit */
    bool is_final;
} reserve;

size_t
alqi_plat_page_bytes_sigsafe(void)
{
    return (size_t)getpagesize();
}

static void *
pages_map_new(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        return NULL;
    alqi_plat_owned_add_sigsafe(p, bytes);
    return p;
}

bool
alqi_plat_pages_reserve(size_t bytes, bool is_final)
{
    int saved = errno;
    char *start =
        atomic_load(&reserve.start) == NULL ? pages_map_new(bytes) : NULL;

    errno = saved;
    if (start == NULL)
        return false;
    reserve.n_bytes = bytes;
    reserve.is_final = is_final;
    atomic_store_explicit(&reserve.start, start, memory_order_release);
    return true;
}

static void *
reserve_take(char *start, size_t bytes)
{
    size_t page = alqi_plat_page_bytes_sigsafe();
    size_t n = (bytes + page - 1) & ~(page - 1);
    size_t at = atomic_load_explicit(&reserve.used_bytes, memory_order_relaxed);

    do
        if (n < bytes || at > reserve.n_bytes || n > reserve.n_bytes - at)
            return NULL;
    while (!atomic_compare_exchange_weak(&reserve.used_bytes, &at, at + n));
    return start + at;
}

static bool
is_reserved(const void *pages)
{
    uintptr_t start = (uintptr_t)atomic_load(&reserve.start);

    return start != 0 && (uintptr_t)pages - start < reserve.n_bytes;
}

void *
alqi_plat_pages_map(size_t bytes)
{
    char *start = atomic_load_explicit(&reserve.start, memory_order_acquire);
    void *p = start != NULL ? reserve_take(start, bytes) : NULL;
    int saved = errno;

    if (p != NULL || (start != NULL && reserve.is_final) ||
        alqi_plat_confinement_sigsafe() == ALQI_PLAT_NO_CALLS)
        return p;
    p = pages_map_new(bytes);
    errno = saved;
    return p;
}

void
alqi_plat_pages_unmap(void *pages, size_t bytes)
{
    int saved = errno;

    if (is_reserved(pages) ||
        alqi_plat_confinement_sigsafe() == ALQI_PLAT_NO_CALLS)
        return;
    alqi_plat_owned_remove_sigsafe(pages);
    munmap(pages, bytes);
    errno = saved;
}

void *
alqi_plat_pages_map_wiped_on_fork(size_t bytes)
{
    int saved = errno;
    void *p = alqi_plat_pages_map(bytes);

    if (p != NULL && madvise(p, bytes, MADV_WIPEONFORK) != 0) {
        alqi_plat_pages_unmap(p, bytes);
        p = NULL;
    }
    errno = saved;
    return p;
}

static uint64_t
clock_ns(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t
alqi_plat_mono_ns_sigsafe(void)
{
    return ALQI_LIKELY(alqi_plat_confinement_sigsafe() != ALQI_PLAT_NO_CALLS)
               ? clock_ns(CLOCK_MONOTONIC)
               : still_ns;
}

uint64_t
alqi_plat_wall_ns_sigsafe(void)
{
    return clock_ns(CLOCK_REALTIME);
}

/* Not the pid: that is a call, too. */
static uint64_t
entropy_of_clocks(void)
{
    static _Atomic(uint64_t) n;
    uint64_t here = (uintptr_t)&n ^ atomic_fetch_add(&n, 1) << 48;

    return alqi_base_mix(clock_ns(CLOCK_MONOTONIC) ^ here) ^
           alqi_base_mix(clock_ns(CLOCK_REALTIME) + (uintptr_t)&here);
}

uint64_t
alqi_plat_entropy(void)
{
    uint64_t x = 0;
    int saved = errno;

    if (alqi_plat_confinement_sigsafe() != ALQI_PLAT_FREE ||
        getrandom(&x, sizeof x, GRND_NONBLOCK) != (ssize_t)sizeof x)
        x = entropy_of_clocks();
    errno = saved;
    return x;
}

uint32_t
alqi_plat_tid_sigsafe(void)
{
    return alqi_plat_confinement_sigsafe() == ALQI_PLAT_FREE
               ? (uint32_t)syscall(SYS_gettid)
               : 0;
}

/* ---- what the kernel may do for a process that has no calls but few -------
 *
 * The futex operations of a page that nobody waits at: malloc's own locks need
 * the call, so no filter that lets malloc run forbids it. */

bool
alqi_plat_page_touch_sigsafe(void *page)
{
    int saved = errno;
    bool ok;

    if (alqi_plat_confinement_sigsafe() == ALQI_PLAT_NO_CALLS)
        return false;
    /* Adds 0 to the word, and wakes nobody. */
    ok = syscall(SYS_futex, page, FUTEX_WAKE_OP | FUTEX_PRIVATE_FLAG, 0, NULL,
                 page, FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_LT, 0)) >= 0 ||
         errno != EFAULT;
    errno = saved;
    return ok;
}

bool
alqi_plat_is_readable_sigsafe(uintptr_t address)
{
    /* Compares the word, whatever it holds, and moves no waiter. */
    int saved = errno;
    bool ok;

    if (address < NULL_BYTES ||
        alqi_plat_confinement_sigsafe() == ALQI_PLAT_NO_CALLS)
        return false;
    ok = syscall(SYS_futex, address, FUTEX_CMP_REQUEUE | FUTEX_PRIVATE_FLAG, 0,
                 NULL, address, 0) >= 0 ||
         errno == EAGAIN;
    errno = saved;
    return ok;
}

bool
alqi_plat_peek_sigsafe(uintptr_t from, void *to, size_t n)
{
    struct iovec here = {to, n}, there = {(void *)from, n};
    int saved = errno;
    bool ok = alqi_plat_confinement_sigsafe() == ALQI_PLAT_FREE &&
              syscall(SYS_process_vm_readv, (long)getpid(), &here, 1L, &there,
                      1L, 0L) == (long)n;

    errno = saved;
    return ok;
}

bool
alqi_plat_barrier_all(void)
{
    static _Atomic(int) registered;
    int saved = errno;
    bool ok;

    if (alqi_plat_confinement_sigsafe() != ALQI_PLAT_FREE)
        return false;
    if (!atomic_load_explicit(&registered, memory_order_acquire)) {
        if (syscall(SYS_membarrier, MEMBARRIER_REGISTER_PRIVATE_EXPEDITED, 0,
                    0) != 0) {
            errno = saved;
            return false;
        }
        atomic_store_explicit(&registered, 1, memory_order_release);
    }
    ok = syscall(SYS_membarrier, MEMBARRIER_PRIVATE_EXPEDITED, 0, 0) == 0;
    errno = saved;
    return ok;
}

/* The libc's are cancellation points. */
static int
write_all(int fd, const char *bytes, size_t n_bytes)
{
    while (n_bytes > 0) {
        long n = syscall(SYS_write, fd, bytes, n_bytes);

        if (n >= 0) {
            bytes += n;
            n_bytes -= (size_t)n;
        } else if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

/* A signal that the write has raised is taken off again; one that was pending
 * before stays. */
int
alqi_plat_write_sigsafe(int fd, const void *bytes, size_t n_bytes)
{
    static const struct timespec at_once;
    int saved = errno, error;
    sigset_t ours, before, pending;

    sigemptyset(&ours);
    sigaddset(&ours, SIGPIPE);
    sigaddset(&ours, SIGXFSZ);
    sigpending(&pending);
    if (sigismember(&pending, SIGPIPE))
        sigdelset(&ours, SIGPIPE);
    if (sigismember(&pending, SIGXFSZ))
        sigdelset(&ours, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &ours, &before);
    error = write_all(fd, bytes, n_bytes);
    if (error == EPIPE || error == EFBIG)
        while (syscall(SYS_rt_sigtimedwait, &ours, NULL, &at_once,
                       KERNEL_SIGSET_BYTES) < 0 &&
               errno == EINTR)
            continue;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved;
    return error;
}

void
alqi_plat_say_sigsafe(const char *text, size_t n_bytes)
{
    int saved = errno;
    enum alqi_plat_confinement now = alqi_plat_confinement_sigsafe();

    if (now == ALQI_PLAT_FREE)
        (void)alqi_plat_write_sigsafe(STDERR_FILENO, text, n_bytes);
    else if (now != ALQI_PLAT_NO_CALLS) /* nothing but a write */
        (void)write_all(STDERR_FILENO, text, n_bytes);
    errno = saved;
}

/* sched_yield may be forbidden. */
static void
confined_wait(void)
{
    static const struct timespec turn = {0, CONFINED_WAIT_NS};
    static uint32_t word;

    if (alqi_plat_confinement_sigsafe() == ALQI_PLAT_FEW_CALLS)
        syscall(SYS_futex, &word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0, &turn);
}

void
alqi_plat_spin(unsigned *spins)
{
    int saved;

    if (++*spins < SPINS_BEFORE_YIELD) {
        alqi_plat_pause();
        return;
    }
    saved = errno;
    if (alqi_plat_confinement_sigsafe() == ALQI_PLAT_FREE)
        sched_yield();
    else
        confined_wait();
    errno = saved;
    *spins = 0;
}

void
alqi_plat_lock_wait(struct alqi_plat_lock *lock)
{
    unsigned spins = 0;

    do
        while (atomic_load_explicit(&lock->state, memory_order_relaxed) != 0)
            alqi_plat_spin(&spins);
    while (!alqi_plat_lock_take_try(lock));
}
