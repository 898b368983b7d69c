/* analysis.h -- one pass over a trace: who allocated what, and for how long
 *
 * Memory grows with the blocks alive at one time and with the different call
 * stacks, never with the number of events. */
#ifndef ALQI_CLI_ANALYSIS_ANALYSIS_H
#define ALQI_CLI_ANALYSIS_ANALYSIS_H

#include "cli/analysis/blocks.h"
#include "cli/analysis/chains.h"
#include "cli/analysis/estimate.h"
#include "cli/read/input.h"
#include "cli/read/names.h"
#include "cli/read/notes.h"
#include "cli/read/objects.h"
#include "cli/analysis/shares.h"
#include "cli/analysis/stacks.h"
#include "cli/analysis/timeline.h"
#include "view/peak.h"

enum alqi_cli_measure {
    ALQI_CLI_ALLOCATED, /* all blocks */
    ALQI_CLI_LIVE,      /* not freed when the trace ends */
    ALQI_CLI_PEAK,      /* alive when the most bytes were */
    ALQI_CLI_TEMPORARY, /* freed within temporary_us */
    ALQI_CLI_N_MEASURES
};

enum { ALQI_CLI_N_SOURCES = 3 };

/* Blocks of one call stack; while the trace is read, of one thread. */
struct alqi_cli_site {
    uint32_t node;
    uint16_t thread;
    bool is_mapping; /* not malloc's: mmap's (wire/side.h) */
    struct alqi_cli_moves moves;
    struct alqi_cli_sum sums[ALQI_CLI_N_MEASURES];
    struct alqi_cli_at_peak at_peak; /* while the trace is read */
};

/* How a block that was never freed went. */
struct alqi_cli_left {
    bool stays;       /* is there when the trace ends; else its process ended */
    unsigned at_peak; /* colours that count it there */
};

/* Looks on while the trace is read: each call is made when its event is met.
 * Times are since the start; ids are those of the trace. */
struct alqi_cli_watch {
    void *arg;
    /* The event, the stack's node, and what else is known of the block. */
    void (*born)(void *arg, const struct alqi_ctf_event *event, uint64_t us,
                 uint32_t node, uint16_t thread);
    void (*promoted)(void *arg, uint64_t id, uint64_t us, uint64_t born_us);
    void (*died)(void *arg, uint64_t id, uint64_t us, uint64_t born_us);
    /* realloc made the block that was born last of the one that died last */
    void (*moved)(void *arg, uint64_t from, uint64_t to);
    /* a block, which died last or stays, and those it was made of, had it */
    void (*chain)(void *arg, uint64_t id, double life_us);
    void (*left)(void *arg, uint64_t id, double life_us,
                 struct alqi_cli_left how);
    void (*gone)(void *arg, uint32_t process, uint64_t us);
    /* What is live before the event that is told next is the best moment so
     * far for these colours; at the end of the trace there is none. */
    void (*peak)(void *arg, unsigned colours);
    void (*resident)(void *arg, uint64_t us, uint64_t bytes);
};

struct alqi_cli_analysis_options {
    double min_life_us;                 /* shorter-lived blocks are left out */
    double temporary_us;                /* a shorter life is temporary */
    struct alqi_cli_blocks *blocks;     /* receives each block; or NULL */
    const struct alqi_cli_watch *watch; /* or NULL */
    const char *thread;  /* NULL, or only this one's: its index or name */
    double other_lambda; /* estimate.h */
    bool is_unsummed;    /* filter.c .inv.once: blocks go to watch alone */
};

/* The block that was freed last: it may live on in the next one. */
struct alqi_cli_held {
    bool is_held;
    uint64_t id;
    uint64_t us; /* when it was freed */
    struct alqi_cli_life life;
    struct alqi_cli_weight weight;
    unsigned at_peak; /* colours that count it at their last moment */
};

