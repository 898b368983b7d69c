/* way.c -- the way from a root to a block, backwards along the graph's `by` */
#include <string.h>

#include "cli/leaks/leaks.h"

/* The block itself is the last step; of a long way the first ones are left
 * out. */
struct alqi_cli_leak_way
alqi_cli_leak_way_of(const struct alqi_cli_leak_scan *scan, uint32_t block)
{
    struct alqi_cli_leak_way way = {.root = ALQI_CLI_LEAK_BY_NONE};
    uint32_t by = block, n = 0;

    while (by < ALQI_CLI_LEAK_BY_ROOT) {
        if (n < ALQI_CLI_LEAK_STEPS) {
            memmove(way.blocks + 1, way.blocks, n * sizeof *way.blocks);
            way.blocks[0] = by;
        }
        n++;
        by = scan->graph.by[by];
    }
    if (by != ALQI_CLI_LEAK_BY_NONE)
        way.root = by & ~ALQI_CLI_LEAK_BY_ROOT;
    way.n_blocks = n < ALQI_CLI_LEAK_STEPS ? n : ALQI_CLI_LEAK_STEPS;
    way.n_left_out = n - way.n_blocks;
    return way;
}
