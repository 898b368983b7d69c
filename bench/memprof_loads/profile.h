/* profile.h -- a program of ../gc_loads/c under a profile, if it is asked for
 *
 *   PROFILE_RATE    samples a word; not set: no profile is started
 *   PROFILE_FRAMES  of a call stack; not set: all
 *   PROFILE_KEEP    1: blocks are tracked to their deaths; else told of alone
 *
 * At the end it writes on stderr how many samples there were. */
#include <aliquot/memprof.h>

static struct {
    struct alq_profile *profile;
    unsigned long allocs, promotes, deaths;
} profiled;

static int
profile_alloc(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    (void)a;
    profiled.allocs++;
    *data = 1;
    return *(const int *)arg;
}

static int
profile_promote(void *arg, uintptr_t *data)
{
    (void)arg;
    (void)data;
    profiled.promotes++;
    return ALQ_TRACK_KEEP;
}

static int
profile_dealloc(void *arg, uintptr_t data)
{
    (void)arg;
    (void)data;
    profiled.deaths++;
    return 0;
}

static void
profile_begin(struct alq_domain *d)
{
    static int keeps;
    const struct alq_tracker tracker = {
        .alloc_minor = profile_alloc,
        .alloc_major = profile_alloc,
        .promote = profile_promote,
        .dealloc_minor = profile_dealloc,
        .dealloc_major = profile_dealloc,
        .arg = &keeps,
    };
    struct alq_memprof_config config = ALQ_MEMPROF_CONFIG_DEFAULT;
    const char *rate = getenv("PROFILE_RATE"), *n = getenv("PROFILE_FRAMES");
    const char *keep = getenv("PROFILE_KEEP");
    enum alq_status st;

    if (rate == NULL)
        return;
    keeps = keep != NULL && keep[0] == '1';
    config.rate = strtod(rate, NULL);
    config.seed = 1;
    if (n != NULL)
        config.callstack_frames = strtoul(n, NULL, 10);
    st = alq_memprof_start(d, &config, &tracker, &profiled.profile);
    if (st != ALQ_OK) {
        fprintf(stderr, "no profile: %s\n", alq_status_text(st));
        exit(1);
    }
}

static void
profile_end(struct alq_domain *d)
{
    struct alq_memprof_counts n;

    if (profiled.profile == NULL)
        return;
    alq_memprof_stop(d);
    alq_profile_counts(profiled.profile, &n);
    fprintf(stderr, "samples %llu told %lu promoted %lu died %lu\n",
            (unsigned long long)n.sampled_blocks, profiled.allocs,
            profiled.promotes, profiled.deaths);
    fprintf(stderr, "sampled words %llu\n",
            (unsigned long long)n.sampled_words);
}
