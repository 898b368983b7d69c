/* snapshot_kit.h -- a snapshot's file, decoded as a graph
 *
 * Failures end the process. */
#ifndef ALQI_EMBED_SNAPSHOT_KIT_H
#define ALQI_EMBED_SNAPSHOT_KIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <aliquot/aliquot.h>

#include "base/map.h"
#include "wire/dump.h"

enum { SHOT_NAME_BYTES = 96 };

struct shot_block {
    uint64_t address, wosize, kind_plus_1;
    unsigned tag;
    size_t first_edge, n_edges;
    bool is_reached; /* shot_reach() */
};

struct shot_root {
    uint64_t kind, domain, slot, block;
    char name[SHOT_NAME_BYTES];
};

struct shot_sample {
    uint64_t block, site, samples;
    double rate;
};

struct shot_traced {
    uint64_t block, stream, object;
};

/* Its innermost frame. */
struct shot_site {
    uint64_t number, n_frames, address;
    char function[SHOT_NAME_BYTES];
};

struct shot {
    uint8_t *bytes;
    size_t n_bytes;
    struct shot_block *blocks;
    size_t n_blocks;
    uint64_t *edges; /* addresses */
    size_t n_edges;
    struct shot_root *roots;
    size_t n_roots;
    struct shot_sample *samples;
    size_t n_samples;
    struct shot_traced *traced;
    size_t n_traced;
    struct shot_site *sites;
    size_t n_sites;
    size_t n_modules, n_programs;
    uint64_t pid, wall_us;      /* of the program */
    struct alqi_base_map kinds; /* number -> a string */
    struct alqi_base_map index; /* address -> number of the block, + 1 */
    uint64_t stop_ns;
    bool is_copied;
};

/* Takes one into memory; the call has to succeed. */
struct shot *shot_take(struct alq_domain *on, unsigned flags);
/* Of a descriptor's bytes, from the first one on. */
struct shot *shot_read(int fd);
void shot_drop(struct shot *shot);

/* NULL: there is none. */
struct shot_block *shot_find(const struct shot *shot, uint64_t address);
/* "": it has no name. */
const char *shot_kind(const struct shot *shot, const struct shot_block *block);

/* NULL: there is none. */
const struct shot_sample *shot_sample_of(const struct shot *shot,
                                         uint64_t address);

/* Marks what the block leads to, itself too; returns how many were not marked
 * before. */
size_t shot_reach(struct shot *shot, uint64_t address);
size_t shot_reach_all(struct shot *shot);

/* Whether copies are made in this build, and on this machine. */
bool shot_copies(void);

#endif
