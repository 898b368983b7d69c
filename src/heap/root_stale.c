/* root_stale.c -- hard builds: references that are no roots become useless
 *
 * Behind a call that may collect, the registers and the near part of the
 * stack are read; a word that leads to a block that may move, and is no
 * root, gets bits that no address has.
 *
 * Keeps .inv.stale: Behind such a call no such word is left. */
#include "heap/root_stale.h"

#if ALQI_CHECKS >= 3

#include "heap/pool_area.h"
#include "heap/pool_class.h"
#include "heap/pin.h"
#include "heap/root.h"
#include "plat/registers.h"
#include "plat/stack.h"

#define STALE ((uintptr_t)0x5A1E << 48)

enum { NEAR = 4 << 10, SLOTS_MOST = 4096 };

/* A root that stands in the words that are looked at. */
struct slot {
    alqi_heap_word *at;
    alq_value value;
};

/* The roots among the words from `from` to `end`, and what decides which words
 * are stale. */
struct look {
    struct alqi_domain *d;
    bool is_full; /* more slots than there is room for */
    uintptr_t from;
    uintptr_t end;
    bool has_pins;
    size_t n;
    struct slot slots[SLOTS_MOST];
};

/* ---- roots -------------------------------------------------------------- */

/* Notes a root that lies in the words that are looked at, with its value: the
 * words are changed first, and the roots put back. */
static void
slot_note(void *arg, alq_value *at)
{
    struct look *look = arg;

    if ((uintptr_t)at < look->from || (uintptr_t)at >= look->end)
        return;
    if (look->n == SLOTS_MOST) {
        look->is_full = true;
        return;
    }
    look->slots[look->n++] = (struct slot){(alqi_heap_word *)at, *at};
}

/* Notes the slots of the domain's frames.  Inner frames have lower addresses,
 * but for those that are not on the stack: so the first one on the stack behind
 * the words that are looked at ends the walk. */
static void
frames_note(struct look *look)
{
    const struct alq_frame *f;
    uintptr_t start, end;
    unsigned i;

    (void)alqi_plat_stack_bounds(&start, &end);

    for (f = look->d->pub.frames; f != NULL; f = f->outer) {
        alq_value *slots = (alq_value *)(f + 1);

        if ((uintptr_t)f >= look->end && (uintptr_t)f < end)
            return;
        for (i = 0; i < f->site->n_slots; i++)
            slot_note(look, &slots[i]);
    }
}

/* Notes the roots in ranges, scanners and globals.  A range outside of the
 * words that are looked at is left out, since it may be long. */
static void
others_note(struct look *look)
{
    const struct alq_range *range;
    const struct alq_scanner *scanner;
    alq_value *slot;

    for (range = look->d->roots.ranges; range != NULL; range = range->next)
        if ((uintptr_t)range->base < look->end &&
            (uintptr_t)*range->top > look->from)
            for (slot = range->base; slot < *range->top; slot++)
                slot_note(look, slot);
    for (scanner = look->d->roots.scanners; scanner != NULL;
         scanner = scanner->next)
        scanner->scan(scanner->arg, slot_note, look);
    alqi_heap_roots_visit_globals(look->d->heap, slot_note, look);
}

/* ---- words -------------------------------------------------------------- */

/* Whether the word leads into a block of a minor heap: in the domain's own
 * slice into the allocated part, in another's anywhere. */
static bool
is_in_young(const struct look *look, uintptr_t word)
{
    const struct alqi_domain *d = look->d;
    uintptr_t slice = (word - d->pub.young_base) / ALQI_HEAP_MINOR_BYTES_MAX;

    if (slice >= d->heap->n_slots)
        return false;
    return slice != d->slot ||
           (word > (uintptr_t)d->pub.young_ptr && word < d->young.end);
}

/* Whether the word leads to a block in a pool, behind its header; sets *block
 * to it. */
static bool
is_in_pool(const struct alqi_heap_area *area, uintptr_t word, alq_value *block)
{
    uintptr_t pool = word & ~(uintptr_t)(ALQI_HEAP_POOL_BYTES - 1);
    uintptr_t at = (word - pool) / ALQ_WORD_BYTES, words;

    if (alqi_heap_area_index(area, word) >=
            __atomic_load_n(&area->n_frontier, __ATOMIC_RELAXED) ||
        alqi_heap_area_kind(area, word) == 0 || at < ALQI_HEAP_POOL_HEAD_WORDS)
        return false;
    words = alqi_heap_class_words[alqi_heap_area_class(area, word)];
    at -= ALQI_HEAP_POOL_HEAD_WORDS;
    *block = pool + (ALQI_HEAP_POOL_HEAD_WORDS + at / words * words + 1) *
                        ALQ_WORD_BYTES;
    return at % words != 0 && alqi_heap_header(*block) != 0;
}

