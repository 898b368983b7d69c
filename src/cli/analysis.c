/* analysis.c -- see analysis.h
 *
 * A block is entered into the sums when it dies or the trace ends, because
 * only then its lifetime is known.  Being alive at the peak needs no look at
 * other blocks either: every new maximum of live bytes begins an epoch, and a
 * block was alive at the last maximum when it was born before that epoch began
 * and dies in it or later.  So the sums of one site are those of blocks that
 * died in the present epoch, and are forgotten when the site is next touched
 * in a later one.
 *
 * .inv.epoch  site.sums[PEAK] counts the blocks that were alive at maximum
 *             number site.epoch and have died since; it means something only
 *             while site.epoch is the present epoch.
 *
 * Live bytes are a running sum of doubles; it is set to zero whenever no
 * block is alive, and no figure but the peak's time and height comes from
 * it. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/analysis.h"
#include "cli/cli.h"

enum { TIMELINE_FIRST_STEP_US = 16 };

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

/* before, after: live bytes at the two sides of the moment. */
static void
timeline_note(struct alqi_cli_timeline *t, uint64_t us, double before,
              double after)
{
    uint32_t i;

    while (us / t->step_us >= ALQI_CLI_TIMELINE)
        timeline_halve(t);
    i = (uint32_t)(us / t->step_us);
    while (t->n <= i)
        t->live[t->n++] = before;
    if (after > t->live[i])
        t->live[i] = after;
}

/* ---- sites ----------------------------------------------------------- */

static uint32_t
site_of(struct alqi_cli_analysis *a, uint32_t node)
{
    if (node >= a->n_site_of_node) {
        uint32_t n = a->stacks.nodes_capacity;

        a->site_of_node =
            alqi_cli_realloc(a->site_of_node, n, sizeof *a->site_of_node);
        memset(a->site_of_node + a->n_site_of_node, 0,
               (n - a->n_site_of_node) * sizeof *a->site_of_node);
        a->n_site_of_node = n;
    }
    if (a->site_of_node[node] == 0) {
        if (a->n_sites == a->sites_capacity) {
            a->sites_capacity =
                a->sites_capacity == 0 ? 64 : 2 * a->sites_capacity;
            a->sites =
                alqi_cli_realloc(a->sites, a->sites_capacity, sizeof *a->sites);
        }
        memset(&a->sites[a->n_sites], 0, sizeof *a->sites);
        a->sites[a->n_sites].node = node;
        a->site_of_node[node] = ++a->n_sites;
    }
    return a->site_of_node[node] - 1;
}

/* ---- events ---------------------------------------------------------- */

static void
take_alloc(struct alqi_cli_analysis *a, const struct alqi_ctf_event *e,
           uint64_t us)
{
    uint64_t length = e->length > 0 ? (uint64_t)e->length : 0;
    uint64_t n_samples = e->n_samples > 0 ? (uint64_t)e->n_samples : 0;
    struct alqi_cli_object *o = alqi_cli_objects_add(&a->objects, e->id);
    struct alqi_cli_weight w;
    double bytes = alqi_cli_block_bytes(&a->estimator, length);

    a->n_allocs++;
    a->n_samples += n_samples;
    alqi_cli_notes_count(&a->notes);
    if (bytes > a->largest_bytes)
        a->largest_bytes = bytes;
    if (o == NULL || e->length < 0) {
        a->n_strange++;
        if (o == NULL)
            return;
    }
    o->time_us = us;
    o->length = length;
    o->n_samples = n_samples;
    o->epoch = a->epoch;
    o->rate = a->rate;
    o->thread = a->notes.has_thread ? (uint16_t)a->notes.thread_at : e->domain;
    o->site = site_of(a, alqi_cli_stacks_add(&a->stacks, e->codes, e->n_codes));
    w = alqi_cli_weigh(&a->estimator, a->rate, length);
    alqi_cli_sum_add(&a->by_source[e->source], &w, 0, n_samples);
    if (a->notes.n_processes > 0)
        alqi_cli_shares_born(&a->shares, alqi_cli_notes_process(&a->notes),
                             e->id, &w, n_samples, e->time_us);
    timeline_note(&a->timeline, us, a->live_bytes, a->live_bytes + w.bytes);
    a->live_bytes += w.bytes;
    if (a->live_bytes > a->peak_bytes) {
        a->peak_bytes = a->live_bytes;
        a->peak_us = us;
        a->epoch++;
    }
}

