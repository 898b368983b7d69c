/* leaks.h -- the parts of `aliquot leaks`            [doc/design/leaks.md] */
#ifndef ALQI_CLI_LEAKS_LEAKS_H
#define ALQI_CLI_LEAKS_LEAKS_H

#include <limits.h>

#include "cli/attach/end.h"
#include "cli/convert/reach.h"
#include "cli/convert/recording.h"
#include "cli/leaks/found.h"
#include "cli/leaks/holders.h"
#include "cli/leaks/place.h"
#include "cli/tool/json.h"
#include "cli/tool/term.h"

struct alqi_cli_leaks_run {
    pid_t pid;
    bool is_json;
    bool has_no_pager;
    bool is_refused;  /* the system does not let this command look into it */
    uint64_t top;     /* rows of each class; 0: all */
    double growth_us; /* from the first look to the last; 0: there is one */
    uint64_t n_looks;
    json_t *look; /* what a look of several found; NULL: none did */

    char path[PATH_MAX + 64]; /* of the recording */
    struct alqi_cli_recording *recording;
    struct alqi_cli_reaches *reaches; /* the caller's; NULL: none asked for */
    /* the caller's; NULL: the process does not wait with its end */
    const struct alqi_cli_end_watch *watch;
    struct alqi_cli_core core;
    struct alqi_cli_leak_scan scan;
    struct alqi_cli_leak_found found;
    struct alqi_cli_leak_holders holders;
    struct alqi_cli_leak_places *places;
    uint64_t at_us;                /* of the look, CLOCK_MONOTONIC */
    bool is_whole;                 /* the recording has every block */
    uint64_t scan_us, scan_cpu_us; /* by the clock, and of the processor */
    struct alqi_cli_term term;
};

void alqi_cli_leaks_print(struct alqi_cli_leaks_run *run);
/* The file of a Python interpreter of the process whose small objects are in no
 * recording, for they are not malloc's; NULL: there is none, or they are. */
const char *alqi_cli_leaks_python(const struct alqi_cli_leaks_run *run);
/* Gives classes and holders to the blocks of run->reaches, if that is asked
 * for. */
void alqi_cli_leaks_tell(struct alqi_cli_leaks_run *run);
/* To be dropped. */
json_t *alqi_cli_leaks_json(struct alqi_cli_leaks_run *run);
/* To stdout. */
void alqi_cli_leaks_json_end(json_t *json);

/* When the process was looked at: "now", "exit" (its handlers have run) or
 * "end". */
static inline const char *
alqi_cli_leak_moment(const struct alqi_cli_leaks_run *run)
{
    return run->core.is_end ? "end" : run->watch != NULL ? "exit" : "now";
}

/* A way from a root to a block: who leads to it, the root first. */
enum { ALQI_CLI_LEAK_STEPS = 12 };
struct alqi_cli_leak_way {
    uint32_t blocks[ALQI_CLI_LEAK_STEPS]; /* the last ones */
    uint32_t n_blocks;
    uint32_t n_left_out;
    uint32_t root; /* number; NONE: the block is lost, or goes with blocks[0] */
};

struct alqi_cli_leak_way
alqi_cli_leak_way_of(const struct alqi_cli_leak_scan *scan, uint32_t block);

#endif
