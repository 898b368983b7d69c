/* handler_test.c -- signal handlers that allocate and free at any moment
 *
 * A thread sends signals while the main one samples and frees; the handler
 * does both, too, on blocks of its own and of the main code.  Blocks are
 * addresses only, so that nothing but the engine is interrupted.  In the end
 * every datum has been handed in once. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "memprof/engine.h"
#include "memprof/filter.h"

enum {
    BLOCKS = 4096,
    ROUNDS = 400,
    STRIDE = 48,
    HANDLER_BLOCKS = 64,
    LEAST_SIGNALS = 21
};

static struct alqi_memprof_thread thread;
static struct alqi_memprof_domain *domain;
static volatile sig_atomic_t signals, nested, delayed;
static _Atomic(bool) done;
static pthread_t target;
static volatile uint8_t data_state[1 << 22];
static volatile uint32_t n_data;
static uint64_t n_wrong, n_closed;
static uint64_t freed_late;
static volatile unsigned handler_at;

struct alqi_stack_result
alqi_stack_capture(struct alqi_stack_cache *cache,
                   const struct alqi_stack_regs *start, uintptr_t skip_lo,
                   uintptr_t skip_hi, uint32_t max_frames)
{
    struct alqi_stack_result r = {0};

    (void)cache;
    (void)start;
    (void)skip_lo;
    (void)skip_hi;
    (void)max_frames;
    return r;
}

static void *
block_at(unsigned i)
{
    return (void *)(((uintptr_t)1 << 40) + i * (uintptr_t)STRIDE);
}

static int
on_alloc(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    uint32_t n = ++n_data; /* one thread, and no nesting */

    (void)arg;
    (void)a;
    if (n >= sizeof data_state)
        return ALQ_TRACK_DROP;
    data_state[n] = 1;
    *data = n;
    return ALQ_TRACK_KEEP;
}

static void
close_datum(uintptr_t data)
{
    n_wrong += data_state[data] != 1;
    data_state[data] = 2;
    n_closed++;
}

static int
on_dealloc(void *arg, uintptr_t data)
{
    (void)arg;
    close_datum(data);
    return 0;
}

static void
on_release(void *arg, uintptr_t data)
{
    (void)arg;
    close_datum(data);
}

static void
free_delayed(void *heap, void *block)
{
    (void)heap;
    freed_late += block != NULL;
}

static void
make_block(unsigned i)
{
    const struct alqi_stack_regs regs = {0, 0, 0, false};

    alqi_memprof_sampled(&thread, block_at(i), 40, 0, &regs);
}

static void
free_block(unsigned i)
{
    if (alqi_memprof_filter_hit(block_at(i)) &&
        !alqi_memprof_freeing(&thread, block_at(i)))
        delayed++;
}

static void
on_signal(int number)
{
    unsigned i = BLOCKS + handler_at++ % HANDLER_BLOCKS;

    (void)number;
    signals++;
    nested += thread.mode != ALQI_MEMPROF_IDLE;
    free_block(i);
    make_block(i);
}

static void *
send_signals(void *arg)
{
    const struct timespec pause = {0, 20000};

    (void)arg;
    while (!done) {
        pthread_kill(target, SIGUSR1);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

static void
churn(void)
{
    for (unsigned r = 0; r < ROUNDS; r++) {
        while ((unsigned)signals * ROUNDS < LEAST_SIGNALS * r)
            sched_yield(); /* the sender has its turn */
        for (unsigned i = 0; i < BLOCKS; i++)
            make_block(i * 7 % BLOCKS);
        for (unsigned i = 0; i < BLOCKS; i++)
            free_block(i);
    }
}

static void
handlers_lose_and_double_nothing(void **state)
{
    static const struct alqi_memprof_subject subject = {.free_delayed =
                                                            free_delayed};
    const struct alq_tracker t = {.alloc_major = on_alloc,
                                  .dealloc_major = on_dealloc,
                                  .release = on_release};
    struct alq_memprof_config c = ALQ_MEMPROF_CONFIG_DEFAULT;
    struct sigaction action = {.sa_handler = on_signal};
    struct alq_memprof_counts n;
    struct alq_profile *p;
    pthread_t sender;

    (void)state;
    c.rate = 1.0;
    domain = alqi_memprof_domain_new(&subject, NULL, NULL);
    assert_non_null(domain);
    alqi_memprof_thread_init(&thread, domain, NULL, NULL, 1);
    assert_int_equal(alqi_memprof_start(domain, &thread, 0, &c, &t, &p),
                     ALQ_OK);
    assert_int_equal(alqi_memprof_skip_words(&thread), 1);
    target = pthread_self();
    assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
    assert_int_equal(pthread_create(&sender, NULL, send_signals, NULL), 0);
    churn();
    done = true;
    assert_int_equal(pthread_join(sender, NULL), 0);
    for (unsigned i = 0; i < HANDLER_BLOCKS; i++)
        free_block(BLOCKS + i);
    assert_int_equal(thread.n_delayed, 0);
    assert_int_equal(freed_late, delayed);
    alqi_memprof_skip_words(&thread);
    alqi_memprof_counts(p, &n);
    assert_int_equal(n.live_entries, 0);
    assert_int_equal(n_wrong, 0);
    assert_int_equal(n_closed, n_data);
    assert_int_equal(n.sampled_blocks, n_data);
    assert_true(signals >= LEAST_SIGNALS);
    assert_int_equal(alqi_memprof_stop(domain, &thread, 0), ALQ_OK);
    assert_int_equal(alqi_memprof_discard(&thread, p), ALQ_OK);
    alqi_memprof_profile_drop(p);
    alqi_memprof_thread_end(&thread);
    alqi_memprof_domain_end(domain);
    print_message("%d signals, %d of them inside, %d delayed frees\n",
                  (int)signals, (int)nested, (int)delayed);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handlers_lose_and_double_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
