/* analysis.c -- see analysis.h
 *
 * A block is entered into the sums when it dies or the trace ends, because
 * only then its lifetime is known.  Being alive at the peak needs no look at
 * other blocks either: every new maximum of live bytes begins an epoch, and a
 * block was alive at the last maximum when it was born before that epoch began
 * and dies in it or later.
 *
 * While the trace is read, a site's sums are not yet measures: each block that
 * died is in exactly one of four, told by two bits (BRIEF, AT_PEAK), so that a
 * free costs one addition.  What the measures are is put together at the end.
 *
 * .inv.epoch  site.sums[AT_PEAK...] hold the blocks that were alive at maximum
 *             number site.epoch and have died since.  When the site is next
 *             touched in a later epoch they are as any others.
 * .inv.last   What blocks and sites keep of an epoch only differs from the
 *             present one or not: when its bits are used up, the present one
 *             becomes 1 and all others 0.
 *
 * Live bytes are a running sum of doubles; it is set to zero whenever no
 * block is alive, and no figure but the peak's time and height comes from
 * it. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/analysis.h"
#include "cli/cli.h"

enum { TIMELINE_FIRST_STEP_US = 16, NO_DOMAIN = UINT16_MAX + 1 };

enum { BRIEF = 1, AT_PEAK = 2, PARTS = 4 };

_Static_assert(PARTS == (int)ALQI_CLI_N_MEASURES, "they share their place");

#if ALQI_CHECKS >= 3
enum { EPOCH_MAX = 5 }; /* .inv.last */
#else
enum { EPOCH_MAX = (int)((UINT32_C(1) << ALQI_CLI_EPOCH_BITS) - 1) };
#endif

/* ---- timeline -------------------------------------------------------- */

static void
timeline_halve(struct alqi_cli_timeline *t)
{
    for (uint32_t i = 0; i < ALQI_CLI_TIMELINE / 2; i++) {
        double a = t->live[2 * i];
        double b = 2 * i + 1 < t->n ? t->live[2 * i + 1] : a;

        t->live[i] = a > b ? a : b;
    }
    t->n = (t->n + 1) / 2;
    t->step_us *= 2;
}

static ALQI_NOINLINE void
timeline_seek(struct alqi_cli_timeline *t, uint64_t us, double before)
{
    uint32_t i;

    while (us / t->step_us >= ALQI_CLI_TIMELINE)
        timeline_halve(t);
    i = (uint32_t)(us / t->step_us);
    while (t->n <= i)
        t->live[t->n++] = before;
    t->last = &t->live[i];
    t->first_us = i * t->step_us;
    t->end_us = t->first_us + t->step_us;
}

/* before, after: live bytes at the two sides of the moment. */
static inline void
timeline_note(struct alqi_cli_timeline *t, uint64_t us, double before,
              double after)
{
    if (ALQI_UNLIKELY(us < t->first_us || us >= t->end_us))
        timeline_seek(t, us, before);
    if (after > *t->last)
        *t->last = after;
}

/* ---- sites ----------------------------------------------------------- */

static ALQI_NOINLINE void
site_new(struct alqi_cli_analysis *a, uint32_t node)
{
    if (a->n_sites == a->sites_capacity) {
        a->sites_capacity = a->sites_capacity == 0 ? 64 : 2 * a->sites_capacity;
        a->sites =
            alqi_cli_realloc(a->sites, a->sites_capacity, sizeof *a->sites);
    }
    memset(&a->sites[a->n_sites], 0, sizeof *a->sites);
    a->sites[a->n_sites].node = node;
    a->site_of_node[node] = ++a->n_sites;
}

static ALQI_NOINLINE void
site_of_node_grow(struct alqi_cli_analysis *a)
{
    uint32_t n = a->stacks.nodes_capacity;

    a->site_of_node =
        alqi_cli_realloc(a->site_of_node, n, sizeof *a->site_of_node);
    memset(a->site_of_node + a->n_site_of_node, 0,
           (n - a->n_site_of_node) * sizeof *a->site_of_node);
    a->n_site_of_node = n;
}

static inline uint32_t
site_of(struct alqi_cli_analysis *a, uint32_t node)
{
    if (ALQI_UNLIKELY(node >= a->n_site_of_node))
        site_of_node_grow(a);
    if (ALQI_UNLIKELY(a->site_of_node[node] == 0))
        site_new(a, node);
    return a->site_of_node[node] - 1;
}

/* The blocks that were alive at an earlier maximum count as any others. */
static void
site_forget_peak(struct alqi_cli_site *site, uint32_t epoch)
{
    for (int part = 0; part < AT_PEAK; part++) {
        struct alqi_cli_sum *s = &site->sums[part | AT_PEAK];

        if (s->n_blocks == 0)
            continue;
        alqi_cli_sum_join(&site->sums[part], s);
        memset(s, 0, sizeof *s);
    }
    site->epoch = epoch;
}

