/* control_test.c -- what is asked from outside, against all that a program does
 *
 * Clients ask without end, each at random; meanwhile heaps and domains come and
 * go, processes are forked, and another thread begins and ends the serving. */
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#include "base/skip.h"
#include "control_kit.h"
#include "domains_kit.h"

enum {
    HEAPS = IS_HARD ? 6 : 20,
    CHILDREN = 3,
    CLIENTS = 2,
    BLOCKS = IS_HARD ? 300 : 20000,
    NAME_BYTES = 64
};

#ifdef __SANITIZE_THREAD__
#define CAN_FORK 0 /* a child may have no threads there */
#else
#define CAN_FORK 1
#endif

static const char *const requests[] = {
    "start rate=0.01", "start rate=0.5", "stop",     "rate rate=0.1",
    "rate rate=0.02",  "status",         "snapshot", "start",
};

/* A stop that the end of the serving overtakes; a rate, and then no trace. */
static const char *const refusals[] = {
    "aliquot/1 error text=the%20trace%20is%20being%20changed",
    "aliquot/1 error text=the%20trace%20has%20ended",
};

static char name[NAME_BYTES];
static atomic_bool is_over;
static atomic_uint n_heard, n_begun;

/* ---- clients ------------------------------------------------------------- */

static bool
begins(const char *answer, const char *with)
{
    return strncmp(answer, with, strlen(with)) == 0;
}

static void
answer_check(const char *answer)
{
    if (begins(answer, "aliquot/1 ok state="))
        return;
    for (size_t i = 0; i < ALQI_COUNT_OF(refusals); i++)
        if (begins(answer, refusals[i]))
            return;
    fprintf(stderr, "%s", answer);
    CHECK(!"such an answer");
}

/* Each is answered as it should be, or by nobody. */
static void *
client_run(void *arg)
{
    uint64_t random = (uintptr_t)arg;
    char answer[CONTROL_ANSWER_BYTES];

    while (!atomic_load(&is_over)) {
        random = alqi_base_mix(random + 1);
        if (!control_ask(name, requests[random % ALQI_COUNT_OF(requests)],
                         answer))
            continue;
        answer_check(answer);
        atomic_fetch_add(&n_heard, 1);
        if (strstr(answer, "state=sampling") != NULL)
            atomic_fetch_add(&n_begun, 1);
    }
    return NULL;
}

