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

/* Of its tasks (limits.c). */
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
    /* The engine's state of it; NULL: it has none.  Of the thread that runs it
     * is in the heap's struct (alq_thread.observer), and this is NULL. */
    void *engine;
    /* What it allocates; NULL: not from OCaml's code, or nothing. */
    const struct alqi_ocaml_request *request;
    /* The first exception of a callback that was not raised yet, a root;
     * ALQI_OCAML_UNIT: none. */
    value failed;
    /* Of alqi_memprof_suspend, while OCaml's code has it suspended. */
    uint32_t was;
    bool is_suspended;
    struct alqi_ocaml_limits limits; /* of its tasks */
    /* Room for a call stack, of caml_stat_alloc. */
    void **slots;
    size_t slots_bytes;
};

/* Those of the domain's thread that runs. */
static inline struct alqi_ocaml_thread *
alqi_ocaml_thread_of(const struct caml_domain_state *state)
{
    return state->memprof;
}

#endif
