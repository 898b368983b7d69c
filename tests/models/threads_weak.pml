/* threads_weak.pml -- threads.pml's turns where memory is not ordered
 *
 * Two threads take the domain, each twice, and sleep as a futex lets them: only
 * while `held` is 1, and until somebody wakes them.
 *
 *   hold    held := 1 by compare and swap; it fails: waiting + 1, and again
 *           before each sleep; waiting - 1
 *   let go  held := 0; look at waiting; wake one
 *
 * All are seq_cst.  Who yields has counted itself before it lets go, so `held`
 * carries that.
 * Checked: who holds the domain sees what the last holder did (.inv.own); no
 * wake-up is lost.
 * Flaws:
 *   BUG_1  letting go looks at `waiting` with acquire  -> deadlock
 *   BUG_2  held := 0 is relaxed                        -> the domain's data
 *   BUG_3  the compare and swap does not acquire       -> the same */

#define HELD 0
#define WAITING 1
#define DATA 2
#define LOCATIONS 3
#define VALUES 10
#define THREADS 2
#define TURNS 2

#include "weak.pml"

#define MORE (n + 1)
#define LESS (n - 1)

#ifdef BUG_1
#define LOOKS ACQUIRE
#else
#define LOOKS SEQ_CST
#endif
#ifdef BUG_2
#define FREES RELAXED
#else
#define FREES SEQ_CST
#endif
#ifdef BUG_3
#define TAKES RELAXED
#else
#define TAKES SEQ_CST
#endif

bool asleep[THREADS];

inline hold_try(t)
{
    atomic {
        won = newest_of(HELD) == 0;
        if
        :: won -> exchange(t, HELD, 1, TAKES, SEQ_CST, n)
        :: else
        fi
    }
}

inline hold(t)
{
    hold_try(t);
    if
    :: !won ->
        exchange(t, WAITING, MORE, SEQ_CST, SEQ_CST, n);
        do
        :: hold_try(t);
            if
            :: won -> break
            :: else -> atomic { asleep[t] = newest_of(HELD) == 1 }; !asleep[t]
            fi
        od;
        exchange(t, WAITING, LESS, RELAXED, SEQ_CST, n)
    :: else
    fi
}

inline let_go(t)
{
    store(t, HELD, 0, FREES);
    load(t, WAITING, LOOKS, n);
    if
    :: n > 0 -> asleep[1 - t] = false
    :: else
    fi
}

proctype thread(byte t)
{
    byte k, n, turn;
    bool won;

    do
    :: turn < TURNS ->
        hold(t);
        load(t, DATA, RELAXED, n);
        assert(n == newest_of(DATA));
        store(t, DATA, MORE, RELAXED);
        let_go(t);
        turn++
    :: else -> break
    od
}

init
{
    atomic {
        run thread(0);
        run thread(1)
    }
}
