/* mock_heap.h -- for tests: a moving heap of two generations, simulated
 *
 * Objects have addresses but no memory.  Each domain has a young region, used
 * again after each minor collection; old addresses are given once between two
 * compactions, which change all of them.  What is alive: rooted objects, and
 * the values that trackers keep as user data. */
#ifndef ALQI_KITS_MEMPROF_MOCK_HEAP_H
#define ALQI_KITS_MEMPROF_MOCK_HEAP_H

#include "memprof/scan.h"

enum {
    MOCK_DOMAINS = 4,
    MOCK_THREADS = 8,
    MOCK_YOUNG_WORDS = 4096,
    MOCK_OLD_WORDS = 1 << 20,
    MOCK_OBJECTS = 1 << 18,
    MOCK_SUBS = 8,
    MOCK_CAPACITY = 64
};

struct mock_object {
    uintptr_t address; /* of its first field                       */
    uint32_t words;    /* with the header                          */
    bool exists;       /* its request came through                 */
    bool young;
    bool rooted;
    bool promoted;
    bool dead;
    bool marked;
    uint64_t token; /* what a datum object holds                   */
};

struct mock_thread {
    struct alqi_memprof_thread t;
    bool open;
    unsigned domain;
    uint64_t left; /* until the trigger; 0 draw                 */
    uint64_t serial;
    uint64_t words; /* words tried                               */
    struct alqi_stack_cache *cache;
    uintptr_t frames[MOCK_CAPACITY];
};

struct mock_domain {
    struct alqi_memprof_domain *d;
    uint32_t young_used;
    uint32_t young_map[MOCK_YOUNG_WORDS];
};

struct mock_heap {
    struct mock_domain domain[MOCK_DOMAINS];
    struct mock_thread thread[MOCK_THREADS];
    struct mock_object object[MOCK_OBJECTS];
    uint32_t n_objects; /* 0 is none */
    uint32_t old_used;  /* of the half in use ...      */
    uint32_t old_base;  /* ... which begins here, words */
    uint32_t old_map[MOCK_OLD_WORDS];
    uint64_t serial;
    /* the request whose alloc callbacks run now */
    uint32_t request[MOCK_SUBS];
    unsigned n_subs;
};

extern struct mock_heap mock;

/* The subject's walk, if any; else stacks are the machine's: 0x1000 and so on,
 * 20 frames. */
extern bool (*mock_walk)(uintptr_t *frames, size_t max_frames,
                         size_t *n_frames);
/* Of the block that the walk was last asked for. */
extern uint64_t mock_words_below;

void mock_open(void);
void mock_close(void);
void mock_domain_open(unsigned i, struct mock_domain *parent);
void mock_domain_close(unsigned i); /* its threads are closed */
void mock_thread_open(unsigned i, unsigned domain, uint64_t seed);
void mock_thread_close(unsigned i);

/* Objects of sub_words each, distinct; 0: a callback failed, with *code.
 * The first object's number otherwise, the others follow. */
uint32_t mock_request(struct mock_thread *t, const uint32_t *sub_words,
                      unsigned n_subs, int *code);
/* By the runtime: small and young, or major; size_words 1000 + its number. */
uint32_t mock_small(struct mock_thread *t, uint32_t words);
uint32_t mock_major(struct mock_thread *t, uint32_t words,
                    enum alq_source source);
/* Out-of-heap memory of an object, reported as Custom. */
void mock_custom(struct mock_thread *t, uint32_t object, uint32_t words);
/* Never sampled: for data of callbacks; rooted by nobody. */
uint32_t mock_datum(struct mock_thread *t, uint64_t token);

struct mock_object *mock_at(uintptr_t address); /* NULL: nothing there */

void mock_minor(void);
void mock_major_cycle(void);
void mock_compact(void);

#endif
