/* capture_replay_test.c -- replay against stacks that are made up
 *
 * The model is a list of frames.  Each step changes it somewhere -- a frame
 * inside, in the middle or outside, a longjmp over many, another stack -- and
 * writes its words to memory; what was there before stays, as it does on a
 * real stack.  Now and then a list comes again, as it was or with a change, so
 * that stacks hold, or nearly do.  The capture must give the list, must read no
 * stack but the one in use (the others are not mapped), and n_same_outer must
 * be true.  A capture of few frames must give the same, or say that it cannot.
 *
 * The frames belong to functions that are never called: code with CFI of every
 * kind.  The flaws at the end leave one check out on purpose: the model must
 * notice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "base/test_effort.h"
#include "base/test_seed.h"
#include "stack/capture.h"
#include "stack/capture_layout.h"
#include "stack/capture_cached.h"

#if defined(__x86_64__)

enum {
    SEED = 0xCA11,
    N_STEPS = ALQI_TEST_ROUNDS(300000, 60000, 60000),
    N_FLAWED_STEPS = ALQI_TEST_ROUNDS(200000, 50000, 50000),
    CAPACITY = 64,
    DEPTH_MAX = 48,
    SLED_BYTES = 32,
    N_STACKS = 3,
    STACK_BYTES = 65536,
    FORGET_EVERY = 5000,
    N_REMEMBERED = 24
};

#define SHAPE(name, cfi)                                                       \
    __asm__(".text\n" #name ":\n\t.cfi_startproc\n\t" cfi "\n\t"               \
            ".fill 33, 1, 0x90\n\tret\n\t.cfi_endproc\n");                     \
    extern const uint8_t name[];

#define CFA_SP(words) ".cfi_def_cfa_offset 8*" #words "\n\t"
#define CFA_FP(words) ".cfi_def_cfa 6, 8*" #words "\n\t"
#define FP_AT(words) ".cfi_offset 6, -8*" #words "\n\t"

SHAPE(sp2, CFA_SP(2))
SHAPE(sp4, CFA_SP(4))
SHAPE(sp4_fp2, CFA_SP(4) FP_AT(2))
SHAPE(sp6, CFA_SP(6))
SHAPE(sp6_fp2, CFA_SP(6) FP_AT(2))
SHAPE(sp6_fp4, CFA_SP(6) FP_AT(4))
SHAPE(sp8, CFA_SP(8))
SHAPE(sp8_fp3, CFA_SP(8) FP_AT(3))
SHAPE(fp2_fp2, CFA_FP(2) FP_AT(2))
SHAPE(fp2_fp4, CFA_FP(2) FP_AT(4))
SHAPE(fp4_fp3, CFA_FP(4) FP_AT(3))
/* DW_CFA_def_cfa_expression: rsp + 32; the walk calls that complex */
SHAPE(expr4_fp2, ".cfi_escape 0x0f, 0x02, 0x77, 0x20\n\t" FP_AT(2))
SHAPE(end_a, ".cfi_undefined 16")
SHAPE(end_b, ".cfi_undefined 16")

/* cfa_fp 0: the CFA is sp + size_words; else fp + cfa_fp words. */
static const struct shape {
    const uint8_t *code;
    unsigned size_words, cfa_fp_words, fp_at_words;
} shapes[] = {
    {sp2, 2, 0, 0},     {sp4, 4, 0, 0},     {sp4_fp2, 4, 0, 2},
    {sp6, 6, 0, 0},     {sp6_fp2, 6, 0, 2}, {sp6_fp4, 6, 0, 4},
    {sp8, 8, 0, 0},     {sp8_fp3, 8, 0, 3}, {fp2_fp2, 0, 2, 2},
    {fp2_fp4, 0, 2, 4}, {fp4_fp3, 0, 4, 3}, {expr4_fp2, 4, 0, 2},
};
enum { N_SHAPES = sizeof shapes / sizeof shapes[0] };

