/* bound_weak.pml -- the hard limit where memory is not ordered
 *                                                   [src/heap/limit_heap.c]
 *
 * Two domains take memory at once, of which the limit has room for one: one
 * takes a large block, the other opens a minor heap.  Each counts what it
 * takes, then looks at what the other has counted, and gives up if that is too
 * much.
 *
 *   block   large.bytes + 1, seq_cst; n_promised, seq_cst
 *   open    n_promised + 1, seq_cst; large.bytes, seq_cst
 *
 * Checked: one of them gives up (.inv.bound).
 * Flaws:
 *   BUG_1  large.bytes is looked at relaxed
 *   BUG_2  n_promised is looked at with acquire
 *   BUG_3  what is taken is counted with acquire and release */

#define LOCATIONS 2 /* what each of the two has counted */
#define VALUES 3
#define THREADS 2

#include "weak.pml"

#define ADD (n + 1)

byte kept, ended;

#ifdef BUG_3
#define COUNTS ACQUIRE
#else
#define COUNTS SEQ_CST
#endif

proctype taker(byte me)
{
    byte k, n;

    exchange(me, me, ADD, COUNTS, COUNTS, n);
#ifdef BUG_1
    load(me, 1 - me, (me == 1 -> RELAXED : SEQ_CST), n);
#else
#ifdef BUG_2
    load(me, 1 - me, (me == 0 -> ACQUIRE : SEQ_CST), n);
#else
    load(me, 1 - me, SEQ_CST, n);
#endif
#endif
    if
    :: n == 0 -> kept++
    :: else
    fi;
    ended++
}

init
{
    atomic {
        run taker(0);
        run taker(1)
    }
    ended == 2;
    assert(kept < 2)
}
