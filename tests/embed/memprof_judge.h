/* memprof_judge.h -- the model of memprof_model_test.c: what is held, what was
 * told, and callbacks that compare the two */
#ifndef ALQI_EMBED_MEMPROF_JUDGE_H
#define ALQI_EMBED_MEMPROF_JUDGE_H

#include "memprof_kit.h"

enum {
    CHILDREN = 3,
    PROFILES = 16384,
    RECORDS = 1 << 18,
    IDS = 1 << 24,      /* numbers are used again after so many */
    REQUESTS = 1 << 24, /* likewise                             */
    SEEN_OLD = 128      /* bit of held[]; the others count      */
};

/* Of a datum. */
enum kept_state { FREE, YOUNG, MOVED, OLD };

struct kept {
    _Atomic(uint8_t) state;
    uint32_t id;      /* its block; 0: not known                 */
    uint32_t request; /* in whose callbacks it was kept; 0: none */
    unsigned profile;
    uint32_t next_free;
};

struct model_profile {
    struct alq_profile *p;
    _Atomic(int) users; /* of the handle, and one that drops it */
    _Atomic(uint64_t) open;
    bool values;
};

/* What a thread is at. */
struct actor {
    struct alq_domain *on;
    uint64_t seed;
    bool is_root; /* has no other domain beside it but its children */
    struct alq_child *children[CHILDREN];
    /* The request under way: numbers by size. */
    unsigned n_request;
    uint32_t request, request_id[4], request_wosize[4];
    bool in_callback;
};

extern struct kept records[RECORDS + 1];
extern uint32_t n_records;
extern struct model_profile profiles[PROFILES];
extern _Atomic(uint8_t) held[IDS];         /* by how many, and SEEN_OLD */
extern _Atomic(bool) started_in[REQUESTS]; /* a profile, in its callbacks */
extern _Thread_local struct actor *me;
extern struct seen {
    _Atomic(uint64_t) steps, events[EVENTS], synthetic, spawned, starts, stops,
        discards, failures, checks, visited;
} seen;
/* Called in each callback, twice: it does what the program may. */
extern void (*meddle)(void);

uint64_t rnd(uint64_t n);
/* Whether something of which one in n happens does. */
bool one_in(uint64_t n);
/* Of a block; 0: it has none. */
uint32_t id_of(alq_value v);
uint32_t record_of(const struct model_profile *m, uintptr_t data);
struct alq_tracker judge_of(struct model_profile *m);

#endif
