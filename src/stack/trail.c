#include <string.h>

#include "stack/trail.h"

enum { WORD = 8, RING_FIRST = sizeof(struct alqi_stack_trail) / WORD + 1 };

/* Apart from the rest, since most stacks have none. */
ALQI_NOINLINE bool
alqi_stack_trail_checks_hold(const struct alqi_stack_trail *trail)
{
    const uint16_t *at = alqi_stack_trail_places(trail) + trail->n_returns;
    const uintptr_t *value = &trail->value[1 + trail->n_returns];
    uintptr_t difference = 0;

    for (uint32_t i = 0; i < trail->n_checks; i++)
        difference |= alqi_stack_place_word(trail->sp, at[i]) ^ value[i];
    return difference == 0;
}

/* ---- the frames two captures share ------------------------------------------
 */

/* Both from the outermost frame inwards: how many pcs are equal. */
static inline uint32_t
same_pcs(const uintptr_t *a, const uintptr_t *b, uint32_t n)
{
    uint32_t i = 0;

    while (i < n && *(a - i) == *(b - i))
        i++;
    return i;
}

/* The place of the outermost frame that has one. */
static inline const uint16_t *
outermost_place(const struct alqi_stack_trail *trail)
{
    return alqi_stack_trail_places(trail) + trail->n_frames - 2;
}

static uint32_t
same_of_trails(const struct alqi_stack_trail *a,
               const struct alqi_stack_trail *b)
{
    uint32_t n = a->n_frames < b->n_frames ? a->n_frames : b->n_frames, i = 1;
    const uint16_t *x = outermost_place(a), *y = outermost_place(b);
    intptr_t apart = (intptr_t)(a->sp - b->sp) / WORD;

    if (a->top != b->top)
        return 0;
    n = same_pcs(&a->value[a->n_frames - 1], &b->value[b->n_frames - 1], n);
    for (; i < n && *x + apart == *y; i++, x--, y--)
        ;
    return i < n ? i : n;
}

uint32_t
alqi_stack_trail_same_rows(const struct alqi_stack_memo *memo,
                           const struct alqi_stack_trail *a)
{
    uint32_t n = a->n_frames < memo->n_rows ? a->n_frames : memo->n_rows, i = 1;
    const uintptr_t *ra_at = &memo->ra_at[memo->capacity - 1];
    const uint16_t *x = outermost_place(a);

    if (n == 0 || a->top != *ra_at--)
        return 0;
    n = same_pcs(&a->value[a->n_frames - 1], &memo->pc[memo->capacity - 1], n);
    for (; i < n && a->sp + *x * (uintptr_t)WORD == *ra_at; i++, x--, ra_at--)
        ;
    return i < n ? i : n;
}

uint32_t
alqi_stack_trail_same(struct alqi_stack_memo *memo,
                      struct alqi_stack_trail *trail)
{
    const struct alqi_stack_trail *last = memo->trails->last;
    uint32_t same;

    if (last == NULL)
        return memo->was_truncated ? 0
                                   : alqi_stack_trail_same_rows(memo, trail);
    same = same_of_trails(last, trail);
    trail->before[last->id % ALQI_STACK_TRAIL_BEFORES] = last->id;
    trail->n_same[last->id % ALQI_STACK_TRAIL_BEFORES] = (uint16_t)same;
    return same;
}

/* ---- keeping ---------------------------------------------------------------
 */

static void
oldest_drop(struct alqi_stack_trails *t)
{
    const struct alqi_stack_trail *trail = alqi_stack_trail_at(t, t->oldest);

    if (t->by_start[trail->start] == t->oldest)
        t->by_start[trail->start] = 0;
    if (t->by_words[trail->slot] == t->oldest)
        t->by_words[trail->slot] = 0;
    t->oldest = trail->younger;
    t->n_live--;
}

/* Room at the end of the ring, the oldest making way (.inv.ring). */
static uint32_t
room_make(struct alqi_stack_trails *t, uint32_t n_words)
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

/* The trail fills [at, t->end) of the ring. */
static void
trail_publish(struct alqi_stack_trails *t, uint32_t at, uint32_t n_words)
{
    struct alqi_stack_trail *trail = alqi_stack_trail_at(t, at);

    if (t->n_live++ == 0)
        t->oldest = (uint16_t)at;
    else
        alqi_stack_trail_at(t, t->newest)->younger = (uint16_t)at;
    t->newest = (uint16_t)at;
    t->end = (uint16_t)(at + n_words);
    trail->id = ++t->n_made;
    trail->note = 0;
    t->by_start[trail->start] = (uint16_t)at;
    t->by_words[trail->slot] = (uint16_t)at;
    t->last = trail;
}

