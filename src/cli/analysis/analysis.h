/* analysis.h -- one pass over a trace: who allocated what, and for how long
 *
 * Memory grows with the blocks alive at one time and with the different call
 * stacks, never with the number of events. */
#ifndef ALQI_CLI_ANALYSIS_ANALYSIS_H
#define ALQI_CLI_ANALYSIS_ANALYSIS_H

#include "cli/analysis/blocks.h"
#include "cli/analysis/chains.h"
#include "cli/analysis/churn.h"
#include "cli/analysis/estimate.h"
#include "cli/analysis/holders.h"
#include "cli/analysis/marks.h"
#include "cli/convert/heap_beside.h"
#include "cli/convert/heaptrack.h"
#include "cli/read/input.h"
#include "cli/read/names.h"
#include "cli/read/notes.h"
#include "cli/read/objects.h"
#include "cli/analysis/shares.h"
#include "cli/analysis/sites.h"
#include "cli/analysis/sizes.h"
#include "cli/analysis/stacks.h"
#include "cli/analysis/suppress.h"
#include "cli/analysis/timeline.h"
#include "view/index.h"
#include "view/peak.h"

/* Sources of an allocation (wire/ctf.h): minor heap, major heap, external. */
enum { ALQI_CLI_N_SOURCES = 3 };

/* How a block that was never freed went. */
struct alqi_cli_left {
    /* it is there when the trace ends; else its process ended */
    bool stays;
    /* bits: colours that count it at their peak */
    unsigned at_peak;
    /* what leads to it */
    enum alqi_view_reach reach;
    /* POSSIBLE, and HELD if no allocator's memory is old */
    bool is_old;
    /* the step that holds it (holders.h), or NO_STEP */
    uint32_t holder;
};

/* Observes the trace while it is read: each call is made when its event is
 * met. Times are microseconds since the start; ids are those of the trace. All
 * calls must be set. */
struct alqi_cli_watch {
    /* given to each call */
    void *arg;
    /* The event without its codes, the stack's node, and what else is known of
     * the block. */
    void (*born)(void *arg, const struct alqi_ctf_event *event, uint64_t us,
                 uint32_t node, uint16_t thread);
    /* the block has left the minor heap */
    void (*promoted)(void *arg, uint64_t id, uint64_t us, uint64_t born_us);
    /* the block was freed */
    void (*died)(void *arg, uint64_t id, uint64_t us, uint64_t born_us);
    /* realloc made that block of the one that died last */
    void (*moved)(void *arg, uint64_t id);
    /* a block, which died last or stays, and those it was made of, had it */
    void (*chain)(void *arg, uint64_t id, double life_us);
    /* the block was never freed; called after the last event */
    void (*left)(void *arg, uint64_t id, double life_us,
                 struct alqi_cli_left how);
    /* a process of a merged trace has ended */
    void (*gone)(void *arg, uint32_t process, uint64_t us);
    /* What is live before the next event is the largest so far for these
     * colours. At the end of the trace there is no next event. */
    void (*peak)(void *arg, unsigned colours);
    /* the process had so many resident bytes */
    void (*resident)(void *arg, uint64_t us, uint64_t bytes);
    /* A snapshot begins: the watch that observes its end, or NULL. */
    const struct alqi_cli_watch *(*pictured)(void *arg);
};

/* What a caller asks for. All zeros is a plain analysis. */
struct alqi_cli_analysis_options {
    /* blocks that live shorter are left out of the sums */
    double min_life_us;
    /* a shorter life is temporary; 0: as the trace has it (begin fills it) */
    double temporary_us;
    /* receives each block that is summed; or NULL */
    struct alqi_cli_blocks *blocks;
    /* observes the events; or NULL */
    const struct alqi_cli_watch *watch;
    /* only this thread is summed: its index or name; NULL: all */
    const char *thread;
    /* rate of the trace to compare with, or 0 (estimate.h) */
    double other_lambda;
    /* takes leaks away; or NULL */
    struct alqi_cli_suppress *suppress;
    /* by_size is wanted */
    bool is_by_size;
    /* a snapshot beside the trace is asked who holds the blocks */
    bool is_held_wanted;
    /* blocks enter no sum: they go to watch alone (filter.c .inv.once) */
    bool is_unsummed;
};

/* The block that was freed last: it may live on in the next one (.inv.held). */
struct alqi_cli_held {
    /* the rest is valid */
    bool is_held;
    uint64_t id;
    /* time of its free */
    uint64_t us;
    /* as the objects had it */
    struct alqi_cli_life life;
    /* at the rate that sampled it; valid unless all is exact */
    struct alqi_cli_weight weight;
    /* bits: colours that count it at their last peak */
    unsigned at_peak;
};

