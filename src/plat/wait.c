/* wait.c -- sleeping on a word, until it changes or until a moment, and waking
 *
 * Futexes, private to the process.  No state is kept here: a thread that
 * slept looks at the word again, since the kernel wakes for other reasons, too.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "plat/plat.h"
#include "plat/wait.h"

enum { SPINS_BEFORE_SLEEP = 200, NS_S = 1000000000 };

void
alqi_plat_sleep(uint32_t *word, uint32_t value)
{
    int saved = errno;

    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
    errno = saved;
}

/* FUTEX_WAIT_BITSET takes a moment, FUTEX_WAIT a length of time. */
void
alqi_plat_sleep_until(uint32_t *word, uint32_t value, uint64_t until_ns)
{
    struct timespec until = {(time_t)(until_ns / NS_S),
                             (long)(until_ns % NS_S)};
    int saved = errno;

    syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, value, &until, NULL,
            FUTEX_BITSET_MATCH_ANY);
    errno = saved;
}

void
alqi_plat_wake(uint32_t *word, unsigned n)
{
    int saved = errno;

    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n < INT_MAX ? n : INT_MAX,
            NULL, NULL, 0);
    errno = saved;
}

static uint32_t
load(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

void
alqi_plat_wait_while(uint32_t *word, uint32_t value)
{
    unsigned spin;

    for (spin = 0; spin < SPINS_BEFORE_SLEEP; spin++) {
        if (load(word) != value)
            return;
        alqi_plat_pause();
    }
    while (load(word) == value)
        alqi_plat_sleep(word, value);
}

void
alqi_plat_wait_until(uint32_t *word, uint32_t value)
{
    uint32_t is;

    while ((is = load(word)) != value)
        alqi_plat_wait_while(word, is);
}

void
alqi_plat_yield(void)
{
    int saved = errno;

    sched_yield();
    errno = saved;
}
