/* capture_cached.c -- making cached stacks, and comparing them
 *
 * A capture is kept in three steps: is_second says whether it came before, by
 * a table of hashes; slots_choose finds its places in the two tables and
 * learns where it parts from the stack that was tried for it; room_make drops
 * the oldest until there is room.  Then it is published: a look-up meets whole
 * stacks only.
 *
 * Keeps .inv.cached and .inv.ring.  No memory is read but the cache's own,
 * except in checks_hold, whose words lie in [sp, top). */
#include <string.h>

#include "stack/capture_cached.h"

enum { WORD = 8, RING_FIRST = sizeof(struct alqi_stack_cached) / WORD + 1 };

/* Out of line, since most stacks have no checks. */
ALQI_NOINLINE bool
alqi_stack_cached_checks_hold(const struct alqi_stack_cached *cached)
{
    const uint16_t *at = alqi_stack_cached_offsets(cached) + cached->n_returns;
    const uintptr_t *value = &cached->value[1 + cached->n_returns];
    uintptr_t difference = 0;

    for (uint32_t i = 0; i < cached->n_checks; i++)
        difference |= alqi_stack_word_at(cached->sp, at[i]) ^ value[i];
    return difference == 0;
}

/* ---- the frames two captures share ------------------------------------------
 */

/* How many pcs are equal, both from the outermost frame inwards. */
static inline uint32_t
same_pcs(const uintptr_t *a, const uintptr_t *b, uint32_t n)
{
    uint32_t i = 0;

    while (i < n && *(a - i) == *(b - i))
        i++;
    return i;
}

/* The offset of the outermost return address. */
static inline const uint16_t *
outermost_offset(const struct alqi_stack_cached *cached)
{
    return alqi_stack_cached_offsets(cached) + cached->n_frames - 2;
}

/* Outermost frames that two cached stacks share: equal pcs at equal places. */
static uint32_t
same_of_cached(const struct alqi_stack_cached *a,
               const struct alqi_stack_cached *b)
{
    uint32_t n = a->n_frames < b->n_frames ? a->n_frames : b->n_frames, i = 1;
    const uint16_t *x = outermost_offset(a), *y = outermost_offset(b);
    intptr_t apart = (intptr_t)(a->sp - b->sp) / WORD;

    if (a->top != b->top)
        return 0;
    n = same_pcs(&a->value[a->n_frames - 1], &b->value[b->n_frames - 1], n);
    for (; i < n && *x + apart == *y; i++, x--, y--)
        ;
    return i < n ? i : n;
}

uint32_t
alqi_stack_cached_same_rows(const struct alqi_stack_cache *cache,
                            const struct alqi_stack_cached *a)
{
    uint32_t n = a->n_frames < cache->n_rows ? a->n_frames : cache->n_rows,
             i = 1;
    const uintptr_t *ra_at = &cache->ra_at[cache->capacity - 1];
    const uint16_t *x = outermost_offset(a);

    if (n == 0 || a->top != *ra_at--)
        return 0;
    n = same_pcs(&a->value[a->n_frames - 1], &cache->pc[cache->capacity - 1],
                 n);
    for (; i < n && a->sp + *x * (uintptr_t)WORD == *ra_at; i++, x--, ra_at--)
        ;
    return i < n ? i : n;
}

uint32_t
alqi_stack_cached_same(struct alqi_stack_cache *cache,
                       struct alqi_stack_cached *cached)
{
    const struct alqi_stack_cached *last = cache->stacks->last;
    uint32_t same;

    if (last == NULL)
        return cache->was_truncated
                   ? 0
                   : alqi_stack_cached_same_rows(cache, cached);
    same = same_of_cached(last, cached);
    cached->before[last->id % ALQI_STACK_CACHED_BEFORES] = last->id;
    cached->n_same[last->id % ALQI_STACK_CACHED_BEFORES] = (uint16_t)same;
    return same;
}

/* ---- keeping ---------------------------------------------------------------
 */

