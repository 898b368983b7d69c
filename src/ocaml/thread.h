/* thread.h -- one of OCaml's threads
 *
 * To the heap the threads of systhreads are one.  To the profiler and to limits
 * each is its own: it may be in a callback, or in a task, while another one
 * runs.  Its domain's thread alone reads and writes it. */
#ifndef ALQI_OCAML_THREAD_H
#define ALQI_OCAML_THREAD_H

#include "heap/limit_trigger.h"
#include "ocaml/head.h"

struct alqi_ocaml_request; /* memprof.h */

/* What limits keep of a thread that has tasks (limits.c). */
struct alqi_ocaml_limits {
    /* What the heap keeps of a thread that has tasks, while another of the
     * domain's runs. */
    const struct alqi_heap_limit_trigger_hooks *trigger;
    void *trigger_arg;
    /* Words outside of the heap that no limit was asked for yet. */
    uint64_t outside_words;
    /* The level that runs handlers of signals, masked; 0: none does
     * (.inv.handlers). */
    uintptr_t handlers_level;
};

/* Caml_state's memprof is the one of the thread that runs. */
struct alqi_ocaml_thread {
    /* The engine's state of a thread that does not run; NULL: there is none.
     * While the thread runs this is NULL, and the state is where the heap looks
     * for it (alq_thread.observer). */
    void *engine;
    /* The request of OCaml's code that is under way; NULL: none. */
    const struct alqi_ocaml_request *request;
    /* The first exception of a callback that was not raised yet, a root;
     * ALQI_OCAML_UNIT: none. */
    value failed;
    /* The mode that alqi_memprof_suspend returned, while is_suspended. */
    uint32_t was;
    bool is_suspended;
    struct alqi_ocaml_limits limits; /* of its tasks */
    /* Room for a call stack, of caml_stat_alloc. */
    void **slots;
    size_t slots_bytes;
};

/* Returns the thread of the domain that runs; NULL while it ends. */
static inline struct alqi_ocaml_thread *
alqi_ocaml_thread_of(const struct caml_domain_state *state)
{
    return state->memprof;
}

#endif