static bool
is_keepable(const struct alqi_stack_memo *memo, uintptr_t sp)
{
    const struct alqi_stack_link *l =
        &memo->link[memo->capacity - memo->n_rows];

    return memo->n_rows >= 2 && memo->n_rows <= ALQI_STACK_TRAIL_FRAMES_MAX &&
           !memo->was_truncated && sp < memo->ra_at[memo->capacity - 1] &&
           l->n_plain == memo->n_rows - 1 &&
           memo->link[memo->capacity - 1].rule == ALQI_STACK_RULE_END &&
           memo->ra_at[memo->capacity - 1] - sp <= UINT16_MAX * WORD;
}

/* Whether the rows seem to have come before; they have from now on. */
static bool
is_second(const struct alqi_stack_memo *memo, uintptr_t sp)
{
    const uintptr_t *pc = &memo->pc[memo->capacity - memo->n_rows];
    uint64_t hash = sp;
    uint16_t *once, was;

    for (uint32_t i = 0; i < memo->n_rows; i++)
        hash = (hash << 9 | hash >> 55) ^ pc[i];
    hash *= 0x9E3779B97F4A7C15u;
    once = &memo->trails->once[(hash >> 32) % ALQI_STACK_TRAIL_SLOTS];
    was = *once;
    *once = (uint16_t)(hash >> 48 | 1);
    return was == *once;
}

/* In words from sp; what is beyond whole words joins `rest`. */
static inline uint16_t
place_of(uintptr_t at, uintptr_t sp, uintptr_t *rest)
{
    *rest |= at - sp;
    return (uint16_t)((at - sp) / WORD);
}

/* The rows' words and their places, into a trail that has their numbers; false
 * if a place is not whole words from sp. */
static bool
trail_fill(const struct alqi_stack_memo *memo, struct alqi_stack_trail *trail)
{
    uint32_t first = memo->capacity - trail->n_frames, n = trail->n_frames - 1u;
    uint16_t *place = alqi_stack_trail_places(trail);
    const uintptr_t *ra_at = &memo->ra_at[first];
    const struct alqi_stack_check *c =
        &memo->check[memo->capacity - trail->n_checks];
    uintptr_t rest = 0, sp = trail->sp;

    memcpy(trail->value, &memo->pc[first], (n + 1) * sizeof trail->value[0]);
    for (uint32_t i = 0; i < n; i++)
        place[i] = place_of(ra_at[i], sp, &rest);
    for (uint32_t i = n; i < trail->n_returns; i++) {
        trail->value[i + 1] = trail->value[1];
        place[i] = place[0];
    }
    for (uint32_t i = trail->n_returns, k = 0; k < trail->n_checks; i++, k++) {
        trail->value[i + 1] = c[k].value;
        place[i] = place_of(c[k].at, sp, &rest);
    }
    return rest % WORD == 0;
}

/* Where the rows part from a trail with the same start, of the return addresses
 * that may be looked at; the first if they do not. */
static uint16_t
row_parting(const struct alqi_stack_memo *memo,
            const struct alqi_stack_trail *head,
            const struct alqi_stack_trail *trail)
{
    uint32_t first = memo->capacity - memo->n_rows;

    for (uint32_t i = 1;
         i < ALQI_STACK_TRAIL_LOOK && i < memo->n_rows && i < trail->n_frames;
         i++)
        if (memo->pc[first + i] != trail->value[i])
            return (uint16_t)((memo->ra_at[first + i - 1] - head->sp) / WORD);
    return head->look[0];
}

/* Whether a place is that of a return address that may be looked at; beside
 * them there is noise. */
static bool
is_row(const struct alqi_stack_memo *memo, uintptr_t at)
{
    uint32_t first = memo->capacity - memo->n_rows;

    for (uint32_t i = 0; i + 1 < ALQI_STACK_TRAIL_LOOK && i + 1 < memo->n_rows;
         i++)
        if (memo->ra_at[first + i] == at)
            return true;
    return false;
}

/* One place more; when all are taken, instead of the one learnt first. */
static void
look_add(struct alqi_stack_trail *head, uint16_t place)
{
    uint32_t i = 1;

    if (place == head->look[0])
        return;
    for (; i < ALQI_STACK_TRAIL_LOOKS && head->look[i] != head->look[0]; i++)
        if (head->look[i] == place)
            return;
    if (i == ALQI_STACK_TRAIL_LOOKS) {
        memmove(&head->look[1], &head->look[2],
                (ALQI_STACK_TRAIL_LOOKS - 2) * sizeof head->look[0]);
        i--;
    }
    head->look[i] = place;
}

/* Where looks are taken from now on: where they were, and where the rows part
 * from a trail that was found for them. */