struct frame {
    const struct shape *shape;
    unsigned site; /* which address in it */
    unsigned size_words;
};

enum outermost { ENDS_A, ENDS_B, ENDS_ZERO, ENDS_LOST, N_ENDS };

struct model {
    struct frame frame[DEPTH_MAX]; /* outermost first */
    unsigned depth;
    enum outermost ends;
    unsigned end_site;
    unsigned stack; /* which one */
};

/* What a capture is to give: pc and CFA, innermost first. */
struct expected {
    uintptr_t pc[DEPTH_MAX + 1], cfa[DEPTH_MAX + 1];
    unsigned n;
    bool is_incomplete, is_truncated;
};

static uint64_t random_state;
static char *stacks[N_STACKS];
static struct alqi_stack_cache *cache;
static struct alqi_stack_layouts few;
static struct expected before, now;
static uint64_t n_wrong, n_same_seen, n_same_true, n_truncated, n_lost;
static uint64_t n_trails; /* captures that were one */
static uint64_t n_few;    /* captures of few frames */
static enum {
    FLAW_NONE,
    FLAW_RETURN,
    FLAW_FP,
    FLAW_TRAIL_RETURN,
    FLAW_TRAIL_FP,
    FLAW_TRAIL_ENTRY,
    FLAW_FEW_RETURN,
    FLAW_FEW_RULE,
    FLAW_FEW_FP
} flaw;

static unsigned
rnd(unsigned n)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(random_state >> 33) % n;
}

/* ---- flaws ----------------------------------------------------------------
 */

uint32_t __real_alqi_stack_rows_verify(const struct alqi_stack_cache *m,
                                       uint32_t at, uint32_t n, uintptr_t fp);
uint32_t __wrap_alqi_stack_rows_verify(const struct alqi_stack_cache *m,
                                       uint32_t at, uint32_t n, uintptr_t fp);

/* One word is left out by expecting there what it holds. */
uint32_t
__wrap_alqi_stack_rows_verify(const struct alqi_stack_cache *m, uint32_t at,
                              uint32_t n, uintptr_t fp)
{
    uintptr_t *value = NULL, kept = 0;
    uint32_t same, first = m->capacity - m->link[at].n_checks;
    uint32_t n_checks = m->link[at].n_checks - m->link[at + n].n_checks;

    if (flaw == FLAW_RETURN && n > 0) {
        uint32_t i = at + rnd(n);

        value = &m->pc[i + 1];
        kept = *value;
        *value = alqi_stack_word(m->ra_at[i]);
    } else if (flaw == FLAW_FP && n_checks > 0) {
        uint32_t i = first + rnd(n_checks);

        value = &m->check[i].value;
        kept = *value;
        *value = alqi_stack_word(m->check[i].at);
    }
    same = __real_alqi_stack_rows_verify(m, at, n, fp);
    if (value != NULL)
        *value = kept;
    return same;
}

/* The cached that the capture will try, or NULL. */
static struct alqi_stack_cached *
cached_likely(const struct alqi_stack_regs *start)
{
    struct alqi_stack_cached_set *t = cache->stacks;
    uint64_t hash = alqi_stack_cached_hash(start->pc, start->sp);
    const struct alqi_stack_cached *youngest =
        alqi_stack_cached_by_start(t, hash, start->pc, start->sp, start->fp);
    struct alqi_stack_cached *cached;
    uint32_t slot;

    if (youngest == NULL || youngest->top > cache->readable_hi)
        return NULL;
    slot = alqi_stack_cached_look(youngest, hash, start->sp);
    cached = alqi_stack_cached_at(t, t->by_words[slot]);
    if (cached->sp != start->sp || cached->value[0] != start->pc)
        cached = alqi_stack_cached_at(t, t->by_words[slot ^ 1]);
    return cached->sp == start->sp && cached->top <= cache->readable_hi ? cached
                                                                        : NULL;
}

/* The value of a cached that the flaw leaves out, and in *holds what would pass
 * there; NULL: it has none such. */
