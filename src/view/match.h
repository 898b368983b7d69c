/* match.h -- which names of one trace are those of another
 *
 * .inv.match  Two names are the same when all their parts are.  The names that
 *             are left are compared once more without what a new build changes:
 *             the program's own name, the version behind ".so", the directory
 *             of a source file.  Only a name that stands once on each side
 *             matches.  Addresses and process numbers play no part. */
#ifndef ALQI_VIEW_MATCH_H
#define ALQI_VIEW_MATCH_H

#include <stdbool.h>
#include <stdint.h>

enum { ALQI_VIEW_NO_MATCH = UINT32_MAX };

/* A name by its parts; parts that are not to be compared are "", 0 and
 * false. */
struct alqi_view_name {
    const char *function, *file, *module;
    int32_t line;
    /* of mmap, not of malloc */
    bool is_mapping;
};

/* The names of one side. */
struct alqi_view_names {
    const char *program; /* path of its executable */
    const struct alqi_view_name *names;
    uint32_t n;
};

/* Fills b_of by A's numbers and a_of by B's: the number of the match on the
 * other side, or ALQI_VIEW_NO_MATCH. False: no memory. */
bool alqi_view_match(const struct alqi_view_names *a,
                     const struct alqi_view_names *b, uint32_t *b_of,
                     uint32_t *a_of);

/* The order of two names without what a new build changes, each of a program;
 * lines in the order of their digits. */
int alqi_view_name_order(const struct alqi_view_name *a, const char *a_program,
                         const struct alqi_view_name *b, const char *b_program);

#endif