/* Serves and serves no longer, as any thread may. */
static void *
switcher_run(void *arg)
{
    const struct timespec pause = {.tv_nsec = 3000000};

    (void)arg;
    while (!atomic_load(&is_over)) {
        enum alq_status status = alq_control_stop();

        CHECK(status == ALQ_OK || status == ALQ_ENOTRUN);
        status = alq_control_start(name);
        CHECK(status == ALQ_OK || status == ALQ_EBUSY);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

/* ---- the program --------------------------------------------------------- */

static alq_value
allocate(struct alq_domain *on, alq_value arg, void *data)
{
    ALQ_FRAME(on, f, list, block);
    const int *n = data;

    f.list = arg;
    for (int i = 0; i < *n; i++) {
        f.block = alq_alloc(on, 4, 0);
        alq_store(on, f.block, 0, i % 100 == 0 ? arg : f.list);
        f.list = f.block;
    }
    return arg;
}

static int n_blocks = BLOCKS;

static void
fork_one(void)
{
    int pid = 0, status = 0;

    CHECK(alq_fork(d, &pid) == ALQ_OK);
    if (pid == 0) {
        allocate(d, alq_from_int(0), &n_blocks); /* it serves, too */
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void
one_heap(bool forks)
{
    struct alq_child *children[CHILDREN];

    CHECK(alq_domain_new(NULL, &d) == ALQ_OK);
    for (int i = 0; i < CHILDREN; i++)
        children[i] = spawn(d, allocate, alq_from_int(0), &n_blocks);
    allocate(d, alq_from_int(0), &n_blocks);
    for (int i = 0; i < CHILDREN; i++)
        (void)finish(d, children[i]);
    if (forks && CAN_FORK)
        fork_one();
    CHECK(alq_domain_drop(d) == ALQ_OK);
}

static void
anything_at_any_time(void **state)
{
    pthread_t clients[CLIENTS], switcher[2];

    (void)state;
    atomic_store(&is_over, false);
    for (uintptr_t i = 0; i < CLIENTS; i++)
        CHECK(pthread_create(&clients[i], NULL, client_run, (void *)(i + 1)) ==
              0);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&switcher[i], NULL, switcher_run, NULL) == 0);
    for (int i = 0; i < HEAPS || atomic_load(&n_heard) < 100; i++)
        one_heap(i % 4 == 0);
    atomic_store(&is_over, true);
    for (int i = 0; i < CLIENTS; i++)
        CHECK(pthread_join(clients[i], NULL) == 0);
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(switcher[i], NULL) == 0);
    (void)alq_control_stop();
    assert_true(atomic_load(&n_heard) > 0);
}

/* Clients who wait do not keep a heap, nor the serving. */
static void
ends_with_clients_inside(void **state)
{
    char answer[CONTROL_ANSWER_BYTES];
    int silent, waiting;

    (void)state;
    assert_int_equal(ALQ_OK, alq_control_start(name));
    assert_int_equal(ALQ_OK, alq_domain_new(NULL, &d));
    waiting = control_connect(name);
    silent = control_connect(name);
    assert_true(waiting >= 0 && silent >= 0);
    control_say(waiting, "start rate=1"); /* nobody allocates */
    assert_int_equal(ALQ_OK, alq_domain_drop(d));
    assert_true(control_hear(waiting, answer));
    assert_non_null(strstr(answer, "ok state=starting"));
    close(waiting);
    assert_int_equal(ALQ_OK, alq_control_stop());
    assert_false(control_hear(silent, answer));
    close(silent);

    /* What was posted is the next heap's, unless it is taken back. */
    assert_int_equal(ALQ_OK, alq_control_start(name));
    assert_true(control_ask(name, "stop", answer));
    assert_non_null(strstr(answer, "ok state=off"));
    assert_int_equal(ALQ_OK, alq_domain_new(NULL, &d));
    allocate(d, alq_from_int(0), &n_blocks);
    assert_true(control_ask(name, "status", answer));
    assert_non_null(strstr(answer, "ok state=off"));
    assert_int_equal(ALQ_OK, alq_domain_drop(d));
    assert_int_equal(ALQ_OK, alq_control_stop());
}

/* A program that closes descriptors by number loses no server: another socket
 * has the name. */
static void
serves_after_its_socket_was_closed(void **state)
{
    char answer[CONTROL_ANSWER_BYTES];
    int n_closed = 0;

    (void)state;
    assert_int_equal(ALQ_OK, alq_control_start(name));
    for (int fd = 3; fd < 1024; fd++) {
        int listens = 0;
        socklen_t n = sizeof listens;

        /* by the system call: ThreadSanitizer takes close for a race */
        if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &n) == 0 &&
            listens != 0 && syscall(SYS_close, fd) == 0)
            n_closed++;
    }
    assert_int_equal(n_closed, 1);
    while (!control_ask(name, "status", answer))
        ;
    assert_non_null(strstr(answer, "ok state=off"));
    assert_int_equal(ALQ_OK, alq_control_stop());
    assert_false(control_ask(name, "status", answer));
}

/* The profiler's handlers of fork, and the server's, nest in one order, which
 * of the two came first all the same. */
static void
forks_with_a_profile_older_than_the_server(void **state)
{
    const struct alq_memprof_config config = {.rate = 0.01};
    const struct alq_tracker tracker = {0};
    struct alq_profile *profile;

    (void)state;
    if (!CAN_FORK)
        ALQI_SKIP("a forked child may have no threads under this sanitizer");
    assert_int_equal(ALQ_OK, alq_domain_new(NULL, &d));
    assert_int_equal(ALQ_OK, alq_memprof_start(d, &config, &tracker, &profile));
    assert_int_equal(ALQ_OK, alq_control_start(name));
    fork_one();
    assert_int_equal(ALQ_OK, alq_control_stop());
    assert_int_equal(ALQ_OK, alq_memprof_stop(d));
    alq_profile_drop(profile);
    assert_int_equal(ALQ_OK, alq_domain_drop(d));
}

/* ---- where traces go ----------------------------------------------------- */

static char folder[] = "/tmp/alq_control_XXXXXX";

static int
folder_make(void **state)
{
    (void)state;
    snprintf(name, sizeof name, "@aliquot.test.control.%d", (int)getpid());
    return mkdtemp(folder) != NULL && chdir(folder) == 0 ? 0 : -1;
}

static int
one_remove(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    return remove(path);
}

static int
folder_remove(void **state)
{
    (void)state;
    return chdir("/") == 0 ? nftw(folder, one_remove, 8, FTW_DEPTH | FTW_PHYS)
                           : -1;
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forks_with_a_profile_older_than_the_server),
        cmocka_unit_test(anything_at_any_time),
        cmocka_unit_test(ends_with_clients_inside),
        cmocka_unit_test(serves_after_its_socket_was_closed),
    };

    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