static uintptr_t *
cached_blind_spot(struct alqi_stack_cached *cached,
                  const struct alqi_stack_regs *start, uintptr_t *holds)
{
    uint32_t i = rnd(cached->n_frames - 1u);

    *holds = 0;
    if (flaw == FLAW_TRAIL_ENTRY)
        return cached->fp_wanted == 0 ? NULL : &cached->fp_wanted;
    if (flaw == FLAW_TRAIL_FP) {
        if (cached->n_checks == 0)
            return NULL;
        i = cached->n_returns + rnd(cached->n_checks);
    }
    *holds =
        alqi_stack_word_at(start->sp, alqi_stack_cached_offsets(cached)[i]);
    return &cached->value[i + 1];
}

static struct alqi_stack_result
capture(const struct alqi_stack_regs *start, uint32_t max)
{
    struct alqi_stack_cached *cached =
        flaw >= FLAW_TRAIL_RETURN && flaw <= FLAW_TRAIL_ENTRY
            ? cached_likely(start)
            : NULL;
    uintptr_t *value = NULL, holds, kept = 0;
    uint32_t id = cached != NULL ? cached->id : 0;
    struct alqi_stack_result r;

    if (cached != NULL)
        value = cached_blind_spot(cached, start, &holds);
    if (value != NULL) {
        kept = *value;
        *value = holds;
    }
    r = alqi_stack_capture(cache, start, 0, 0, max);
    if (value != NULL && cached->id == id) /* else another lies there now */
        *value = kept;
    n_trails += !cache->stacks->rows_are_last;
    return r;
}

/* ---- few frames ------------------------------------------------------------
 */

/* Words that a flaw hides behind those the layout expects. */
static struct {
    uintptr_t at, holds;
} hidden[ALQI_STACK_LAYOUT_FRAMES_MAX];
static unsigned n_hidden;

static void
word_put(uintptr_t at, uintptr_t value)
{
    *(uintptr_t *)at = value;
}

static void
word_hide(uintptr_t at, uintptr_t behind)
{
    hidden[n_hidden].at = at;
    hidden[n_hidden++].holds = alqi_stack_word(at);
    word_put(at, behind);
}

static void
words_show(void)
{
    while (n_hidden > 0) {
        n_hidden--;
        word_put(hidden[n_hidden].at, hidden[n_hidden].holds);
    }
}

/* Checks of one kind of the layout that is about to be tried are left out. */
static void
layout_blind(struct alqi_stack_layout *l, const struct alqi_stack_regs *start)
{
    if (flaw == FLAW_FEW_FP)
        l->has_fp = false;
    if (flaw == FLAW_FEW_FP || l->sp != start->sp || l->pc[0] != start->pc ||
        l->n < 3 ||
        l->sp + l->offset[l->n - 2] * sizeof l->sp >= cache->readable_hi)
        return;
    for (unsigned at = 1; at + 1 < l->n; at++) {
        uintptr_t ra_at = l->sp + l->offset[at - 1] * sizeof l->sp;

        if (flaw == FLAW_FEW_RETURN)
            word_hide(ra_at, l->pc[at]);
        else
            l->rule[at] = alqi_stack_rules_find(alqi_stack_word(ra_at));
    }
}

static void
check_few(const struct alqi_stack_regs *start, uint32_t max)
{
    unsigned n = now.n < max ? now.n : max;
    struct alqi_stack_frames r;

    if (flaw >= FLAW_FEW_RETURN)
        layout_blind(alqi_stack_layout_of(&few, start->pc, start->sp), start);
    r = alqi_stack_layout_capture(&few, cache, start, 0, 0, max);
    words_show();
    if (r.pcs == NULL)
        return;
    n_few++;
    n_wrong +=
        r.n != n || (now.is_incomplete && now.n < max) ||
        memcmp(r.pcs, &now.pc[DEPTH_MAX + 1 - now.n], n * sizeof r.pcs[0]) != 0;
}

