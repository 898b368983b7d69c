/* filter_weak.pml -- filter.pml's protocol where memory is not ordered
 *
 * A free loads the mask and then the byte, both relaxed; no lock, no fence.
 * That it finds no zero byte for a tracked address rests on four things, and
 * each is left out once:
 *   BUG_1  the byte's address depends on the mask: here it does not
 *   BUG_2  the mask is published by a release store: here it is relaxed
 *   BUG_3  the level is published by a release store behind the mask's: relaxed
 *   BUG_4  the program hands the block over by synchronizing: it does not
 * Under its shard's lock a thread reads and writes the counts, relaxed. */

#define BLOCKS 1
#define LEVELS 2

#define MASK 0
#define NOW 1
#define BYTE(l) (2 + (l))
#define LOCATIONS (2 + LEVELS)
#define VALUES 6
#define INDEXER 0
#define FREER 1
#define GROWER 2
#define THREADS 3

#include "weak.pml"

view_of shard;  /* what its lock carries   */
bool held;
byte level;     /* of the shard; under it  */
bool in;
byte lo, hi;
view_of handed; /* what the program's own synchronization carries */
bool is_handed, is_freed;

inline lock(t)
{
    atomic { !held -> held = true; join(view[t], shard) }
}

inline unlock(t)
{
    atomic { join(shard, view[t]); held = false }
}

inline count(t, l, by)
{
    atomic {
        load(t, BYTE(l), RELAXED, n);
        assert(n == newest_of(BYTE(l))); /* .inv.byte: the lock orders it */
        assert(by == 1 || n > 0);        /* .inv.zero */
        append(t, BYTE(l), n + by, RELAXED, false)
    }
}

proctype indexer()
{
    byte k, n, l;

    lock(INDEXER);
    load(INDEXER, NOW, ACQUIRE, lo);
    hi = (level > lo -> level : lo);
    l = lo;
    do
    :: l <= hi -> count(INDEXER, l, 1); l++
    :: else -> break
    od;
    in = true;
    unlock(INDEXER);
    atomic { join(handed, view[INDEXER]); is_handed = true }
}

proctype freer()
{
    byte k, n, m, l;

    atomic {
        is_handed;
#ifndef BUG_4
        join(view[FREER], handed)
#endif
    }
#ifdef BUG_1
    load(FREER, MASK, RELAXED, m);
#else
    load(FREER, MASK, DEPENDS, m);
#endif
    load(FREER, BYTE(m), RELAXED, n);
    assert(n > 0); /* .inv.zero */
    lock(FREER);
    l = lo;
    do
    :: l <= hi -> count(FREER, l, -1); l++
    :: else -> break
    od;
    in = false;
    is_freed = true;
    unlock(FREER)
}

proctype grower()
{
    byte k, n;

    lock(GROWER);
    level = 1;
    if
    :: in && hi < 1 -> count(GROWER, 1, 1); hi = 1
    :: else
    fi;
    unlock(GROWER);
#ifdef BUG_2
    store(GROWER, MASK, 1, RELAXED);
#else
    store(GROWER, MASK, 1, RELEASE);
#endif
#ifdef BUG_3
    store(GROWER, NOW, 1, RELAXED)
#else
    store(GROWER, NOW, 1, RELEASE)
#endif
}

init
{
    atomic {
        run indexer();
        run freer();
        run grower()
    }
    is_freed && _nr_pr == 1;
    assert(newest_of(BYTE(0)) == 0 && newest_of(BYTE(1)) == 0)
}
