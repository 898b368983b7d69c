/* preload_api.h -- how libaliquot finds the engine that the preload runs
 *
 * The engine of the malloc heap lives in libaliquot-preload.so, whatever loaded
 * that; a program's own copy of libaliquot looks its table up by name and
 * calls through it.  Each call is the one of <aliquot/memprof.h> for the NULL
 * domain, arguments checked by the caller where the table says so. */
#ifndef ALQI_MEMPROF_PRELOAD_API_H
#define ALQI_MEMPROF_PRELOAD_API_H

#include <stdint.h>

#include <aliquot/memprof.h>

#define ALQI_PRELOAD_API_NAME "alq_preload_api"

/* Raised when a member changes its meaning; members are only added at the end,
 * and a caller that needs a later one compares `bytes`. */
enum { ALQI_PRELOAD_API_VERSION = 1 };

struct alqi_preload_api {
    uint32_t version;
    uint32_t bytes; /* sizeof the table that the preload has */
    enum alq_status (*start)(const struct alq_memprof_config *config,
                             const struct alq_tracker *tracker,
                             struct alq_profile **out);
    enum alq_status (*stop)(void);
    enum alq_status (*discard)(struct alq_profile *profile);
    enum alq_status (*flush)(int *code);
    int (*is_sampling)(void);
    enum alq_status (*each)(struct alq_profile *profile,
                            int (*visit)(void *arg,
                                         const struct alq_allocation *alloc,
                                         uintptr_t data),
                            void *arg);
    void (*counts)(const struct alq_profile *profile,
                   struct alq_memprof_counts *out);
    uint64_t (*seed)(const struct alq_profile *profile);
    void (*drop)(struct alq_profile *profile);
    /* For alq_thread_tree() in place of the domain. */
    enum alq_status (*tree_start)(const struct alq_memprof_config *config,
                                  const struct alq_tracker *tracker,
                                  struct alq_profile **out);
    enum alq_status (*tree_stop)(void);
    int (*tree_is_sampling)(void);
    enum alq_status (*profile_stop)(struct alq_profile *profile);
};

#endif