/* .inv.last */
static ALQI_COLD void
epochs_renumber(struct alqi_cli_analysis *a)
{
    struct alqi_cli_object *o;
    uint64_t id;
    size_t at = 0;

    while ((o = alqi_cli_objects_next(&a->objects, &at, &id)) != NULL)
        o->epoch = o->epoch == a->kept_epoch;
    for (uint32_t i = 0; i < a->n_sites; i++) {
        if (a->sites[i].epoch != a->kept_epoch)
            site_forget_peak(&a->sites[i], 0);
        else
            a->sites[i].epoch = 1;
    }
    a->kept_epoch = 1;
}

/* ---- events ---------------------------------------------------------- */

static uint32_t
site_from(struct alqi_cli_analysis *a, const struct alqi_ctf_event *e)
{
    uint64_t n_same = e->domain == a->path_domain ? e->n_shared : 0;

    a->path_domain = e->domain;
    if (n_same > e->n_codes)
        n_same = e->n_codes; /* a stack cut short stays as it was */
    return site_of(a, alqi_cli_stacks_next(&a->stacks, e->codes, e->n_codes,
                                           (uint32_t)n_same));
}

static void
live_raise(struct alqi_cli_analysis *a, uint64_t us, double bytes)
{
    double before = a->live_bytes;

    a->live_bytes += bytes;
    timeline_note(&a->timeline, us, before, a->live_bytes);
    if (a->live_bytes <= a->peak_bytes)
        return;
    a->peak_bytes = a->live_bytes;
    a->peak_us = us;
    a->epoch++;
    if (ALQI_UNLIKELY(a->kept_epoch == EPOCH_MAX))
        epochs_renumber(a);
    a->kept_epoch++;
}

static void
take_alloc(struct alqi_cli_analysis *a, const struct alqi_ctf_event *e,
           uint64_t us)
{
    uint64_t length = e->length > 0 ? (uint64_t)e->length : 0;
    uint64_t n_samples = e->n_samples > 0 ? (uint64_t)e->n_samples : 0;
    struct alqi_cli_object *o =
        alqi_cli_objects_add(&a->objects, e->id, length, n_samples);
    struct alqi_cli_weight w;
    double bytes = alqi_cli_block_bytes(&a->estimator, length);

    a->n_allocs++;
    a->n_samples += n_samples;
    alqi_cli_notes_count(&a->notes);
    if (bytes > a->largest_bytes)
        a->largest_bytes = bytes;
    if (o == NULL || e->length < 0) {
        a->n_strange++;
        if (o == NULL) {
            a->path_domain = NO_DOMAIN;
            return;
        }
    }
    o->time_us = us;
    o->epoch = a->kept_epoch;
    o->rate = a->rate;
    o->thread = a->notes.has_thread ? (uint16_t)a->notes.thread_at : e->domain;
    o->site = site_from(a, e);
    w = alqi_cli_weigh(&a->estimator, a->rate, length);
    alqi_cli_sum_add(&a->by_source[e->source], &w, 0, n_samples);
    if (ALQI_UNLIKELY(a->notes.n_processes > 0))
        alqi_cli_shares_born(&a->shares, alqi_cli_notes_process(&a->notes),
                             e->id, &w, n_samples, e->time_us);
    live_raise(a, us, w.bytes);
}

static void
take_promote(struct alqi_cli_analysis *a, const struct alqi_ctf_event *e)
{
    struct alqi_cli_object *o = alqi_cli_objects_find(&a->objects, e->id);
    struct alqi_cli_life life;
    struct alqi_cli_weight w;

    a->n_promotes++;
    if (o == NULL || o->is_promoted) {
        a->n_strange++;
        return;
    }
    o->is_promoted = true;
    alqi_cli_objects_read(&a->objects, e->id, o, &life);
    w = alqi_cli_weigh(&a->estimator, life.rate, life.length);
    alqi_cli_sum_add(&a->promoted, &w, 0, life.n_samples);
}

static double
life_of(const struct alqi_cli_life *b, uint64_t us)
{
    return us > b->time_us ? (double)(us - b->time_us) : 0;
}

static ALQI_NOINLINE void
block_tell(struct alqi_cli_analysis *a, const struct alqi_cli_life *b,
           const struct alqi_cli_weight *w, uint64_t died_us)
{
    struct alqi_cli_block block = {
        .born_us = b->time_us,
        .died_us = died_us > b->time_us ? died_us : b->time_us,
        .epoch = b->epoch != a->kept_epoch ? a->epoch : 0,
        .bytes = w->bytes,
        .objects = w->objects,
        .site = b->site,
        .thread = b->thread,
    };

    alqi_cli_blocks_take(a->options.blocks, &block, a->epoch);
}

