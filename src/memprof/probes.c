/* probes.c -- fires the probes of probes.h
 *
 * SystemTap's header writes ELF notes and a nop for each probe, which a tracer
 * replaces; it needs no library and makes no call.
 *
 * A forked child still tracks blocks of the parent.  Their entries belong to a
 * profile whose argument is an older epoch, so the child does not fire their
 * ends (.inv.pair).  Keeps .inv.fire and .inv.args, too. */
#define _SDT_HAS_SEMAPHORES 1
#define STAP_SDT_ARG_CONSTRAINT r
#include <sys/sdt.h>

#include "memprof/probes.h"
#include "memprof/profile.h"

/* Tracers find the semaphores by the notes, and count themselves in.  The
 * names, which the header prescribes, are static: a program may have its
 * own. */
#define SEMAPHORE(name)                                                        \
    static volatile unsigned short name                                        \
        __attribute__((section(".probes"), used))
SEMAPHORE(otel_memory_alloc_semaphore);
SEMAPHORE(otel_memory_free_semaphore);

static struct {
    struct alqi_memprof_domain *domain; /* NULL before the start */
    struct alq_profile *profile;
    struct alqi_sample_dist dist;
    /* Forks so far that inherited tracked blocks; a profile's argument. */
    uintptr_t epoch;
} probes;

/* ---- firing -------------------------------------------------------------- */

/* There are tracers that read the argument registers (.inv.args). */
#if defined __x86_64__
#define FIRST __asm__("rdi")
#define SECOND __asm__("rsi")
#define THIRD __asm__("rdx")
#elif defined __aarch64__
#define FIRST __asm__("x0")
#define SECOND __asm__("x1")
#define THIRD __asm__("x2")
#endif

static ALQI_NOINLINE void
fire_alloc(const void *block, uint64_t size_bytes, uint64_t weighted_bytes)
{
    register const void *first FIRST = block;
    register uint64_t second SECOND = size_bytes;
    register uint64_t third THIRD = weighted_bytes;

    STAP_PROBE3(otel_memory, alloc, first, second, third);
}

static ALQI_NOINLINE void
fire_free(const void *block)
{
    register const void *first FIRST = block;

    STAP_PROBE1(otel_memory, free, first);
}

static void
alloc_fire(const void *block, uint64_t size_bytes)
{
    uint64_t words = alqi_base_malloc_words(size_bytes);

    fire_alloc(block, size_bytes,
               alqi_sample_weight(&probes.dist, words, size_bytes));
}

/* ---- callbacks and hooks ------------------------------------------------- */

static int
on_alloc(void *epoch, const struct alq_allocation *a, uintptr_t *data)
{
    (void)data;
    if ((uintptr_t)epoch != probes.epoch) /* the new profile had no memory */
        return ALQ_TRACK_DROP;
    alloc_fire(a->block, a->size_bytes);
    return ALQ_TRACK_KEEP;
}

static void
on_freeing(void *epoch, const void *block)
{
    if ((uintptr_t)epoch == probes.epoch) /* .inv.pair */
        fire_free(block);
}

static void
on_free_undone(void *epoch, const void *block, uint64_t size_bytes)
{
    if ((uintptr_t)epoch == probes.epoch)
        alloc_fire(block, size_bytes);
}

/* ---- start, fork --------------------------------------------------------- */

/* Starts the profile of the present epoch in the slot of probes, and drops that
 * of the epoch before, which lives on by its entries. */
static enum alq_status
profile_start(uint64_t seed)
{
    static const struct alqi_memprof_hooks hooks = {
        .gate = &otel_memory_alloc_semaphore,
        .freeing = on_freeing,
        .free_undone = on_free_undone,
    };
    const struct alq_tracker tracker = {
        .alloc_major = on_alloc,
        .arg = (void *)probes.epoch,
    };
    const struct alq_memprof_config config = {.rate = probes.dist.rate,
                                              .seed = seed};
    struct alq_profile *old = probes.profile;
    enum alq_status status =
        alqi_memprof_start_hooked(probes.domain, NULL, ALQI_MEMPROF_SLOT_PROBES,
                                  &config, &tracker, &hooks, &probes.profile);

    if (status == ALQ_OK && old != NULL)
        alqi_memprof_profile_drop(old);
    return status;
}

enum alq_status
alqi_probes_start(struct alqi_memprof_domain *domain, double rate,
                  uint64_t seed)
{
    if (!alqi_sample_dist_set(&probes.dist, rate))
        return ALQ_EINVAL;
    probes.domain = domain;
    return profile_start(seed);
}

/* Without tracked blocks the profile goes on: no tracer listened. */
void
alqi_probes_fork_child(void)
{
    const struct alq_profile *p = probes.profile;

    if (p == NULL || (atomic_load_explicit(&p->refs, memory_order_relaxed) &
                      ALQI_PROFILE_ENTRIES) == 0)
        return;
    probes.epoch++;
    (void)!profile_start(0); /* on failure the child fires nothing */
}
