/* heap_program.c -- for tests: a program on the managed heap that is traced
 *
 *   heap_program native|language|sites [exit|drop|kill|fork|exec [ROUNDS]]
 *   heap_program malloc FILE       traces its malloc instead, under the preload
 *
 * Two domains make lists, of which some live; with a language of its own, its
 * frames are numbers, and named "make-list" and "main-loop" in lists.lang. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <aliquot/aliquot.h>

enum { MAKE_LIST = 7, MAIN_LOOP = 9, CELLS = 500 };

static _Thread_local uintptr_t stack[2]; /* of the language, innermost first */

static size_t
walk(void *arg, struct alq_domain *d, uintptr_t *frames, size_t max_frames)
{
    size_t n = 0;

    (void)arg;
    (void)d;
    for (; n < 2 && n < max_frames; n++)
        frames[n] = stack[n];
    return n;
}

static size_t
describe(void *arg, uintptr_t frame, struct alq_location *out, size_t max)
{
    (void)arg;
    if (max == 0 || (frame != MAKE_LIST && frame != MAIN_LOOP))
        return 0;
    out[0] = (struct alq_location){
        .function = frame == MAKE_LIST ? "make-list" : "main-loop",
        .file = "lists.lang",
        .line = (unsigned)frame,
    };
    return 1;
}

__attribute__((noinline)) static alq_value
make_list(struct alq_domain *d)
{
    ALQ_FRAME(d, f, list);

    f.list = alq_from_int(0);
    for (int i = 0; i < CELLS; i++) {
        alq_value cell = alq_alloc_small(d, 2, 0);

        alq_init_small(cell, 0, alq_from_int(i));
        alq_init_small(cell, 1, f.list);
        f.list = cell;
    }
    return f.list;
}

static alq_value
main_loop(struct alq_domain *d, alq_value rounds, void *data)
{
    ALQ_FRAME(d, f, kept[4]);

    (void)data;
    stack[0] = MAKE_LIST;
    stack[1] = MAIN_LOOP;
    for (intptr_t i = 0; i < alq_to_int(rounds); i++) {
        f.kept[i % 4] = make_list(d);
        if (i % 100 == 0)
            alq_gc_minor(d);
    }
    return alq_from_int(0);
}

static void
run(struct alq_domain *d, long rounds)
{
    struct alq_child *child;

    if (alq_domain_spawn(d, main_loop, alq_from_int(rounds), NULL, NULL,
                         &child) != ALQ_OK)
        exit(4);
    main_loop(d, alq_from_int(rounds), NULL);
    if (alq_domain_join(d, child, NULL) != ALQ_OK)
        exit(5);
    alq_child_drop(child);
}

/* ---- malloc -------------------------------------------------------------- */

enum { BLOCKS = 64, MALLOCS = 100000 };

static void *
allocate(void *arg)
{
    void *block[BLOCKS] = {NULL};

    (void)arg;
    for (size_t i = 0; i < MALLOCS; i++) {
        free(block[i % BLOCKS]);
        block[i % BLOCKS] = malloc(i % 500);
    }
    for (size_t i = 0; i < BLOCKS; i++)
        free(block[i]);
    return NULL;
}

static int
trace_malloc(const char *path)
{
    struct alq_trace_counts c;
    pthread_t thread[2];

    if (alq_trace_start(NULL, path, 1e-3) != ALQ_OK)
        return 7;
    for (int i = 0; i < 2; i++)
        if (pthread_create(&thread[i], NULL, allocate, NULL) != 0)
            return 8;
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    if (alq_trace_stop(&c) != ALQ_OK || c.dropped != 0)
        return 9;
    printf("%llu %llu\n", (unsigned long long)c.allocations,
           (unsigned long long)c.collections);
    return 0;
}

/* -------------------------------------------------------------------------- */

int
main(int argc, char **argv)
{
    static const struct alq_stack_source language = {walk, describe, NULL};
    const char *frames = argc > 1 ? argv[1] : "native";
    const char *end = argc > 2 ? argv[2] : "drop";
    long rounds = argc > 3 ? atol(argv[3]) : 1000;
    struct alq_domain *d;

    if (strcmp(frames, "malloc") == 0)
        return trace_malloc(end);
    if (alq_domain_new(NULL, &d) != ALQ_OK)
        return 2;
    if (strcmp(frames, "native") != 0 &&
        alq_stack_source_set(d, frames[0] == 's' ? &alq_stack_sites
                                                 : &language) != ALQ_OK)
        return 3;
    if (strcmp(end, "exec") == 0) {
        char *args[] = {argv[0], argv[1], NULL};

        execv("/proc/self/exe", args);
        return 6;
    }
    run(d, rounds);
    if (strcmp(end, "kill") == 0) {
        (void)alq_trace_flush();
        raise(SIGKILL);
    }
    if (strcmp(end, "fork") == 0 && fork() == 0) {
        main_loop(d, alq_from_int(rounds), NULL); /* told to nobody */
        exit(0);
    }
    while (wait(NULL) > 0)
        continue;
    if (strcmp(end, "exit") != 0)
        alq_domain_drop(d);
    puts("done");
    return 0;
}
