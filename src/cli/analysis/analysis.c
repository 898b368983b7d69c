/* analysis.c -- one pass over a trace, from events to sums by call stack
 *
 * [analysis.h] Phases: begin -> take, event by event -> measures_make, at the
 * end of the trace or in a copy of the state (a snapshot).
 *
 * A block is entered into the sums when it dies or the trace ends, because
 * only then its lifetime is known. Whether it was alive at the peak is known
 * from two numbers: every time that may be the peak (view/peak.h) begins an
 * epoch, and a block was alive at the last peak of a colour if it was born
 * before that epoch began and dies in it or later.
 *
 * While the trace is read each thread has sites of its own, and each class of
 * sizes if those are wanted, and a site's sums are not yet measures. Each block
 * that died is in exactly one part (LONG, BRIEF), so that a free costs one
 * addition, and beside it in the sums of the colours that count it at their
 * last peak. The measures are put together at the end.
 *
 * Recordings of every block have tens of millions of them, and nothing in them
 * has to be estimated. So what is done for each block is compiled twice: its
 * functions take is_exact, which is a constant where they are called from
 * alqi_cli_analysis_take. States: exact -> sampled, when the first rate comes
 * that leaves blocks out; what was summed until then goes over as it is.
 *
 * .inv.exact  While is_exact, each block stands for itself, every colour sees
 *             it, and so all colours have one last epoch.
 * .inv.epoch  The at_peak.sums[k] of a site holds the blocks of colour k that
 *             were alive when epoch number at_peak.epochs[k] began and have
 *             died since. When it is next touched after a later peak of that
 *             colour they are forgotten. An exact site has one such sum.
 * .inv.last   What blocks and sites keep of an epoch is only compared with the
 *             last one of each colour. When its bits are used up, each number
 *             becomes that of the colours whose last epoch is not later.
 * .inv.held   The block that was freed last waits: it is entered, or becomes
 *             part of a chain, before anything else is counted.
 *
 * Live bytes are a running sum of doubles. The sum is set to zero whenever no
 * block is alive, and only the drawn path comes from it. */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/analysis/ahead.h"
#include "cli/analysis/analysis.h"
#include "cli/analysis/enter.h"
#include "cli/tool/cli.h"

/* The last epoch number before renumbering (.inv.last). */
enum { EPOCH_MAX = (int)((UINT32_C(1) << ALQI_CLI_EPOCH_BITS) - 1) };

#if ALQI_CHECKS >= 3
/* Hard builds renumber early, so that tests reach it: after two epochs, or
 * one for each OBJECTS_AN_EPOCH objects, so that all renumberings together cost
 * each epoch a bounded time. */
enum { EPOCHS_LEAST = 2, OBJECTS_AN_EPOCH = 64 };
#endif

/* ---- sites ----------------------------------------------------------- */

/* Makes site_of_node[node] the site that is like this one. A mapping's stack
 * has a frame that no other has, so is_mapping is no part of the key. */
static ALQI_NOINLINE void
site_find(struct alqi_cli_analysis *a, const struct alqi_cli_open_site *site)
{
    bool is_new;
    uint64_t *number =
        alqi_cli_map_at(&a->site_of_pair,
                        (uint64_t)site->size_class << 48 |
                            (uint64_t)site->thread << 32 | site->node,
                        &is_new);

    if (is_new)
        *number = alqi_cli_sites_add(&a->open, site, a->is_exact) + 1u;
    a->site_of_node[site->node] = (uint32_t)*number;
}

/* The site of a node, thread and class of sizes. The site used last for the
 * node is tried first. */
static inline uint32_t
site_of(struct alqi_cli_analysis *a, uint32_t node, uint16_t thread,
        unsigned size_class, bool is_mapping)
{
    const struct alqi_cli_open_site *sites = a->open.sites;
    uint32_t number;

    if (ALQI_UNLIKELY(node >= a->n_site_of_node))
        a->site_of_node = alqi_cli_widen(a->site_of_node, &a->n_site_of_node,
                                         node, sizeof *a->site_of_node);
    number = a->site_of_node[node];
    if (ALQI_UNLIKELY(number == 0 || sites[number - 1].thread != thread ||
                      sites[number - 1].size_class != size_class))
        site_find(
            a, &(struct alqi_cli_open_site){.node = node,
                                            .thread = thread,
                                            .size_class = (uint8_t)size_class,
                                            .is_mapping = is_mapping});
    return a->site_of_node[node] - 1;
}

/* The new number of an epoch (.inv.last): comparisons with the colours' last
 * epochs keep their outcome. */
