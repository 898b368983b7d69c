#include "heap/pool.h"
#include "heap/class.h"

/* The second word of a span: where the next is, how many slots this one has. */
static uintptr_t
span_word(uintptr_t next_span, uintptr_t n_slots)
{
    return next_span << 16 | n_slots;
}

void
alqi_heap_pool_fresh(struct alqi_heap_pool *pool, unsigned size_class)
{
    pool->n_free = alqi_heap_class_slots(size_class);
    pool->first_span = ALQI_HEAP_POOL_HEAD_WORDS;
    alqi_heap_pool_slots(pool)[1] = span_word(0, pool->n_free);
}

bool
alqi_heap_pool_span(struct alqi_heap_pool *pool, unsigned size_class,
                    struct alqi_heap_span *out)
{
    alqi_heap_word *span = (alqi_heap_word *)pool + pool->first_span;
    uintptr_t word;

    if (pool->first_span == 0)
        return false;
    ALQI_ASSERT(span[0] == 0);
    word = span[1];
    pool->first_span = (uint32_t)(word >> 16);
    out->start = (uintptr_t)span;
    out->end =
        (uintptr_t)(span + (word & 0xFFFF) * alqi_heap_class_words[size_class]);
    return true;
}

void
alqi_heap_pool_span_back(struct alqi_heap_pool *pool, unsigned size_class,
                         struct alqi_heap_span span)
{
    alqi_heap_word *first = (alqi_heap_word *)span.start;
    uintptr_t words = (span.end - span.start) / ALQ_WORD_BYTES;

    first[1] =
        span_word(pool->first_span, words / alqi_heap_class_words[size_class]);
    pool->first_span = (uint32_t)(first - (alqi_heap_word *)pool);
}

unsigned
alqi_heap_pool_count_free(const struct alqi_heap_pool *pool)
{
    const alqi_heap_word *start = (const alqi_heap_word *)pool;
    uintptr_t at = pool->first_span;
    unsigned n = 0;

    for (; at != 0; at = start[at + 1] >> 16)
        n += start[at + 1] & 0xFFFF;
    return n;
}

/* Spans are linked in the order of their addresses. */
struct spans {
    struct alqi_heap_pool *pool;
    alqi_heap_word *first; /* slot of the one that grows; NULL: none does */
    alqi_heap_word *last;  /* span that the next one is linked to */
    uintptr_t n_slots;
};

static void
span_end(struct spans *s)
{
    uintptr_t at = (uintptr_t)(s->first - (alqi_heap_word *)s->pool);

    if (s->last == NULL)
        s->pool->first_span = (uint32_t)at;
    else
        s->last[1] |= at << 16;
    s->first[1] = span_word(0, s->n_slots);
    s->last = s->first;
    s->first = NULL;
}

unsigned
alqi_heap_pool_sweep(struct alqi_heap_pool *pool, unsigned size_class,
                     uintptr_t garbage)
{
    struct spans s = {pool, NULL, NULL, 0};
    alqi_heap_word *slot = alqi_heap_pool_slots(pool);
    size_t words = alqi_heap_class_words[size_class];
    alqi_heap_word *end = slot + alqi_heap_class_slots(size_class) * words;
    unsigned n_free = 0;

    pool->first_span = 0;
    for (; slot < end; slot += words) {
        uintptr_t header = *slot;

        if (header != 0) {
            if ((header & ALQI_HEAP_COLOUR_MASK) != garbage) {
                if (s.first != NULL)
                    span_end(&s);
                continue;
            }
            alqi_heap_finalise((alq_value)(slot + 1), header);
            *slot = 0;
        }
        if (s.first == NULL) {
            s.first = slot;
            s.n_slots = 0;
        }
        s.n_slots++;
        n_free++;
    }
    if (s.first != NULL)
        span_end(&s);
    pool->n_free = n_free;
    return n_free;
}
