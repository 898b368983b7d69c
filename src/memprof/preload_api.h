/* preload_api.h -- how libaliquot finds the engine that the preload runs
 *
 * The engine of the malloc heap lives in libaliquot-preload.so, whatever loaded
 * that; a program's own copy of libaliquot looks its table up by name and
 * calls through it.  Each call is the one of <aliquot/memprof.h> for the NULL
 * domain, arguments checked by the caller where the table says so. */
#ifndef ALQI_MEMPROF_PRELOAD_API_H
#define ALQI_MEMPROF_PRELOAD_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <aliquot/memprof.h>

/* What a limit trigger asks: see preload/limit_trigger.h. */
struct alqi_preload_limit_trigger_hooks {
    /* Before the trigger's thread allocates so many words, headers counted, or,
     * 0, at a poll: other than ALQ_OK, the allocation fails.  Called again only
     * when it has returned, or limit_trigger_leaves was called; may then not
     * return. */
    enum alq_status (*permit)(void *arg, uint64_t words);
    /* A block of the thread was sampled: subject.h. */
    void (*sampled)(void *arg, uint64_t n_samples, double interval_words,
                    const uintptr_t *frames, size_t n_frames);
};

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
    /* Whether a managed heap of this process is to be traced, too: into that
     * file, which does not exist, at that rate. */
    bool (*heap_trace)(char *path, size_t capacity, double *rate,
                       size_t *callstack_frames, uint64_t *seed);

    /* ---- the calling thread's limit trigger, in words allocated ---- */

    /* Puts it up at at_words, or, `asks`, at each allocation, or moves it;
     * hooks NULL: takes it down.  ALQ_EBUSY: one with other hooks is up; or it
     * is to go up, or down, while it is busy. */
    enum alq_status (*limit_trigger_set)(
        const struct alqi_preload_limit_trigger_hooks *hooks, void *arg,
        uint64_t at_words, bool asks);
    /* NULL: none with these hooks is up. */
    void *(*limit_trigger_arg)(
        const struct alqi_preload_limit_trigger_hooks *hooks);
    /* 0 where none is up. */
    uint64_t (*limit_trigger_words)(void);
    /* Whether permit, a callback or the engine runs, or it is held. */
    bool (*limit_trigger_is_busy)(void);
    /* The answer of permit to 0 words; ALQ_OK in callbacks. */
    enum alq_status (*limit_trigger_poll)(void);
    /* By permit, which will not return. */
    void (*limit_trigger_leaves)(void);
    /* Between _hold and _release, which takes what it returned, the thread's
     * allocations are neither counted nor asked for. */
    bool (*limit_trigger_hold)(void);
    void (*limit_trigger_release)(bool was);

    /* Counts what is alive from now on, by samples at that rate at least. */
    enum alq_status (*live_start)(double rate);
    uint64_t (*live_bytes)(void);

    /* Whether a managed heap of this process is to be served, too: its trace,
     * when it is started, goes into that file. */
    bool (*heap_control)(char *path, size_t capacity);

    /* The calls of <aliquot/control.h>. */
    enum alq_status (*recorder_start)(double rate, const char *out);
    enum alq_status (*recorder_stop)(void);
    enum alq_status (*recorder_end)(void);
    enum alq_status (*recorder_forget)(void);
    enum alq_status (*recorder_mark)(const char *name);

    /* Whether the trace of heap_trace is to tell who holds its blocks. */
    bool (*heap_holders)(void);
};

#endif
