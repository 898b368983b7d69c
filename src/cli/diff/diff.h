/* diff.h -- the parts of `aliquot diff` */
#ifndef ALQI_CLI_DIFF_DIFF_H
#define ALQI_CLI_DIFF_DIFF_H

#include "cli/analysis/compare.h"
#include "cli/tool/term.h"

/* How much may grow. */
struct alqi_cli_limit {
    const char *text; /* as given; NULL: no limit */
    double share;     /* of A's total, or ... */
    double bytes;     /* ... so many bytes */
};

/* One comparison: options, which the parser writes, then the two sides and what
 * is made of them. */
struct alqi_cli_diff {
    enum alqi_cli_measure measure;
    enum alqi_cli_grouping grouping;
    uint64_t top; /* rows; 0: all */
    /* --top was given: JSON has all sites without it */
    bool has_top;
    /* only changes beyond chance are shown */
    bool hides_chance;
    /* standard errors of a change that is no chance */
    double min_sigma;
    bool is_json;
    /* index in ALQI_CLI_COLOR_CHOICES */
    int color;
    bool has_no_pager;
    struct alqi_cli_limit limit;
    bool has_measure;  /* an option names it */
    char at_text[256]; /* two moments of one run; "" where there are none */

    /* open from side_open() to side_close(); with --at, of one recording */
    struct alqi_cli_side a, b;
    /* of both, when they are read */
    struct alqi_cli_comparison comparison;
    struct alqi_cli_term term;
};

/* Growth of the total or of a site beyond the limit. */
struct alqi_cli_growth {
    const struct alqi_cli_pair *pair; /* NULL: the total */
    double bytes;                     /* grown by */
    double chance; /* that it seems beyond the limit and is not; corrected */
};

/* Two moments of one run are compared, not two runs. */
static inline bool
alqi_cli_diff_is_one_run(const struct alqi_cli_diff *diff)
{
    return diff->a.at != NULL;
}

/* A change is more than chance when its p is at most this. */
double alqi_cli_diff_level(const struct alqi_cli_diff *diff);

/* The limit in bytes. */
double alqi_cli_limit_bytes(const struct alqi_cli_diff *diff);
/* All estimates beyond the limit, the total first, in *out (freed by the
 * caller); returns their number.  Beyond chance are those whose chance is at
 * most the level. */
uint32_t alqi_cli_limit_check(const struct alqi_cli_diff *diff,
                              struct alqi_cli_growth **out);
/* Says on stderr what grew; the status to exit with. */
int alqi_cli_limit_say(const struct alqi_cli_diff *diff);

/* What makes the two recordings hard to compare, one for each call from
 * *at = 0 on; NULL after the last. */
const char *alqi_cli_diff_warning(const struct alqi_cli_diff *diff,
                                  unsigned *at);
/* The command of a side, or its program, or how many processes it has. */
void alqi_cli_diff_command(const struct alqi_cli_side *side, char *out,
                           size_t capacity);
/* The words by which a pair is known, and its place in the source. */
void alqi_cli_diff_name(const struct alqi_cli_diff *diff,
                        const struct alqi_cli_pair *pair, char *name,
                        char *place, size_t capacity);

void alqi_cli_diff_table(struct alqi_cli_diff *diff);
void alqi_cli_diff_json(struct alqi_cli_diff *diff);

#endif
