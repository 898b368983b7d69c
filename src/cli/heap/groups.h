/* groups.h -- blocks by the names of what holds them [doc/design/heap-snapshot]
 *
 * A group is a holder, or a kind below a group: "global table → vector → pair".
 * A block is in the group of its kind below the group of its dominator; where a
 * kind comes again on the way, it is in the group that the way had already, so
 * that lists and trees are one group.
 *
 * .inv.whole_groups  Each held block is in one group, so own figures add up to
 *             those of the heap, and a group's figures are those of all below.
 */
#ifndef ALQI_CLI_HEAP_GROUPS_H
#define ALQI_CLI_HEAP_GROUPS_H

#include "cli/heap/snapshot.h"

enum { ALQI_CLI_HEAP_GROUPS_MOST = 1 << 20 };

struct alqi_cli_heap_group {
    uint32_t name; /* of the names given; 0: the root of all */
    uint32_t parent;
    uint32_t depth;                     /* 0: the root of all; 1: a holder */
    struct alqi_cli_heap_sums own, all; /* all: with what is below */
};

struct alqi_cli_heap_groups {
    struct alqi_cli_heap_group *groups; /* parents first; owned */
    uint32_t n;
    uint64_t depth; /* kinds below a holder at most; deeper ones are with those
                     * above them */
    bool is_full;   /* there are more: they are with those above them */
    struct alqi_base_map map; /* parent << 32 | name -> group */
    uint32_t *of;             /* by order: group; owned */
};

/* Of a solved snapshot.  names may be those of several snapshots. */
void alqi_cli_heap_groups_make(struct alqi_cli_heap_groups *groups,
                               struct alqi_cli_heap_snapshot *snapshot,
                               struct alqi_cli_names *names, uint64_t depth);
void alqi_cli_heap_groups_free(struct alqi_cli_heap_groups *groups);

/* The group of a held block; made if need be. */
uint32_t alqi_cli_heap_group_of(struct alqi_cli_heap_groups *groups,
                                struct alqi_cli_heap_snapshot *snapshot,
                                struct alqi_cli_names *names, uint32_t number,
                                uint32_t kind);

#endif
