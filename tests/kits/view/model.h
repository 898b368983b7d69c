/* model.h -- a small trace at random, and what the viewer should answer
 *
 * For tests.  Blocks lie in an array, and each question looks at each of them:
 * nothing here is shared with the engine but the format of the index. */
#ifndef ALQI_KITS_VIEW_MODEL_H
#define ALQI_KITS_VIEW_MODEL_H

#include "view/index.h"

enum {
    MODEL_FUNCTIONS = 10,
    MODEL_STACKS = 40,
    MODEL_DEPTH = 7,
    MODEL_BLOCKS = 6000,
    MODEL_EVENTS = 3 * MODEL_BLOCKS,
    MODEL_WORDS = 3
};

struct model_frame {
    uint32_t function;
    int32_t line;
};

struct model_stack {
    struct model_frame frames[MODEL_DEPTH]; /* outermost first */
    uint32_t n;
    bool is_mapping;
};

struct model_block {
    uint64_t born, end, life;  /* life: of its chain */
    uint64_t promoted;         /* UINT64_MAX: never */
    bool is_freed, stays;      /* neither: its process ended */
    unsigned colours, at_peak; /* bits; those that count it there */
    enum alqi_view_reach reach;
    uint64_t size, samples;
    double p;
    uint32_t stack, thread, domain, source, process;
};

struct model_event {
    char kind; /* b f p g */
    uint32_t number;
    uint64_t us;
};

struct model {
    struct model_stack stacks[MODEL_STACKS];
    struct model_block blocks[MODEL_BLOCKS];
    uint32_t n_blocks;
    struct model_event events[MODEL_EVENTS];
    uint32_t n_events;
    uint64_t end_us, peak_us[ALQI_VIEW_COLOURS];
    uint32_t moments[ALQI_VIEW_COLOURS]; /* before so many events */
    bool is_in_order;
    uint64_t seed;
};

/* A condition of a filter; most is UINT64_MAX where it is open. */
struct model_range {
    bool is_there, has_least;
    uint64_t least, most;
};

struct model_filter {
    struct model_range alloc, live, freed, size, life;
    bool live_peak, live_end, never;
    unsigned heap;
    unsigned reach;    /* bits; 0: any */
    const char *phase; /* NULL: any */
    uint32_t threads[3], n_threads, domains[3], n_domains;
    const char *in[MODEL_WORDS], *notin[MODEL_WORDS], *hide[MODEL_WORDS];
    const char *site[MODEL_WORDS];
    uint32_t n_in, n_notin, n_hide, n_site;
};

struct model_sum {
    double bytes, bytes_var, blocks, blocks_var, life;
    uint64_t n, samples;
};

extern const char *const model_names[MODEL_FUNCTIONS];

uint64_t model_draw(struct model *model, uint64_t below);
void model_make(struct model *model, uint64_t seed, uint32_t n_blocks);
/* Its index, of malloc. */
void *model_index(const struct model *model, size_t *n_bytes);

/* A filter at random, and as a query with the prefix before each key. */
void model_filter_make(struct model *model, struct model_filter *filter);
void model_filter_text(const struct model_filter *filter, const char *prefix,
                       char *out, size_t capacity);

bool model_passes(const struct model *model, const struct model_filter *filter,
                  const struct model_block *block);
void model_add(struct model_sum *sum, const struct model_block *block,
               const struct model *model, const struct model_filter *filter);
struct model_sum model_total(const struct model *model,
                             const struct model_filter *filter);

/* The functions of a stack, hidden ones left out, each once, at its outermost
 * place. */
uint32_t model_fold(const struct model *model,
                    const struct model_filter *filter, uint32_t stack,
                    struct model_frame *out);
/* The frame that names a stack; function 0 and line 0 where there is none. */
struct model_frame model_site(const struct model *model,
                              const struct model_filter *filter,
                              uint32_t stack);
/* The most live bytes in each step, in [n]. */
void model_levels(const struct model *model, const struct model_filter *filter,
                  uint64_t step_us, uint32_t n, double *out);

#endif
