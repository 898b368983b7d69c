/* plat.h -- the port contract: what this project asks of the system below libc
 *
 * The other headers of this folder ask, too, each for one idea; what stands
 * outside of it is listed in doc/design/plat.md.
 *
 * True of every call: no malloc, no stdio, no locale, no lock that another
 * thread may hold for long; safe inside malloc.  Calls with the suffix
 * _sigsafe may also be made from a signal handler.
 *
 * Of the pairs of ordered atomic accesses (HACKING.md, "Names") two are none:
 *
 * .pair.alone    No other memory is read on account of it: any order would do.
 * .pair.handler  A fence for the compiler, between a thread and what interrupts
 *                it: a signal handler, a fork. */
#ifndef ALQI_PLAT_PLAT_H
#define ALQI_PLAT_PLAT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rank.h"

/* Bytes of a page of memory: 4, 16 or 64 KiB. */
size_t alqi_plat_page_bytes_sigsafe(void);

/* Zeroed private pages, or NULL.  `bytes` is rounded up to pages. */
void *alqi_plat_pages_map(size_t bytes);
void alqi_plat_pages_unmap(void *pages, size_t bytes);

/* Like pages_map, but a forked child finds the pages zeroed again (a vforked
 * one does not: it shares them).  NULL where the system cannot do that. */
void *alqi_plat_pages_map_wiped_on_fork(size_t bytes);

/* CLOCK_MONOTONIC and CLOCK_REALTIME, nanoseconds. */
uint64_t alqi_plat_mono_ns_sigsafe(void);
uint64_t alqi_plat_wall_ns_sigsafe(void);

/* Maps so many bytes from which pages_map gives from now on; they do not come
 * back.  When they are used up, pages_map gives NULL if is_final, else it maps
 * again.  False: no memory, or called before; nothing has changed. */
bool alqi_plat_pages_reserve(size_t bytes, bool is_final);

/* Which system calls the process may still make (seccomp), as its owner says:
 * FEW are those of malloc, futex and write; NONE none at all. */
enum alqi_plat_confinement {
    ALQI_PLAT_FREE,
    ALQI_PLAT_FEW_CALLS,
    ALQI_PLAT_NO_CALLS
};
void alqi_plat_confine(enum alqi_plat_confinement how);
enum alqi_plat_confinement alqi_plat_confinement_sigsafe(void);

/* Writes to the page without changing it, by the kernel: false where the
 * program's own write would be a SIGSEGV or, as on a full disk, a SIGBUS. */
bool alqi_plat_page_touch_sigsafe(void *page);

/* 64 bits from the system's generator; never fails (falls back on clocks). */
uint64_t alqi_plat_entropy(void);

/* Kernel thread id of the caller; 0 in a confined process. */
uint32_t alqi_plat_tid_sigsafe(void);

/* Whether the aligned 8 bytes at `address` can be read, without touching them;
 * false where no system call may be made. */
bool alqi_plat_is_readable_sigsafe(uintptr_t address);

/* Copies n bytes at `from`, which another thread may unmap meanwhile; false:
 * they cannot be read, or the process is confined. */
bool alqi_plat_peek_sigsafe(uintptr_t from, void *to, size_t n);

/* Returns after every other thread of the process has executed a full memory
 * barrier; false where the system cannot do that, or the process is confined.
 */
bool alqi_plat_barrier_all(void);

/* write(2) of all of it, retrying: 0, or errno.  What the write would raise
 * where nothing can be written, SIGPIPE or SIGXFSZ, is never delivered. */
int alqi_plat_write_sigsafe(int fd, const void *bytes, size_t n_bytes);

/* Writes `text` to stderr as alqi_plat_write_sigsafe does; errno is preserved.
 */
void alqi_plat_say_sigsafe(const char *text, size_t n_bytes);

/* Tells the processor that a loop waits for what another one stores. */
static inline void
alqi_plat_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb"); /* `yield` does not wait */
#endif
}

/* One turn of waiting for what another thread is about to do: a pause, and now
 * and then the processor, which that thread may need.  *spins begins with 0. */
void alqi_plat_spin(unsigned *spins);

/* A spin lock with back-off.  Holders run a bounded, short section that cannot
 * be entered twice by one thread (the caller's own flag keeps signal handlers
 * out).  A lock made of zeroes is free and has no rank. */
struct alqi_plat_lock {
    _Atomic(uint32_t) state; /* 0: free; 1: held */
#if ALQI_CHECKS >= 1
    enum alqi_rank rank; /* written before the lock is shared */
#endif
};

#if ALQI_CHECKS >= 1
#define ALQI_PLAT_LOCK(name)                                                   \
    {                                                                          \
        .rank = ALQI_RANK_##name                                               \
    }
#else
#define ALQI_PLAT_LOCK(name)                                                   \
    {                                                                          \
        .state = 0                                                             \
    }
#endif

static inline enum alqi_rank
alqi_plat_lock_rank(const struct alqi_plat_lock *lock)
{
#if ALQI_CHECKS >= 1
    return lock->rank;
#else
    (void)lock;
    return ALQI_RANK_NONE;
#endif
}

/* Makes a lock that its struct's memory does not have yet. */
static inline void
alqi_plat_lock_init(struct alqi_plat_lock *lock, enum alqi_rank rank)
{
    atomic_init(&lock->state, 0);
#if ALQI_CHECKS >= 1
    lock->rank = rank;
#else
    (void)rank;
#endif
}

void alqi_plat_lock_wait(struct alqi_plat_lock *lock);

static inline bool
alqi_plat_lock_take_try(struct alqi_plat_lock *lock)
{
    uint32_t idle = 0;

    return atomic_compare_exchange_strong_explicit(
        &lock->state, &idle, 1, memory_order_acquire, memory_order_relaxed);
}

/* In any order: nothing waits here.  A handler may find the lock free that its
 * thread is about to take. */
static inline bool
alqi_plat_lock_try(struct alqi_plat_lock *lock)
{
    if (!alqi_plat_lock_take_try(lock))
        return false;
    alqi_base_rank_note_sigsafe(alqi_plat_lock_rank(lock));
    return true;
}

/* The rank is noted once more, as a handler may have taken the lock in between,
 * and given it back. */
static inline void
alqi_plat_lock(struct alqi_plat_lock *lock)
{
    alqi_base_rank_push_sigsafe(alqi_plat_lock_rank(lock));
    if (!alqi_plat_lock_take_try(lock))
        alqi_plat_lock_wait(lock);
    alqi_base_rank_note_sigsafe(alqi_plat_lock_rank(lock));
}

/* One of a group of locks that share a rank, by a thread that takes them all:
 * in one order, or under a lock of a lower rank that each such thread takes. */
static inline void
alqi_plat_lock_group(struct alqi_plat_lock *lock)
{
    alqi_base_rank_push_group_sigsafe(alqi_plat_lock_rank(lock));
    if (!alqi_plat_lock_take_try(lock))
        alqi_plat_lock_wait(lock);
}

static inline void
alqi_plat_unlock(struct alqi_plat_lock *lock)
{
    alqi_base_rank_pop_sigsafe(alqi_plat_lock_rank(lock));
    atomic_store_explicit(&lock->state, 0, memory_order_release);
}

/* Frees a lock whose holder may be a thread that a forked child does not have.
 */
static inline void
alqi_plat_lock_break(struct alqi_plat_lock *lock)
{
    alqi_base_rank_pop_sigsafe(alqi_plat_lock_rank(lock));
    atomic_store_explicit(&lock->state, 0, memory_order_relaxed);
}

#endif