static uint32_t
epochs_not_after(const struct alqi_cli_analysis *a, uint32_t epoch)
{
    uint32_t n = 0;

    for (int k = 0; k < ALQI_VIEW_COLOURS; k++)
        n += a->open.epochs[k] <= epoch;
    return n;
}

/* Sets the last epoch before the next renumbering. */
static void
epoch_last_set(struct alqi_cli_analysis *a)
{
    a->last_epoch = EPOCH_MAX;
#if ALQI_CHECKS >= 3
    a->last_epoch =
        a->kept_epoch + EPOCHS_LEAST +
        (uint32_t)((a->objects.n_alive + a->open.n) / OBJECTS_AN_EPOCH);
#endif
}

/* Gives all epochs small numbers again, wherever they are kept. */
static ALQI_COLD void
epochs_renumber(struct alqi_cli_analysis *a)
{
    uint32_t fresh[ALQI_VIEW_COLOURS];
    struct alqi_cli_object *o;
    uint64_t id;
    size_t at = 0;

    for (int k = 0; k < ALQI_VIEW_COLOURS; k++)
        fresh[k] = epochs_not_after(a, a->open.epochs[k]);
    while ((o = alqi_cli_objects_next(&a->objects, &at, &id)) != NULL)
        o->epoch = epochs_not_after(a, o->epoch) & EPOCH_MAX;
    alqi_cli_chains_renumber(&a->chains, a->open.epochs, fresh);
    alqi_cli_sites_renumber(&a->open, fresh);
    a->kept_epoch = ALQI_VIEW_COLOURS;
    epoch_last_set(a);
}

/* ---- events ---------------------------------------------------------- */

/* The site of an allocation. */
static inline uint32_t
site_from(struct alqi_cli_analysis *a, const struct alqi_ctf_event *e,
          uint32_t node, uint16_t thread, double bytes)
{
    unsigned size_class =
        a->options.is_by_size ? alqi_cli_size_class((uint64_t)bytes) : 0;

    return site_of(a, node, thread, size_class,
                   a->estimator.is_bytes && e->source == ALQI_CTF_MAJOR);
}

static inline const struct alqi_cli_watch *
watch_of(const struct alqi_cli_analysis *a)
{
    return a->options.watch;
}

/* An epoch begins for these colours: what was live since the last event is
 * their peak so far. */
static ALQI_NOINLINE void
epoch_begin(struct alqi_cli_analysis *a, unsigned better)
{
    if (ALQI_UNLIKELY(a->kept_epoch == a->last_epoch))
        epochs_renumber(a);
    a->kept_epoch++;
    for (unsigned k = 0; k < ALQI_VIEW_COLOURS; k++) {
        if ((better >> k & 1) == 0)
            continue;
        a->open.epochs[k] = a->kept_epoch;
        a->moments[k]++;
        alqi_cli_rss_peak(&a->rss, k, alqi_view_peak_path(&a->peak, k)->us,
                          a->live_bytes);
    }
    a->held.at_peak &= ~better;
    if (!a->is_exact) /* else nothing churns: nothing is estimated */
        alqi_cli_churn_moment(&a->churn, better);
    if (ALQI_UNLIKELY(watch_of(a) != NULL))
        watch_of(a)->peak(watch_of(a)->arg, better);
}

/* What is live is about to change, or the trace ends: what was live since the
 * last event may be the peak of some colours. */
static inline void
moment(struct alqi_cli_analysis *a, uint64_t us)
{
    unsigned better = alqi_view_peak_moment(&a->peak, us);

    if (ALQI_UNLIKELY(better != 0))
        epoch_begin(a, better);
}

/* Enters a birth into live bytes, timeline and peak. */
ALQI_CLI_EVERY_EVENT void
live_raise(struct alqi_cli_analysis *a, uint64_t us, uint64_t id,
           uint64_t length, double bytes, bool is_exact)
{
    double before = a->live_bytes;
    struct alqi_cli_weight w =
        alqi_cli_weigh_colour_as(&a->estimator, a->rate, length, is_exact);

    a->live_bytes += bytes;
    alqi_cli_timeline_note(&a->timeline, us, before, a->live_bytes);
    if (a->live_bytes > a->most_bytes)
        a->most_bytes = a->live_bytes;
    alqi_view_peak_born(
        &a->peak, us,
        alqi_cli_colours_as(&a->estimator, id, a->rate, length, is_exact),
        w.bytes, is_exact ? 0 : alqi_cli_colour_bytes(&a->estimator, a->rate));
}

/* The block for options.blocks. at_peak says for which colours it was alive at
 * the peak that is the last now. */
