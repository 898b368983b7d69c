/* suppress.h -- leaks that files of suppressions take away
 *
 * The files are those of LeakSanitizer, of Valgrind's Memcheck, or of both
 * kinds of lines. The first rule that a call stack matches takes what the
 * stack has never freed, and counts it (suppressed.c).
 *
 * .inv.suppressed  What a rule counts is in no other sum of LIVE. */
#ifndef ALQI_CLI_ANALYSIS_SUPPRESS_H
#define ALQI_CLI_ANALYSIS_SUPPRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "cli/analysis/estimate.h"

/* What a line of a rule asks of frames. */
enum alqi_cli_suppress_kind {
    /* of one frame: its function, its module's path, its source file */
    ALQI_CLI_SUPPRESS_FUN,
    ALQI_CLI_SUPPRESS_OBJ,
    ALQI_CLI_SUPPRESS_SRC,
    /* there may be any frames here */
    ALQI_CLI_SUPPRESS_GAP,
    /* one of the three, of some frame: LeakSanitizer's */
    ALQI_CLI_SUPPRESS_SOME
};

/* A line of a rule. */
struct alqi_cli_suppress_line {
    enum alqi_cli_suppress_kind kind;
    /* of fnmatch(3) */
    const char *glob;
    /* of SRC; 0: any */
    int32_t line;
};

/* A rule, and what it took. */
struct alqi_cli_suppress_rule {
    /* the template, or Valgrind's name */
    const char *name;
    /* where it begins; the option's, and from 1 on */
    const char *file;
    unsigned line;
    /* innermost first; owned */
    struct alqi_cli_suppress_line *lines;
    uint32_t n_lines;
    struct alqi_cli_sum sum;
};

/* All files of a command. All zeros: none. */
struct alqi_cli_suppress {
    bool is_given;
    struct alqi_cli_suppress_rule *rules;
    uint32_t n_rules;
    /* suppressions that are not of leaks */
    uint32_t n_skipped;
    /* texts */
    struct alqi_base_arena arena;
    /* by number of a module's name: number of its path; 0: not looked for;
     * owned */
    uint32_t *path_of;
    uint32_t n_path_of;
};

/* Reads a file, to struct alqi_cli_suppress (alqi_cli_take_fn). */
bool alqi_cli_suppress_take(void *suppress, const char *verb, const char *path);
/* What it took, and knows, of one trace: the next one is to be read. */
void alqi_cli_suppress_forget(struct alqi_cli_suppress *suppress);
void alqi_cli_suppress_free(struct alqi_cli_suppress *suppress);

#endif
