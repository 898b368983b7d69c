/* A program that does what it is told, line by line, for top_test.py:
 *
 *   keep N    N blocks of 1000 bytes by keep_rows
 *   churn N   N blocks of 100 bytes by churn_rows, each freed at once
 *   race N    three threads that each allocate N blocks of 48 bytes and more,
 *             and free most of them, some of them each other's
 *   free      all that is kept
 *
 * and answers each with "done"; at the end of its input it ends. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    KEPT_MOST = 100000,
    ROW_BYTES = 1000,
    CHURN_BYTES = 100,
    RACERS = 3,
    SHARED = 64,
    SHARED_BYTES = 48
};

static void *kept[KEPT_MOST];
static int n_kept;

__attribute__((noinline)) static void *
keep_rows(void)
{
    void *row = malloc(ROW_BYTES);

    memset(row, 1, ROW_BYTES);
    return row;
}

__attribute__((noinline)) static void *
churn_rows(void)
{
    char *row = malloc(CHURN_BYTES);

    row[0] = 1;
    return row;
}

__attribute__((noinline)) static void
load(int n)
{
    while (n-- > 0 && n_kept < KEPT_MOST)
        kept[n_kept++] = keep_rows();
}

__attribute__((noinline)) static void
serve(int n)
{
    while (n-- > 0)
        free(churn_rows());
}

static _Atomic(void *) shared[SHARED];

__attribute__((noinline)) static void *
race_rows(void *arg)
{
    unsigned n = *(const unsigned *)arg;

    for (unsigned i = 0; i < n; i++) {
        void *row = malloc(SHARED_BYTES + i % 7 * 100);

        if (i % 5 == 0)
            row = realloc(row, 1000 + i % 3 * 1000);
        free(atomic_exchange(&shared[(i * 7) % SHARED], row));
    }
    return NULL;
}

static void
race(unsigned n)
{
    pthread_t threads[RACERS];

    for (int i = 0; i < RACERS; i++)
        if (pthread_create(&threads[i], NULL, race_rows, &n) != 0)
            abort();
    for (int i = 0; i < RACERS; i++)
        pthread_join(threads[i], NULL);
}

static void
obey(const char *line)
{
    if (strncmp(line, "keep ", 5) == 0)
        load(atoi(line + 5));
    else if (strncmp(line, "churn ", 6) == 0)
        serve(atoi(line + 6));
    else if (strncmp(line, "race ", 5) == 0)
        race((unsigned)atoi(line + 5));
    else if (strncmp(line, "free", 4) == 0)
        while (n_kept > 0)
            free(kept[--n_kept]);
}

/* The C library's buffers would be blocks, too. */
int
main(void)
{
    char line[100];
    ssize_t n;

    while ((n = read(STDIN_FILENO, line, sizeof line - 1)) > 0) {
        line[n] = '\0';
        obey(line);
        if (write(STDOUT_FILENO, "done\n", 5) != 5)
            return 1;
    }
    return 0;
}