static struct alqi_cli_block
block_from(struct alqi_cli_analysis *a, const struct alqi_cli_life *b,
           uint64_t died_us, unsigned at_peak)
{
    struct alqi_cli_weight w =
        alqi_cli_weigh(&a->estimator, b->rate, b->length);
    struct alqi_cli_block block = {
        .born_us = b->time_us,
        .died_us = died_us > b->time_us ? died_us : b->time_us,
        .bytes = w.bytes,
        .objects = w.objects,
        .colour_bytes =
            alqi_cli_weigh_colour(&a->estimator, b->rate, b->length).bytes /
            ALQI_VIEW_COLOURS,
        .site = b->site,
        .thread = a->open.sites[b->site].thread,
    };

    for (unsigned k = 0; k < ALQI_VIEW_COLOURS; k++)
        block.moments[k] = (at_peak >> k & 1) != 0 ? a->moments[k] : 0;
    return block;
}

/* Hands out the block, after those of its chain that went before it. */
static ALQI_NOINLINE void
block_tell(struct alqi_cli_analysis *a, const struct alqi_cli_chain *chain,
           const struct alqi_cli_block *block)
{
    for (size_t i = 0; chain != NULL && i < chain->n_blocks; i++)
        alqi_cli_blocks_take(a->options.blocks, &chain->blocks[i], a->moments);
    alqi_cli_blocks_take(a->options.blocks, block, a->moments);
}

static inline bool
is_summed(const struct alqi_cli_analysis *a, double life_us)
{
    return !a->options.is_unsummed && life_us >= a->options.min_life_us;
}

/* Enters a block that died, with its chain if it ends one. */
ALQI_CLI_EVERY_EVENT void
held_end(struct alqi_cli_analysis *a, const struct alqi_cli_held *h,
         bool is_exact)
{
    const struct alqi_cli_life *b = &h->life;
    uint64_t id = h->id, us = h->us;
    struct alqi_cli_chain *chain = alqi_cli_chains_take(&a->chains, id);
    struct alqi_cli_weight w =
        is_exact ? alqi_cli_weigh_certain(&a->estimator, b->length) : h->weight;
    double life_us = alqi_cli_enter_life(b, chain, us);
    enum alqi_cli_part part =
        life_us < a->options.temporary_us ? ALQI_CLI_BRIEF : ALQI_CLI_LONG;
    struct alqi_cli_block block;

    if (ALQI_UNLIKELY(chain != NULL && watch_of(a) != NULL))
        watch_of(a)->chain(watch_of(a)->arg, id, life_us);
    if (is_summed(a, life_us)) {
        if (ALQI_UNLIKELY(a->options.blocks != NULL)) {
            block = block_from(a, b, us, h->at_peak);
            block_tell(a, chain, &block);
        }
        if (ALQI_UNLIKELY(chain != NULL))
            alqi_cli_enter_links(&a->open, chain, life_us, part);
        alqi_cli_enter_peak(&a->estimator, &a->open, id, b, life_us, h->at_peak,
                            is_exact);
        alqi_cli_enter_part(&a->open, b, &w, life_us, part, is_exact);
    }
    if (ALQI_UNLIKELY(chain != NULL))
        alqi_cli_chain_free(chain);
}

/* The block that was freed last has no successor: enters it (.inv.held). */
ALQI_CLI_EVERY_EVENT void
held_enter_as(struct alqi_cli_analysis *a, bool is_exact)
{
    struct alqi_cli_held *h = &a->held;

    if (!h->is_held)
        return;
    h->is_held = false;
    held_end(a, h, is_exact);
}

static void
held_enter(struct alqi_cli_analysis *a)
{
    held_enter_as(a, a->is_exact);
}

/* The allocation that is about to be taken continues the held block. */
static inline bool
held_is_continued(const struct alqi_cli_analysis *a)
{
    return ALQI_UNLIKELY(a->notes.has_moved) && a->held.is_held &&
           a->held.id == a->notes.moved_from;
}

/* The new block continues the held one: they have one life. The old block
 * becomes a link of the chain; the new one ends the chain from now on. A link
 * is seen only when both blocks are, so its weight is the product of theirs. */
