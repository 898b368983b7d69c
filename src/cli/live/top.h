/* top.h -- the parts of `aliquot top`
 *
 *   process --status--> part (top_part.c) --picture--> tree (top_tree.c)
 *   its file --follow--^                                  |
 *                                        lines (top_draw.c), JSON (top_json.c)
 *                                                         |
 *                                   batch (top.c) or screen (top_screen.c)
 *
 * A process has a part for each of its heaps that is recorded: malloc's, and
 * the managed one. */
#ifndef ALQI_CLI_LIVE_TOP_H
#define ALQI_CLI_LIVE_TOP_H

#include <limits.h>

#include "cli/live/control.h"
#include "cli/live/follow.h"
#include "cli/tool/proc.h"
#include "cli/tool/term.h"
#include "cli/live/top_tree.h"

enum {
    ALQI_CLI_TOP_PASTS = 8, /* moments kept, to tell what came lately */
    ALQI_CLI_TOP_TEXT_BYTES = 300
};

/* What had been allocated at a moment, by place of the picture's sites. */
struct alqi_cli_top_past {
    uint64_t us; /* monotonic */
    /* sites there were; later ones had nothing */
    uint32_t n;
    struct alqi_cli_sum *sums;
    /* of all sites */
    struct alqi_cli_sum all;
};

struct alqi_cli_top_counts {
    uint64_t n_samples, n_frees;
    uint64_t n_dropped; /* samples */
    uint64_t n_lost;    /* frees   */
};

struct alqi_cli_top_part {
    struct alqi_cli_control_target target;
    pid_t pid;         /* 0: not known (a file of another machine) */
    bool is_heap;      /* the managed heap's */
    bool has_control;  /* it can be asked */
    bool is_answering; /* the last request was answered */
    bool is_ours; /* it is recorded for this command alone (top_attach.c) */
    char path[PATH_MAX + 64]; /* what it records to, as it is reached here */
    char command[256];        /* the program                               */
    char state[16];           /* "sampling", "stopped", "off", "exact" ... */
    double rate;              /* samples per word; 0: not known            */
    char trouble[ALQI_CLI_TOP_TEXT_BYTES]; /* "" or what is wrong           */
    struct alqi_cli_proc proc;             /* as it was last seen */
    /* the process has ended; never false again */
    bool is_gone;
    /* follow makes an index, too; the owner sets it before the first question
     */
    bool is_indexed;
    uint64_t heap_bytes; /* of a managed heap, as it says; 0: not told */
    /* as the process told them last */
    struct alqi_cli_top_counts counts;

    struct alqi_cli_follow *follow; /* NULL: nothing is recorded yet */
    unsigned generation;            /* files that were followed before */
    /* what the last read of the file said */
    enum alqi_cli_follow_state reading;
    /* valid while has_picture; shares its names with follow */
    struct alqi_cli_analysis picture;
    bool has_picture;
    struct alqi_cli_top_past pasts[ALQI_CLI_TOP_PASTS]; /* the oldest first */
    uint32_t n_pasts;
    struct alqi_cli_sum *recent;    /* allocated since pasts[0] */
    uint32_t n_recent;              /* sites of recent, by place */
    struct alqi_cli_sum recent_all; /* the same of all sites */
    uint64_t recent_us;             /* how long that is; 0: not known */
    bool is_resumed; /* it did not sample: no moment is kept yet */
};

struct alqi_cli_top {
    /* grown while the screen is up; a part never goes */
    struct alqi_cli_top_part *parts;
    uint32_t n_parts, at; /* the one that is looked at */
    /* of the part that is looked at; valid while has_tree */
    struct alqi_cli_top_tree tree;
    bool has_tree;
    unsigned tree_generation; /* of what it is made from */

    enum alqi_cli_top_sort sort;
    enum alqi_cli_top_view view;
    enum alqi_cli_grouping grouping;
    char filter[128];   /* cleaned; "": none */
    uint64_t delay_us;  /* between pictures */
    const char *output; /* of a start; NULL: as the process would */
    /* the picture stays, whatever is recorded */
    bool is_paused;
    struct alqi_cli_term term;
};

