/* minor_local_weak.pml -- minor_local.pml's flag where memory is not ordered
 *
 * Two domains let a young block escape, each to a field of its own; a third one
 * reads one of the fields, and collects alone unless something has escaped.
 *
 *   escape   has_escaped, relaxed; 0: has_escaped := 1, relaxed
 *            field := block, release
 *   look     field, relaxed; a fence that acquires; has_escaped, relaxed
 *
 * That who collects alone meets no block of another domain rests on (.pair.escape):
 *   BUG_1  field := block releases             here: relaxed
 *   BUG_2  a fence stands before has_escaped   here: none
 *   BUG_3  has_escaped is set before the field here: behind it */

#define ESCAPED 0
#define FIELD(d) (1 + (d))
#define LOCATIONS 3
#define VALUES 3
#define ESCAPERS 2
#define LOOKER ESCAPERS
#define THREADS 3
#define FENCES

#include "weak.pml"

inline set(d)
{
    load(d, ESCAPED, RELAXED, n);
    if
    :: n == 0 -> store(d, ESCAPED, 1, RELAXED)
    :: else
    fi
}

proctype escaper(byte d)
{
    byte k, n;

#ifdef BUG_3
    store(d, FIELD(d), 1, RELEASE);
    set(d)
#else
    set(d);
#ifdef BUG_1
    store(d, FIELD(d), 1, RELAXED)
#else
    store(d, FIELD(d), 1, RELEASE)
#endif
#endif
}

proctype looker()
{
    byte k, n, block;

    if
    :: true -> load(LOOKER, FIELD(0), RELAXED, block)
    :: true -> load(LOOKER, FIELD(1), RELAXED, block)
    fi;
#ifndef BUG_2
    fence_acquire(LOOKER);
#endif
    load(LOOKER, ESCAPED, RELAXED, n);
    assert(block == 0 || n == 1) /* .inv.private */
}

init
{
    atomic {
        run escaper(0);
        run escaper(1);
        run looker()
    }
}