static ALQI_NOINLINE void
held_continue(struct alqi_cli_analysis *a, uint64_t id, uint64_t length,
              uint32_t site)
{
    const struct alqi_cli_held *h = &a->held;
    struct alqi_cli_chain *chain = alqi_cli_chains_take(&a->chains, h->id);
    struct alqi_cli_weight w = alqi_cli_weigh(&a->estimator, a->rate, length);
    struct alqi_cli_weight old =
        alqi_cli_weigh(&a->estimator, h->life.rate, h->life.length);
    struct alqi_cli_moves *moves = alqi_cli_sites_moves(&a->open, site);
    struct alqi_cli_block block;
    struct alqi_cli_link *link;
    double bytes, p;

    if (chain == NULL)
        chain = alqi_cli_chain_new(h->life.time_us);
    link = alqi_cli_chain_leave(chain, h->life.site, &old, h->life.n_samples);
    if (h->at_peak != 0)
        alqi_cli_enter_colours(&a->estimator, a->open.epochs, &link->at_peak,
                               h->id, &h->life, 0, h->at_peak);
    if (a->options.blocks != NULL) {
        block = block_from(a, &h->life, h->us, h->at_peak);
        alqi_cli_chain_keep(chain, &block);
    }
    p = 1 / (w.objects * old.objects);
    bytes = alqi_cli_block_bytes(&a->estimator, length);
    if (!a->notes.is_reborn)
        alqi_cli_moves_add(moves, bytes, p);
    alqi_cli_moves_link(moves,
                        alqi_cli_block_bytes(&a->estimator, h->life.length),
                        bytes, p, chain->n_moves);
    alqi_cli_chains_put(&a->chains, id, chain);
    if (watch_of(a) != NULL)
        watch_of(a)->moved(watch_of(a)->arg, id);
    a->held.is_held = false;
}

static ALQI_NOINLINE void
share_born(struct alqi_cli_analysis *a, const struct alqi_ctf_event *e,
           uint64_t length, uint64_t n_samples)
{
    alqi_cli_shares_born(
        &a->shares, alqi_cli_notes_process(&a->notes), e->id,
        &(struct alqi_cli_shared){
            .weight = alqi_cli_weigh(&a->estimator, a->rate, length),
            .colour_weight =
                alqi_cli_weigh_colour(&a->estimator, a->rate, length),
            .sample_bytes = alqi_cli_colour_bytes(&a->estimator, a->rate),
            .colours = alqi_cli_colours(&a->estimator, a->rate, length, e->id),
            .n_samples = n_samples,
            .time_us = e->time_us,
        });
}

/* Takes an allocation. An id that is in use is damage: the event is counted
 * and left out. */
ALQI_CLI_EVERY_EVENT void
take_alloc(struct alqi_cli_analysis *a, const struct alqi_ctf_event *e,
           uint32_t node, uint64_t us, bool is_exact)
{
    uint64_t length = e->length > 0 ? (uint64_t)e->length : 0;
    uint64_t n_samples = e->n_samples > 0 ? (uint64_t)e->n_samples : 0;
    struct alqi_cli_object *o = alqi_cli_objects_add(
        &a->objects, e->id,
        (struct alqi_cli_birth){us, length, n_samples, a->kept_epoch, a->rate});
    uint16_t thread =
        a->notes.has_thread ? (uint16_t)a->notes.thread_at : e->domain;
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
    o->site = site_from(a, e, node, thread, bytes);
    if (ALQI_UNLIKELY(watch_of(a) != NULL))
        watch_of(a)->born(watch_of(a)->arg, e, us, a->open.sites[o->site].node,
                          thread);
    if (held_is_continued(a))
        held_continue(a, e->id, length, o->site);
    w = alqi_cli_weigh_as(&a->estimator, a->rate, length, is_exact);
    if (ALQI_UNLIKELY(a->notes.is_reborn))
        alqi_cli_moves_add(alqi_cli_sites_moves(&a->open, o->site), bytes,
                           1 / w.objects);
    if (is_exact)
        alqi_cli_tally_add(&a->exact_by_source[e->source], w.bytes, 0,
                           n_samples);
    else
        alqi_cli_sum_add(&a->by_source[e->source], &w, 0, n_samples);
    live_raise(a, us, e->id, length, w.bytes, is_exact);
    if (ALQI_UNLIKELY(a->notes.n_processes > 0))
        share_born(a, e, length, n_samples);
}

/* Takes a promotion; each block has at most one. */
static void
take_promote(struct alqi_cli_analysis *a, const struct alqi_ctf_event *e,
             uint64_t us)
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
    if (ALQI_UNLIKELY(watch_of(a) != NULL))
        watch_of(a)->promoted(watch_of(a)->arg, e->id, us, life.time_us);
    w = alqi_cli_weigh(&a->estimator, life.rate, life.length);
    alqi_cli_sum_add(&a->promoted, &w, 0, life.n_samples);
}

static ALQI_NOINLINE void
share_died(struct alqi_cli_analysis *a, const struct alqi_ctf_event *e,
           const struct alqi_cli_life *b)
{
    struct alqi_cli_weight in_colour =
        alqi_cli_weigh_colour(&a->estimator, b->rate, b->length);

    alqi_cli_shares_died(
        &a->shares, e->id,
        alqi_cli_weigh(&a->estimator, b->rate, b->length).bytes, &in_colour,
        alqi_cli_colours(&a->estimator, b->rate, b->length, e->id), e->time_us);
}

