#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "kits/memprof/ledger.h"

enum { UNUSED, ISSUED, HANDED_IN };

/* A decision of a callback that depends on the ticket alone. */
static int
verdict(uint32_t n)
{
    static const int codes[] = {
        ALQ_TRACK_KEEP, ALQ_TRACK_KEEP, ALQ_TRACK_KEEP, ALQ_TRACK_KEEP,
        ALQ_TRACK_KEEP, ALQ_TRACK_DROP, ALQ_TRACK_KEEP, -1};

    return codes[alqi_base_mix(n) % ALQI_COUNT_OF(codes)];
}

static int
on_alloc(void *arg, const struct alq_allocation *a, uintptr_t *data)
{
    struct ledger *l = arg;
    uint32_t n = atomic_fetch_add(&l->n_issued, 1);
    int code = n < LEDGER_TICKETS ? verdict(n) : ALQ_TRACK_DROP;

    if (a->n_samples == 0 || a->n_samples > a->size_words + 1 ||
        a->callstack.n_frames > FAKE_DEPTH)
        atomic_fetch_add(&l->wrong, 1);
    if (code == ALQ_TRACK_KEEP) {
        if (atomic_exchange(&l->ticket[n], ISSUED) != UNUSED)
            atomic_fetch_add(&l->wrong, 1);
        *data = n;
    }
    return code;
}

static void
hand_in(struct ledger *l, uintptr_t data)
{
    if (atomic_exchange(&l->ticket[data], HANDED_IN) != ISSUED)
        atomic_fetch_add(&l->wrong, 1);
}

static int
on_dealloc(void *arg, uintptr_t data)
{
    struct ledger *l = arg;

    hand_in(l, data);
    atomic_fetch_add(&l->deallocs, 1);
    return data % 97 == 0 ? -2 : 0;
}

static void
on_release(void *arg, uintptr_t data)
{
    struct ledger *l = arg;

    hand_in(l, data);
    atomic_fetch_add(&l->releases, 1);
}

struct alq_tracker
ledger_tracker(struct ledger *l)
{
    return (struct alq_tracker){.alloc_major = on_alloc,
                                .dealloc_major = on_dealloc,
                                .release = on_release,
                                .arg = l};
}

void
ledger_check(struct fake_thread *f, struct ledger *l)
{
    struct alq_memprof_counts n;
    uint64_t issued = 0;

    if (!l->is_open)
        return;
    alqi_memprof_counts(l->profile, &n);
    /* every block is freed and every callback has run */
    assert_int_equal(n.live_entries, 0);
    (void)alqi_memprof_discard(&f->t, l->profile);
    for (uint32_t i = 0; i < LEDGER_TICKETS; i++) {
        assert_int_not_equal(l->ticket[i], ISSUED);
        issued += l->ticket[i] == HANDED_IN;
    }
    assert_int_equal(l->wrong, 0);
    assert_int_equal(issued, l->deallocs + l->releases);
    assert_true(n.sampled_blocks >= l->n_issued);
    alqi_memprof_profile_drop(l->profile);
}
