/* join_part.h -- one of the traces that are merged, on its way into the new
 * one */
#ifndef ALQI_CLI_MERGE_JOIN_PART_H
#define ALQI_CLI_MERGE_JOIN_PART_H

#include "cli/read/joined.h"
#include "cli/merge/recode.h"
#include "cli/merge/source.h"

/* What the old trace's header says. */
struct alqi_cli_join_head {
    /* of the file; the operand's */
    const char *path;
    /* copies; the merge owns them */
    char *executable, *host, *context;
    /* start since 1970, and process */
    uint64_t start_us, pid;
    /* samples for each word tried, as lambda of analysis/estimate.h */
    double rate;
    /* 8: lengths are bytes, a trace of malloc */
    uint8_t word_bits;
};

/* A stream of the new trace, and the state that a reader of it has. */
struct alqi_cli_join_sink {
    /* NULL before it is open and after it is closed */
    struct alqi_ctf_writer *writer;
    /* new index of the thread that the stream announced last */
    uint64_t thread;
    /* samples per word that the stream announced last */
    double rate;
    /* bits of the rates that the stream has named -> 1 */
    struct alqi_base_map rates;
};

/* What all parts share. */
struct alqi_cli_join_whole {
    /* the codes of the new trace; owned by the merge */
    struct alqi_cli_recode *recode;
    /* the caller's counts */
    struct alqi_cli_join_result *result;
    /* samples per word of the new trace: the largest of all */
    double rate;
    /* bits of a rate -> its index in the new trace */
    struct alqi_base_map rates;
    /* given out so far: each numbers the next one */
    uint64_t n_texts, n_threads, n_processes, n_holders;
    /* new codes of the allocation that is being written */
    uint64_t *stack;
    uint32_t stack_capacity;
    /* of the first write that failed; then nothing more is written */
    enum alq_status status;
};

struct alqi_cli_join_lane;

/* A trace on its way into the new one. */
struct alqi_cli_join_part {
    /* its header; outlives the part */
    const struct alqi_cli_join_head *head;
    /* shared with the other parts; the merge's */
    struct alqi_cli_join_whole *whole;
    /* where it writes; shared in format 2 */
    struct alqi_cli_join_sink *sink;
    /* its events */
    struct alqi_cli_source source;
    /* its codes and modules */
    struct alqi_cli_recode_from codes;
    /* of blocks alive: old id -> new id */
    struct alqi_base_map ids;
    /* old ids of blocks freed before they were seen -> time of the free */
    struct alqi_base_map early;
    /* old index -> new index */
    struct alqi_base_map threads;
    /* of a merged trace: old index -> new index */
    struct alqi_base_map processes;
    /* of steps of ways: old id -> new id */
    struct alqi_base_map holders;
    /* of the blocks freed last: old id -> new id, for MOVED */
    struct alqi_base_map forgotten;
    /* their old ids, in a ring */
    uint64_t *freed;
    /* frees so far: the place in the ring */
    uint64_t n_freed;
    /* what each old stream announced last */
    struct alqi_cli_join_lane *lanes;
    uint32_t n_lanes;
    /* samples per word, by old index */
    double *rates;
    uint32_t n_rates;
    /* new index of its process, if it has only one */
    uint64_t process;
    /* blocks of the old trace that were taken over, and those that its records
     * have classed */
    uint64_t n_allocs, n_reached;
    /* processes that a merged trace names, and end records seen */
    uint64_t n_announced, n_ended;
    /* the old trace was itself merged from several */
    bool is_joined;
    /* its process had not ended when it was recorded */
    bool is_running;
};

/* Opens the trace and announces its process; -1 to go on, or the exit
 * status. */
int alqi_cli_join_part_open(struct alqi_cli_join_part *part,
                            const struct alqi_cli_join_head *head,
                            struct alqi_cli_join_whole *whole,
                            struct alqi_cli_join_sink *sink);
/* Takes one event over; the first failure is in whole->status. */
void alqi_cli_join_part_take(struct alqi_cli_join_part *part,
                             struct alqi_cli_lane *lane);
/* True when the lane's next event must follow the one taken last directly. */
bool alqi_cli_join_part_is_within(struct alqi_cli_join_part *part,
                                  const struct alqi_cli_lane *lane);
/* Ends the part. is_whole: its last event was taken, so its process is gone;
 * false when the merging stopped before. */
void alqi_cli_join_part_close(struct alqi_cli_join_part *part, bool is_whole);

#endif