/* Enters a block that died. */
static inline void
life_enter(struct alqi_cli_analysis *a, const struct alqi_cli_life *b,
           const struct alqi_cli_weight *w, uint64_t us)
{
    struct alqi_cli_site *site = &a->sites[b->site];
    double life_us = life_of(b, us);
    unsigned part = 0;

    if (life_us < a->options.min_life_us)
        return;
    if (ALQI_UNLIKELY(a->options.blocks != NULL))
        block_tell(a, b, w, us);
    if (life_us < a->options.temporary_us)
        part |= BRIEF;
    if (b->epoch != a->kept_epoch) {
        part |= AT_PEAK;
        if (site->epoch != a->kept_epoch)
            site_forget_peak(site, a->kept_epoch);
    }
    alqi_cli_sum_add(&site->sums[part], w, life_us, b->n_samples);
}

static void
take_free(struct alqi_cli_analysis *a, const struct alqi_ctf_event *e,
          uint64_t us)
{
    struct alqi_cli_life life;
    struct alqi_cli_weight w;
    double before = a->live_bytes;

    a->n_frees++;
    if (!alqi_cli_objects_take(&a->objects, e->id, &life)) {
        a->n_strange++;
        return;
    }
    w = alqi_cli_weigh(&a->estimator, life.rate, life.length);
    life_enter(a, &life, &w, us);
    if (ALQI_UNLIKELY(a->notes.n_processes > 0))
        alqi_cli_shares_died(&a->shares, e->id, &w, e->time_us);
    a->live_bytes = a->objects.n_alive == 0 ? 0 : before - w.bytes;
    timeline_note(&a->timeline, us, before, a->live_bytes);
}

/* What a process held when it ended is never freed, and yet no longer there:
 * neither live bytes nor a later peak count it. */
static void
process_end(struct alqi_cli_analysis *a, uint64_t us)
{
    double before = a->live_bytes;

    a->live_bytes -=
        alqi_cli_shares_gone(&a->shares, a->notes.gone - 1, a->epoch, us);
    if (a->live_bytes < 0) /* rounding */
        a->live_bytes = 0;
    a->notes.gone = 0;
    timeline_note(&a->timeline, us, before, a->live_bytes);
}

static void
stream_switch(struct alqi_cli_analysis *a, uint16_t domain)
{
    alqi_cli_notes_stream(&a->notes, domain);
    a->rate = alqi_cli_estimator_rate(&a->estimator, a->notes.rate_per_word);
}

static void
take_event(struct alqi_cli_analysis *a, const struct alqi_ctf_event *e)
{
    uint64_t us =
        e->time_us > a->info->start_us ? e->time_us - a->info->start_us : 0;

    if (us > a->end_us)
        a->end_us = us;
    if (e->domain > a->max_domain)
        a->max_domain = e->domain;
    if (e->domain != a->notes.domain)
        stream_switch(a, e->domain);
    switch (e->kind) {
    case ALQI_CTF_LOCATION:
        if (alqi_cli_notes_take(&a->notes, &e->location))
            a->rate =
                alqi_cli_estimator_rate(&a->estimator, a->notes.rate_per_word);
        if (a->notes.gone != 0)
            process_end(a, us);
        break;
    case ALQI_CTF_ALLOC:
        take_alloc(a, e, us);
        break;
    case ALQI_CTF_PROMOTE:
        take_promote(a, e);
        break;
    case ALQI_CTF_COLLECT:
        take_free(a, e, us);
        break;
    }
}

/* ---- the pass -------------------------------------------------------- */

/* From parts to measures. */
static void
site_finish(struct alqi_cli_site *site, uint32_t epoch)
{
    struct alqi_cli_sum measures[ALQI_CLI_N_MEASURES];
    const struct alqi_cli_sum *parts = site->sums;

    if (site->epoch != epoch)
        site_forget_peak(site, epoch);
    memset(measures, 0, sizeof measures);
    for (int part = 0; part < PARTS; part++) {
        alqi_cli_sum_join(&measures[ALQI_CLI_ALLOCATED], &parts[part]);
        if ((part & BRIEF) != 0)
            alqi_cli_sum_join(&measures[ALQI_CLI_TEMPORARY], &parts[part]);
        if ((part & AT_PEAK) != 0)
            alqi_cli_sum_join(&measures[ALQI_CLI_PEAK], &parts[part]);
    }
    memcpy(site->sums, measures, sizeof measures);
}

