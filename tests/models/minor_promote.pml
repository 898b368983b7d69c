/* promote.pml -- several domains move the same young blocks to the major heap
 *
 * Young blocks 1 to 4, two fields each; 1 and 2 point at each other and at 3, 3
 * is pinned and points at 1, 4 is unreachable.  PARTS participants of a minor
 * collection have roots of their own, and one field of the major heap that
 * stands in two remembered sets.  Each update of a field goes through
 * `evacuate`; each scans what it copied itself; the fields of the pinned block
 * are roots of one.
 *
 *   young header   live -> IN_PROGRESS -> 0         claimed by compare and swap
 *   pinned         hidden by the leader before anybody begins: header 0, field
 *                  0 its own address, so it looks moved to where it is; what
 *                  stood there is aside, and comes back when all are done
 *
 *   winner   copy the fields; the copy's header := the one compare and swap
 *            returned; field 0 := the new address; header := 0 (release)
 *   loser    load header (acquire): IN_PROGRESS, wait; 0, read field 0
 *
 * The stores of a winner are steps in the order that release demands; losers
 * read header and field 0 in the order that acquire demands.
 *
 * Checked: every reachable block but the pinned one is copied once, the others
 * never; every root and every field has the address of that one copy
 * (.inv.claim); nobody waits for ever (no deadlock).
 * Flaws:
 *   BUG_1  the claim is a load and a store          -> copied twice
 *   BUG_2  header := 0 before field 0               -> wrong address
 *   BUG_3  field 0 is overwritten before it is copied -> wrong field
 *   BUG_4  losers do not wait                       -> wrong address
 *   BUG_5  the pinned block is hidden when others have begun -> copied, too
 *   BUG_6  the copy's header is read after the claim -> wrong header
 *   BUG_7  what is aside is no root                  -> wrong field */

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

byte header[BLOCKS];
byte field[BLOCKS * 2];
byte new_header[COPIES];
byte new_field[COPIES * 2];
byte root[ROOTS];
byte copies;           /* addresses are given out by the copier's own run */
byte aside_header, aside_field; /* of the pinned block */
byte times[BLOCKS];    /* ghost: copied                                   */
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
        :: h >= LIVE ->
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

/* By the leader.  The header first or last: nobody else looks yet. */
inline hide()
{
    aside_header = header[PINNED];
    aside_field = field[PINNED * 2];
    header[PINNED] = MOVED;
    field[PINNED * 2] = PINNED
}

proctype part(byte first, second; bool has_pinned)
{
    chan todo = [BLOCKS] of { byte };
    byte v, h, n, at;
    bool won;

#ifdef BUG_5
    if
    :: has_pinned -> hide()
    :: else
    fi;
#endif
    update(root[first]);
    update(root[second]);
    if
    :: has_pinned ->
#ifndef BUG_7
        update(aside_field);
#endif
        update(field[PINNED * 2 + 1])
    :: else
    fi;
    do
    :: todo ? at ->
        at = at - NEW;
        update(new_field[at * 2]);
        update(new_field[at * 2 + 1]);
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
        field[6] = 1; field[7] = 2;
        field[8] = 2; field[9] = 3;
        root[0] = 1; root[1] = 2; root[2] = 3; root[3] = 1;
#ifndef BUG_5
        hide();
#endif
        run part(0, 3, 0); /* root 3: a field in two remembered sets */
        run part(1, 3, 0);
#if PARTS > 2
        run part(2, 0, 1);
#endif
    }
    done == PARTS;
    atomic {
        assert(times[1] == 1 && times[2] == 1 && !times[3] && !times[4]);
        assert(copies == 2);
        assert(field[PINNED * 2] == PINNED && header[PINNED] == MOVED);
        header[PINNED] = aside_header;
        field[PINNED * 2] = aside_field;
        assert(header[3] == LIVE + 3 && header[4] == LIVE + 4);
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
        now_is(field[6], 1);
        now_is(field[7], 2)
    }
}