/* ---- the model ------------------------------------------------------------
 */

static struct frame
frame_random(void)
{
    struct frame f = {&shapes[rnd(N_SHAPES)], rnd(SLED_BYTES), 0};

    f.size_words =
        f.shape->size_words != 0 ? f.shape->size_words : 4 + 2 * rnd(3);
    return f;
}

static uintptr_t
pc_of(const uint8_t *code, unsigned site)
{
    return (uintptr_t)code + 1 + site;
}

static void
stack_switch(struct model *m, unsigned to)
{
    mprotect(stacks[m->stack], STACK_BYTES, PROT_NONE);
    mprotect(stacks[to], STACK_BYTES, PROT_READ | PROT_WRITE);
    m->stack = to;
}

/* Another function's frame of the same size, so that those inside stay. */
static void
frame_replace(struct frame *f)
{
    struct frame g;

    do {
        g = frame_random();
        if (g.shape->size_words == 0)
            g.size_words = f->size_words < 4 ? 4 : f->size_words;
    } while (g.size_words != f->size_words);
    *f = g;
}

/* The CFA of a frame moves, the frames inside and outside stay. */
static void
sizes_swap(struct model *m, unsigned at)
{
    struct frame *a = &m->frame[at], *b = a + 1;

    if (at + 1 < m->depth && a->shape->size_words == 0 &&
        b->shape->size_words == 0) {
        unsigned size = a->size_words;

        a->size_words = b->size_words;
        b->size_words = size;
    }
}

static void
model_change(struct model *m)
{
    unsigned at = m->depth != 0 ? rnd(m->depth) : 0;

    switch (rnd(16)) {
    case 0: /* a longjmp, or an exception */
        m->depth = at;
        break;
    case 1:
        stack_switch(m, rnd(N_STACKS));
        break;
    case 2:
        m->ends = rnd(N_ENDS);
        m->end_site = rnd(SLED_BYTES);
        break;
    case 3:
    case 4:
        if (m->depth > 0)
            frame_replace(&m->frame[at]);
        break;
    case 5:
    case 6:
    case 7:
        sizes_swap(m, at);
        break;
    case 8:
    case 9:
    case 10: /* the same function, at another call */
        m->frame[at].site = rnd(SLED_BYTES);
        break;
    default:
        m->depth -= rnd(m->depth < 4 ? m->depth + 1 : 4);
        for (unsigned n = rnd(5); n > 0 && m->depth < DEPTH_MAX; n--)
            m->frame[m->depth++] = frame_random();
        break;
    }
}

/* What has been comes again, the stack it is on with it. */
static void
model_step(struct model *m)
{
    static struct model remembered[N_REMEMBERED];
    unsigned at = rnd(N_REMEMBERED), how = rnd(8);

    if (how > 4 && remembered[at].depth > 0) {
        stack_switch(m, remembered[at].stack);
        *m = remembered[at];
    }
    if (how < 6)
        model_change(m);
    if (m->depth == 0)
        m->frame[m->depth++] = frame_random();
    if (rnd(16) == 0)
        remembered[at] = *m;
}

/* Writes the frames' words, outermost first, and says what a capture gives.
 * fp is what the frames outside want it to be, or what nobody looks at. */
