/* run.h -- a run of aliquot record: what was asked for, and what came */
#ifndef ALQI_CLI_RECORD_RUN_H
#define ALQI_CLI_RECORD_RUN_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "stack/symbol.h"
#include "wire/raw.h"

struct alqi_cli_record_limits {
    double bytes[ALQI_RAW_LIMITS];  /* by kind; 0: none                      */
    bool has_action;                /* given                                 */
    int signal;                     /* then; 0: none                         */
    int pipe;                       /* when open                             */
    bool has_main[ALQI_RAW_LIMITS]; /* the program's own report has its name */
    char line[600];                 /* of it, so far                         */
    size_t n_line;
    struct alqi_cli_record_told { /* the recordings whose limits were told */
        char name[300];
        enum alqi_raw_limit_kind kind;
    } * told;
    size_t n_told;
};

struct alqi_cli_record_run {
    const char *output;
    double rate; /* samples per word */
    uint64_t depth;
    uint64_t seed;
    bool has_rate; /* given */
    bool is_forced;
    bool is_memtrace; /* output is what MEMTRACE names: over traces only */
    bool is_controlled;
    bool is_off;
    bool is_following;
    bool is_quiet;
    bool is_mapping;
    bool has_no_rss;
    double time_step_us;
    bool is_exact;
    bool has_max_memory; /* given */
    bool has_probes;
    double probes_interval_bytes; /* 0: the preload's own */
    double max_memory_bytes;
    double reserve_bytes;
    struct alqi_cli_record_limits limits;
    char directory[PATH_MAX]; /* of the raw recordings */
    char base[PATH_MAX];      /* output without .ctf, for further processes */
    const char *suffix;       /* of their traces */
    char late_text[PATH_MAX + 160]; /* launch.h */
    pid_t pid;                      /* of the program */
    int wait_status;
    struct alqi_symbol_table *symbols;
    unsigned n_traces;
    unsigned n_left;
    unsigned n_explained; /* without a trace, for a reason that was said */
    unsigned n_empty;     /* traces without a sample, but the program's first */
    uint64_t main_ns;     /* start of the last image of the program's process */
    bool has_main_heap;
};

#endif
