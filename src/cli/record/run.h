/* run.h -- the state of one run of aliquot record
 *
 * The options fill in the first part; record.c fills in the names, limit.c the
 * limits, traces.c the counts. */
#ifndef ALQI_CLI_RECORD_RUN_H
#define ALQI_CLI_RECORD_RUN_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cli/convert/reach.h"
#include "stack/symbol.h"
#include "wire/raw.h"

/* Limits of the program, and the reports made so far. */
struct alqi_cli_record_limits {
    /* by kind; 0: no limit */
    double bytes[ALQI_RAW_LIMITS];
    /* --on-limit was given */
    bool has_action;
    /* sent after the report; 0: none */
    int signal;
    /* open for reading; -1: not; valid if some limit is set */
    int pipe;
    /* by kind: the name of the program's own report is taken */
    bool has_main[ALQI_RAW_LIMITS];
    /* of the pipe: an unfinished line, NUL-terminated */
    char line[600];
    /* bytes of it */
    size_t n_line;
    struct alqi_cli_record_told { /* the recordings whose limits were told */
        char name[300];
        enum alqi_raw_limit_kind kind;
    } * told;
    /* pairs of recording and kind that have their report */
    size_t n_told;
};

struct alqi_cli_meanwhile; /* meanwhile.h */

/* One run, from its options to its traces. */
struct alqi_cli_record_run {
    /* --pid: a process that runs, instead of a program; 0: none */
    uint64_t attached_pid;
    /* --debug: the program runs under gdb */
    bool is_debugged;
    /* --for: 0: until ^C */
    double for_us;
    /* --output as it was given; NULL: named after program and process */
    const char *output;
    /* samples per word */
    double rate;
    /* frames of a call stack */
    uint64_t depth;
    /* of the sampling; 0: random */
    uint64_t seed;
    /* --rate or --interval was given, or a limit chose one */
    bool has_rate;
    /* --force: existing files are overwritten */
    bool is_forced;
    /* output is what MEMTRACE names: only a trace may be overwritten */
    bool is_memtrace;
    /* --control: the process opens a control socket */
    bool is_controlled;
    /* --off: sampling begins with 'aliquot start' */
    bool is_off;
    /* --follow: programs run by children are recorded too */
    bool is_following;
    /* only errors are printed */
    bool is_quiet;
    /* --mmap */
    bool is_mapping;
    /* --allocator: prefixes, between commas; NULL: not given */
    const char *allocators;
    /* --no-python */
    bool has_no_python;
    /* --native: the evaluator's frames stay in Python stacks */
    bool has_native;
    /* --no-rss: resident memory is not recorded */
    bool has_no_rss;
    /* --time-step: 0: times as they are */
    double time_step_us;
    /* --leaks: each process is looked through before it ends */
    bool is_leaks;
    /* where what it leaves goes as JSON; NULL: to standard error, as text */
    const char *leaks_output;
    /* what was found, by recording; owned */
    struct alqi_cli_reaches *reaches;
    size_t n_reaches;
    /* --exact: every block is recorded */
    bool is_exact;
    /* --max-memory was given */
    bool has_max_memory;
    /* --probes was given */
    bool has_probes;
    /* 0: the preload's own */
    double probes_interval_bytes;
    /* of the exact mode; 0: no bound */
    double max_memory_bytes;
    /* mapped at the start; 0: none */
    double reserve_bytes;
    /* of --limit-live and --limit-alloc */
    struct alqi_cli_record_limits limits;
    /* of the raw recordings; absolute */
    char directory[PATH_MAX];
    /* output as a pattern of base/pattern.h, and what it has before .ctf:
     * names of further files begin so */
    char pattern[2 * PATH_MAX], base[2 * PATH_MAX];
    /* of further traces: .ctf or .ctf.zst; with %p what the output ends with */
    const char *suffix;
    /* the name is known only when the program has run: it has %e or %p */
    bool is_late;
    /* each process has a name of its own: it has %p */
    bool is_each;
    /* printed at ^C after the program's end (tool/launch.h) */
    char late_text[PATH_MAX + 160];
    /* of the program, or of gdb until its recording is found; valid once it
     * runs */
    pid_t pid;
    /* of gdb; valid if is_debugged */
    pid_t debugger;
    /* of the program, or of gdb; valid after its end (tool/launch.h) */
    int wait_status;
    uint64_t ended_ns, most_rss_bytes;
    /* shared by all traces; NULL: no memory */
    struct alqi_symbol_table *symbols;
    /* what converts the recordings as they grow; NULL: nothing does */
    struct alqi_cli_meanwhile *meanwhile;
    /* traces written */
    unsigned n_traces;
    /* recordings that stay, each with its reason said */
    unsigned n_left;
    /* outputs that could not be written, and recordings that could not be
     * created, each with its reason said */
    unsigned n_unwritten;
    /* processes without a trace, for a reason that was said */
    unsigned n_explained;
    /* traces without a sample, but for the program's last image */
    unsigned n_empty;
    /* start of the last image of the program's process */
    uint64_t main_ns;
    /* the name of the program's heap trace is taken */
    bool has_main_heap;
};

#endif
