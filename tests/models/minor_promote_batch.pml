/* batch.pml -- participants claim several young blocks before they copy any
 *
 * PARTS participants have a batch of three slots each, whose blocks they share,
 * one twice in the same batch:
 *
 *   claim    each slot's block: MOVED, the slot is done; LIVE, it is claimed
 *            (compare and swap, promote.pml); else it waits for the last step
 *   copy     those claimed: header := MOVED, slot done
 *   wait     for the others: whoever claimed them copies without waiting
 *
 * Checked: each block is copied once, each slot is done; nobody waits for ever
 * (no deadlock).
 * Flaws:
 *   BUG_1  who meets a claimed block waits at once        -> deadlock
 *   BUG_2  it waits before it copies what it has claimed  -> deadlock
 *   BUG_3  the claim is a load and a store                -> copied twice */

#ifndef PARTS
#define PARTS 3
#endif
#define BATCH 3
#define BLOCKS 3

#define LIVE 0
#define IN_PROGRESS 1
#define MOVED 2

/* of a slot of the batch */
#define OPEN 0
#define MINE 1
#define OTHERS 2
#define DONE 3

byte header[BLOCKS];
byte times[BLOCKS]; /* ghost: copied */
byte ended;

inline claim()
{
    atomic {
        h = header[b];
#ifdef BUG_3
    }
    atomic {
#endif
        if
        :: h == LIVE -> header[b] = IN_PROGRESS
        :: else
        fi
    }
    if
    :: h == LIVE -> is[i] = MINE
    :: h == MOVED -> is[i] = DONE
    :: h == IN_PROGRESS ->
#ifdef BUG_1
        header[b] == MOVED;
        is[i] = DONE
#else
        is[i] = OTHERS
#endif
    fi
}

inline copy()
{
    times[b]++;
    header[b] = MOVED
}

#define EACH(what)                                                             \
    i = 0;                                                                     \
    do                                                                         \
    :: i < BATCH ->                                                            \
        b = block[i];                                                          \
        if                                                                     \
        :: is[i] == what
#define END                                                                    \
        :: else                                                                \
        fi;                                                                    \
        i++                                                                    \
    :: else -> break                                                           \
    od

inline copy_mine()
{
    EACH(MINE) -> copy(); is[i] = DONE
    END
}

inline wait_for_others()
{
    EACH(OTHERS) -> header[b] == MOVED; is[i] = DONE
    END
}

proctype part(byte first, second, third)
{
    byte block[BATCH], is[BATCH];
    byte i, b, h;

    block[0] = first;
    block[1] = second;
    block[2] = third;
    EACH(OPEN) -> claim()
    END;
#ifdef BUG_2
    wait_for_others();
    copy_mine();
#else
    copy_mine();
    wait_for_others();
#endif
    assert(is[0] == DONE && is[1] == DONE && is[2] == DONE);
    ended++
}

init
{
    atomic {
        run part(0, 1, 0);
        run part(1, 2, 0);
#if PARTS > 2
        run part(2, 0, 1);
#endif
    }
    ended == PARTS;
    assert(times[0] == 1 && times[1] == 1 && times[2] == 1)
}
