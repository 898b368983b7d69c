/* promote.pml -- several domains move the same young blocks to the major heap
 *
 * Young blocks 1 to 4, two fields each; 1 and 2 point at each other and at 3, 3
 * lies in a pinned chunk and points at 1, 4 is unreachable.  PARTS participants
 * of a minor collection have roots of their own, and one field of the major
 * heap that stands in two remembered sets.  Each update of a field goes through
 * `evacuate`; each scans what it copied or claimed itself.
 *
 *   young header   live -> IN_PROGRESS -> 0         claimed by compare and swap
 *   pinned         live -> live, coloured MARKED    claimed by compare and swap
 *
 *   winner   copy the fields; the copy's header := the one compare and swap
 *            returned; field 0 := the new address; header := 0 (release)
 *   loser    load header (acquire): IN_PROGRESS, wait; 0, read field 0
 *
 * The stores of a winner are steps in the order that release demands; losers
 * read header and field 0 in the order that acquire demands.
 *
 * Checked: every reachable block is copied or claimed once, the others never;
 * every root and every field of a copy has the address of that one copy
 * (.inv.claim); nobody waits for ever (no deadlock).
 * Flaws:
 *   BUG_1  the claim is a load and a store          -> copied twice
 *   BUG_2  header := 0 before field 0               -> wrong address
 *   BUG_3  field 0 is overwritten before it is copied -> wrong field
 *   BUG_4  losers do not wait                       -> wrong address
 *   BUG_5  pinned blocks are claimed by a load and a store -> claimed twice
 *   BUG_6  the copy's header is read after the claim -> wrong header */

#ifndef PARTS
#define PARTS 3
#endif
#define BLOCKS 5  /* young: 1 to 4 */
#define PINNED 3
#define COPIES 8
#define NEW 10    /* address of the first copy */
#define ROOTS 4

#define MOVED 0
#define IN_PROGRESS 1
#define LIVE 20   /* 20 + block: stands for its size and tag */
#define MARKED 40

byte header[BLOCKS];
byte field[BLOCKS * 2];
byte new_header[COPIES];
byte new_field[COPIES * 2];
byte root[ROOTS];
byte copies;           /* addresses are given out by the copier's own run */
byte times[BLOCKS];    /* ghost: copied or claimed                        */
byte done;

#define is_young(v) ((v) > 0 && (v) < BLOCKS)

/* v := where the young block v is from now on */
inline evacuate()
{
    do
    :: true ->
        h = header[v];
        if
        :: h == MOVED -> v = field[v * 2]; break
        :: h == IN_PROGRESS ->
#ifndef BUG_4
            header[v] != IN_PROGRESS
#else
            v = field[v * 2];
            break
#endif
        :: h >= MARKED -> break
        :: h >= LIVE && h < MARKED && v == PINNED ->
            atomic {
#ifndef BUG_5
                won = (header[v] == h);
#else
                won = 1;
#endif
                if
                :: won ->
                    header[v] = h - LIVE + MARKED;
                    times[v]++;
                    todo ! v
                :: else
                fi
            }
            if
            :: won -> break
            :: else
            fi
        :: h >= LIVE && h < MARKED && v != PINNED ->
            atomic {
#ifndef BUG_1
                won = (header[v] == h);
#else
                won = 1;
#endif
                if
                :: won ->
                    header[v] = IN_PROGRESS;
                    n = copies;
                    copies++;
                    times[v]++
                :: else
                fi
            }
            if
            :: won -> copy(); break
            :: else
            fi
        fi
    od;
    won = 0;
    h = 0
}

inline copy()
{
#ifdef BUG_6
    h = header[v];
#endif
#ifdef BUG_3
    field[v * 2] = NEW + n;
#endif
    /* The copy is nobody else's yet. */
    atomic {
        new_header[n] = h;
        new_field[n * 2] = field[v * 2];
        new_field[n * 2 + 1] = field[v * 2 + 1]
    }
#ifdef BUG_2
    header[v] = MOVED;
#endif
    field[v * 2] = NEW + n;
    header[v] = MOVED; /* release */
    v = NEW + n;
    todo ! v;
    n = 0
}

/* Others may update the same field: a load, and a store of the same value. */
inline update(place)
{
    v = place;
    if
    :: is_young(v) -> evacuate(); place = v
    :: else
    fi;
    v = 0
}

proctype part(byte first, second)
{
    chan todo = [BLOCKS] of { byte };
    byte v, h, n, at;
    bool won;

    update(root[first]);
    update(root[second]);
    do
    :: todo ? at ->
        if
        :: at >= NEW ->
            at = at - NEW;
            update(new_field[at * 2]);
            update(new_field[at * 2 + 1])
        :: else ->
            update(field[at * 2]);
            update(field[at * 2 + 1])
        fi;
        at = 0
    :: empty(todo) -> break
    od;
    done++
}

inline now_is(v, was)
{
    assert(v == (was == PINNED || was == 0 -> was : field[was * 2]))
}

init
{
    byte i, b;

    atomic {
        header[1] = LIVE + 1;
        header[2] = LIVE + 2;
        header[3] = LIVE + 3;
        header[4] = LIVE + 4;
        field[2] = 2; field[3] = 3;
        field[4] = 1; field[5] = 3;
        field[6] = 1;
        field[8] = 2; field[9] = 3;
        root[0] = 1; root[1] = 2; root[2] = 3; root[3] = 1;
        run part(0, 3); /* root 3: a field in two remembered sets */
        run part(1, 3);
#if PARTS > 2
        run part(2, 0);
#endif
    }
    done == PARTS;
    atomic {
        assert(times[1] == 1 && times[2] == 1 && times[3] == 1 && !times[4]);
        assert(copies == 2);
        assert(header[3] == MARKED + 3 && header[4] == LIVE + 4);
        now_is(root[0], 1);
        now_is(root[1], 2);
        now_is(root[2], 3);
        now_is(root[3], 1);
        b = field[2] - NEW; /* the copy of 1 */
        assert(new_header[b] == LIVE + 1);
        now_is(new_field[b * 2], 2);
        now_is(new_field[b * 2 + 1], 3);
        b = field[4] - NEW;
        assert(new_header[b] == LIVE + 2);
        now_is(new_field[b * 2], 1);
        now_is(new_field[b * 2 + 1], 3);
        now_is(field[6], 1)
    }
}
