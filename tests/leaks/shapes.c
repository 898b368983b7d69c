/* shapes.c -- blocks of each class, of known sizes, held in each way
 *
 * Says "ready" and waits for its standard input to end; what each function
 * leaves is in leaks_test.py.  With a number, 2 to that power of different
 * stacks allocate first.  With UNDUMPABLE in its environment no other process
 * of its user may look into it. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

struct node {
    struct node *next;
    char rest[56];
};

static struct node *held_list;   /* static: .bss */
struct node *held_global = NULL; /* a symbol that everybody sees */
static char *volatile inside;    /* into the middle of a block   */
static __thread struct node *of_thread;
static volatile uintptr_t hidden; /* a block's address, not as a pointer */

static NOINLINE struct node *
list_make(unsigned n)
{
    struct node *first = NULL;

    for (; n > 0; n--) {
        struct node *node = calloc(1, sizeof *node);

        node->next = first;
        first = node;
    }
    return first;
}

static NOINLINE void
hold_by_static(void)
{
    held_list = list_make(100);
}

static NOINLINE void
hold_by_symbol(void)
{
    held_global = list_make(1);
    held_global->next = malloc(1000);
}

static NOINLINE void
hold_inside(void)
{
    inside = (char *)malloc(500) + 100;
}

static NOINLINE void
lose_list(void)
{
    hidden = ~(uintptr_t)list_make(10);
}

/* Two that lead to each other. */
static NOINLINE void
lose_ring(void)
{
    struct node *a = list_make(2);

    a->next->next = a;
    hidden = ~(uintptr_t)a;
}

static NOINLINE void
lose_large(void)
{
    hidden = ~(uintptr_t)malloc(1 << 20);
}

static NOINLINE void
hold_large(void)
{
    struct node *large = calloc(1, 2 << 20);

    large->next = held_list;
    held_list = large;
}

/* As many different stacks as there are ways to go so deep. */
static NOINLINE void
stacks_make(int depth)
{
    if (depth == 0) {
        free(malloc(1));
        return;
    }
    stacks_make(depth - 1);
    stacks_make(depth - 1);
}

/* Freed blocks leave pointers behind, which hold nothing. */
static NOINLINE void
lose_behind_freed(void)
{
    void *volatile *dead = malloc(4096);

    dead[300] = malloc(333);
    free((void *)dead);
}

static NOINLINE void
wipe_stack(void)
{
    volatile char room[16384];

    memset((void *)room, 0, sizeof room);
}

static pthread_barrier_t barrier;

static void *
thread_run(void *unused)
{
    struct node *on_stack = list_make(3);

    (void)unused;
    of_thread = list_make(4);
    lose_list();
    wipe_stack();
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return on_stack;
}

int
main(int argc, char **argv)
{
    pthread_t thread;
    char byte;

    if (getenv("UNDUMPABLE") != NULL)
        prctl(PR_SET_DUMPABLE, 0);
    stacks_make(argc > 1 ? atoi(argv[1]) : 0);
    hold_by_static();
    hold_by_symbol();
    hold_inside();
    lose_list();
    lose_ring();
    lose_large();
    hold_large();
    lose_behind_freed();
    wipe_stack();
    pthread_barrier_init(&barrier, NULL, 2);
    pthread_create(&thread, NULL, thread_run, NULL);
    pthread_barrier_wait(&barrier);
    wipe_stack();
    hidden = 0;
    puts("ready");
    fflush(stdout);
    while (read(0, &byte, 1) > 0)
        continue;
    return 3;
}
