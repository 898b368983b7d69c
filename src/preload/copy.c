/* copy.c -- a forked copy of the process, for a command to read
 *
 *   the process          a process between        the copy
 *   clone, waits  -----> clone  ----------------> closes what it inherited
 *   reaps it      <----- ends                     lists the sampled blocks
 *   goes on                                       sleeps, until it is killed,
 *                                                 or nothing is tied to it
 *
 * The process between shares the memory of the process, which waits for it as
 * for a vfork: so memory is copied once, and the copy belongs to whoever takes
 * orphans in, not to the program, whose waits never see a child of ours.
 *
 * .inv.bare    All of it is system calls by the instruction: no lock, no libc,
 *              no thread-local word.  So the call is safe wherever its thread
 *              stands, and the copy works although its other threads are gone.
 * .inv.no_descriptors  The copy closes its descriptors before anything else: a
 *              connection that the program ends does not stay open for it.
 * .pair.copied  alq_copy_make() and the copy: what they tell, then n_calls or
 *              is_listed -> the command, which reads their memory; and is_tied,
 *              which the command writes. */
#include <errno.h>
#include <linux/sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "plat/bare.h"
#include "plat/owned.h"
#include "preload/copy.h"
#include "preload/preload.h"

/* The command may end before it has tied the copy to itself. */
enum { UNTIED_S = 20 };

ALQI_EXPORT struct alqi_copy_told alq_copy_told;

/* ---- the copy ------------------------------------------------------------ */

/* The library's first byte, and the first behind its variables; the linker
 * gives them. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

/* Rows of a list: first they are counted, then written. */
struct list {
    union {
        void *start; /* NULL: count */
        struct alqi_copy_block *blocks;
        struct alqi_copy_range *ranges;
    };
    uint64_t n;
};

static void
block_list(void *arg, const void *block, uint32_t stream, uint64_t ordinal)
{
    struct list *list = arg;

    if (list->start != NULL)
        list->blocks[list->n] = (struct alqi_copy_block){
            .address = (uintptr_t)block, .ordinal = ordinal, .stream = stream};
    list->n++;
}

static void
owned_list(void *arg, const void *pages, size_t bytes)
{
    struct list *list = arg;

    if (list->start != NULL)
        list->ranges[list->n] =
            (struct alqi_copy_range){.start = (uintptr_t)pages, .bytes = bytes};
    list->n++;
}

/* All that the preload has for itself.  Its variables are told by their exact
 * end: the system joins what the C library maps behind them to their mapping.
 */
static void
owned_each(struct list *list)
{
    uintptr_t page = (uintptr_t)getpagesize();
    uintptr_t end = ((uintptr_t)_end + page - 1) & ~(page - 1);

    owned_list(list, __ehdr_start, end - (uintptr_t)__ehdr_start);
    alqi_plat_owned_each(owned_list, list);
}

/* Memory for the rows that were counted; the count begins anew.  False: there
 * is none. */
static bool
list_map(struct list *list, size_t row_bytes)
{
    void *at = list->n > 0 ? alqi_plat_bare_map(list->n * row_bytes) : NULL;

    if (at == NULL)
        return false;
    *list = (struct list){.start = at};
    return true;
}

ALQI_NOINLINE void
alqi_preload_copy_wipe(void)
{
    volatile char room[2048];

    for (size_t i = 0; i < sizeof room; i++)
        room[i] = 0;
}

/* .pair.copied */
static void
lists_make(void)
{
    struct list blocks = {.n = 0}, owned = {.n = 0};

    alqi_preload_recorder_each_alone(block_list, &blocks);
    alq_copy_told.n_blocks = blocks.n;
    if (list_map(&blocks, sizeof *blocks.blocks))
        alqi_preload_recorder_each_alone(block_list, &blocks);
    owned_each(&owned);
    alq_copy_told.n_owned = owned.n;
    if (list_map(&owned, sizeof *owned.ranges))
        owned_each(&owned);
    alqi_preload_copy_wipe();
    alq_copy_told.blocks = (uintptr_t)blocks.start;
    alq_copy_told.owned = (uintptr_t)owned.start;
    atomic_store(&alq_copy_told.is_listed, 1);
}

/* All signals are blocked, as in the thread that was given the call.
 * .pair.copied */
static _Noreturn void
copy_run(void *arg)
{
    const struct timespec untied = {.tv_sec = UNTIED_S};
    long reader = *(const long *)arg;

    alqi_plat_bare_begin(-1); /* .inv.no_descriptors */
    alqi_plat_bare_call3(SYS_prctl, PR_SET_PTRACER,
                         reader > 0 ? reader : (long)PR_SET_PTRACER_ANY, 0);
    lists_make();
    do
        alqi_plat_bare_call3(SYS_nanosleep, (long)&untied, 0, 0);
    while (atomic_load(&alq_copy_told.is_tied) != 0);
    alqi_plat_bare_exit(0);
}

/* ---- the process --------------------------------------------------------- */

/* What the process between is told, and tells. */
struct between {
    alqi_preload_copy_fn *run;
    void *arg;
    long pid; /* of the copy; or -errno */
};

/* On the stack and in the memory of the process, which waits. */
static ALQI_NOINLINE _Noreturn void
between_run(struct between *b)
{
    const long none[6] = {0};
    long pid = alqi_plat_call(SYS_clone, none);

    if (pid == 0) {
        b->run(b->arg);
        alqi_plat_bare_exit(0);
    }
    b->pid = pid;
    for (;;)
        alqi_plat_bare_call3(SYS_exit, 0, 0, 0);
}

/* No signal tells the process of the end of the one between, and its waits pass
 * it over: they do not say __WCLONE. */
long
alqi_preload_copy_clone(alqi_preload_copy_fn *run, void *arg)
{
    const long vfork[6] = {CLONE_VM | CLONE_VFORK};
    struct between b = {.run = run, .arg = arg, .pid = -EAGAIN};
    long pid;

    __asm__ volatile("" : : "r"(&b) : "memory");
    pid = alqi_plat_call(SYS_clone, vfork);
    if (pid == 0)
        between_run(&b);
    if (pid > 0) {
        const long wait[6] = {pid, 0, __WCLONE};

        alqi_plat_call(SYS_wait4, wait);
        pid = *(volatile long *)&b.pid;
    }
    return pid;
}

static long
number_read(const char *text)
{
    long number = 0;

    for (; *text >= '0' && *text <= '9'; text++)
        number = number * 10 + (*text - '0');
    return number;
}

ALQI_EXPORT void
alq_copy_make(const char *reader)
{
    long number = number_read(reader), pid;

    alq_copy_told.pid = 0;
    atomic_store(&alq_copy_told.is_tied, 0);
    atomic_store(&alq_copy_told.is_listed, 0);
    pid = alqi_preload_copy_clone(copy_run, &number);
    alq_copy_told.error = pid < 0 ? (int32_t)-pid : 0;
    alq_copy_told.pid = pid < 0 ? 0 : (int32_t)pid;
    atomic_fetch_add(&alq_copy_told.n_calls, 1); /* .pair.copied */
}