static void
looks_learn(struct alqi_stack_memo *memo, uint64_t hash, uintptr_t fp,
            struct alqi_stack_trail *head)
{
    struct alqi_stack_trails *t = memo->trails;
    uintptr_t sp = head->sp, pc = memo->pc[memo->capacity - memo->n_rows];
    const struct alqi_stack_trail *youngest =
        alqi_stack_trail_of_start(t, hash, pc, sp, fp);
    uint32_t slot;

    if (youngest == NULL || youngest->top > memo->readable_hi)
        return;
    for (uint32_t i = 1; i < ALQI_STACK_TRAIL_LOOKS; i++)
        if (is_row(memo, sp + (uintptr_t)youngest->look[i] * WORD))
            look_add(head, youngest->look[i]);
    slot = alqi_stack_trail_look(youngest, hash, sp);
    for (unsigned way = 0; way < 2; way++) {
        const struct alqi_stack_trail *trail =
            alqi_stack_trail_at(t, t->by_words[slot ^ way]);

        if (alqi_stack_trail_starts(trail, pc, sp, fp))
            look_add(head, row_parting(memo, head, trail));
    }
}

/* Of a pair of slots a free one, if one is. */
static uint16_t
slot_free(const uint16_t *table, uint32_t slot)
{
    return (uint16_t)(table[slot] != 0 && table[slot ^ 1] == 0 ? slot ^ 1
                                                               : slot);
}

/* The slots of a trail of the rows. */
static void
slots_choose(struct alqi_stack_memo *memo, uintptr_t fp,
             struct alqi_stack_trail *head)
{
    struct alqi_stack_trails *t = memo->trails;
    uintptr_t pc = memo->pc[memo->capacity - memo->n_rows];
    uint64_t hash = alqi_stack_trail_hash(pc, head->sp);
    const struct alqi_stack_trail *youngest =
        alqi_stack_trail_of_start(t, hash, pc, head->sp, fp);

    looks_learn(memo, hash, fp, head);
    head->slot =
        slot_free(t->by_words, alqi_stack_trail_look(head, hash, head->sp));
    head->start = youngest != NULL
                      ? youngest->start
                      : slot_free(t->by_start, alqi_stack_trail_start(hash));
}

static struct alqi_stack_trail
head_of_rows(const struct alqi_stack_memo *memo, uintptr_t sp)
{
    uint32_t n = memo->n_rows, first = memo->capacity - n;
    uint32_t n_blocks = (n - 2) / ALQI_STACK_TRAIL_BLOCK + 1;
    uint16_t look = (uint16_t)((memo->ra_at[first] - sp) / WORD);

    return (struct alqi_stack_trail){
        .sp = sp,
        .top = memo->ra_at[memo->capacity - 1],
        .fp_wanted = memo->link[first].fp_wanted,
        .n_frames = (uint16_t)n,
        .n_returns = (uint16_t)(n_blocks * ALQI_STACK_TRAIL_BLOCK),
        .n_checks = memo->link[first].n_checks,
        .look = {look, look, look, look},
    };
}

static uint32_t
words_of(const struct alqi_stack_trail *trail)
{
    uint32_t n = (uint32_t)trail->n_returns + trail->n_checks;
    size_t bytes =
        sizeof *trail + (n + 1) * sizeof trail->value[0] + n * sizeof(uint16_t);

    return (uint32_t)((bytes + WORD - 1) / WORD);
}

void
alqi_stack_trail_keep(struct alqi_stack_memo *memo, uintptr_t sp, uintptr_t fp)
{
    struct alqi_stack_trails *t = memo->trails;
    struct alqi_stack_trail head, *trail;
    uint32_t at, n_words;

    if (!is_keepable(memo, sp) || !is_second(memo, sp))
        return;
    if (t->n_made == UINT32_MAX)
        alqi_stack_trails_clear(t); /* an id is given once */
    head = head_of_rows(memo, sp);
    slots_choose(memo, fp, &head);
    n_words = words_of(&head);
    at = room_make(t, n_words);
    trail = alqi_stack_trail_at(t, at);
    *trail = head;
    if (trail_fill(memo, trail))
        trail_publish(t, at, n_words);
}

/* ---- beginning -------------------------------------------------------------
 */

void
alqi_stack_trails_clear(struct alqi_stack_trails *t)
{
    while (t->n_live > 0)
        oldest_drop(t);
    t->n_made = 0;
    t->last = NULL;
    t->rows_are_last = true;
}

void
alqi_stack_trails_init(struct alqi_stack_trails *t)
{
    struct alqi_stack_trail *nobody = alqi_stack_trail_at(t, 0);

    memset(t, 0, offsetof(struct alqi_stack_trails, ring));
    memset(nobody, 0, sizeof *nobody + sizeof nobody->value[0]);
    nobody->sp = UINTPTR_MAX; /* no stack's */
    t->end = RING_FIRST;
    t->rows_are_last = true;
}