/* Whether the word leads to a block that may move.  Young blocks are left alone
 * if anything is pinned: which ones stay is not known between collections. */
static bool
is_stale(const struct look *look, uintptr_t word)
{
    const struct alqi_heap_area *area = &look->d->heap->area;
    alq_value block = word;

    if (word - area->young_base < area->young_bytes)
        return is_in_young(look, word) && !look->has_pins;
    return alqi_heap_area_has(area, word) && is_in_pool(area, word, &block) &&
           !(look->has_pins && alqi_heap_pin_is_pinned(look->d->heap, block));
}

/* Changes the words that lead to a block that may move, roots among them. */
static void
words_change(const struct look *look)
{
    const uintptr_t base = look->d->heap->area.young_base;
    const uintptr_t bytes =
        look->d->heap->area.young_bytes + look->d->heap->area.major_bytes;
    volatile alqi_heap_word *at = (volatile alqi_heap_word *)look->from;

    for (; (uintptr_t)at < look->end; at++)
        if (ALQI_UNLIKELY(*at - base < bytes) && is_stale(look, *at))
            *at |= STALE;
}

/* Notes all roots among the words; false: there are more than there is room
 * for.  Scanners are called as by the collector, which they must not call: the
 * depth of events says so. */
static bool
roots_note(struct look *look)
{
    look->n = 0;
    look->is_full = false;
    look->d->events.depth++;
    frames_note(look);
    others_note(look);
    look->d->events.depth--;
    return !look->is_full;
}

struct request {
    struct alqi_domain *d;
    bool all;
};

/* Not on a stack that is read, nor with the thread's variables, for which many
 * stacks are too small. */
static struct look look;
static struct alqi_plat_lock look_lock = ALQI_PLAT_LOCK(HEAP_STALE);

/* Makes the words stale from the stack pointer up: all, or the NEAR ones if
 * there are too many roots, or none if there are too many even then. */
static void
look_locked(const struct request *request, uintptr_t sp, uintptr_t end)
{
    size_t i;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_HEAP_STALE));
    look.d = request->d;
    look.from = sp;
    look.end = end;
    look.has_pins = alqi_heap_pin_is_any(look.d->heap);
    if (!request->all || !roots_note(&look)) {
        look.end = end - sp < NEAR ? end : sp + NEAR;
        if (!roots_note(&look))
            return;
    }
    words_change(&look);
    for (i = 0; i < look.n; i++)
        *look.slots[i].at = look.slots[i].value;
}

/* 0: in no other domain. */
static __thread uintptr_t blocks_at __attribute__((tls_model("initial-exec")));

/* Notes that roots of the thread's domain begin here: it may run another domain
 * deeper on the same stack. */
ALQI_NOINLINE void
alqi_heap_stale_leave(struct alq_thread *thread)
{
    thread->stack_end = blocks_at;
    thread->has_left = true;
    blocks_at = (uintptr_t)__builtin_frame_address(0);
}

void
alqi_heap_stale_back(struct alq_thread *thread)
{
    if (!thread->has_left)
        return;
    thread->has_left = false;
    blocks_at = thread->stack_end;
}

/* Looks at the calling thread's stack from sp up to its end, or to where thread
 * variables or another domain's frames begin.  The registers are among the
 * words, in memory that alqi_plat_registers_lend() loads them from
 * afterwards. */
static void
look_at(void *arg, uintptr_t sp)
{
    uintptr_t start, end, own = (uintptr_t)&alqi_heap_thread_current;

    if (!alqi_plat_stack_bounds(&start, &end))
        return;
    if (own > sp && own < end)
        end = own; /* the thread's variables are there */
    if (blocks_at > sp && blocks_at < end)
        end = blocks_at;
    alqi_plat_lock(&look_lock);
    look_locked(arg, sp, end);
    alqi_plat_unlock(&look_lock);
}

/* Makes references of the calling thread that are no roots useless.  A
 * conservative thread is left alone: its words are roots. */
void
alqi_heap_stale(struct alqi_domain *d, bool all)
{
    const struct alq_thread *thread = d->threads.running;
    struct request request = {d, all};

    if (thread != NULL && thread->stack == NULL && !d->heap->life.is_lost)
        alqi_plat_registers_lend(look_at, &request);
}

#endif
