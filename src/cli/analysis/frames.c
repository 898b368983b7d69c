/* frames.c -- a node of the analysis's stacks as frames
 *
 * The stacks are a trie of location codes (stacks.h); a code is one frame, or
 * several where calls were inlined (cli/read/names.h).  Nothing is kept here:
 * the names keep each code's frames. */
#include "cli/analysis/analysis.h"
#include "cli/tool/cli.h"

/* Makes room for n frames. */
static void
frames_room(struct alqi_cli_frame **frames, uint32_t *capacity, uint32_t n)
{
    if (n <= *capacity)
        return;
    *capacity = 2 * n;
    *frames = alqi_cli_realloc(*frames, *capacity, sizeof **frames);
}

void
alqi_cli_frames_turn(struct alqi_cli_frame *frames, uint32_t n)
{
    for (uint32_t i = 0; i < n / 2; i++) {
        struct alqi_cli_frame swap = frames[i];

        frames[i] = frames[n - 1 - i];
        frames[n - 1 - i] = swap;
    }
}

uint32_t
alqi_cli_stack_frames(struct alqi_cli_analysis *a, uint32_t node,
                      struct alqi_cli_frame **frames, uint32_t *capacity)
{
    uint32_t n = 0;

    /* Innermost first, as the trie leads; turned around at the end. */
    for (; node != 0; node = a->stacks.nodes[node].parent) {
        uint32_t k;
        const struct alqi_cli_frame *x = alqi_cli_names_frames(
            a->names, a->reader, a->stacks.nodes[node].code, &k);

        frames_room(frames, capacity, n + k);
        for (uint32_t i = k; i-- > 0;)
            (*frames)[n++] = x[i];
    }
    alqi_cli_frames_turn(*frames, n);
    return n;
}
