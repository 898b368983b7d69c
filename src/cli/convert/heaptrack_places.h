/* heaptrack_places.h -- texts, places and stacks of one data file of heaptrack
 *
 * The file numbers each of the three from 1 on, in the order of its lines; 0 is
 * none.  A line may name only what stands before it (.inv.before). */
#ifndef ALQI_CLI_CONVERT_HEAPTRACK_PLACES_H
#define ALQI_CLI_CONVERT_HEAPTRACK_PLACES_H

#include "base/arena.h"
#include "cli/convert/entries.h"
#include "cli/convert/lines.h"
#include "wire/ctf.h"
#include "wire/side_write.h"

/* Deeper stacks than heaptrack's own 64 frames, but no chain without end. */
enum { ALQI_CLI_HEAPTRACK_DEPTH_MAX = 1024 };

/* A function, a file, a module. */
struct alqi_cli_heaptrack_text {
    const char *bytes;
    /* number of the module of that path, from 1 on; 0: no place is in it yet */
    uint32_t module;
};

/* A function at a line, by numbers of texts. */
struct alqi_cli_heaptrack_frame {
    uint32_t function, file;
    int32_t line;
};

/* An instruction and the functions inlined there. */
struct alqi_cli_heaptrack_place {
    uint64_t address;
    /* its code in the trace */
    uint64_t code;
    /* of frames, innermost first; at least one */
    uint32_t first, n;
};

/* A place that was called from another stack. */
struct alqi_cli_heaptrack_stack {
    uint32_t place, parent;
    uint32_t depth;
};

struct alqi_cli_heaptrack_places {
    /* owned, each; number 0 stands first */
    struct alqi_cli_heaptrack_text *texts;
    uint32_t n_texts;
    struct alqi_cli_heaptrack_place *places;
    uint32_t n_places;
    struct alqi_cli_heaptrack_stack *stacks;
    uint32_t n_stacks;
    struct alqi_cli_heaptrack_frame *frames;
    uint32_t n_frames;
    uint32_t n_modules;
    /* the texts, and names that lookup made */
    struct alqi_base_arena names;
    /* what the last lookup returned */
    struct alqi_ctf_entry entries[ALQI_CLI_ENTRIES_MAX];
};

void alqi_cli_heaptrack_places_init(struct alqi_cli_heaptrack_places *places);
void alqi_cli_heaptrack_places_free(struct alqi_cli_heaptrack_places *places);

/* Each takes a line, behind its first letter; false: it makes no sense. */
bool alqi_cli_heaptrack_text_take(struct alqi_cli_heaptrack_places *places,
                                  struct alqi_cli_line line, bool is_sized);
/* *module has a path if the place is the first in it, else NULL. */
bool alqi_cli_heaptrack_place_take(struct alqi_cli_heaptrack_places *places,
                                   struct alqi_cli_line line,
                                   struct alqi_side_module *module);
bool alqi_cli_heaptrack_stack_take(struct alqi_cli_heaptrack_places *places,
                                   struct alqi_cli_line line);

/* As alqi_ctf_lookup_fn; arg is the places. */
void alqi_cli_heaptrack_lookup(void *arg, uint64_t code,
                               struct alqi_ctf_location *out);

#endif