/* One pass: its state while the trace is read, its results afterwards. */
struct alqi_cli_analysis {
    struct alqi_cli_analysis_options options;
    /* the caller's; outlives the analysis */
    struct alqi_ctf_reader *reader;
    /* the caller's; NULL: events are given one by one */
    struct alqi_cli_input *input;
    /* the trace's header; the reader's */
    const struct alqi_ctf_info *info;
    /* weights, by rate */
    struct alqi_cli_estimator estimator;
    /* the estimator's number of the rate of the allocations that follow */
    uint16_t rate;
    /* every text and frame of the trace; owned */
    struct alqi_cli_names *names;
    /* side records so far */
    struct alqi_cli_notes notes;
    /* call stacks so far */
    struct alqi_cli_stacks stacks;
    /* sampled blocks alive */
    struct alqi_cli_objects objects;
    /* of the processes, if there are several */
    struct alqi_cli_shares shares;
    /* of blocks alive that realloc made */
    struct alqi_cli_chains chains;
    /* the block that was freed last (.inv.held) */
    struct alqi_cli_held held;
    /* by node: number + 1 of the site used last; 0: none */
    uint32_t *site_of_node;
    /* size class, thread and node -> number + 1, while the trace is read */
    struct alqi_base_map site_of_pair;
    uint32_t n_site_of_node;
    /* of the blocks so far */
    struct alqi_cli_open_sites open;
    /* in order of first use; owned; valid after the reading */
    struct alqi_cli_site *sites;
    uint32_t n_sites;

    /* sums of all sites; valid after the reading */
    struct alqi_cli_sum totals[ALQI_CLI_N_MEASURES];
    /* the mappings' part of the totals */
    struct alqi_cli_sum mapped[ALQI_CLI_N_MEASURES];
    /* by row of notes.threads; valid after the reading */
    struct alqi_cli_sum (*by_thread)[ALQI_CLI_N_MEASURES];
    /* [ALQI_CLI_SIZE_CLASSES]; valid after the reading; NULL unless
     * options.is_by_size */
    struct alqi_cli_sum (*by_size)[ALQI_CLI_N_MEASURES];
    /* threads that options.thread means */
    uint32_t n_threads_matched;
    /* of all sites; valid after the reading */
    struct alqi_cli_moves moves;
    /* resident memory */
    struct alqi_cli_rss rss;
    /* of notes.n_rss, records taken into rss */
    uint64_t n_rss;
    /* owned; a picture has the running analysis's */
    struct alqi_cli_marks marks;
    /* No rate so far leaves blocks out, and no other trace is compared with
     * (.inv.exact). */
    bool is_exact;
    /* allocations by source, counted at once; while is_exact and the trace is
     * read in exact_by_source */
    struct alqi_cli_sum by_source[ALQI_CLI_N_SOURCES];
    struct alqi_cli_tally exact_by_source[ALQI_CLI_N_SOURCES];
    /* blocks that left the minor heap */
    struct alqi_cli_sum promoted;
    /* the drawn path */
    struct alqi_cli_timeline timeline;
    /* estimate, now; while the trace is read */
    double live_bytes;
    /* largest live_bytes, of the timeline: not the estimate of the peak */
    double most_bytes;
    /* the search for each colour's peak, and what came and went there */
    struct alqi_view_peak peak;
    struct alqi_cli_churn churn;
    /* by colour: how often its peak was moved so far */
    uint64_t moments[ALQI_VIEW_COLOURS];
    /* number of the last epoch of any colour */
    uint32_t kept_epoch;
    /* kept_epoch at which all are renumbered before another one begins */
    uint32_t last_epoch;
    /* info->start_us: the reader changes its own lines at each event */
    uint64_t start_us;
    /* time of the last event since the start of the trace */
    uint64_t end_us;
    /* of one sampled block */
    double largest_bytes;
    /* events, of any kind of block */
    uint64_t n_allocs, n_promotes, n_frees;
    /* events about blocks that are not there, or there twice; records of reach
     * with numbers that are no block's */
    uint64_t n_strange;
    /* the trace tells classes of blocks (wire/reach.h); some were found before
     * the very end of their process */
    bool has_reach, is_reach_early;
    /* and what holds them */
    struct alqi_cli_holders holders;
    /* the snapshot that the trace names; owned; NULL: it names none */
    struct alqi_cli_heap_beside *beside;
    /* blocks whose class was told, known or not */
    uint64_t n_reached;
    /* of what was never freed, by class, with suppressed blocks; valid after
     * the reading */
    struct alqi_cli_sum by_reach[ALQI_VIEW_REACHES];
    /* of POSSIBLE what is so only because an allocator's memory may be old */
    struct alqi_cli_sum may_be_old;
    /* sum over the sampled blocks */
    uint64_t n_samples;
    /* highest stream number met */
    uint16_t max_domain;
    /* a snapshot: it shares all but its figures with the running analysis */
    bool is_picture;
};

