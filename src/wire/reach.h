/* reach.h -- the class of blocks that were never freed, as side records
 *                                                    [doc/design/leaks.md]
 *
 *   reach at=end
 *   reach class=lost from=120 ids=0x5,2,7x3
 *
 * The first one says that the process was looked through, and when: at its very
 * end, or when its exit handlers had run (exit).
 *
 * Numbers of blocks: from the number 120 on, 0 are left out and 5 follow (120
 * to 124), 2 are left out and one follows (127), 7 and three (135 to 137).
 *
 * .inv.told   A record stands where all of its blocks live: whoever reads the
 *             trace has them at hand.  What is freed behind it has no class. */
#ifndef ALQI_WIRE_REACH_H
#define ALQI_WIRE_REACH_H

#include "wire/side.h"
#include "wire/side_write.h"

/* ---- writing ------------------------------------------------------------- */

enum { ALQI_SIDE_REACH_BYTES = 3800 /* of the numbers of one line */ };

#define ALQI_SIDE_REACH_END "end"
#define ALQI_SIDE_REACH_EXIT "exit"

/* Numbers on their way into lines of one class. */
struct alqi_side_reach {
    const char *class;
    /* what the line says, up to the open run; n 0: no line is begun */
    char ids[ALQI_SIDE_REACH_BYTES];
    size_t n;
    /* the line's first number; and behind the last run that ids has */
    uint64_t from, told;
    /* the open run: from first to before behind; empty: none */
    uint64_t first, behind;
};

/* Adds a number.  They may come in any order, and take the fewest bytes in
 * theirs. */
enum alq_status alqi_side_reach_put(struct alqi_side_reach *reach,
                                    const struct alqi_side_writer *writer,
                                    uint64_t id);
/* Writes what has been put and is not written yet. */
enum alq_status alqi_side_reach_end(struct alqi_side_reach *reach,
                                    const struct alqi_side_writer *writer);

/* ---- reading ------------------------------------------------------------- */

/* Runs of numbers of a line. */
struct alqi_side_reach_runs {
    char ids[ALQI_SIDE_LINE_BYTES];
    const char *at;
    uint64_t next;
};

/* False: the line has no numbers. */
bool alqi_side_reach_open(struct alqi_side_reach_runs *runs, const char *line);
/* The next run: n numbers from first on, of which none is above 2^64 - 1.
 * False: there is none left, or what follows is none. */
bool alqi_side_reach_next(struct alqi_side_reach_runs *runs, uint64_t *first,
                          uint64_t *n);

#endif
