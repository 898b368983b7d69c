/* A program on the managed heap that does what it is told, line by line, for
 * top_test.py:
 *
 *   keep N    N blocks of 9 words with their headers, by keep_rows, in a list
 *   churn N   N blocks of 9 words by churn_rows, kept by nobody
 *   free      the list; and a collection of all that is dead
 *   child     a domain of its own, which does nothing
 *   rows N    it keeps N blocks by child_rows
 *   join      ends it
 *   end       ends the heap
 *   fork      a child that goes on as this process; this one waits for it
 *   last      ends this thread, and the heap's with it
 *   trace F   the program's own trace of itself; untrace: its end
 *   serve     begins to be served; unserve: no longer
 *
 * and answers each with "done"; at the end of its input it ends. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <aliquot/aliquot.h>

enum { FIELDS = 8 };

static struct alq_domain *d;
static struct alq_child *child;
static atomic_int asked_to_end, asked_rows;
static struct alq_root *kept; /* the list */

__attribute__((noinline)) static void
keep_rows(int n)
{
    ALQ_FRAME(d, f, row);

    while (n-- > 0) {
        f.row = alq_alloc(d, FIELDS, 0);
        alq_store(d, f.row, 0, alq_root_get(kept));
        alq_root_set(d, kept, f.row);
    }
}

__attribute__((noinline)) static void
churn_rows(int n)
{
    while (n-- > 0)
        (void)alq_alloc(d, FIELDS, 0);
}

__attribute__((noinline)) static void
child_rows(struct alq_domain *self, struct alq_root *list, int n)
{
    ALQ_FRAME(self, f, row);

    while (n-- > 0) {
        f.row = alq_alloc(self, FIELDS, 0);
        alq_store(self, f.row, 0, alq_root_get(list));
        alq_root_set(self, list, f.row);
    }
}

static alq_value
child_run(struct alq_domain *self, alq_value arg, void *data)
{
    struct alq_root *list = alq_root_new(self, arg);
    int n;

    (void)data;
    while (!atomic_load(&asked_to_end)) {
        (void)alq_poll(self);
        n = atomic_load(&asked_rows);
        if (n == 0)
            continue;
        child_rows(self, list, n);
        atomic_store(&asked_rows, 0);
    }
    alq_root_drop(self, list);
    return arg;
}

/* Meanwhile the child may stop the world. */
static void
ask_rows(int n)
{
    atomic_store(&asked_rows, n);
    while (atomic_load(&asked_rows) != 0)
        (void)alq_poll(d);
}

static void
spawn(void)
{
    atomic_store(&asked_to_end, 0);
    if (alq_domain_spawn(d, child_run, alq_from_int(0), NULL, NULL, &child) !=
        ALQ_OK)
        abort();
}

static void
join(void)
{
    atomic_store(&asked_to_end, 1);
    if (alq_domain_join(d, child, NULL) != ALQ_OK)
        abort();
    alq_child_drop(child);
}

static void
forked(void)
{
    int pid;

    if (alq_fork(d, &pid) != ALQ_OK)
        abort();
    if (pid > 0) {
        waitpid(pid, NULL, 0);
        _exit(0);
    }
}

static void
heap_begin(void)
{
    if (alq_domain_new(NULL, &d) != ALQ_OK)
        abort();
    kept = alq_root_new(d, alq_from_int(0));
    if (kept == NULL)
        abort();
}

static void
heap_end(void)
{
    alq_root_drop(d, kept);
    if (alq_domain_drop(d) != ALQ_OK)
        abort();
    heap_begin();
}

static void
last(void)
{
    alq_root_drop(d, kept);
    if (alq_domain_drop(d) != ALQ_OK)
        abort();
    pthread_exit(NULL);
}

static void
obey(char *line)
{
    line[strcspn(line, "\n")] = '\0';
    if (strncmp(line, "keep ", 5) == 0)
        keep_rows(atoi(line + 5));
    else if (strncmp(line, "churn ", 6) == 0)
        churn_rows(atoi(line + 6));
    else if (strcmp(line, "child") == 0)
        spawn();
    else if (strncmp(line, "rows ", 5) == 0)
        ask_rows(atoi(line + 5));
    else if (strcmp(line, "join") == 0)
        join();
    else if (strcmp(line, "end") == 0)
        heap_end();
    else if (strcmp(line, "fork") == 0)
        forked();
    else if (strcmp(line, "last") == 0)
        last();
    else if (strcmp(line, "untrace") == 0)
        printf("%d\n", (int)alq_trace_stop(NULL));
    else if (strncmp(line, "trace ", 6) == 0)
        printf("%d\n", (int)alq_trace_start(d, line + 6, 1));
    else if (strcmp(line, "serve") == 0)
        printf("%d\n", (int)alq_control_start(NULL));
    else if (strcmp(line, "unserve") == 0)
        printf("%d\n", (int)alq_control_stop());
    else if (strcmp(line, "free") == 0) {
        alq_root_set(d, kept, alq_from_int(0));
        (void)alq_gc_full_major(d);
    }
}

int
main(void)
{
    char line[200];

    heap_begin();
    while (fgets(line, sizeof line, stdin) != NULL) {
        obey(line);
        printf("done %d\n", (int)getpid());
        fflush(stdout);
    }
    return 0;
}