static struct alqi_stack_regs
model_write(const struct model *m, struct expected *e)
{
    const uint8_t *end = m->ends == ENDS_A ? end_a : end_b;
    uintptr_t cfa = (uintptr_t)stacks[m->stack] + STACK_BYTES - 64;
    uintptr_t ra = m->ends == ENDS_ZERO ? 0 : 17, fp = 8 * rnd(1000) + 1;
    struct alqi_stack_regs start = {.is_return = true};

    memset(e, 0, sizeof *e);
    e->is_incomplete = m->ends == ENDS_LOST;
    if (m->ends == ENDS_A || m->ends == ENDS_B) {
        ra = pc_of(end, m->end_site);
        e->pc[DEPTH_MAX] = ra;
        e->cfa[DEPTH_MAX] = cfa;
        e->n = 1;
    }
    for (unsigned i = 0; i < m->depth; i++) {
        const struct frame *f = &m->frame[i];
        const struct shape *s = f->shape;

        word_put(cfa - 8, ra);
        if (s->fp_at_words != 0) {
            word_put(cfa - 8 * s->fp_at_words, fp);
            fp = 8 * rnd(1000) + 1;
        }
        if (s->cfa_fp_words != 0)
            fp = cfa - 8 * s->cfa_fp_words;
        ra = pc_of(s->code, f->site);
        e->n++;
        e->pc[DEPTH_MAX + 1 - e->n] = ra;
        e->cfa[DEPTH_MAX + 1 - e->n] = cfa;
        cfa -= 8 * f->size_words;
    }
    start.pc = ra;
    start.sp = cfa;
    start.fp = fp;
    return start;
}

/* ---- the check ------------------------------------------------------------
 */

static unsigned
same_outer(void)
{
    unsigned n = 0;

    if (before.is_truncated || now.is_truncated)
        return 0;
    while (n < before.n && n < now.n &&
           before.pc[DEPTH_MAX - n] == now.pc[DEPTH_MAX - n] &&
           before.cfa[DEPTH_MAX - n] == now.cfa[DEPTH_MAX - n])
        n++;
    return n;
}

static void
wrong_print(const struct alqi_stack_result *r, unsigned n_same)
{
    print_message("frames %u of %u, same outer %u of %u, truncated %d of %d, "
                  "incomplete %d of %d\n",
                  r->n_frames, now.n, r->n_same_outer, n_same, r->truncated,
                  now.is_truncated, r->incomplete, now.is_incomplete);
    for (unsigned i = 0; i < r->n_frames || i < now.n; i++)
        print_message("%3u %#14lx %#14lx\n", i,
                      i < r->n_frames ? r->frames[i] : 0,
                      i < now.n ? now.pc[DEPTH_MAX + 1 - now.n + i] : 0);
}

static void
check(const struct alqi_stack_result *r, uint32_t max)
{
    unsigned n = now.n < max ? now.n : max, n_same;

    now.is_truncated = n < now.n;
    n_same = same_outer();
    if (r->n_frames != n || r->truncated != now.is_truncated ||
        r->incomplete != (now.is_incomplete && !now.is_truncated) ||
        memcmp(r->frames, &now.pc[DEPTH_MAX + 1 - now.n],
               n * sizeof r->frames[0]) != 0 ||
        r->n_same_outer > n_same) {
        if (n_wrong++ == 0 && flaw == FLAW_NONE)
            wrong_print(r, n_same);
    }
    n_same_seen += r->n_same_outer;
    n_same_true += n_same;
    n_truncated += r->truncated;
    n_lost += r->incomplete;
    before = now;
}

static void
run(unsigned n_steps)
{
    static struct model m;

    memset(&m, 0, sizeof m);
    memset(&before, 0, sizeof before);
    before.is_truncated = true; /* a new cache has nothing the same */
    alqi_stack_cache_init(cache, CAPACITY);
    n_wrong = n_same_seen = n_same_true = n_truncated = n_lost = 0;
    n_trails = n_few = 0;
    memset(&few, 0, sizeof few);
    for (unsigned i = 0; i < n_steps; i++) {
        uint32_t max = rnd(16) == 0 ? 1 + rnd(20) : CAPACITY;
        struct alqi_stack_regs start;
        struct alqi_stack_result r;

        model_step(&m);
        start = model_write(&m, &now);
        if (i % FORGET_EVERY == 0) {
            alqi_stack_forget();
            before.is_truncated = true;
        }
        if (flaw == FLAW_NONE || flaw >= FLAW_FEW_RETURN)
            check_few(&start, max);
        r = capture(&start, max);
        check(&r, max);
    }
    for (unsigned i = 0; i < N_STACKS; i++)
        mprotect(stacks[i], STACK_BYTES,
                 i == 0 ? PROT_READ | PROT_WRITE : PROT_NONE);
}

