/* holders.h -- live bytes by who holds them          [doc/design/leaks.md]
 *
 * .def.holder  The root that a block's way begins with, and the sites of the
 *              blocks between.  Where a site comes again on a way, as in lists
 *              and trees, it is one step.  A lost block has no root; of an
 *              indirect one the steps are the lost block that it goes with.
 * .def.row     Recorded blocks of one class, holder and site.  Of a sample,
 *              which knows the steps between by chance alone, the root is the
 *              holder: the steps that are shown are the most that any block's
 *              way told. */
#ifndef ALQI_CLI_LEAKS_HOLDERS_H
#define ALQI_CLI_LEAKS_HOLDERS_H

#include "base/intern.h"
#include "base/map.h"
#include "cli/leaks/found.h"
#include "cli/leaks/place.h"

/* A step of ways: all blocks of one site behind one step before. */
struct alqi_cli_leak_step {
    uint32_t parent; /* the step before; NO_STEP: it is a root */
    /* of a step that is no root; all zeros: its blocks are not recorded */
    struct alqi_cli_frame site;
    uint32_t root;  /* of a root: its name's number; NO_NAME: lost blocks */
    uint32_t first; /* the root that the way begins with */
    uint32_t depth; /* steps before it */
    uint32_t most;  /* blocks of it that follow each other, at most */
};
#define ALQI_CLI_LEAK_NO_STEP UINT32_MAX

struct alqi_cli_leak_holding {
    enum alqi_cli_leak_class class;
    uint32_t step; /* the blocks themselves; its parents hold them */
    struct alqi_cli_sum sum;
};

struct alqi_cli_leak_holders {
    struct alqi_cli_leak_step *steps; /* parents first; owned */
    uint32_t n_steps;
    struct alqi_cli_leak_holding *rows; /* the most bytes first; owned */
    uint32_t n_rows;
    uint32_t *rows_of; /* by block: its row + 1; 0: it is in none; owned */
    struct alqi_base_intern keys; /* of steps: by parent and site, or name */
};

void alqi_cli_leak_holders_make(struct alqi_cli_leak_holders *holders,
                                struct alqi_cli_leak_found *found,
                                const struct alqi_cli_leak_scan *scan,
                                struct alqi_cli_leak_places *places);
void alqi_cli_leak_holders_free(struct alqi_cli_leak_holders *holders);

#endif
