/* pprof_program.c -- for tests: a program that writes profiles of itself
 *
 *   pprof_program native|language|malloc RATE DIRECTORY
 *
 * It makes blocks of two sizes in two functions and keeps some, writes
 * profiles, makes more and lets go of some, and writes more; on stdout is what
 * it did.  With a language of its own its frames are numbers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <fcntl.h>

#include <aliquot/aliquot.h>

enum { MAKE_SMALL = 7, MAKE_LARGE = 8, MAIN_LOOP = 9, KEPT = 64 };
enum { SMALL_WORDS = 5, LARGE_WORDS = 600, ROUNDS = 20000 };

static _Thread_local uintptr_t stack[2]; /* of the language, innermost first */
static struct alq_domain *d;             /* NULL: malloc */
static void *kept[2][KEPT];
static const char *directory;

/* ---- a language -----------------------------------------------------------
 */

static size_t
walk(void *arg, struct alq_domain *domain, uintptr_t *frames, size_t max)
{
    size_t n = 0;

    (void)arg;
    (void)domain;
    for (; n < 2 && n < max; n++)
        frames[n] = stack[n];
    return n;
}

static size_t
describe(void *arg, uintptr_t frame, struct alq_location *out, size_t max)
{
    static const char *const names[] = {"make-small", "make-large",
                                        "main-loop"};

    (void)arg;
    if (max < 2 || frame < MAKE_SMALL || frame > MAIN_LOOP)
        return 0;
    out[0] = (struct alq_location){.function = names[frame - MAKE_SMALL],
                                   .file = "blocks.lang",
                                   .line = (unsigned)frame};
    if (frame != MAKE_LARGE)
        return 1;
    out[1] = (struct alq_location){
        .function = "inlined <&>", .file = "blocks.lang", .line = 80};
    return 2;
}

/* ---- blocks ---------------------------------------------------------------
 */

__attribute__((noinline)) static alq_value
make_small(void)
{
    stack[0] = MAKE_SMALL;
    if (d == NULL)
        return (alq_value)malloc(SMALL_WORDS * 8);
    return alq_alloc_string(d, SMALL_WORDS * 8 - 1);
}

__attribute__((noinline)) static alq_value
make_large(void)
{
    stack[0] = MAKE_LARGE;
    if (d == NULL)
        return (alq_value)malloc(LARGE_WORDS * 8);
    return alq_alloc_string(d, LARGE_WORDS * 8 - 1);
}

/* n blocks of each; the last ones stay. */
__attribute__((noinline)) static void
main_loop(alq_value *roots, int n)
{
    stack[1] = MAIN_LOOP;
    for (int i = 0; i < n; i++) {
        alq_value small = make_small(), large;

        if (d != NULL)
            roots[i % KEPT] = small;
        large = make_large();
        if (d != NULL) {
            roots[KEPT + i % KEPT] = large;
        } else {
            free(kept[0][i % KEPT]);
            free(kept[1][i % KEPT]);
            kept[0][i % KEPT] = (void *)small;
            kept[1][i % KEPT] = (void *)large;
        }
    }
}

/* Half of each are let go of. */
static void
let_go(alq_value *roots)
{
    for (int i = 0; i < KEPT; i += 2) {
        if (d != NULL) {
            roots[i] = roots[KEPT + i] = ALQ_UNIT;
        } else {
            for (int k = 0; k < 2; k++) {
                free(kept[k][i]);
                kept[k][i] = NULL;
            }
        }
    }
}

/* ---- profiles -------------------------------------------------------------
 */

static void
is_ok(enum alq_status status, const char *what)
{
    if (status == ALQ_OK)
        return;
    fprintf(stderr, "%s: %s\n", what, alq_status_text(status));
    exit(1);
}

static void
settle(void)
{
    if (d != NULL)
        is_ok(alq_gc_full_major(d), "full_major");
    is_ok(alq_memprof_flush(d, NULL), "flush");
}

static void
write_to(struct alq_pprof *p, const char *name, enum alq_pprof_kind kind,
         struct alq_pprof_since *since)
{
    char path[4096];
    int fd;

    snprintf(path, sizeof path, "%s/%s.pb.gz", directory, name);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    is_ok(alq_pprof_write(p, fd, kind, since), name);
    if (close(fd) != 0)
        exit(1);
}

static void
run(struct alq_pprof *p, alq_value *roots)
{
    struct alq_pprof_since *delta, *window;

    main_loop(roots, ROUNDS);
    settle();
    write_to(p, "heap", ALQ_PPROF_HEAP, NULL);
    write_to(p, "allocs", ALQ_PPROF_ALLOCS, NULL);
    is_ok(alq_pprof_since_new(p, &delta), "since");
    is_ok(alq_pprof_since_new(p, &window), "since");
    main_loop(roots, ROUNDS / 10);
    let_go(roots);
    settle();
    write_to(p, "delta", ALQ_PPROF_DELTA_HEAP, delta);
    write_to(p, "delta_again", ALQ_PPROF_DELTA_HEAP, delta);
    write_to(p, "window", ALQ_PPROF_HEAP, window);
    alq_pprof_since_drop(window);
    alq_pprof_since_drop(delta);
    printf("%d %d %d %d\n", SMALL_WORDS, LARGE_WORDS, ROUNDS, KEPT);
}

int
main(int argc, char **argv)
{
    const struct alq_stack_source language = {.walk = walk,
                                              .describe = describe};
    struct alq_pprof_config config = {.seed = 3};
    struct alq_pprof *p;

    if (argc < 4)
        return 2;
    config.rate = atof(argv[2]);
    directory = argv[3];
    if (strcmp(argv[1], "malloc") == 0) {
        is_ok(alq_pprof_start(NULL, &config, &p), "start");
        run(p, NULL);
        alq_pprof_drop(p);
        return 0;
    }
    is_ok(alq_domain_new(NULL, &d), "domain");
    if (strcmp(argv[1], "language") == 0)
        is_ok(alq_stack_source_set(d, &language), "source");
    {
        ALQ_FRAME(d, f, values[2 * KEPT]);

        for (int i = 0; i < 2 * KEPT; i++)
            f.values[i] = ALQ_UNIT;
        is_ok(alq_pprof_start(d, &config, &p), "start");
        run(p, f.values);
    }
    is_ok(alq_domain_drop(d), "drop");
    write_to(p, "over", ALQ_PPROF_HEAP, NULL); /* the heap has ended */
    alq_pprof_drop(p);
    return 0;
}
