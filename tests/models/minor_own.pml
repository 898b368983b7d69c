/* own.pml -- minor heaps that are owned, then shared, while they are emptied
 *
 * Two participants, three minor heaps: one each, and one of a domain that is
 * away, whose share either may get.  Blocks lead from heap to heap:
 *
 *   heap 0: 0 -> 2    1 -> 3    heap 1: 2 -> 1    3 -> 4    heap 2: 4 -> 0
 *   roots: 0 and 4 (participant 0), 2 and 1 (participant 1)
 *
 *   copier   of a heap: FREE, or its owner, or SHARED
 *   claim    of a share: FREE -> owner, by compare and swap; if it fails, SHARED
 *   meet     SHARED: the block is claimed, as in promote.pml; the own: plain
 *            stores; FREE: compare and swap to SHARED; else the owner is called,
 *            and asked again until it has shared
 *   answer   an owner that is called shares all that it owns: between two
 *            blocks, while it waits for another owner, and when it has nothing
 *            left
 *
 * Checked: each block is copied once (.inv.owned, .inv.claim); nobody waits for
 * ever (no deadlock).
 * Flaws:
 *   BUG_1  an owner answers while it copies             -> copied twice
 *   BUG_2  who waits for an owner does not answer       -> deadlock
 *   BUG_3  who has nothing left does not share          -> deadlock
 *   BUG_4  a FREE heap is used as if it were SHARED     -> copied twice
 *   BUG_5  the claim of a share is a store              -> copied twice
 *   BUG_6  an owner that has shared goes on with plain stores -> copied twice */

#define BLOCKS 5
#define FREE 0 /* else the owner + 1, or: */
#define SHARED 9

#define LIVE 0
#define IN_PROGRESS 1
#define MOVED 2

byte header[BLOCKS];
byte to[BLOCKS];
byte times[BLOCKS]; /* ghost: copied */
byte copier[3];
bool called[2];
bool away_given; /* the share of heap 2 */
byte done;

#define heap_of(b) ((b) / 2)

inline share_all()
{
    k = 0;
    do
    :: k < 3 ->
        if
        :: copier[k] == me + 1 -> copier[k] = SHARED
        :: else
        fi;
        k++
    :: else -> k = 0; break
    od
}

inline answer()
{
    if
    :: called[me] -> called[me] = 0; share_all()
    :: else
    fi
}

inline claim(heap)
{
#ifndef BUG_5
    atomic {
        if
        :: copier[heap] == FREE -> copier[heap] = me + 1
        :: else
        fi
    }
#else
    copier[heap] = me + 1
#endif
}

inline copied()
{
    times[b]++;
    todo ! b
}

inline plain_copy()
{
    h = header[b];
    if
    :: h == LIVE ->
#ifdef BUG_1
        answer();
#endif
        copied();
        header[b] = MOVED
    :: else
    fi
}

inline claimed_copy()
{
    atomic {
        h = header[b];
        if
        :: h == LIVE -> header[b] = IN_PROGRESS
        :: else
        fi
    }
    if
    :: h == LIVE -> copied(); header[b] = MOVED
    :: else -> header[b] == MOVED
    fi
}

inline meet()
{
    do
    :: true ->
        c = copier[heap_of(b)];
        if
        :: c == SHARED -> claimed_copy(); break
        :: c == me + 1 -> plain_copy(); break
        :: c == FREE ->
#ifndef BUG_4
            atomic {
                if
                :: copier[heap_of(b)] == FREE -> copier[heap_of(b)] = SHARED
                :: else
                fi
            }
#else
            claimed_copy();
            break
#endif
        :: else ->
            called[c - 1] = 1;
            /* Looking again in vain is no step: else a circle would pass for
             * progress. */
#ifndef BUG_2
            (called[me] || copier[heap_of(b)] == SHARED);
            answer()
#else
            copier[heap_of(b)] == SHARED
#endif
        fi
    od;
    c = 0;
    h = 0
}

inline visit(block)
{
    b = block;
#ifndef BUG_6
    answer();
#else
    c = copier[heap_of(b)];
    answer();
    if
    :: c == me + 1 -> plain_copy()
    :: else
    fi;
#endif
    meet()
}

proctype part(byte me, first, second)
{
    chan todo = [BLOCKS * 2] of { byte };
    byte b, c, h, k;
    bool mine;

    claim(me);
    visit(first);
    atomic { mine = !away_given; away_given = 1 }
    if
    :: mine -> claim(2)
    :: else
    fi;
    visit(second);
    do
    :: todo ? b -> b = to[b]; visit(b)
    :: empty(todo) -> break
    od;
#ifndef BUG_3
    share_all();
#endif
    done++
}

init
{
    atomic {
        to[0] = 2; to[1] = 3; to[2] = 1; to[3] = 4; to[4] = 0;
        run part(0, 0, 4);
        run part(1, 2, 1)
    }
    done == 2;
    atomic {
        assert(times[0] == 1 && times[1] == 1 && times[2] == 1);
        assert(times[3] == 1 && times[4] == 1)
    }
}