/* Takes a free. The block becomes the held one, so its sums wait; live bytes
 * fall at once. */
ALQI_CLI_EVERY_EVENT void
take_free(struct alqi_cli_analysis *a, const struct alqi_ctf_event *e,
          uint64_t us, bool is_exact)
{
    struct alqi_cli_held *h = &a->held;
    const struct alqi_cli_life *b = &h->life;
    struct alqi_cli_weight w, in_colour;
    double before = a->live_bytes;

    a->n_frees++;
    if (!alqi_cli_objects_take(&a->objects, e->id, &h->life)) {
        a->n_strange++;
        return;
    }
    h->is_held = true;
    h->id = e->id;
    h->us = us;
    h->at_peak =
        alqi_cli_peaks_of(&a->estimator, a->open.epochs, e->id, b, is_exact);
    w = alqi_cli_weigh_as(&a->estimator, b->rate, b->length, is_exact);
    in_colour =
        alqi_cli_weigh_colour_as(&a->estimator, b->rate, b->length, is_exact);
    if (!is_exact)
        h->weight = w;
    if (!is_exact && alqi_cli_is_sampled(&a->estimator))
        alqi_cli_churn_gone(&a->churn,
                            alqi_cli_moments_of(a->open.epochs, b, is_exact),
                            &w, &in_colour);
    alqi_view_peak_died(
        &a->peak, us,
        alqi_cli_colours_as(&a->estimator, e->id, b->rate, b->length, is_exact),
        in_colour.bytes);
    if (ALQI_UNLIKELY(watch_of(a) != NULL))
        watch_of(a)->died(watch_of(a)->arg, e->id, us, b->time_us);
    if (ALQI_UNLIKELY(a->notes.n_processes > 0))
        share_died(a, e, b);
    a->live_bytes = a->objects.n_alive == 0 ? 0 : before - w.bytes;
    alqi_cli_timeline_note(&a->timeline, us, before, a->live_bytes);
}

/* A process of a merged trace ends. What it held was never freed, and yet is
 * there no longer: neither live bytes nor a later peak count it. */
static void
process_end(struct alqi_cli_analysis *a, uint64_t us)
{
    double before = a->live_bytes;
    const struct alqi_cli_share *share;

    held_enter(a);
    moment(a, us);
    share = alqi_cli_shares_gone(&a->shares, a->notes.gone - 1, a->moments, us);
    if (share != NULL) {
        a->live_bytes -= share->now_bytes;
        alqi_view_peak_gone(&a->peak, us, &share->peak);
    }
    if (a->live_bytes < 0) /* rounding */
        a->live_bytes = 0;
    if (watch_of(a) != NULL)
        watch_of(a)->gone(watch_of(a)->arg, a->notes.gone - 1, us);
    a->notes.gone = 0;
    alqi_cli_timeline_note(&a->timeline, us, before, a->live_bytes);
}

static void
take_rss(struct alqi_cli_analysis *a, uint64_t us)
{
    a->n_rss = a->notes.n_rss;
    alqi_cli_rss_take(&a->rss, &a->timeline, us, (double)a->notes.rss_bytes,
                      a->live_bytes);
    if (a->options.blocks != NULL)
        alqi_cli_blocks_take_resident(a->options.blocks, us,
                                      a->notes.rss_bytes);
    if (watch_of(a) != NULL)
        watch_of(a)->resident(watch_of(a)->arg, us, a->notes.rss_bytes);
}

/* Blocks are left out from here on: what was summed until then goes over. */
static ALQI_COLD void
exact_end(struct alqi_cli_analysis *a)
{
    a->is_exact = false;
    a->held.weight = alqi_cli_weigh_certain(&a->estimator, a->held.life.length);
    alqi_cli_sites_sample(&a->open);
    for (int i = 0; i < ALQI_CLI_N_SOURCES; i++)
        a->by_source[i] = alqi_cli_tally_sum(&a->exact_by_source[i]);
}

/* Allocations that follow are of the rate that the notes have. */
static void
rate_switch(struct alqi_cli_analysis *a)
{
    a->rate = alqi_cli_estimator_rate(&a->estimator, a->notes.rate_per_word);
    if (a->is_exact && alqi_cli_is_sampled(&a->estimator))
        exact_end(a);
}

/* The events that follow are of another stream, with its own thread and
 * rate. */
