#include <stdlib.h>
#include <string.h>

#include "kits/memprof/mock_heap.h"

#define YOUNG_BASE ((uintptr_t)1 << 32)
#define YOUNG_STRIDE ((uintptr_t)1 << 24)
#define OLD_BASE ((uintptr_t)1 << 40)

struct mock_heap mock;
bool (*mock_walk)(uintptr_t *frames, size_t max_frames, size_t *n_frames);
uint64_t mock_words_below;

struct alqi_stack_result
alqi_stack_capture(struct alqi_stack_cache *cache,
                   const struct alqi_stack_regs *start, uintptr_t skip_lo,
                   uintptr_t skip_hi, uint32_t max_frames)
{
    static _Thread_local uintptr_t frames[20];
    struct alqi_stack_result r = {.frames = frames};

    (void)start;
    (void)skip_lo;
    (void)skip_hi;
    cache->serial++;
    r.n_frames = max_frames < 20 ? max_frames : 20;
    for (uint32_t i = 0; i < r.n_frames; i++)
        frames[i] = 0x1000 + i;
    return r;
}

static bool
in_young(uintptr_t address)
{
    return address >= YOUNG_BASE &&
           address < YOUNG_BASE + MOCK_DOMAINS * YOUNG_STRIDE;
}

static uint32_t *
cell_of(uintptr_t address)
{
    uintptr_t at = address - YOUNG_BASE;

    if (in_young(address))
        return &mock.domain[at / YOUNG_STRIDE]
                    .young_map[at % YOUNG_STRIDE / ALQI_WORD_BYTES];
    return &mock.old_map[(address - OLD_BASE) / ALQI_WORD_BYTES];
}

struct mock_object *
mock_at(uintptr_t address)
{
    uint32_t n = *cell_of(address);

    return n != 0 ? &mock.object[n] : NULL;
}

/* ---- the subject ----------------------------------------------------------
 */

static bool
is_young(void *heap, const void *block)
{
    (void)heap;
    return in_young((uintptr_t)block);
}

static const void *
minor_forward(void *heap, const void *block)
{
    struct mock_object *o = mock_at((uintptr_t)block);

    (void)heap;
    if (!in_young((uintptr_t)block))
        return block;
    if (o == NULL)
        abort(); /* the engine asks about a block that is not there */
    return o->young ? NULL : (const void *)o->address;
}

static bool
is_marked(void *heap, const void *block)
{
    struct mock_object *o = mock_at((uintptr_t)block);

    (void)heap;
    if (o == NULL || o->dead)
        abort();
    return o->marked;
}

static void
triggers_stale(void *heap)
{
    (void)heap;
    mock.serial++;
}

static void
request_poll(void *heap)
{
    (void)heap; /* tests poll when they want to */
}

static bool
walk(void *heap, uint64_t words_below, uintptr_t *frames, size_t max_frames,
     size_t *n_frames)
{
    (void)heap;
    mock_words_below = words_below;
    return mock_walk != NULL && mock_walk(frames, max_frames, n_frames);
}

static const struct alqi_memprof_subject subject = {
    .is_young = is_young,
    .minor_forward = minor_forward,
    .is_marked = is_marked,
    .request_poll = request_poll,
    .triggers_stale = triggers_stale,
    .walk = walk,
};

/* ---- domains and threads --------------------------------------------------
 */

void
mock_open(void)
{
    memset(&mock, 0, sizeof mock);
    mock.serial = 1;
    mock_domain_open(0, NULL);
    mock_thread_open(0, 0, 1);
}

void
mock_close(void)
{
    for (unsigned i = 0; i < MOCK_THREADS; i++)
        if (mock.thread[i].open)
            mock_thread_close(i);
    for (unsigned i = 0; i < MOCK_DOMAINS; i++)
        if (mock.domain[i].d != NULL)
            mock_domain_close(i);
}

void
mock_domain_open(unsigned i, struct mock_domain *parent)
{
    struct mock_domain *d = &mock.domain[i];

    d->d = alqi_memprof_domain_new(&subject, &mock,
                                   parent != NULL ? parent->d : NULL);
    if (d->d == NULL)
        abort();
}

void
mock_domain_close(unsigned i)
{
    alqi_memprof_domain_end(mock.domain[i].d);
    mock.domain[i].d = NULL;
}

void
mock_thread_open(unsigned i, unsigned domain, uint64_t seed)
{
    struct mock_thread *t = &mock.thread[i];

    memset(t, 0, sizeof *t);
    t->open = true;
    t->domain = domain;
    t->cache = calloc(1, sizeof *t->cache);
    t->cache->capacity = MOCK_CAPACITY;
    alqi_memprof_thread_init(&t->t, mock.domain[domain].d, t->cache, t->frames,
                             seed);
}

void
mock_thread_close(unsigned i)
{
    struct mock_thread *t = &mock.thread[i];

    alqi_memprof_thread_end(&t->t);
    free(t->cache);
    t->open = false;
}

