/* control_taken_test.c -- requests that come while a domain carries out an
 * earlier one
 *
 * The start of a trace is held up, so its job stays TAKEN as long as the test
 * wants.  What a client hears is true: of its own request, and lastingly. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#include "control_kit.h"
#include "domains_kit.h"
#include "wire/dump.h"

static char name[64], path[64];

/* ---- a start that is held up --------------------------------------------- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_in, is_let; /* the start has come; it may go on */
} held = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false, false};

static void
held_set(bool *what)
{
    pthread_mutex_lock(&held.lock);
    *what = true;
    pthread_cond_broadcast(&held.changed);
    pthread_mutex_unlock(&held.lock);
}

static void
held_await(const bool *what)
{
    pthread_mutex_lock(&held.lock);
    while (!*what)
        pthread_cond_wait(&held.changed, &held.lock);
    pthread_mutex_unlock(&held.lock);
}

enum alq_status __real_alq_trace_start_with(struct alq_domain *on,
                                            const struct alq_trace_config *c);
enum alq_status __wrap_alq_trace_start_with(struct alq_domain *on,
                                            const struct alq_trace_config *c);

enum alq_status
__wrap_alq_trace_start_with(struct alq_domain *on,
                            const struct alq_trace_config *c)
{
    held_set(&held.is_in);
    held_await(&held.is_let);
    return __real_alq_trace_start_with(on, c);
}

/* ---- the program --------------------------------------------------------- */

static bool is_over;

/* Serves handshakes until the end. */
static void *
domain_run(void *arg)
{
    (void)arg;
    CHECK(alq_domain_new(NULL, &d) == ALQ_OK);
    while (!__atomic_load_n(&is_over, __ATOMIC_ACQUIRE))
        alq_poll(d);
    CHECK(alq_domain_drop(d) == ALQ_OK);
    return NULL;
}

static pthread_t domain;

/* A job of "start rate=0.5" is TAKEN when this returns, and its client has been
 * told so. */
static void
begin_and_hold(char *answer)
{
    char request[128];

    is_over = held.is_in = held.is_let = false;
    snprintf(name, sizeof name, "@aliquot-taken-test.%ld", (long)getpid());
    snprintf(path, sizeof path, "/tmp/aliquot-taken-test.%ld.ctf",
             (long)getpid());
    snprintf(request, sizeof request, "start rate=0.5 out=%s", path);
    assert_int_equal(alq_control_start(name), ALQ_OK);
    assert_int_equal(pthread_create(&domain, NULL, domain_run, NULL), 0);
    assert_true(control_ask(name, request, answer));
    assert_non_null(strstr(answer, "ok state=starting"));
    held_await(&held.is_in);
}

static void
end(void)
{
    __atomic_store_n(&is_over, true, __ATOMIC_RELEASE);
    pthread_join(domain, NULL);
    assert_int_equal(alq_control_stop(), ALQ_OK);
    unlink(path);
}

/* Until the trace is there. */
static void
await_sampling(char *answer)
{
    do
        assert_true(control_ask(name, "status", answer));
    while (strstr(answer, "state=sampling") == NULL);
}

/* ---- what clients hear --------------------------------------------------- */

/* A graph is written by a domain that polls; a file that exists is not written
 * over. */
static void
a_graph_is_written_once(void **state)
{
    char answer[CONTROL_ANSWER_BYTES], request[128];
    char magic[sizeof ALQI_DUMP_MAGIC] = "";
    FILE *file;

    (void)state;
    is_over = false;
    snprintf(name, sizeof name, "@aliquot-taken-test.%ld", (long)getpid());
    snprintf(path, sizeof path, "/tmp/aliquot-taken-test.%ld.heap",
             (long)getpid());
    snprintf(request, sizeof request, "snapshot graph=1 out=%s", path);
    assert_int_equal(alq_control_start(name), ALQ_OK);
    /* Nobody is there who could. */
    assert_true(control_ask(name, request, answer));
    assert_non_null(strstr(answer, "error text=no%20domain"));
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(pthread_create(&domain, NULL, domain_run, NULL), 0);
    do
        assert_true(control_ask(name, request, answer));
    while (strstr(answer, "error text=no%20domain") != NULL);
    while (strstr(answer, "graph=writing") != NULL)
        assert_true(control_ask(name, "status", answer));
    assert_non_null(strstr(answer, "graph=done"));
    file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fread(magic, 1, sizeof magic - 1, file), sizeof magic - 1);
    assert_string_equal(magic, ALQI_DUMP_MAGIC);
    fclose(file);
    do
        assert_true(control_ask(name, request, answer));
    while (strstr(answer, "error text=no%20domain") != NULL);
    while (strstr(answer, "graph=writing") != NULL)
        assert_true(control_ask(name, "status", answer));
    assert_null(strstr(answer, "graph=done"));
    assert_non_null(strstr(answer, "File%20exists"));
    assert_int_equal(access(path, F_OK), 0);
    end();
}

static void
a_stop_is_refused_while_the_trace_begins(void **state)
{
    char answer[CONTROL_ANSWER_BYTES];

    (void)state;
    begin_and_hold(answer);
    assert_true(control_ask(name, "stop", answer));
    assert_non_null(strstr(answer, "error text=the%20trace%20is%20being"));
    held_set(&held.is_let);
    await_sampling(answer);
    assert_true(control_ask(name, "stop", answer));
    assert_non_null(strstr(answer, "ok state=stopped"));
    end();
}

/* The start goes on while the stop waits for it, or before. */
static void *
let_go(void *arg)
{
    (void)arg;
    held_set(&held.is_let);
    return NULL;
}

static void
a_stop_that_is_obeyed_stops_what_was_begun(void **state)
{
    char answer[CONTROL_ANSWER_BYTES];
    pthread_t other;
    bool is_refused;

    (void)state;
    begin_and_hold(answer);
    assert_int_equal(pthread_create(&other, NULL, let_go, NULL), 0);
    do {
        assert_true(control_ask(name, "stop", answer));
        is_refused = strstr(answer, "aliquot/1 error") != NULL;
    } while (is_refused);
    assert_non_null(strstr(answer, "ok state=stopped"));
    pthread_join(other, NULL);
    for (int i = 0; i < 10; i++) {
        assert_true(control_ask(name, "status", answer));
        assert_non_null(strstr(answer, "ok state=stopped"));
    }
    end();
}

/* The request does not go down with the start that is under way. */
static void
hears_of_itself(const char *request)
{
    char answer[CONTROL_ANSWER_BYTES];

    begin_and_hold(answer);
    assert_true(control_ask(name, request, answer));
    assert_non_null(strstr(answer, "error text=the%20trace%20is%20being"));
    held_set(&held.is_let);
    await_sampling(answer);
    assert_non_null(strstr(answer, "rate=0.5"));
    assert_true(control_ask(name, request, answer));
    assert_non_null(strstr(answer, "ok state=sampling rate=0.25"));
    end();
}

static void
a_start_hears_of_itself(void **state)
{
    (void)state;
    hears_of_itself("start rate=0.25");
}

static void
a_rate_hears_of_itself(void **state)
{
    (void)state;
    hears_of_itself("rate rate=0.25");
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_graph_is_written_once),
        cmocka_unit_test(a_stop_is_refused_while_the_trace_begins),
        cmocka_unit_test(a_stop_that_is_obeyed_stops_what_was_begun),
        cmocka_unit_test(a_start_hears_of_itself),
        cmocka_unit_test(a_rate_hears_of_itself),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