/* When the peak was: the first and the last of the moments at which a colour is
 * counted (view/peak.h); the same where all agree. */
static inline uint64_t
alqi_cli_peak_us(const struct alqi_cli_analysis *analysis)
{
    return alqi_view_peak_us(&analysis->peak, false);
}

static inline uint64_t
alqi_cli_peak_last_us(const struct alqi_cli_analysis *analysis)
{
    return alqi_view_peak_us(&analysis->peak, true);
}

/* The life below which a block of a trace with that context is temporary, where
 * nobody says otherwise; of heaptrack's a life of no time. */
static inline double
alqi_cli_temporary_us(const char *context)
{
    return alqi_cli_heaptrack_made(context) ? 1 : 1000;
}

/* What an object keeps of its class: that, or a further value, of a block that
 * is POSSIBLE only because an allocator's memory may be old. */
enum { ALQI_CLI_REACH_OLD = ALQI_VIEW_REACHES };
_Static_assert(ALQI_CLI_REACH_OLD < 8, "it fits into an object's three bits");

static inline enum alqi_view_reach
alqi_cli_reach_of(const struct alqi_cli_life *life)
{
    return life->reach == ALQI_CLI_REACH_OLD
               ? ALQI_VIEW_POSSIBLE
               : (enum alqi_view_reach)life->reach;
}

/* Takes the record of classes, or of what holds blocks, that the notes have
 * taken last. */
void alqi_cli_reach_take(struct alqi_cli_analysis *analysis);
/* When processes were looked through. */
enum alqi_view_looked
alqi_cli_reach_looked(const struct alqi_cli_analysis *analysis);

/* Takes the record of a snapshot beside the trace, if the notes have taken that
 * last. */
void alqi_cli_beside_take(struct alqi_cli_analysis *analysis);
/* When all is read: who holds the objects, by the snapshot, if that is
 * wanted. */
void alqi_cli_beside_apply(struct alqi_cli_analysis *analysis);

/* Fills by_thread; of one wanted thread, clears the sites of all others. */
void alqi_cli_threads_sum(struct alqi_cli_analysis *analysis);

/* Makes by_size of the sites, each of which is of one class until sites of one
 * stack are joined. */
void alqi_cli_sizes_sum(struct alqi_cli_analysis *analysis);

/* The rule of options.suppress that takes the site's leaks, or NULL. */
struct alqi_cli_suppress_rule *
alqi_cli_suppress_of(struct alqi_cli_analysis *analysis,
                     struct alqi_cli_site *site);
/* Moves LIVE of the sites to the rules that take it, once the sites have their
 * measures. */
void alqi_cli_suppress_sites(struct alqi_cli_analysis *analysis);

/* Reads the whole input.  The input must outlive the analysis. */
void alqi_cli_analysis_run(struct alqi_cli_analysis *analysis,
                           struct alqi_cli_input *input,
                           const struct alqi_cli_analysis_options *options);
/* Puts the totals together anew, after a caller has changed the sites. */
void alqi_cli_analysis_total(struct alqi_cli_analysis *analysis);
void alqi_cli_analysis_free(struct alqi_cli_analysis *analysis);

/* The same event by event, of a trace that goes on: begin, take each event,
 * and at any time make a snapshot: what the analysis were if the trace ended
 * here. A snapshot costs as many steps as there are sites and blocks alive,
 * however long the trace. It must be freed before more events are taken. The
 * reader must outlive the analysis, whose options have no `blocks`. */
void alqi_cli_analysis_begin(struct alqi_cli_analysis *analysis,
                             struct alqi_ctf_reader *reader,
                             const struct alqi_cli_analysis_options *options);
void alqi_cli_analysis_take(struct alqi_cli_analysis *analysis,
                            const struct alqi_ctf_event *event);
/* Makes the snapshot. The held block is entered by it (.inv.held). */
void alqi_cli_analysis_picture(struct alqi_cli_analysis *analysis,
                               struct alqi_cli_analysis *picture);
void alqi_cli_analysis_picture_free(struct alqi_cli_analysis *picture);

/* All frames of a node's stack, outermost first, inlined calls expanded, in
 * *frames (grown as needed, freed by the caller); returns their number. */
uint32_t alqi_cli_stack_frames(struct alqi_cli_analysis *analysis,
                               uint32_t node, struct alqi_cli_frame **frames,
                               uint32_t *capacity);
/* Reverses the order of the frames. */
void alqi_cli_frames_turn(struct alqi_cli_frame *frames, uint32_t n);

#endif
