/* join_part.h -- one of the traces that are joined, its events on their way */
#ifndef ALQI_CLI_MERGE_JOIN_PART_H
#define ALQI_CLI_MERGE_JOIN_PART_H

#include "cli/read/joined.h"
#include "cli/merge/recode.h"
#include "cli/merge/source.h"

enum { ALQI_CLI_JOIN_LINE_BYTES = 4000 };

/* What the old trace's header says. */
struct alqi_cli_join_head {
    const char *path;
    char *executable, *host, *context;
    uint64_t start_us, pid;
    double rate; /* for each word tried, as estimate.h's lambda */
    uint8_t word_bits;
};

/* A stream of the new trace: what a reader of it believes. */
struct alqi_cli_join_sink {
    struct alqi_ctf_writer *writer;
    uint64_t thread;            /* that makes the next allocation */
    double rate;                /* of the next allocation */
    struct alqi_base_map rates; /* bits of those it knows -> 1 */
};

/* Of the whole new trace. */
struct alqi_cli_join_whole {
    struct alqi_cli_recode *recode;
    struct alqi_cli_join_result *result;
    double rate;                /* the largest of all */
    struct alqi_base_map rates; /* bits -> index */
    uint64_t n_texts, n_threads, n_processes;
    uint64_t *stack;
    uint32_t stack_capacity;
    enum alq_status status; /* of the first write that failed */
};

struct alqi_cli_join_lane;

struct alqi_cli_join_part {
    const struct alqi_cli_join_head *head;
    struct alqi_cli_join_whole *whole;
    struct alqi_cli_join_sink *sink;
    struct alqi_cli_source source;
    struct alqi_cli_recode_from codes;
    struct alqi_base_map ids;       /* of blocks alive: old -> new */
    struct alqi_base_map early;     /* freed before they were seen */
    struct alqi_base_map threads;   /* old -> new */
    struct alqi_base_map processes; /* old -> new, of a joined trace */
    struct alqi_base_map forgotten; /* of the blocks freed last, for MOVED */
    uint64_t *freed;                /* their old ids, in a ring */
    uint64_t n_freed;
    struct alqi_cli_join_lane *lanes; /* what each stream told last */
    uint32_t n_lanes;
    double *rates; /* by old index */
    uint32_t n_rates;
    uint64_t process;
    uint64_t n_announced, n_ended; /* processes */
    bool is_joined;
    bool is_running; /* when it was recorded, it had not ended */
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
/* is_whole: after its last event, and what failed to open is none. */
void alqi_cli_join_part_close(struct alqi_cli_join_part *part, bool is_whole);

#endif
