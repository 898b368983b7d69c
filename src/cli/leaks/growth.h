/* growth.h -- which holders grow between looks at one process
 *                                                    [doc/design/leaks.md] */
#ifndef ALQI_CLI_LEAKS_GROWTH_H
#define ALQI_CLI_LEAKS_GROWTH_H

#include <stdbool.h>

#include "base/intern.h"
#include "cli/analysis/estimate.h"
#include "cli/leaks/trend.h"
#include "cli/read/names.h"
#include "cli/tool/json.h"
#include "cli/tool/term.h"

enum { ALQI_CLI_LEAK_LOOKS_MOST = 1000 };

/* Blocks of one class, holder and site (holders.h .def.row), over all looks. */
struct alqi_cli_leak_growing {
    const json_t *row; /* of the look that told most steps; the look's */
    double *bytes;     /* of each look; owned */
    /* bytes of each look that are known without sampling; owned */
    double *certain_bytes;
    struct alqi_cli_sum now;          /* of the last look */
    struct alqi_cli_leak_trend trend; /* a minute */
    double rate;                      /* bytes a minute */
    struct alqi_view_interval interval;
    double chance; /* corrected for the number of rows */
    bool grows;    /* trend.h .def.grows */
    bool shrinks;  /* the same downward */
};

struct alqi_cli_leak_growth {
    json_t *looks[ALQI_CLI_LEAK_LOOKS_MOST]; /* references owned */
    uint32_t n_looks;
    double at_min[ALQI_CLI_LEAK_LOOKS_MOST]; /* since the first look */
    double levers[ALQI_CLI_LEAK_LOOKS_MOST];
    double interval_bytes; /* the largest; 0: no look is sampled */
    /* of that interval */
    struct alqi_cli_estimator estimator;
    /* bytes a minute: the upper end of the growth of which there is no sample;
     * 0: no look is sampled */
    double unseen_rate;
    struct alqi_cli_leak_growing *rows; /* the fastest first; owned */
    uint32_t n_rows, n_growing, n_shrinking;
    struct alqi_cli_names *names; /* keys of rows by number; owned */
};

/* Takes the reference of a look, which was told as JSON (json.c); `from` names
 * it in messages.  False: it is none, or not of the same recording, or not of a
 * later moment than the one before; said. */
bool alqi_cli_leak_growth_add(struct alqi_cli_leak_growth *growth, json_t *look,
                              const char *from);
/* Of at least two looks. */
void alqi_cli_leak_growth_solve(struct alqi_cli_leak_growth *growth);
void alqi_cli_leak_growth_free(struct alqi_cli_leak_growth *growth);

/* top: so many rows; 0: all. */
void alqi_cli_leak_growth_print(const struct alqi_cli_leak_growth *growth,
                                const struct alqi_cli_term *term, uint64_t top);
/* To be dropped. */
json_t *alqi_cli_leak_growth_json(const struct alqi_cli_leak_growth *growth);

#endif