/* The oldest stack leaves the ring, and the tables if they still name it. */
static void
oldest_drop(struct alqi_stack_cached_set *t)
{
    const struct alqi_stack_cached *cached = alqi_stack_cached_at(t, t->oldest);

    if (t->by_start[cached->start] == t->oldest)
        t->by_start[cached->start] = 0;
    if (t->by_words[cached->slot] == t->oldest)
        t->by_words[cached->slot] = 0;
    t->oldest = cached->younger;
    t->n_live--;
}

/* Room at the end of the ring, the oldest making way (.inv.ring). */
static uint32_t
room_make(struct alqi_stack_cached_set *t, uint32_t n_words)
{
    uint32_t at = t->end;

    if (at + n_words > ALQI_STACK_RING_WORDS) {
        while (t->n_live > 0 && t->oldest >= at)
            oldest_drop(t);
        at = RING_FIRST;
    }
    while (t->n_live > 0 && t->oldest >= at && t->oldest < at + n_words)
        oldest_drop(t);
    return at;
}

/* The cached fills [at, t->end) of the ring. */
static void
cached_publish(struct alqi_stack_cached_set *t, uint32_t at, uint32_t n_words)
{
    struct alqi_stack_cached *cached = alqi_stack_cached_at(t, at);

    if (t->n_live++ == 0)
        t->oldest = (uint16_t)at;
    else
        alqi_stack_cached_at(t, t->newest)->younger = (uint16_t)at;
    t->newest = (uint16_t)at;
    t->end = (uint16_t)(at + n_words);
    cached->id = ++t->n_made;
    cached->note = 0;
    t->by_start[cached->start] = (uint16_t)at;
    t->by_words[cached->slot] = (uint16_t)at;
    t->last = cached;
}

/* Whether the rows are a whole stack of plain frames, short enough, whose
 * words lie within 16 bits of sp. */
static bool
is_keepable(const struct alqi_stack_cache *cache, uintptr_t sp)
{
    const struct alqi_stack_link *l =
        &cache->link[cache->capacity - cache->n_rows];

    return cache->n_rows >= 2 &&
           cache->n_rows <= ALQI_STACK_CACHED_FRAMES_MAX &&
           !cache->was_truncated && sp < cache->ra_at[cache->capacity - 1] &&
           l->n_plain == cache->n_rows - 1 &&
           cache->link[cache->capacity - 1].rule == ALQI_STACK_RULE_END &&
           cache->ra_at[cache->capacity - 1] - sp <= UINT16_MAX * WORD;
}

/* Whether the rows seem to have come before; from now on they have. */
static bool
is_second(const struct alqi_stack_cache *cache, uintptr_t sp)
{
    const uintptr_t *pc = &cache->pc[cache->capacity - cache->n_rows];
    uint64_t hash = sp;
    uint16_t *once, was;

    for (uint32_t i = 0; i < cache->n_rows; i++)
        hash = (hash << 9 | hash >> 55) ^ pc[i];
    hash *= 0x9E3779B97F4A7C15u;
    once = &cache->stacks->once[(hash >> 32) % ALQI_STACK_CACHED_SLOTS];
    was = *once;
    *once = (uint16_t)(hash >> 48 | 1);
    return was == *once;
}

/* The offset of `at` in words from sp; the bytes beyond whole words join
 * `rest`. */
static inline uint16_t
offset_of(uintptr_t at, uintptr_t sp, uintptr_t *rest)
{
    *rest |= at - sp;
    return (uint16_t)((at - sp) / WORD);
}

/* The rows' words and their offsets, into a stack that has their numbers;
 * false if an offset is not whole words from sp. */
static bool
cached_fill(const struct alqi_stack_cache *cache,
            struct alqi_stack_cached *cached)
{
    uint32_t first = cache->capacity - cached->n_frames,
             n = cached->n_frames - 1u;
    uint16_t *offset = alqi_stack_cached_offsets(cached);
    const uintptr_t *ra_at = &cache->ra_at[first];
    const struct alqi_stack_check *c =
        &cache->check[cache->capacity - cached->n_checks];
    uintptr_t rest = 0, sp = cached->sp;

