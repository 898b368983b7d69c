/* own_profile.c -- a program that watches its own malloc
 *
 *   cc own_profile.c -laliquot -lm -o own_profile
 *   LD_PRELOAD=libaliquot-preload.so ./own_profile
 *
 * It keeps a table of live bytes by allocation size class, fed by the sampled
 * allocations and frees, and prints what is live at the end next to the truth.
 * Callbacks run inside malloc and free: they use atomics and no locks. */
#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <aliquot/aliquot.h>

enum { CLASSES = 32, ROUNDS = 200000, SLOTS = 5000 };

static const double rate = 1e-3; /* samples per word */

static _Atomic(int64_t) live_samples[CLASSES];
static _Atomic(uint64_t) n_allocs, n_frees;

static unsigned
class_of(uint64_t bytes)
{
    unsigned class = 0;

    while (bytes >>= 1)
        class ++;
    return class < CLASSES ? class : CLASSES - 1;
}

/* The user data is the size class and the number of samples. */
static int
on_alloc(void *arg, const struct alq_allocation *alloc, uintptr_t *data)
{
    unsigned class = class_of(alloc->size_bytes);

    (void)arg;
    live_samples[class] += (int64_t)alloc->n_samples;
    n_allocs++;
    *data = (uintptr_t)alloc->n_samples << 8 | class;
    return ALQ_TRACK_KEEP;
}

static int
on_dealloc(void *arg, uintptr_t data)
{
    (void)arg;
    live_samples[data & 0xFF] -= (int64_t)(data >> 8);
    n_frees++;
    return 0;
}

int
main(void)
{
    const struct alq_tracker tracker = {
        .alloc_major = on_alloc,
        .dealloc_major = on_dealloc,
    };
    struct alq_memprof_config config = ALQ_MEMPROF_CONFIG_DEFAULT;
    static void *slots[SLOTS];
    static size_t sizes[SLOTS];
    struct alq_profile *profile;
    double estimate = 0, truth = 0;
    uint64_t x = 1;
    enum alq_status status;

    config.rate = rate;
    status = alq_memprof_start(NULL, &config, &tracker, &profile);
    if (status != ALQ_OK) {
        fprintf(stderr, "own_profile: %s\n", alq_status_text(status));
        return 1;
    }
    for (unsigned i = 0; i < ROUNDS; i++) {
        unsigned k;

        x = x * 6364136223846793005u + 1442695040888963407u;
        k = (unsigned)(x >> 33) % SLOTS;
        free(slots[k]);
        sizes[k] = 1 + (size_t)((x >> 20) & 1023);
        slots[k] = malloc(sizes[k]);
    }
    alq_memprof_stop(NULL);

    for (unsigned k = 0; k < SLOTS; k++)
        if (slots[k] != NULL)
            truth += (double)((sizes[k] + 7) / 8 + 1);
    for (unsigned c = 0; c < CLASSES; c++)
        estimate += (double)live_samples[c] / rate;
    printf("allocations sampled %" PRIu64 ", freed %" PRIu64 "\n", n_allocs,
           n_frees);
    printf("live words: %.0f, estimated %.0f +- %.0f\n", truth, estimate,
           sqrt(truth / rate));

    status = alq_memprof_discard(profile);
    alq_profile_drop(profile);
    for (unsigned k = 0; k < SLOTS; k++)
        free(slots[k]);
    if (status != ALQ_OK || n_allocs == 0 || n_frees == 0)
        return 1;
    /* Eight standard errors: a false alarm once in 1e15 runs. */
    return fabs(estimate - truth) < 8 * sqrt(truth / rate) ? 0 : 1;
}
