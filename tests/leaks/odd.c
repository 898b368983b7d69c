/* odd.c -- pointers and memory that are no everyday ones
 *
 * Says "ready" and waits for its standard input to end.  What each function
 * leaves is in leaks_test.py.  What the system does not have here is said on a
 * line "no WHAT". */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

enum { PAGE = 4096, HUGE = 2 << 20 };

static uintptr_t low_tag, high_tag;
static void **shared, **huge, **thp, **guarded, **below_guard;
static void *special;
static pthread_key_t key;
static volatile int n_ready;

/* The lowest bits of an address say something else: possible. */
static NOINLINE void
tag_low(void)
{
    low_tag = (uintptr_t)malloc(501) | 3;
}

/* The highest do: not covered, so it looks lost. */
static NOINLINE void
tag_high(void)
{
    high_tag = (uintptr_t)malloc(502) | (uintptr_t)0xA5 << 56;
}

static NOINLINE void **
pages(size_t bytes, int flags)
{
    void *at =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_ANONYMOUS | flags, -1, 0);

    return at != MAP_FAILED ? at : NULL;
}

/* Held by memory that a child has, too. */
static NOINLINE void
hold_by_shared(void)
{
    shared = pages(PAGE, MAP_SHARED);
    shared[7] = malloc(503);
}

static NOINLINE void
hold_by_huge(void)
{
    huge = pages(HUGE, MAP_PRIVATE | MAP_HUGETLB);
    if (huge == NULL) {
        puts("no huge pages");
        return;
    }
    huge[1000] = malloc(504);
}

static NOINLINE void
hold_by_thp(void)
{
    thp = pages(4 * HUGE, MAP_PRIVATE);
    madvise((void *)thp, 4 * HUGE, MADV_HUGEPAGE);
    memset((void *)thp, 0, 4 * HUGE);
    thp[HUGE / 8 + 1000] = malloc(505);
}

/* Between pages that cannot be read, and one that is written no more. */
static NOINLINE void
hold_by_guarded(void)
{
    char *at = (char *)pages(3 * PAGE, MAP_PRIVATE);

    guarded = (void **)(at + PAGE);
    guarded[511] = malloc(506);
    mprotect(at, PAGE, PROT_NONE);
    mprotect(at + 2 * PAGE, PAGE, PROT_NONE);
}

/* Memory that nobody can read holds nothing. */
static NOINLINE void
lose_behind_guard(void)
{
    below_guard = pages(PAGE, MAP_PRIVATE);
    below_guard[3] = malloc(507);
    mprotect((void *)below_guard, PAGE, PROT_NONE);
}

static NOINLINE void
hold_by_key(void)
{
    pthread_key_create(&key, NULL);
    pthread_setspecific(key, malloc(508));
}

/* A pointer in the middle of another block's pages. */
static NOINLINE void
hold_by_block(void)
{
    char *outer = calloc(1, 300000);

    special = outer;
    *(void **)(outer + 200000) = malloc(509);
}

/* A thread runs on a stack that it made, in one mapping with other data. */
static void
wait_on_stack(void)
{
    n_ready++;
    for (;;)
        pause();
}

static void *
below_stack_run(void *at)
{
    ucontext_t context;

    getcontext(&context);
    context.uc_stack.ss_sp = (char *)at + 16 * PAGE;
    context.uc_stack.ss_size = 16 * PAGE;
    makecontext(&context, wait_on_stack, 0);
    setcontext(&context);
    return at;
}

static NOINLINE void
hold_by_below_stack(void)
{
    pthread_t thread;
    void **at = pages(32 * PAGE, MAP_PRIVATE);

    at[100] = malloc(510);
    pthread_create(&thread, NULL, below_stack_run, (void *)at);
    while (n_ready < 1)
        sched_yield();
}

/* Where the last mapping of the preload ends, and zeroed memory behind it. */
static uintptr_t
library_end(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    unsigned long from, to, end = 0;
    char line[1024];

    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        if (sscanf(line, "%lx-%lx", &from, &to) != 2)
            continue;
        if (strstr(line, "/libaliquot-preload.") != NULL ||
            (from == end && strchr(line, '/') == NULL))
            end = to;
    }
    if (maps != NULL)
        fclose(maps);
    return end;
}

/* Held by a page of the program's that the system shows as one mapping with
 * zeroed memory of the preload. */
static NOINLINE void
hold_behind_library(void)
{
    void *end = (void *)library_end();
    void **page =
        mmap(end, PAGE, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

    if (page == MAP_FAILED)
        puts("no room behind the library");
    else
        page[7] = malloc(512);
}

static NOINLINE uintptr_t
hold_by_vector(void)
{
    return ~(uintptr_t)malloc(511);
}

static NOINLINE void
wipe_stack(void)
{
    volatile char room[16384];

    memset((void *)room, 0, sizeof room);
}

/* The address is in a vector register alone while the thread computes. */
static void *
vector_run(void *unused)
{
    uintptr_t hidden = hold_by_vector();

    wipe_stack();
    __asm__ volatile("movq %0, %%rbx; notq %%rbx; movq %%rbx, %%xmm7\n"
                     "xorl %%ebx, %%ebx; incl %1\n"
                     "1: pause; jmp 1b"
                     :
                     : "r"(hidden), "m"(n_ready)
                     : "rbx", "xmm7", "memory");
    return unused;
}

static void
vector_start(void)
{
    pthread_t thread;

    pthread_create(&thread, NULL, vector_run, NULL);
    while (n_ready < 2)
        sched_yield();
}

int
main(void)
{
    int fds[2];
    char byte;

    tag_low();
    tag_high();
    hold_by_shared();
    hold_by_huge();
    hold_by_thp();
    hold_by_guarded();
    lose_behind_guard();
    hold_by_key();
    hold_by_block();
    hold_by_below_stack();
    hold_behind_library();
    vector_start();
    wipe_stack();
    if (pipe(fds) == 0 && fork() == 0) { /* has the shared page */
        close(fds[1]);
        _exit(read(fds[0], &byte, 1) != 0);
    }
    puts("ready");
    fflush(stdout);
    while (read(0, &byte, 1) > 0)
        continue;
    close(fds[1]);
    wait(NULL);
    return 0;
}
