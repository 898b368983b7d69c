/* got_weak.pml -- whether modules may lack our words            [preload/got.c]
 *
 * A thread opens a module while another one looks, for the last time as it
 * thinks: no module has come for a second.
 *
 *   open   changed := now; is_stale := 1
 *   look   a walk; is_stale := 0; changed: not long ago: is_stale := 1
 *
 * All are seq_cst.
 * Checked: while the last module has come lately, somebody will look.
 * Flaws:
 *   BUG_1  `changed` is looked at before is_stale := 0
 *   BUG_2  `changed` is stored with release
 *   BUG_3  `changed` is looked at with acquire */

#define STALE 0
#define CHANGED 1
#define LOCATIONS 2
#define VALUES 5
#define THREADS 2
#define OPENER 0
#define LOOKER 1

#include "weak.pml"

#define LATELY 1

#ifdef BUG_2
#define CHANGES RELEASE
#else
#define CHANGES SEQ_CST
#endif
#ifdef BUG_3
#define LOOKS ACQUIRE
#else
#define LOOKS SEQ_CST
#endif

proctype opener()
{
    byte k;

    store(OPENER, CHANGED, LATELY, CHANGES);
    store(OPENER, STALE, 1, SEQ_CST)
}

proctype looker()
{
    byte k, n;

#ifdef BUG_1
    load(LOOKER, CHANGED, LOOKS, n);
    if
    :: n != LATELY -> store(LOOKER, STALE, 0, SEQ_CST)
    :: else
    fi
#else
    store(LOOKER, STALE, 0, SEQ_CST);
    load(LOOKER, CHANGED, LOOKS, n);
    if
    :: n == LATELY -> store(LOOKER, STALE, 1, SEQ_CST)
    :: else
    fi
#endif
}

init
{
    atomic {
        memory[STALE].is[0].value = 1;
        run opener();
        run looker()
    }
    _nr_pr == 1;
    assert(newest_of(CHANGED) != LATELY || newest_of(STALE) == 1)
}
