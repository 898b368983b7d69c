/* events.h -- OCaml's runtime events: their numbers, and who writes them */
#ifndef ALQI_OCAML_EVENTS_H
#define ALQI_OCAML_EVENTS_H

#include "heap/state.h"
#include "ocaml/contract.h"

/* What the heap does is written from now on, while rings are active. */
void alqi_ocaml_events_start(struct alqi_heap *heap);

/* Phases, counters and moments that the variant writes, by OCaml's names. */
#define ALQI_OCAML_EVENTS(X)                                                   \
    X(EV_EXPLICIT_GC_SET, 0)                                                   \
    X(EV_EXPLICIT_GC_STAT, 1)                                                  \
    X(EV_EXPLICIT_GC_MINOR, 2)                                                 \
    X(EV_EXPLICIT_GC_MAJOR, 3)                                                 \
    X(EV_EXPLICIT_GC_FULL_MAJOR, 4)                                            \
    X(EV_EXPLICIT_GC_COMPACT, 5)                                               \
    X(EV_MAJOR, 6)                                                             \
    X(EV_MINOR, 11)                                                            \
    X(EV_EXPLICIT_GC_MAJOR_SLICE, 16)                                          \
    X(EV_MAJOR_SLICE, 27)                                                      \
    X(EV_MAJOR_FINISH_CYCLE, 28)                                               \
    X(EV_COMPACT, 44)                                                          \
    X(EV_COMPACT_EVACUATE, 45)                                                 \
    X(EV_COMPACT_FORWARD, 46)                                                  \
    X(EV_COMPACT_RELEASE, 47)                                                  \
    X(EV_C_FORCE_MINOR_SET_MINOR_HEAP_SIZE, 2)                                 \
    X(EV_C_MINOR_PROMOTED, 4)                                                  \
    X(EV_C_MINOR_ALLOCATED, 5)                                                 \
    X(EV_C_MAJOR_HEAP_POOL_WORDS, 11)                                          \
    X(EV_C_MAJOR_HEAP_POOL_LIVE_WORDS, 12)                                     \
    X(EV_C_MAJOR_HEAP_LARGE_WORDS, 13)                                         \
    X(EV_C_MAJOR_HEAP_POOL_FRAG_WORDS, 14)                                     \
    X(EV_C_MAJOR_HEAP_LARGE_BLOCKS, 16)                                        \
    X(EV_DOMAIN_SPAWN, 6)                                                      \
    X(EV_DOMAIN_TERMINATE, 7)

#define ALQI_OCAML_EVENT(name, number) ALQI_OCAML_##name = (number),
enum { ALQI_OCAML_EVENTS(ALQI_OCAML_EVENT) };
#undef ALQI_OCAML_EVENT

#endif
