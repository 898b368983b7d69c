/* reach.h -- the class of blocks that were never freed, as side records
 *                                                    [doc/design/leaks.md]
 *
 *   reach at=end
 *   reach class=lost from=120 ids=0x5,2,7x3
 *   holder id=1 name=ROOT
 *   holder id=2 in=1 most=12 name=SITE
 *   reach class=held holder=2 from=3 ids=0
 *   reach class=possible old=1 from=5 ids=0
 *
 * The first one says that the process was looked through, and when: at its very
 * end, or when its exit handlers had run (exit).
 *
 * Numbers of blocks: from the number 120 on, 0 are left out and 5 follow (120
 * to 124), 2 are left out and one follows (127), 7 and three (135 to 137).
 *
 * A holder is a step of ways from roots to blocks: a root, or blocks of one
 * site or kind behind the step `in`, of which at most so many follow each
 * other. The steps of a trace have the ids 1, 2, 3 ... in the order of their
 * records; a step's `in` is smaller than its id; 0 or none: nothing is before
 * it. The holder of blocks is the last step before them. An indirect block's
 * first step is the lost block that it goes with.
 *
 * old=1: possible, but held if no memory of an allocator, whose free blocks are
 * not known, is old.
 *
 * .inv.told   A record stands where all of its blocks live: whoever reads the
 *             trace has them at hand.  What is freed behind it has no class. */
#ifndef ALQI_WIRE_REACH_H
#define ALQI_WIRE_REACH_H

#include "wire/side.h"
#include "wire/side_write.h"

/* ---- writing ------------------------------------------------------------- */

enum {
    ALQI_SIDE_REACH_BYTES = 3800, /* of the numbers of one line */
    ALQI_SIDE_HOLDER_BYTES = 1200 /* of a step's name, with its NUL */
};

#define ALQI_SIDE_REACH_END "end"
#define ALQI_SIDE_REACH_EXIT "exit"

/* A step of ways. */
struct alqi_side_holder {
    uint64_t id, in;
    uint64_t most;    /* of its blocks that follow each other */
    const char *name; /* UTF-8; a longer one is cut */
};

enum alq_status alqi_side_holder_put(const struct alqi_side_writer *writer,
                                     const struct alqi_side_holder *holder);

/* Numbers on their way into lines of one class and holder. */
struct alqi_side_reach {
    const char *class;
    uint64_t holder; /* 0: none is known */
    bool is_old;     /* possible for what may be old alone */
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

/* False: the line has no id and name, or comes before its step `in`. The name
 * is in `name`. */
bool alqi_side_holder_get(struct alqi_side_holder *holder, const char *line,
                          char name[ALQI_SIDE_HOLDER_BYTES]);

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