    memcpy(cached->value, &cache->pc[first], (n + 1) * sizeof cached->value[0]);
    for (uint32_t i = 0; i < n; i++)
        offset[i] = offset_of(ra_at[i], sp, &rest);
    for (uint32_t i = n; i < cached->n_returns; i++) {
        cached->value[i + 1] = cached->value[1];
        offset[i] = offset[0];
    }
    for (uint32_t i = cached->n_returns, k = 0; k < cached->n_checks;
         i++, k++) {
        cached->value[i + 1] = c[k].value;
        offset[i] = offset_of(c[k].at, sp, &rest);
    }
    return rest % WORD == 0;
}

/* The offset of the return address where the rows part from a cached stack
 * with the same start, among those that may be looked at; the first one if
 * they do not part. */
static uint16_t
row_parting(const struct alqi_stack_cache *cache,
            const struct alqi_stack_cached *head,
            const struct alqi_stack_cached *cached)
{
    uint32_t first = cache->capacity - cache->n_rows;

    for (uint32_t i = 1; i < ALQI_STACK_CACHED_LOOK && i < cache->n_rows &&
                         i < cached->n_frames;
         i++)
        if (cache->pc[first + i] != cached->value[i])
            return (uint16_t)((cache->ra_at[first + i - 1] - head->sp) / WORD);
    return head->look[0];
}

/* Whether one of the rows that may be looked at has its return address at `at`.
 * A learnt offset that is at no row is noise. */
static bool
is_row(const struct alqi_stack_cache *cache, uintptr_t at)
{
    uint32_t first = cache->capacity - cache->n_rows;

    for (uint32_t i = 0;
         i + 1 < ALQI_STACK_CACHED_LOOK && i + 1 < cache->n_rows; i++)
        if (cache->ra_at[first + i] == at)
            return true;
    return false;
}

/* Adds an offset to look at; when all are taken, in place of the one learnt
 * first. */
static void
look_add(struct alqi_stack_cached *head, uint16_t offset)
{
    uint32_t i = 1;

    if (offset == head->look[0])
        return;
    for (; i < ALQI_STACK_CACHED_LOOKS && head->look[i] != head->look[0]; i++)
        if (head->look[i] == offset)
            return;
    if (i == ALQI_STACK_CACHED_LOOKS) {
        memmove(&head->look[1], &head->look[2],
                (ALQI_STACK_CACHED_LOOKS - 2) * sizeof head->look[0]);
        i--;
    }
    head->look[i] = offset;
}

/* Where looks are taken from now on: where they were, and where the rows part
 * from a cached that was found for them. */
static void
looks_learn(struct alqi_stack_cache *cache, uint64_t hash, uintptr_t fp,
            struct alqi_stack_cached *head)
{
    struct alqi_stack_cached_set *t = cache->stacks;
    uintptr_t sp = head->sp, pc = cache->pc[cache->capacity - cache->n_rows];
    const struct alqi_stack_cached *youngest =
        alqi_stack_cached_by_start(t, hash, pc, sp, fp);
    uint32_t slot;

    if (youngest == NULL || youngest->top > cache->readable_hi)
        return;
    for (uint32_t i = 1; i < ALQI_STACK_CACHED_LOOKS; i++)
        if (is_row(cache, sp + (uintptr_t)youngest->look[i] * WORD))
            look_add(head, youngest->look[i]);
    slot = alqi_stack_cached_look(youngest, hash, sp);
    for (unsigned way = 0; way < 2; way++) {
        const struct alqi_stack_cached *cached =
            alqi_stack_cached_at(t, t->by_words[slot ^ way]);

        if (alqi_stack_cached_starts(cached, pc, sp, fp))
            look_add(head, row_parting(cache, head, cached));
    }
}