/* ---- top_part.c ---------------------------------------------------------- */

/* What of a process can be watched, of those that the target is or has started;
 * nothing is said on failure but in part->trouble. */
void alqi_cli_top_part_init(struct alqi_cli_top_part *part,
                            const struct alqi_cli_control_target *target,
                            pid_t pid, bool is_heap);
/* The same of a file. */
void alqi_cli_top_part_init_file(struct alqi_cli_top_part *part,
                                 const char *path);
void alqi_cli_top_part_free(struct alqi_cli_top_part *part);

/* Asks the process how it is, and opens what it records. */
void alqi_cli_top_part_ask(struct alqi_cli_top_part *part);
/* Sends a command and takes the answer as that of a question; false: refused,
 * and part->trouble says why. */
bool alqi_cli_top_part_command(struct alqi_cli_top_part *part,
                               const char *command, double rate,
                               const char *output);
/* Reads on; true: there is more to read at once. */
bool alqi_cli_top_part_read(struct alqi_cli_top_part *part, uint64_t budget_us);
/* A new picture of what has been read. */
void alqi_cli_top_part_look(struct alqi_cli_top_part *part, uint64_t window_us);

/* ---- top_draw.c ---------------------------------------------------------- */

/* The part's figures by name, state and totals: so many lines. */
enum { ALQI_CLI_TOP_HEAD_LINES = 4 };
void alqi_cli_top_draw_head(const struct alqi_cli_top *top);
void alqi_cli_top_draw_titles(const struct alqi_cli_top *top);
void alqi_cli_top_draw_row(const struct alqi_cli_top *top,
                           const struct alqi_cli_top_row *row);
/* Why there are no rows: one line. */
void alqi_cli_top_draw_nothing(const struct alqi_cli_top *top);

/* ---- top_json.c ---------------------------------------------------------- */

/* One line: the part and its rows. */
void alqi_cli_top_json(const struct alqi_cli_top *top,
                       const struct alqi_cli_top_row *rows, uint32_t n_rows);

/* ---- top_list.c ---------------------------------------------------------- */

struct alqi_cli_top_found {
    pid_t pid;
    bool is_heap;
};

/* Processes of this machine, or container, that can be asked, by number; in
 * *found (freed by the caller).  below: of this process and those it has
 * started, and they theirs; 0: all that the user may ask. */
uint32_t alqi_cli_top_list(pid_t below, struct alqi_cli_top_found **found);

/* ---- top_attach.c -------------------------------------------------------- */

/* Records a process that has no profiler, until detach or the end of the
 * command. False: the reason has been said. */
bool alqi_cli_top_attach(const char *verb, pid_t pid);
void alqi_cli_top_detach(void);

/* ---- top_watch.c --------------------------------------------------------- */

/* A new part, to be filled; pointers to others may have moved. */
struct alqi_cli_top_part *alqi_cli_top_part_add(struct alqi_cli_top *top);
/* Adds the parts of a process; is_of_one_wanted: of no more than one. -1, or
 * the status to exit with, and the reason has been said. */
int alqi_cli_top_watch(struct alqi_cli_top *top,
                       const struct alqi_cli_control_target *target,
                       bool is_of_one_wanted);
/* Frees the parts; a process that was attached to runs as before. */
void alqi_cli_top_unwatch(struct alqi_cli_top *top);

/* ---- top_screen.c -------------------------------------------------------- */

/* Until the user quits; the status to exit with. */
int alqi_cli_top_screen(struct alqi_cli_top *top);

/* ---- top.c --------------------------------------------------------------- */

struct alqi_cli_top_part *alqi_cli_top_now(const struct alqi_cli_top *top);
/* The part's picture into the tree, which is made anew if the view is another.
 */
void alqi_cli_top_tree_renew(struct alqi_cli_top *top);
void alqi_cli_top_tree_forget(struct alqi_cli_top *top);

#endif