struct alqi_cli_analysis {
    struct alqi_cli_analysis_options options;
    struct alqi_ctf_reader *reader;
    struct alqi_cli_input *input; /* NULL: taken event by event */
    const struct alqi_ctf_info *info;
    struct alqi_cli_estimator estimator;
    uint16_t rate; /* of the allocations that follow */
    struct alqi_cli_names *names;
    struct alqi_cli_notes notes;
    struct alqi_cli_stacks stacks;
    struct alqi_cli_objects objects;
    struct alqi_cli_shares shares; /* of the processes, if there are several */
    struct alqi_cli_chains chains;
    struct alqi_cli_held held;
    uint32_t *site_of_node;            /* number + 1 of the last; 0: none */
    struct alqi_base_map site_of_pair; /* node, thread -> number + 1 */
    uint32_t n_site_of_node;
    struct alqi_cli_site *sites;
    uint32_t n_sites, sites_capacity;

    struct alqi_cli_sum totals[ALQI_CLI_N_MEASURES];
    struct alqi_cli_sum mapped[ALQI_CLI_N_MEASURES];       /* of the totals */
    struct alqi_cli_sum (*by_thread)[ALQI_CLI_N_MEASURES]; /* notes.threads */
    uint32_t n_threads_matched; /* by options.thread */
    struct alqi_cli_moves moves;
    struct alqi_cli_rss rss;
    uint64_t n_rss; /* of notes.n_rss, taken */
    struct alqi_cli_sum by_source[ALQI_CLI_N_SOURCES];
    struct alqi_cli_sum promoted;
    struct alqi_cli_timeline timeline;
    double live_bytes; /* now, while the trace is read */
    double most_bytes; /* of the timeline: no estimate of the peak */
    struct alqi_view_peak peak;
    uint64_t moments[ALQI_VIEW_COLOURS]; /* so many so far */
    uint32_t epochs[ALQI_VIEW_COLOURS];  /* of the last, see analysis.c */
    uint32_t kept_epoch;                 /* see analysis.c */
    uint32_t path_domain; /* of the stack that stacks.path holds */
    uint64_t end_us;      /* since the start of the trace */
    double largest_bytes;
    uint64_t n_allocs, n_promotes, n_frees;
    uint64_t n_strange; /* events about blocks that are not there */
    uint64_t n_samples;
    uint16_t max_domain;
    bool is_picture; /* shares all but its figures with what it is of */
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

/* Whether options.thread means this one. */
bool alqi_cli_is_thread(const struct alqi_cli_analysis *analysis,
                        uint32_t thread);

/* Reads the whole input.  The input must outlive the analysis. */
void alqi_cli_analysis_run(struct alqi_cli_analysis *analysis,
                           struct alqi_cli_input *input,
                           const struct alqi_cli_analysis_options *options);
/* Puts the totals together anew, when somebody has changed the sites. */
void alqi_cli_analysis_total(struct alqi_cli_analysis *analysis);
void alqi_cli_analysis_free(struct alqi_cli_analysis *analysis);

/* The same event by event, of a trace that goes on: begin, take each event, and
 * at any time a picture: what the analysis were if the trace ended here.  One
 * costs as many steps as there are sites and blocks alive, however long the
 * trace.  It must be freed before more events are taken.  The reader must
 * outlive the analysis, whose options have no `blocks`. */
void alqi_cli_analysis_begin(struct alqi_cli_analysis *analysis,
                             struct alqi_ctf_reader *reader,
                             const struct alqi_cli_analysis_options *options);
void alqi_cli_analysis_take(struct alqi_cli_analysis *analysis,
                            const struct alqi_ctf_event *event);
void alqi_cli_analysis_picture(struct alqi_cli_analysis *analysis,
                               struct alqi_cli_analysis *picture);
void alqi_cli_analysis_picture_free(struct alqi_cli_analysis *picture);

/* All frames of a node's stack, outermost first, inlined calls expanded, in
 * *frames (grown as needed, freed by the caller); returns their number. */
uint32_t alqi_cli_stack_frames(struct alqi_cli_analysis *analysis,
                               uint32_t node, struct alqi_cli_frame **frames,
                               uint32_t *capacity);

#endif
