/* linux.c -- the port contract on Linux, through libc */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "plat/plat.h"

enum {
    MEMBARRIER_PRIVATE_EXPEDITED = 1 << 3,
    MEMBARRIER_REGISTER_PRIVATE_EXPEDITED = 1 << 4,
    KERNEL_SIGSET_BYTES = 8,
    SPINS_BEFORE_YIELD = 128
};

void *
alqi_plat_pages_map(size_t bytes)
{
    int saved = errno;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    errno = saved;
    return p == MAP_FAILED ? NULL : p;
}

void
alqi_plat_pages_unmap(void *pages, size_t bytes)
{
    int saved = errno;

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
    return clock_ns(CLOCK_MONOTONIC);
}

uint64_t
alqi_plat_wall_ns_sigsafe(void)
{
    return clock_ns(CLOCK_REALTIME);
}

uint64_t
alqi_plat_entropy(void)
{
    uint64_t x = 0;
    int saved = errno;

    if (getrandom(&x, sizeof x, GRND_NONBLOCK) != (ssize_t)sizeof x)
        x = alqi_base_mix(clock_ns(CLOCK_MONOTONIC) ^ (uintptr_t)&x) ^
            alqi_base_mix(clock_ns(CLOCK_REALTIME) + (uint64_t)getpid());
    errno = saved;
    return x;
}

uint32_t
alqi_plat_tid_sigsafe(void)
{
    return (uint32_t)syscall(SYS_gettid);
}

bool
alqi_plat_is_readable_sigsafe(uintptr_t address)
{
    /* The kernel copies the new mask in before it looks at `how`: a bad
     * address is EFAULT, a good one EINVAL, and no mask ever changes. */
    int saved = errno;
    bool ok;

    if (address < 4096)
        return false;
    ok = syscall(SYS_rt_sigprocmask, ~0, (void *)address, NULL,
                 KERNEL_SIGSET_BYTES) == -1 &&
         errno == EINVAL;
    errno = saved;
    return ok;
}

bool
alqi_plat_barrier_all(void)
{
    static _Atomic(int) registered;
    int saved = errno;
    bool ok;

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
    (void)alqi_plat_write_sigsafe(STDERR_FILENO, text, n_bytes);
}

void
alqi_plat_spin(unsigned *spins)
{
    int saved;

    if (++*spins < SPINS_BEFORE_YIELD) {
#if defined(__x86_64__)
        __builtin_ia32_pause();
#endif
        return;
    }
    saved = errno;
    sched_yield();
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
    while (!alqi_plat_lock_try(lock));
}
