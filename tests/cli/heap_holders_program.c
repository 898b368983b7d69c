/* heap_holders_program.c -- for tests: a managed heap whose blocks have known
 * holders
 *
 *   heap_holders_program exit|drop|stop|thread
 *
 * Variables hold a list, a table with chains of entries, and a way of many
 * kinds; a frame of each of two domains holds a block of its own; the rest is
 * garbage.  Then the program calls exit, drops its heap (the frames are gone
 * then), stops the trace, or calls exit on a thread without a domain. */
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <aliquot/aliquot.h>

enum {
    PAIRS = 100,
    PLACES = 10,
    ENTRIES = 10, /* in each place */
    KINDS = 40,
    GARBAGE = 30,
    STRING_BYTES = 20,
    TAG_PAIR = 1,
    TAG_TABLE,
    TAG_ENTRY,
    TAG_KEPT,
    TAG_GARBAGE,
    TAG_KIND /* and KINDS - 1 more */
};

static struct alq_global list, table, deep;

static void
check(bool is_right, int status)
{
    if (!is_right)
        exit(status);
}

static void
names_set(void)
{
    static char kinds[KINDS][16];

    alq_tag_name_set(TAG_PAIR, "pair");
    alq_tag_name_set(TAG_TABLE, "table of entries");
    alq_tag_name_set(TAG_ENTRY, "entry");
    alq_tag_name_set(TAG_KEPT, "kept");
    alq_tag_name_set(TAG_GARBAGE, "garbage");
    for (unsigned i = 0; i < KINDS; i++) {
        snprintf(kinds[i], sizeof kinds[i], "kind %u", i);
        alq_tag_name_set(TAG_KIND + i, kinds[i]);
    }
}

static void
global_begin(struct alq_domain *d, struct alq_global *global)
{
    global->value = alq_from_int(0);
    check(alq_global_add(d, global) == ALQ_OK, 3);
}

/* The block leads to what the variable led to. */
static void
put_before(struct alq_domain *d, struct alq_global *global, unsigned tag)
{
    alq_value block = alq_alloc(d, 2, tag);

    check(!alq_is_null(block), 4);
    alq_store(d, block, 1, global->value);
    global->value = block;
}

static void
entry_add(struct alq_domain *d, unsigned place)
{
    ALQ_FRAME(d, f, entry, text);

    f.entry = alq_alloc(d, 2, TAG_ENTRY);
    f.text = alq_alloc_string(d, STRING_BYTES);
    check(!alq_is_null(f.entry) && !alq_is_null(f.text), 5);
    alq_store(d, f.entry, 0, f.text);
    alq_store(d, f.entry, 1, alq_field(table.value, place));
    alq_store(d, table.value, place, f.entry);
}

static void
variables_fill(struct alq_domain *d)
{
    global_begin(d, &list);
    global_begin(d, &table);
    global_begin(d, &deep);
    for (unsigned i = 0; i < PAIRS; i++)
        put_before(d, &list, TAG_PAIR);
    for (unsigned i = KINDS; i-- > 0;)
        put_before(d, &deep, TAG_KIND + i);
    table.value = alq_alloc(d, PLACES, TAG_TABLE);
    check(!alq_is_null(table.value), 6);
    for (unsigned i = 0; i < PLACES * ENTRIES; i++)
        entry_add(d, i % PLACES);
}

/* ---- another domain ------------------------------------------------------ */

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static bool is_ready, is_over;

static void
say(bool *what)
{
    pthread_mutex_lock(&gate);
    *what = true;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&gate);
}

static void
await(struct alq_domain *d, const bool *what)
{
    struct alq_thread *self = alq_blocking_begin(d);

    pthread_mutex_lock(&gate);
    while (!*what)
        pthread_cond_wait(&changed, &gate);
    pthread_mutex_unlock(&gate);
    check(alq_blocking_end(self) == ALQ_OK, 7);
}

/* Holds a block until the program ends. */
__attribute__((noinline)) static alq_value
other(struct alq_domain *d, alq_value arg, void *data)
{
    ALQ_FRAME(d, f, kept);

    (void)data;
    f.kept = alq_alloc(d, 5, TAG_KEPT);
    say(&is_ready);
    await(d, &is_over);
    return arg;
}

/* ---- ends ---------------------------------------------------------------- */

static void *
exit_elsewhere(void *arg)
{
    (void)arg;
    exit(0);
}

/* The variable's list is in the frame, too, by its last pair. */
__attribute__((noinline)) static void
work(struct alq_domain *d, const char *end)
{
    ALQ_FRAME(d, f, kept, last);
    pthread_t thread;

    f.kept = alq_alloc(d, 4, TAG_KEPT);
    f.last = list.value;
    while (alq_is_block(alq_field(f.last, 1)))
        f.last = alq_field(f.last, 1);
    for (unsigned i = 0; i < GARBAGE; i++)
        check(!alq_is_null(alq_alloc(d, 3, TAG_GARBAGE)), 8);
    if (strcmp(end, "exit") == 0)
        exit(0);
    if (strcmp(end, "stop") == 0)
        check(alq_trace_stop(NULL) == ALQ_OK, 9);
    if (strcmp(end, "thread") == 0) {
        check(pthread_create(&thread, NULL, exit_elsewhere, NULL) == 0, 10);
        pthread_join(thread, NULL);
    }
}

int
main(int argc, char **argv)
{
    struct alq_child *child;
    struct alq_domain *d;

    check(argc == 2 && alq_domain_new(NULL, &d) == ALQ_OK, 2);
    check(getenv("MEMTRACE_HOLDERS") == NULL, 11);
    names_set();
    variables_fill(d);
    check(alq_domain_spawn(d, other, alq_from_int(0), NULL, NULL, &child) ==
              ALQ_OK,
          12);
    await(d, &is_ready);
    work(d, argv[1]);
    say(&is_over);
    check(alq_domain_join(d, child, NULL) == ALQ_OK, 13);
    alq_child_drop(child);
    check(alq_domain_drop(d) == ALQ_OK, 14);
    return 0;
}
