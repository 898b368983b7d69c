/* sites.h -- where a task's samples were allocated, by call stack
 *
 * A table of the innermost frames of stacks, kept in bounds: when SITES_MAX are
 * in it, the half that has the fewer words goes.  What goes is still in the
 * totals, so a site of a thousandth of all words or more is rarely lost and
 * never invented. */
#ifndef ALQI_LIMIT_SITES_H
#define ALQI_LIMIT_SITES_H

#include <stddef.h>
#include <stdint.h>

#include <aliquot/limit.h>

struct alqi_limit_site;

/* All zeros is an empty one. */
struct alqi_limit_sites {
    uint64_t samples; /* of all sites, the forgotten ones too */
    double words;
    struct alqi_limit_site *slots; /* NULL: none yet, or no memory */
    uint32_t n, size;
};

enum { ALQI_LIMIT_SITES_MAX = 1536 };

/* Frames innermost first; any number.  Without memory only the totals grow. */
void alqi_limit_sites_add(struct alqi_limit_sites *s, const uintptr_t *frames,
                          size_t n_frames, uint64_t samples, double words);
/* All of `from`, which is empty then. */
void alqi_limit_sites_move(struct alqi_limit_sites *to,
                           struct alqi_limit_sites *from);
void alqi_limit_sites_drop(struct alqi_limit_sites *s);

/* Fills the members of *out that describe sites. */
void alqi_limit_sites_report(const struct alqi_limit_sites *s,
                             struct alq_outcome *out);

#endif