static void
stream_switch(struct alqi_cli_analysis *a, uint16_t domain)
{
    alqi_cli_notes_stream(&a->notes, domain);
    rate_switch(a);
}

static ALQI_NOINLINE void
take_location(struct alqi_cli_analysis *a, const struct alqi_ctf_event *e,
              uint64_t us)
{
    if (alqi_cli_notes_take(&a->notes, &e->location))
        rate_switch(a);
    alqi_cli_notes_ended(&a->notes, e->time_us);
    alqi_cli_marks_take(&a->marks, us, &a->notes);
    if (a->notes.gone != 0)
        process_end(a, us);
    if (a->notes.n_rss != a->n_rss) /* what is gone is resident no more */
        take_rss(a, us);
    alqi_cli_reach_take(a);
    alqi_cli_beside_take(a);
}

/* Before an allocation and before a free, what was live until then may be the
 * peak. The held block is entered first (.inv.held), unless the allocation
 * continues it. */
ALQI_CLI_EVERY_EVENT void
take(struct alqi_cli_analysis *a, const struct alqi_ctf_event *e, uint32_t node,
     uint64_t us, bool is_exact)
{
    switch (e->kind) {
    case ALQI_CTF_LOCATION:
        take_location(a, e, us);
        break;
    case ALQI_CTF_ALLOC:
        moment(a, us);
        if (!held_is_continued(a))
            held_enter_as(a, is_exact);
        take_alloc(a, e, node, us, is_exact);
        a->notes.has_moved = a->notes.is_reborn = false;
        break;
    case ALQI_CTF_PROMOTE:
        take_promote(a, e, us);
        break;
    case ALQI_CTF_COLLECT:
        held_enter_as(a, is_exact);
        moment(a, us);
        take_free(a, e, us, is_exact);
        break;
    }
}

static ALQI_NOINLINE void
take_sampled(struct alqi_cli_analysis *a, const struct alqi_ctf_event *e,
             uint32_t node, uint64_t us)
{
    take(a, e, node, us, false);
}

/* Takes an event; of an allocation, with its stack's node. Times before the
 * trace's start count as the start. */
static inline void
take_event(struct alqi_cli_analysis *a, const struct alqi_ctf_event *e,
           uint32_t node)
{
    uint64_t us = e->time_us > a->start_us ? e->time_us - a->start_us : 0;

    if (us > a->end_us)
        a->end_us = us;
    if (e->domain > a->max_domain)
        a->max_domain = e->domain;
    if (e->domain != a->notes.domain)
        stream_switch(a, e->domain);
    if (a->is_exact)
        take(a, e, node, us, true);
    else
        take_sampled(a, e, node, us);
}

void
alqi_cli_analysis_take(struct alqi_cli_analysis *a,
                       const struct alqi_ctf_event *e)
{
    take_event(a, e,
               e->kind == ALQI_CTF_ALLOC
                   ? alqi_cli_stacks_of_event(&a->stacks, e)
                   : 0);
}

/* ---- the pass -------------------------------------------------------- */

static void
left_tell(struct alqi_cli_analysis *a, uint64_t id,
          const struct alqi_cli_life *b, const struct alqi_cli_chain *chain,
          const struct alqi_cli_share *gone, unsigned at_peak)
{
    const struct alqi_cli_watch *watch = watch_of(a);
    uint64_t us = gone != NULL ? gone->gone_us : a->end_us;
    struct alqi_cli_left how = {gone == NULL, at_peak, alqi_cli_reach_of(b),
                                b->reach == ALQI_CLI_REACH_OLD,
                                alqi_cli_holders_of(&a->holders, id)};

    watch->left(watch->arg, id, alqi_cli_enter_life(b, NULL, us), how);
    if (chain != NULL)
        watch->chain(watch->arg, id, alqi_cli_enter_life(b, chain, us));
}

/* A block that was never freed is gone, from what churns, at the end. */
static void
churn_finish(struct alqi_cli_analysis *a, const struct alqi_cli_life *b,
             const struct alqi_cli_weight *w, const struct alqi_cli_share *gone)
{
    struct alqi_cli_weight in_colour =
        alqi_cli_weigh_colour(&a->estimator, b->rate, b->length);
    unsigned colours = alqi_cli_moments_of(a->open.epochs, b, a->is_exact);

    if (gone != NULL)
        colours &= alqi_cli_share_at_peak(gone, a->moments);
    if (alqi_cli_is_sampled(&a->estimator))
        alqi_cli_churn_gone(&a->churn, colours, w, &in_colour);
}

/* Enters a block that was never freed. If its process has ended, its life
 * ended with it, and it counts for peaks before that only. */