/* ---- objects ----------------------------------------------------------------
 */

static uintptr_t
place_old(uint32_t number, uint32_t words)
{
    uintptr_t address;

    if (mock.old_used + words > MOCK_OLD_WORDS / 2)
        abort();
    address = OLD_BASE +
              (mock.old_base + mock.old_used + 1) * (uintptr_t)ALQI_WORD_BYTES;
    mock.old_used += words;
    *cell_of(address) = number;
    return address;
}

static uint32_t
object_new(uint32_t words)
{
    uint32_t number = ++mock.n_objects;

    if (number == MOCK_OBJECTS)
        abort();
    mock.object[number] = (struct mock_object){.words = words, .rooted = true};
    return number;
}

static void
make_room(struct mock_thread *t, uint32_t words)
{
    if (mock.domain[t->domain].young_used + words > MOCK_YOUNG_WORDS)
        mock_minor();
}

/* Headers at low, objects in program order from the top. */
static uintptr_t
bump(struct mock_thread *t, uint32_t words)
{
    struct mock_domain *d = &mock.domain[t->domain];
    uintptr_t top =
        YOUNG_BASE + t->domain * YOUNG_STRIDE +
        (MOCK_YOUNG_WORDS - d->young_used) * (uintptr_t)ALQI_WORD_BYTES;

    d->young_used += words;
    return top - words * (uintptr_t)ALQI_WORD_BYTES;
}

static void
settle_young(uint32_t number, uintptr_t header)
{
    struct mock_object *o = &mock.object[number];

    o->address = header + ALQI_WORD_BYTES;
    o->exists = true;
    o->young = true;
    *cell_of(o->address) = number;
}

static void
rearm(struct mock_thread *t)
{
    if (t->t.mode != ALQI_MEMPROF_IDLE)
        return;
    if (t->left != 0 && t->serial == mock.serial)
        return;
    t->serial = mock.serial;
    t->left = alqi_memprof_skip_words(&t->t);
}

/* Whether the trigger is among the next `words`; *at: which of them. */
static bool
trips(struct mock_thread *t, uint32_t words, uint64_t *at)
{
    if (t->t.mode != ALQI_MEMPROF_IDLE)
        return false;
    rearm(t);
    t->words += words;
    if (t->left > words) {
        t->left -= words;
        return false;
    }
    *at = t->left;
    t->left = 0;
    return true;
}

uint32_t
mock_request(struct mock_thread *t, const uint32_t *sub_words, unsigned n_subs,
             int *code)
{
    const struct alqi_stack_regs regs = {0, 0, 0, false};
    uint32_t total = 0, first = 0;
    int failed = 0;
    uint64_t at;
    uintptr_t header;

    for (unsigned i = 0; i < n_subs; i++) {
        uint32_t n = object_new(sub_words[i]);

        total += sub_words[i];
        mock.request[i] = n;
        first = i == 0 ? n : first;
    }
    mock.n_subs = n_subs;
    make_room(t, total);
    if (trips(t, total, &at))
        failed = n_subs == 1 ? alqi_memprof_request_one(&t->t, total, at, &regs)
                             : alqi_memprof_request(&t->t, sub_words, n_subs,
                                                    at, &regs);
    if (failed != 0) {
        *code = failed;
        for (unsigned i = 0; i < n_subs; i++)
            mock.object[first + i].rooted = false;
        mock.n_subs = 0;
        return 0;
    }
    make_room(t, total); /* callbacks have allocated */
    header = bump(t, total) + total * (uintptr_t)ALQI_WORD_BYTES;
    for (unsigned i = 0; i < n_subs; i++) {
        header -= sub_words[i] * (uintptr_t)ALQI_WORD_BYTES;
        settle_young(first + i, header);
    }
    alqi_memprof_request_done(&t->t, (void *)header);
    mock.n_subs = 0;
    return first;
}

uint32_t
mock_small(struct mock_thread *t, uint32_t words)
{
    const struct alqi_stack_regs regs = {0, 0, 0, false};
    struct alqi_memprof_block b = {0};
    uint32_t n = object_new(words);
    uint64_t at;

    make_room(t, words);
    settle_young(n, bump(t, words));
    if (!trips(t, words, &at))
        return n;
    b.block = (const void *)mock.object[n].address;
    b.words_tried = words;
    b.size_words = 1000 + n;
    b.source = ALQ_SOURCE_NORMAL;
    b.minor = true;
    alqi_memprof_small(&t->t, &b, words - at, &regs);
    return n;
}

static void
block(struct mock_thread *t, uint32_t n, uint32_t words, enum alq_source source)
{
    const struct alqi_stack_regs regs = {0, 0, 0, false};
    struct alqi_memprof_block b = {0};

    b.block = (const void *)mock.object[n].address;
    b.words_tried = words;
    b.size_words = 1000 + n;
    b.source = source;
    b.minor = mock.object[n].young;
    if (t->t.mode == ALQI_MEMPROF_IDLE)
        t->words += words;
    rearm(t);
    alqi_memprof_block(&t->t, &b, &regs);
}

