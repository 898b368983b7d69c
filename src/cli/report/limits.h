/* limits.h -- what aliquot limits is asked, and its three ways to answer */
#ifndef ALQI_CLI_REPORT_LIMITS_H
#define ALQI_CLI_REPORT_LIMITS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { ALQI_CLI_LIMITS_TARGETS = 3 };

/* Three accepted chances of a wrong stop, as numbers and as text, for tables
 * and curves. */
extern const double alqi_cli_limits_targets[ALQI_CLI_LIMITS_TARGETS];
extern const char *const alqi_cli_limits_chances[ALQI_CLI_LIMITS_TARGETS];

struct alqi_cli_limits {
    uint64_t task_words;     /* 0: not told                        */
    uint64_t limit_words;    /* as told, else the least safe one   */
    uint64_t interval_words; /* a sample, in the mean              */
    /* accepted chance of a wrong stop, within (0, 1) */
    double probability;
    /* what was given */
    bool has_task, has_limit;
};

/* A limit and what it promises at a probability. */
struct alqi_cli_limits_row {
    /* words that are never stopped, and those that always are, but for the
     * chance */
    uint64_t limit_words, safe_words, stop_words;
};

struct alqi_cli_limits_row alqi_cli_limits_row(uint64_t limit_words,
                                               uint64_t interval_words,
                                               double probability);

void alqi_cli_limits_json(const struct alqi_cli_limits *l, FILE *out);
/* The accuracy curve as SVG. */
void alqi_cli_limits_plot(const struct alqi_cli_limits *l, FILE *out);

#endif