static void
take_promote(struct alqi_cli_analysis *a, const struct alqi_ctf_event *e)
{
    struct alqi_cli_object *o = alqi_cli_objects_find(&a->objects, e->id);
    struct alqi_cli_weight w;

    a->n_promotes++;
    if (o == NULL || o->is_promoted) {
        a->n_strange++;
        return;
    }
    o->is_promoted = true;
    w = alqi_cli_weigh(&a->estimator, o->rate, o->length);
    alqi_cli_sum_add(&a->promoted, &w, 0, o->n_samples);
}

static void
block_tell(struct alqi_cli_analysis *a, const struct alqi_cli_object *o,
           const struct alqi_cli_weight *w, uint64_t us, bool died)
{
    struct alqi_cli_block block = {
        .born_us = o->time_us,
        .died_us = !died             ? ALQI_CLI_ALIVE
                   : us > o->time_us ? us
                                     : o->time_us,
        .epoch = o->epoch != a->epoch ? a->epoch : 0,
        .bytes = w->bytes,
        .objects = w->objects,
        .site = o->site,
        .thread = o->thread,
    };

    alqi_cli_blocks_take(a->options.blocks, &block, a->epoch);
}

/* Enters a block whose life is known: over (died), or cut by the end. */
static void
object_enter(struct alqi_cli_analysis *a, const struct alqi_cli_object *o,
             const struct alqi_cli_weight *w, uint64_t us, bool died)
{
    struct alqi_cli_site *site = &a->sites[o->site];
    double life_us = us > o->time_us ? (double)(us - o->time_us) : 0;

    if (life_us < a->options.min_life_us)
        return;
    if (a->options.blocks != NULL)
        block_tell(a, o, w, us, died);
    alqi_cli_sum_add(&site->sums[ALQI_CLI_ALLOCATED], w, life_us, o->n_samples);
    if (!died)
        alqi_cli_sum_add(&site->sums[ALQI_CLI_LIVE], w, life_us, o->n_samples);
    else if (life_us < a->options.temporary_us)
        alqi_cli_sum_add(&site->sums[ALQI_CLI_TEMPORARY], w, life_us,
                         o->n_samples);
    if (o->epoch == a->epoch)
        return; /* born after the last maximum */
    if (site->epoch != a->epoch) {
        memset(&site->sums[ALQI_CLI_PEAK], 0, sizeof site->sums[0]);
        site->epoch = a->epoch;
    }
    alqi_cli_sum_add(&site->sums[ALQI_CLI_PEAK], w, life_us, o->n_samples);
}

static void
take_free(struct alqi_cli_analysis *a, const struct alqi_ctf_event *e,
          uint64_t us)
{
    struct alqi_cli_object *o = alqi_cli_objects_find(&a->objects, e->id);
    struct alqi_cli_weight w;
    double before = a->live_bytes;

    a->n_frees++;
    if (o == NULL) {
        a->n_strange++;
        return;
    }
    w = alqi_cli_weigh(&a->estimator, o->rate, o->length);
    object_enter(a, o, &w, us, true);
    if (a->notes.n_processes > 0)
        alqi_cli_shares_died(&a->shares, e->id, &w, e->time_us);
    alqi_cli_objects_remove(&a->objects, o);
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

/* Enters a block that was never freed; its process may have ended. */
static void
object_left(struct alqi_cli_analysis *a, struct alqi_cli_object o)
{
    struct alqi_cli_weight w = alqi_cli_weigh(&a->estimator, o.rate, o.length);
    const struct alqi_cli_share *gone = NULL;

    if (a->notes.n_processes > 0) {
        gone = alqi_cli_shares_gone_of(&a->shares, o.id);
        alqi_cli_shares_left(&a->shares, o.id, &w, o.n_samples);
    }
    if (gone != NULL && gone->gone_epoch != a->epoch)
        o.epoch = a->epoch; /* was not there at the last maximum */
    object_enter(a, &o, &w, gone != NULL ? gone->gone_us : a->end_us, false);
}

static void
finish(struct alqi_cli_analysis *a)
{
    for (size_t i = 0; i < a->objects.n_slots; i++)
        if (a->objects.slots[i].is_used)
            object_left(a, a->objects.slots[i]);
    for (uint32_t i = 0; i < a->n_sites; i++) {
        struct alqi_cli_site *site = &a->sites[i];

        if (site->epoch != a->epoch) /* .inv.epoch: nothing of it was alive */
            memset(&site->sums[ALQI_CLI_PEAK], 0, sizeof site->sums[0]);
        for (int m = 0; m < ALQI_CLI_N_MEASURES; m++)
            alqi_cli_sum_join(&a->totals[m], &site->sums[m]);
    }
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
