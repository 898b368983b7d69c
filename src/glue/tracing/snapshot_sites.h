/* snapshot_sites.h -- which blocks of a snapshot are in a sample, and where the
 * program made them
 *
 * Of what alq_pprof counts: it keeps the stacks of blocks.  A trace writes them
 * into its file and keeps none: of its blocks the snapshot has their numbers
 * there. */
#ifndef ALQI_GLUE_TRACING_SNAPSHOT_SITES_H
#define ALQI_GLUE_TRACING_SNAPSHOT_SITES_H

#include "base/map.h"
#include "glue/tracing/pprof.h"
#include "heap/state.h"
#include "wire/dump.h"

struct alqi_glue_snapshot_sample {
    uintptr_t block;
    uint64_t site, n_samples;
    double rate;
};

struct alqi_glue_snapshot_traced {
    uintptr_t block;
    uint64_t stream : 8, object : 56; /* alqi_tracing_object */
};

/* All zeros: none yet.  malloc's. */
struct alqi_glue_snapshot_sites {
    struct alqi_pprof_stack *sites; /* by number */
    size_t n_sites, sites_size;
    struct alqi_glue_snapshot_sample *samples;
    size_t n_samples, samples_size;
    struct alqi_glue_snapshot_traced *traced;
    size_t n_traced, traced_size;
    struct alqi_base_map number_of; /* pprof and row -> number + 1 */
    bool is_short;                  /* of memory */
};

/* As alqi_heap_snapshot_more has them; arg: the sites. */
bool alqi_glue_snapshot_sites_gather_stw(void *arg, struct alqi_domain *of);
void alqi_glue_snapshot_sites_write(void *arg, struct alqi_dump_encoder *e);

void alqi_glue_snapshot_sites_drop(struct alqi_glue_snapshot_sites *sites);

#endif