/* The free slot of a pair, or the first one if both are taken. */
static uint16_t
slot_free(const uint16_t *table, uint32_t slot)
{
    return (uint16_t)(table[slot] != 0 && table[slot ^ 1] == 0 ? slot ^ 1
                                                               : slot);
}

/* The slots of a cached of the rows. */
static void
slots_choose(struct alqi_stack_cache *cache, uintptr_t fp,
             struct alqi_stack_cached *head)
{
    struct alqi_stack_cached_set *t = cache->stacks;
    uintptr_t pc = cache->pc[cache->capacity - cache->n_rows];
    uint64_t hash = alqi_stack_cached_hash(pc, head->sp);
    const struct alqi_stack_cached *youngest =
        alqi_stack_cached_by_start(t, hash, pc, head->sp, fp);

    looks_learn(cache, hash, fp, head);
    head->slot =
        slot_free(t->by_words, alqi_stack_cached_look(head, hash, head->sp));
    head->start = youngest != NULL
                      ? youngest->start
                      : slot_free(t->by_start, alqi_stack_cached_start(hash));
}

/* What a stack of the rows says of itself, without words and slots. */
static struct alqi_stack_cached
head_of_rows(const struct alqi_stack_cache *cache, uintptr_t sp)
{
    uint32_t n = cache->n_rows, first = cache->capacity - n;
    uint32_t n_blocks = (n - 2) / ALQI_STACK_CACHED_BLOCK + 1;
    uint16_t look = (uint16_t)((cache->ra_at[first] - sp) / WORD);

    return (struct alqi_stack_cached){
        .sp = sp,
        .top = cache->ra_at[cache->capacity - 1],
        .fp_wanted = cache->link[first].fp_wanted,
        .n_frames = (uint16_t)n,
        .n_returns = (uint16_t)(n_blocks * ALQI_STACK_CACHED_BLOCK),
        .n_checks = cache->link[first].n_checks,
        .look = {look, look, look, look},
    };
}

/* The length of a cached stack in the ring, in words. */
static uint32_t
words_of(const struct alqi_stack_cached *cached)
{
    uint32_t n = (uint32_t)cached->n_returns + cached->n_checks;
    size_t bytes = sizeof *cached + (n + 1) * sizeof cached->value[0] +
                   n * sizeof(uint16_t);

    return (uint32_t)((bytes + WORD - 1) / WORD);
}

void
alqi_stack_cached_keep(struct alqi_stack_cache *cache, uintptr_t sp,
                       uintptr_t fp)
{
    struct alqi_stack_cached_set *t = cache->stacks;
    struct alqi_stack_cached head, *cached;
    uint32_t at, n_words;

    if (!is_keepable(cache, sp) || !is_second(cache, sp))
        return;
    if (t->n_made == UINT32_MAX)
        alqi_stack_cached_clear(t); /* an id is given once */
    head = head_of_rows(cache, sp);
    slots_choose(cache, fp, &head);
    n_words = words_of(&head);
    at = room_make(t, n_words);
    cached = alqi_stack_cached_at(t, at);
    *cached = head;
    if (cached_fill(cache, cached))
        cached_publish(t, at, n_words);
}

/* ---- beginning -------------------------------------------------------------
 */

void
alqi_stack_cached_clear(struct alqi_stack_cached_set *t)
{
    while (t->n_live > 0)
        oldest_drop(t);
    t->n_made = 0;
    t->last = NULL;
    t->rows_are_last = true;
}

void
alqi_stack_cached_init(struct alqi_stack_cached_set *t)
{
    struct alqi_stack_cached *sentinel = alqi_stack_cached_at(t, 0);

    memset(t, 0, offsetof(struct alqi_stack_cached_set, ring));
    memset(sentinel, 0, sizeof *sentinel + sizeof sentinel->value[0]);
    sentinel->sp = UINTPTR_MAX; /* no stack's */
    t->end = RING_FIRST;
    t->rows_are_last = true;
}
