/* events.c -- OCaml's runtime events, from the heap's
 *
 * A listener of the heap writes what happens into the ring of the domain that
 * it happens to: minor collections, slices, whole cycles, compactions.  The
 * rings and whether they are active are runtime_events.c's, which stays.
 *
 * .inv.ring  A domain's ring has one writer at a time: its thread, or the
 *            thread that speaks for a stopped domain. */
#include "heap/event.h"
#include "heap/hosted.h"
#include "heap/large.h"
#include "heap/pool_area.h"
#include "ocaml/events.h"
#include "ocaml/head.h"

/* A minor collection: what it has promoted and what there was, in bytes. */
static void
minor(const struct alq_event *event)
{
    if (event->point == ALQ_EVENT_BEGIN) {
        caml_ev_begin(ALQI_OCAML_EV_MINOR);
        caml_ev_counter(ALQI_OCAML_EV_C_MINOR_ALLOCATED,
                        event->values[0] * ALQ_WORD_BYTES);
        return;
    }
    caml_ev_counter(ALQI_OCAML_EV_C_MINOR_PROMOTED,
                    event->values[0] * ALQ_WORD_BYTES);
    caml_ev_end(ALQI_OCAML_EV_MINOR);
}

static void
phase(const struct alq_event *event, unsigned number)
{
    if (event->point == ALQ_EVENT_BEGIN)
        caml_ev_begin(number);
    else
        caml_ev_end(number);
}

/* A cycle has ended: what the heap holds.  Blocks are not counted. */
static void
cycle_end(const struct alqi_heap *heap, uint64_t live_words)
{
    uint64_t large_words = alqi_heap_large_bytes(heap) / ALQ_WORD_BYTES;
    uint64_t pool_words =
        alqi_heap_area_used(&heap->area) * ALQI_HEAP_POOL_WORDS;
    uint64_t pool_live_words =
        live_words > large_words ? live_words - large_words : 0;

    caml_ev_counter(ALQI_OCAML_EV_C_MAJOR_HEAP_POOL_WORDS, pool_words);
    caml_ev_counter(ALQI_OCAML_EV_C_MAJOR_HEAP_POOL_LIVE_WORDS,
                    pool_live_words);
    caml_ev_counter(ALQI_OCAML_EV_C_MAJOR_HEAP_LARGE_WORDS, large_words);
    caml_ev_counter(ALQI_OCAML_EV_C_MAJOR_HEAP_POOL_FRAG_WORDS,
                    pool_words > pool_live_words ? pool_words - pool_live_words
                                                 : 0);
    caml_ev_counter(ALQI_OCAML_EV_C_MAJOR_HEAP_LARGE_BLOCKS, heap->large.n);
}

/* Writes the heap's event under OCaml's name; events that OCaml does not have
 * are left out. */
static void
write(const struct alqi_heap *heap, const struct alq_event *event)
{
    switch (event->kind) {
    case ALQ_EVENT_MINOR:
        minor(event);
        break;
    case ALQ_EVENT_SLICE:
        phase(event, ALQI_OCAML_EV_MAJOR_SLICE);
        break;
    case ALQ_EVENT_MAJOR:
        phase(event, ALQI_OCAML_EV_MAJOR_FINISH_CYCLE);
        break;
    case ALQ_EVENT_COMPACT:
        phase(event, ALQI_OCAML_EV_COMPACT);
        break;
    case ALQ_EVENT_CYCLE:
        if (event->point == ALQ_EVENT_END)
            cycle_end(heap, event->values[0]);
        break;
    default:
        break;
    }
}

/* An event of the heap goes to the ring of the domain that leads. */
static void
hear(void *arg, const struct alq_event *event)
{
    const struct alqi_heap *heap = arg;
    struct caml_domain_state *self = caml_state;
    struct alqi_domain *of = event->domain == ALQ_EVENT_HEAP
                                 ? heap->stop.leader
                                 : heap->domains[event->domain];

    if (!caml_runtime_events_are_active())
        return;
    caml_state = alqi_ocaml_state(of); /* .inv.ring */
    write(heap, event);
    caml_state = self;
}

/* Each step is a phase of its own; the numbers follow one another. */
void
alqi_heap_host_compacts_stw(struct alqi_domain *leader, unsigned step)
{
    struct caml_domain_state *self = caml_state;

    ALQI_ASSERT(alqi_heap_is_stopped(leader->heap));
    caml_state = alqi_ocaml_state(leader); /* .inv.ring */
    if (step > 0)
        caml_ev_end(ALQI_OCAML_EV_COMPACT_EVACUATE + step - 1);
    if (step < 3)
        caml_ev_begin(ALQI_OCAML_EV_COMPACT_EVACUATE + step);
    caml_state = self;
}

void
alqi_ocaml_events_start(struct alqi_heap *heap)
{
    static struct alq_listener listener = {
        .event = hear,
        .kinds = 1 << ALQ_EVENT_MINOR | 1 << ALQ_EVENT_SLICE |
                 1 << ALQ_EVENT_MAJOR | 1 << ALQ_EVENT_COMPACT |
                 1 << ALQ_EVENT_CYCLE};

    listener.arg = heap;
    (void)alqi_heap_listener_add(heap, &listener);
}
