/* inside.c -- a program that switches its recorder, step by step
 *
 *   inside STEP...
 *
 * with the steps
 *
 *   a:N b:N c:N           N blocks of 1000 bytes by keep_a, keep_b, keep_c
 *   free                  all of these
 *   start[:RATE[:OUT]]  stop  end  forget      prints the call's status, or
 *                                              "none" where it is not there
 *   churn:N               N threads allocate and free until the next step
 *   forgets:N             the call N times, until each is done */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <aliquot/control.h>

enum { KEPT_MOST = 100000, BLOCK_BYTES = 1000, THREADS_MOST = 8, SLOTS = 50 };

static void *kept[KEPT_MOST];
static int n_kept;

static _Atomic(int) is_over;
static pthread_t threads[THREADS_MOST];
static int n_threads;

static void
keep(void *block)
{
    memset(block, 1, BLOCK_BYTES);
    kept[n_kept++] = block;
}

__attribute__((noinline)) static void
keep_a(void)
{
    keep(malloc(BLOCK_BYTES));
}

__attribute__((noinline)) static void
keep_b(void)
{
    keep(malloc(BLOCK_BYTES));
}

__attribute__((noinline)) static void
keep_c(void)
{
    keep(malloc(BLOCK_BYTES));
}

static void *
churn(void *unused)
{
    void *slots[SLOTS] = {0};

    for (unsigned i = 0; !atomic_load(&is_over); i++) {
        free(slots[i % SLOTS]);
        slots[i % SLOTS] = malloc(100 + i % 1000);
    }
    for (unsigned i = 0; i < SLOTS; i++)
        free(slots[i]);
    return unused;
}

static void
churn_end(void)
{
    atomic_store(&is_over, 1);
    while (n_threads > 0)
        pthread_join(threads[--n_threads], NULL);
    atomic_store(&is_over, 0);
}

static void
say(const char *step, int is_there, enum alq_status (*call)(void))
{
    if (is_there)
        printf("%s %d\n", step, (int)call());
    else
        printf("%s none\n", step);
    fflush(stdout);
}

static double start_rate;
static const char *start_out;

static enum alq_status
start(void)
{
    return alq_recorder_start(start_rate, start_out);
}

#ifdef ALQ_RECORDER_WEAK
#define IS_THERE(call) ((call) != NULL)
#else
#define IS_THERE(call) 1
#endif

static void
forgets(int n)
{
    enum alq_status status;

    while (n > 0) {
        status = alq_recorder_forget();
        if (status == ALQ_OK)
            n--;
        else if (status != ALQ_EBUSY) {
            printf("forgets %d\n", (int)status);
            return;
        }
    }
    printf("forgets 0\n");
}

static void
step(char *text)
{
    char *value = strchr(text, ':');
    char *more = value != NULL ? strchr(value + 1, ':') : NULL;
    int n = value != NULL ? atoi(value + 1) : 0;

    if (value != NULL)
        *value = '\0';
    if (strcmp(text, "forgets") == 0)
        forgets(n);
    else
        churn_end();
    start_rate = value != NULL ? atof(value + 1) : 0;
    start_out = more != NULL ? more + 1 : NULL;
    if (strcmp(text, "start") == 0)
        say(text, IS_THERE(alq_recorder_start), start);
    if (strcmp(text, "stop") == 0)
        say(text, IS_THERE(alq_recorder_stop), alq_recorder_stop);
    if (strcmp(text, "end") == 0)
        say(text, IS_THERE(alq_recorder_end), alq_recorder_end);
    if (strcmp(text, "forget") == 0)
        say(text, IS_THERE(alq_recorder_forget), alq_recorder_forget);
    if (strcmp(text, "free") == 0)
        while (n_kept > 0)
            free(kept[--n_kept]);
    while (n > 0 && strlen(text) == 1) {
        (*text == 'a' ? keep_a : *text == 'b' ? keep_b : keep_c)();
        n--;
    }
    while (strcmp(text, "churn") == 0 && n-- > 0)
        pthread_create(&threads[n_threads++], NULL, churn, NULL);
}

int
main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        step(argv[i]);
    churn_end();
    return 0;
}