static int
setup(void **state)
{
    char *p = mmap(NULL, 2 * N_STACKS * STACK_BYTES, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)state;
    cache = malloc(alqi_stack_cache_bytes(CAPACITY));
    /* the first two touch, the third has a gap before it */
    for (unsigned i = 0; i < N_STACKS; i++)
        stacks[i] = p + (i + i / 2) * STACK_BYTES;
    random_state = SEED + alqi_base_test_seed();
    return p == MAP_FAILED ||
           mprotect(stacks[0], STACK_BYTES, PROT_READ | PROT_WRITE) != 0;
}

static void
test_gives_the_model(void **state)
{
    (void)state;
    flaw = FLAW_NONE;
    run(N_STEPS);
    assert_int_equal(n_wrong, 0);
    assert_true(n_truncated > N_STEPS / 100);
    assert_true(n_lost > N_STEPS / 100);
    /* what is the same is known to be */
    assert_true(n_same_true > 0);
    assert_int_equal(n_same_seen, n_same_true);
    print_message("%lu of %u captures were stacks\n", n_trails, N_STEPS);
    assert_true(n_trails > N_STEPS / 40);
    print_message("%lu were of few frames\n", n_few);
    assert_true(n_few > N_STEPS / 8);
}

static void
flaw_is_noticed(int which)
{
    flaw = which;
    n_wrong = 0;
    for (int tries = 0; tries < 10 && n_wrong == 0; tries++)
        run(N_FLAWED_STEPS);
    flaw = FLAW_NONE;
    print_message("noticed %lu times\n", n_wrong);
    assert_true(n_wrong > 0);
}

static void
test_a_return_left_out_is_noticed(void **state)
{
    (void)state;
    flaw_is_noticed(FLAW_RETURN);
}

static void
test_a_frame_pointer_left_out_is_noticed(void **state)
{
    (void)state;
    flaw_is_noticed(FLAW_FP);
}

static void
test_a_return_of_a_trail_left_out_is_noticed(void **state)
{
    (void)state;
    flaw_is_noticed(FLAW_TRAIL_RETURN);
}

static void
test_a_frame_pointer_of_a_trail_left_out_is_noticed(void **state)
{
    (void)state;
    flaw_is_noticed(FLAW_TRAIL_FP);
}

static void
test_the_fp_a_trail_starts_with_left_out_is_noticed(void **state)
{
    (void)state;
    flaw_is_noticed(FLAW_TRAIL_ENTRY);
}

static void
test_a_return_of_a_layout_left_out_is_noticed(void **state)
{
    (void)state;
    flaw_is_noticed(FLAW_FEW_RETURN);
}

static void
test_a_rule_of_a_layout_left_out_is_noticed(void **state)
{
    (void)state;
    flaw_is_noticed(FLAW_FEW_RULE);
}

static void
test_a_frame_pointer_of_a_layout_left_out_is_noticed(void **state)
{
    (void)state;
    flaw_is_noticed(FLAW_FEW_FP);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gives_the_model),
        cmocka_unit_test(test_a_return_left_out_is_noticed),
        cmocka_unit_test(test_a_frame_pointer_left_out_is_noticed),
        cmocka_unit_test(test_a_return_of_a_trail_left_out_is_noticed),
        cmocka_unit_test(test_a_frame_pointer_of_a_trail_left_out_is_noticed),
        cmocka_unit_test(test_the_fp_a_trail_starts_with_left_out_is_noticed),
        cmocka_unit_test(test_a_return_of_a_layout_left_out_is_noticed),
        cmocka_unit_test(test_a_rule_of_a_layout_left_out_is_noticed),
        cmocka_unit_test(test_a_frame_pointer_of_a_layout_left_out_is_noticed),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}

#else

int
main(void)
{
    return 77; /* the made-up functions are written for x86-64 */
}

#endif