static void
object_finish(struct alqi_cli_analysis *a, uint64_t id,
              const struct alqi_cli_object *o)
{
    const struct alqi_cli_chain *chain = alqi_cli_chains_find(&a->chains, id);
    const struct alqi_cli_share *gone = NULL;
    struct alqi_cli_life b;
    struct alqi_cli_weight w;
    struct alqi_cli_block block;
    unsigned at_peak;
    double life_us;

    alqi_cli_objects_read(&a->objects, id, o, &b);
    w = alqi_cli_weigh(&a->estimator, b.rate, b.length);
    if (a->notes.n_processes > 0) {
        gone = alqi_cli_shares_gone_of(&a->shares, id);
        if (!a->is_picture)
            alqi_cli_shares_left(&a->shares, id, &w, b.n_samples);
    }
    churn_finish(a, &b, &w, gone);
    at_peak =
        alqi_cli_peaks_of(&a->estimator, a->open.epochs, id, &b, a->is_exact);
    if (gone != NULL)
        at_peak &= alqi_cli_share_at_peak(gone, a->moments);
    if (watch_of(a) != NULL)
        left_tell(a, id, &b, chain, gone, at_peak);
    life_us = alqi_cli_enter_life(&b, chain,
                                  gone != NULL ? gone->gone_us : a->end_us);
    if (!is_summed(a, life_us))
        return;
    if (a->options.blocks != NULL) {
        block = block_from(a, &b,
                           gone != NULL && gone->gone_us < a->end_us
                               ? gone->gone_us
                               : ALQI_CLI_ALIVE,
                           at_peak);
        block.is_left = true;
        block_tell(a, chain, &block);
    }
    if (chain != NULL)
        alqi_cli_enter_links(&a->open, chain, life_us, ALQI_CLI_LONG);
    alqi_cli_sum_add(&a->sites[o->site].sums[ALQI_CLI_LIVE], &w, life_us,
                     b.n_samples);
    alqi_cli_sum_add(&a->by_reach[alqi_cli_reach_of(&b)], &w, life_us,
                     b.n_samples);
    if (b.reach == ALQI_CLI_REACH_OLD)
        alqi_cli_sum_add(&a->may_be_old, &w, life_us, b.n_samples);
    alqi_cli_enter_peak(&a->estimator, &a->open, id, &b, life_us, at_peak,
                        a->is_exact);
}

/* Makes one site for each stack. Blocks hold the number of a site, so they go
 * by way of its node. */
static void
sites_merge(struct alqi_cli_analysis *a)
{
    struct alqi_cli_blocks *blocks = a->options.blocks;

    for (uint32_t i = 0; blocks != NULL && i < blocks->n_blocks; i++)
        blocks->blocks[i].site = a->sites[blocks->blocks[i].site].node;
    a->n_sites = alqi_cli_sites_merge(a->sites, a->n_sites, a->site_of_node);
    for (uint32_t i = 0; blocks != NULL && i < blocks->n_blocks; i++)
        blocks->blocks[i].site = a->site_of_node[blocks->blocks[i].site] - 1;
}

void
alqi_cli_analysis_total(struct alqi_cli_analysis *a)
{
    memset(a->totals, 0, sizeof a->totals);
    memset(a->mapped, 0, sizeof a->mapped);
    memset(&a->moves, 0, sizeof a->moves);
    for (uint32_t i = 0; i < a->n_sites; i++) {
        const struct alqi_cli_site *site = &a->sites[i];

        for (int m = 0; m < ALQI_CLI_N_MEASURES; m++) {
            alqi_cli_sum_join(&a->totals[m], &site->sums[m]);
            if (site->is_mapping)
                alqi_cli_sum_join(&a->mapped[m], &site->sums[m]);
        }
        alqi_cli_moves_join(&a->moves, &site->moves);
    }
}

/* Where the peak was found, by how much more it may be. */
static void
lack_find(struct alqi_cli_analysis *a)
{
    double peak = alqi_view_peak_bytes(&a->peak);

    a->estimator.peak_bytes = peak;
    if (peak > 0)
        a->estimator.peak_lack =
            alqi_cli_churn_lack(&a->churn, a->most_bytes - peak) / peak;
}

/* From the state at the end of the trace to measures and totals. Changes what
 * sites have of dead blocks, so nothing can be taken afterwards. */