/* Enters a block that was never freed; its process may have ended. */
static void
object_finish(struct alqi_cli_analysis *a, uint64_t id,
              const struct alqi_cli_object *o)
{
    struct alqi_cli_sum *sums = a->sites[o->site].sums;
    const struct alqi_cli_share *gone = NULL;
    struct alqi_cli_life b;
    struct alqi_cli_weight w;
    double life_us;

    alqi_cli_objects_read(&a->objects, id, o, &b);
    w = alqi_cli_weigh(&a->estimator, b.rate, b.length);
    if (a->notes.n_processes > 0) {
        gone = alqi_cli_shares_gone_of(&a->shares, id);
        alqi_cli_shares_left(&a->shares, id, &w, b.n_samples);
    }
    if (gone != NULL && gone->gone_epoch != a->epoch)
        b.epoch = a->kept_epoch; /* was not there at the last maximum */
    life_us = life_of(&b, gone != NULL ? gone->gone_us : a->end_us);
    if (life_us < a->options.min_life_us)
        return;
    if (a->options.blocks != NULL)
        block_tell(a, &b, &w, ALQI_CLI_ALIVE);
    alqi_cli_sum_add(&sums[ALQI_CLI_ALLOCATED], &w, life_us, b.n_samples);
    alqi_cli_sum_add(&sums[ALQI_CLI_LIVE], &w, life_us, b.n_samples);
    if (b.epoch != a->kept_epoch)
        alqi_cli_sum_add(&sums[ALQI_CLI_PEAK], &w, life_us, b.n_samples);
}

static void
finish(struct alqi_cli_analysis *a)
{
    const struct alqi_cli_object *o;
    uint64_t id;
    size_t at = 0;

    for (uint32_t i = 0; i < a->n_sites; i++)
        site_finish(&a->sites[i], a->kept_epoch);
    while ((o = alqi_cli_objects_next(&a->objects, &at, &id)) != NULL)
        object_finish(a, id, o);
    for (uint32_t i = 0; i < a->n_sites; i++)
        for (int m = 0; m < ALQI_CLI_N_MEASURES; m++)
            alqi_cli_sum_join(&a->totals[m], &a->sites[i].sums[m]);
    timeline_note(&a->timeline, a->end_us, a->live_bytes, 0);
}

void
alqi_cli_analysis_run(struct alqi_cli_analysis *a, struct alqi_cli_input *input,
                      const struct alqi_cli_analysis_options *options)
{
    struct alqi_ctf_event event;

    memset(a, 0, sizeof *a);
    a->options = *options;
    a->reader = alqi_cli_input_reader(input);
    a->info = alqi_ctf_reader_info(a->reader);
    a->path_domain = NO_DOMAIN;
    a->timeline.step_us = TIMELINE_FIRST_STEP_US;
    a->names = alqi_cli_names_new();
    alqi_cli_estimator_init(&a->estimator, a->info);
    alqi_cli_notes_init(&a->notes, a->names);
    alqi_cli_stacks_init(&a->stacks);
    alqi_cli_objects_init(&a->objects);
    while (alqi_cli_input_next(input, &event))
        take_event(a, &event);
    finish(a);
}

void
alqi_cli_analysis_free(struct alqi_cli_analysis *a)
{
    free(a->sites);
    free(a->site_of_node);
    alqi_cli_objects_free(&a->objects);
    alqi_cli_shares_free(&a->shares);
    alqi_cli_stacks_free(&a->stacks);
    alqi_cli_notes_free(&a->notes);
    alqi_cli_estimator_free(&a->estimator);
    alqi_cli_names_drop(a->names);
}

/* ---- stacks as frames ------------------------------------------------ */

static void
frames_room(struct alqi_cli_frame **frames, uint32_t *capacity, uint32_t n)
{
    if (n <= *capacity)
        return;
    *capacity = 2 * n;
    *frames = alqi_cli_realloc(*frames, *capacity, sizeof **frames);
}

uint32_t
alqi_cli_stack_frames(struct alqi_cli_analysis *a, uint32_t node,
                      struct alqi_cli_frame **frames, uint32_t *capacity)
{
    uint32_t n = 0;

    /* Innermost first, as the trie leads; turned around at the end. */
    for (; node != 0; node = a->stacks.nodes[node].parent) {
        uint32_t k;
        const struct alqi_cli_frame *x = alqi_cli_names_frames(
            a->names, a->reader, a->stacks.nodes[node].code, &k);

        frames_room(frames, capacity, n + k);
        for (uint32_t i = k; i-- > 0;)
            (*frames)[n++] = x[i];
    }
    for (uint32_t i = 0; i < n / 2; i++) {
        struct alqi_cli_frame swap = (*frames)[i];

        (*frames)[i] = (*frames)[n - 1 - i];
        (*frames)[n - 1 - i] = swap;
    }
    return n;
}