uint32_t
mock_major(struct mock_thread *t, uint32_t words, enum alq_source source)
{
    uint32_t n = object_new(words);

    mock.object[n].address = place_old(n, words);
    mock.object[n].exists = true;
    block(t, n, words, source);
    return n;
}

void
mock_custom(struct mock_thread *t, uint32_t object, uint32_t words)
{
    block(t, object, words, ALQ_SOURCE_CUSTOM);
}

uint32_t
mock_datum(struct mock_thread *t, uint64_t token)
{
    uint32_t n = object_new(2);

    mock.object[n].token = token;
    mock.object[n].rooted = false;
    if (mock.domain[t->domain].young_used + 2 > MOCK_YOUNG_WORDS) {
        mock.object[n].address = place_old(n, 2);
        mock.object[n].exists = true;
    } else {
        settle_young(n, bump(t, 2));
    }
    return n;
}

/* ---- collections -------------------------------------------------------- */

static void
promote(uint32_t n)
{
    struct mock_object *o = &mock.object[n];

    if (!o->young)
        return;
    o->young = false;
    o->promoted = true;
    o->address = place_old(n, o->words); /* the young cell still has n */
}

static void
promote_slot(void *arg, uintptr_t *slot)
{
    (void)arg;
    if (in_young(*slot)) {
        uint32_t n = *cell_of(*slot);

        promote(n);
        *slot = mock.object[n].address;
    }
}

void
mock_minor(void)
{
    for (uint32_t n = 1; n <= mock.n_objects; n++)
        if (mock.object[n].exists && mock.object[n].rooted)
            promote(n);
    for (unsigned i = 0; i < MOCK_DOMAINS; i++)
        if (mock.domain[i].d != NULL)
            alqi_memprof_scan(mock.domain[i].d, true, promote_slot, NULL);
    for (unsigned i = 0; i < MOCK_DOMAINS; i++)
        if (mock.domain[i].d != NULL)
            alqi_memprof_after_minor(mock.domain[i].d);
    for (uint32_t n = 1; n <= mock.n_objects; n++)
        if (mock.object[n].young) {
            mock.object[n].young = false;
            mock.object[n].dead = true;
        }
    for (unsigned i = 0; i < MOCK_DOMAINS; i++) {
        mock.domain[i].young_used = 0;
        memset(mock.domain[i].young_map, 0, sizeof mock.domain[i].young_map);
    }
    for (unsigned i = 0; i < MOCK_THREADS; i++)
        mock.thread[i].left = 0;
}

static void
mark_slot(void *arg, uintptr_t *slot)
{
    (void)arg;
    mock_at(*slot)->marked = true;
}

void
mock_major_cycle(void)
{
    for (uint32_t n = 1; n <= mock.n_objects; n++)
        mock.object[n].marked = mock.object[n].rooted;
    for (unsigned i = 0; i < MOCK_DOMAINS; i++)
        if (mock.domain[i].d != NULL)
            alqi_memprof_scan(mock.domain[i].d, false, mark_slot, NULL);
    for (unsigned i = 0; i < MOCK_DOMAINS; i++)
        if (mock.domain[i].d != NULL)
            alqi_memprof_after_major(mock.domain[i].d);
    for (uint32_t n = 1; n <= mock.n_objects; n++) {
        struct mock_object *o = &mock.object[n];

        if (o->exists && !o->young && !o->dead && !o->marked) {
            o->dead = true;
            *cell_of(o->address) = 0;
        }
    }
}

static void
move_slot(void *arg, uintptr_t *slot)
{
    (void)arg;
    *slot = mock_at(*slot)->address;
}

static void
move_block(void *arg, const void **place)
{
    (void)arg;
    *place = (const void *)mock_at((uintptr_t)*place)->address;
}

void
mock_compact(void)
{
    uint32_t *from = mock.old_map + mock.old_base;

    mock.old_base = MOCK_OLD_WORDS / 2 - mock.old_base; /* the other half */
    mock.old_used = 0;
    for (uint32_t n = 1; n <= mock.n_objects; n++) {
        struct mock_object *o = &mock.object[n];

        if (o->exists && !o->young && !o->dead) /* the old cell keeps n */
            o->address = place_old(n, o->words);
    }
    for (unsigned i = 0; i < MOCK_DOMAINS; i++)
        if (mock.domain[i].d != NULL) {
            alqi_memprof_scan(mock.domain[i].d, false, move_slot, NULL);
            alqi_memprof_blocks(mock.domain[i].d, move_block, NULL);
        }
    memset(from, 0, MOCK_OLD_WORDS / 2 * sizeof from[0]);
}