static void
measures_make(struct alqi_cli_analysis *a)
{
    const struct alqi_cli_object *o;
    uint64_t id;
    size_t at = 0;

    moment(a, a->end_us);
    a->sites = alqi_cli_sites_new(&a->open);
    a->n_sites = a->open.n;
    for (int i = 0; a->is_exact && i < ALQI_CLI_N_SOURCES; i++)
        a->by_source[i] = alqi_cli_tally_sum(&a->exact_by_source[i]);
    while ((o = alqi_cli_objects_next(&a->objects, &at, &id)) != NULL)
        object_finish(a, id, o);
    lack_find(a);
    for (uint32_t i = 0; i < a->n_sites; i++)
        alqi_cli_sites_measure(&a->open, i, &a->sites[i]);
    alqi_cli_sites_close(&a->open);
    alqi_cli_threads_sum(a);
    alqi_cli_suppress_sites(a);
    alqi_cli_sizes_sum(a);
    sites_merge(a);
    alqi_cli_analysis_total(a);
}

void
alqi_cli_analysis_begin(struct alqi_cli_analysis *a,
                        struct alqi_ctf_reader *reader,
                        const struct alqi_cli_analysis_options *options)
{
    memset(a, 0, sizeof *a);
    a->options = *options;
    a->reader = reader;
    a->info = alqi_ctf_reader_info(a->reader);
    a->start_us = a->info->start_us;
    if (a->options.temporary_us == 0)
        a->options.temporary_us = alqi_cli_temporary_us(a->info->context);
    alqi_cli_timeline_init(&a->timeline);
    a->names = alqi_cli_names_new();
    alqi_cli_estimator_init(&a->estimator, a->info);
    a->estimator.other_lambda = options->other_lambda;
    a->is_exact =
        !alqi_cli_is_sampled(&a->estimator) && options->other_lambda == 0;
    alqi_cli_notes_init(&a->notes, a->names);
    alqi_cli_stacks_init(&a->stacks);
    alqi_cli_objects_init(&a->objects);
    epoch_last_set(a);
}

/* The stacks are the reading thread's until it has ended (ahead.c
 * .inv.stacks). */
void
alqi_cli_analysis_run(struct alqi_cli_analysis *a, struct alqi_cli_input *input,
                      const struct alqi_cli_analysis_options *options)
{
    struct alqi_cli_ahead *ahead;
    const struct alqi_cli_batch *batch;

    alqi_cli_analysis_begin(a, alqi_cli_input_reader(input), options);
    a->input = input;
    ahead = alqi_cli_ahead_begin(input, &a->stacks);
    while ((batch = alqi_cli_ahead_next(ahead)) != NULL)
        for (uint32_t i = 0; i < batch->n; i++) {
            struct alqi_ctf_event event = alqi_cli_batch_event(batch, i);

            take_event(a, &event, batch->steps[i].node);
        }
    alqi_cli_ahead_end(ahead);
    held_enter(a);
    alqi_cli_beside_apply(a);
    malloc_trim(0); /* of the blocks that have died: the measures need room */
    measures_make(a);
    alqi_cli_timeline_note(&a->timeline, a->end_us, a->live_bytes, 0);
}

/* ---- pictures -------------------------------------------------------- */

/* Copies only what measures_make changes. Blocks alive are shared, so epochs
 * are renumbered before, not in the copy. */
void
alqi_cli_analysis_picture(struct alqi_cli_analysis *a,
                          struct alqi_cli_analysis *out)
{
    held_enter(a);
    if (a->kept_epoch == a->last_epoch) /* both have the objects */
        epochs_renumber(a);
    *out = *a;
    out->is_picture = true;
    if (watch_of(a) != NULL)
        out->options.watch = watch_of(a)->pictured(watch_of(a)->arg);
    out->open = alqi_cli_sites_copy(&a->open);
    out->site_of_node = alqi_cli_duplicate(a->site_of_node, a->n_site_of_node,
                                           sizeof *a->site_of_node);
    measures_make(out);
}

void
alqi_cli_analysis_picture_free(struct alqi_cli_analysis *picture)
{
    free(picture->sites);
    free(picture->site_of_node);
    free(picture->by_thread);
    free(picture->by_size);
}

void
alqi_cli_analysis_free(struct alqi_cli_analysis *a)
{
    free(a->sites);
    alqi_cli_sites_free(&a->open);
    free(a->site_of_node);
    free(a->by_thread);
    free(a->by_size);
    alqi_base_map_clear(&a->site_of_pair);
    alqi_cli_chains_free(&a->chains);
    alqi_cli_objects_free(&a->objects);
    alqi_cli_holders_free(&a->holders);
    free(a->beside);
    alqi_cli_shares_free(&a->shares);
    alqi_cli_stacks_free(&a->stacks);
    alqi_cli_notes_free(&a->notes);
    alqi_cli_marks_free(&a->marks);
    alqi_cli_estimator_free(&a->estimator);
    alqi_cli_names_drop(a->names);
}
