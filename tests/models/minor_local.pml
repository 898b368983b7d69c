/* private.pml -- a minor collection by a domain alone, while others run
 *
 * Two domains, each with two roots and two young cells; an old cell, BOARD, that
 * both know, and a global.  A cell has one field.  Cell c moves to c + MOVES.
 *
 *   escaped    set before a young value gets into an old cell's field, or the
 *            global is registered; taken back in a stop, with nothing young,
 *            unless the global is there
 *   alone    while escaped is not set: copies own cells, corrects own roots and
 *            copies, and the old places are dead
 *   stop     all domains are at a safe point; everything moves at once
 *
 * Checked: no domain looks at a dead place (.inv.private).
 * Flaws:
 *   BUG_1  escaped is set behind the store
 *   BUG_2  escaped is set behind a compare-exchange
 *   BUG_3  who collects alone does not look at escaped
 *   BUG_4  who collects alone takes escaped back
 *   BUG_5  a global that is registered does not set escaped
 *   BUG_6  a stop takes escaped back though there is a global */

#define NIL 0
#define YOUNG(v) ((v) >= 1 && (v) <= 4)
#define OWN(v) ((v) == 2 * me + 1 || (v) == 2 * me + 2)
#define MOVES 4
#define BOARD 9
#define STEPS 4

#define FREE 0
#define LIVE 1
#define DEAD 2

byte state[10];
byte field[10];
byte root[4]; /* two a domain */
byte global;
bool registered, escaped;
byte stop; /* 0, or who stops + 1 */
bool at_safe_point[2], ended[2];

inline look(v)
{
    assert(state[v] != DEAD)
}

inline note(v)
{
    if
    :: YOUNG(v) -> escaped = 1
    :: else
    fi
}

/* The barrier: a young cell has none. */
inline store(cell, v)
{
    look(cell);
    if
    :: YOUNG(cell) -> field[cell] = v
    :: else ->
#ifndef BUG_1
        note(v);
#endif
        field[cell] = v;
#ifdef BUG_1
        note(v)
#else
        skip
#endif
    fi
}

inline exchange(v)
{
#ifndef BUG_2
    note(v);
#endif
    atomic {
        if
        :: field[BOARD] == NIL -> field[BOARD] = v
        :: else
        fi
    }
#ifdef BUG_2
    note(v)
#else
    skip
#endif
}

#define forward(v)                                                             \
    if                                                                         \
    :: YOUNG(v) && state[v] == LIVE -> v = v + MOVES                           \
    :: else                                                                    \
    fi

/* Everything, at once. */
inline move_all()
{
    d_step {
        k = 1;
        do
        :: k <= 4 ->
            if
            :: state[k] == LIVE ->
                field[k + MOVES] = field[k];
                state[k + MOVES] = LIVE
            :: else
            fi;
            k++
        :: else -> break
        od;
        k = 1;
        do
        :: k <= 9 -> forward(field[k]); k++
        :: else -> break
        od;
        k = 0;
        do
        :: k < 4 -> forward(root[k]); k++
        :: else -> break
        od;
        forward(global);
        k = 1;
        do
        :: k <= 4 ->
            if
            :: state[k] == LIVE -> state[k] = DEAD
            :: else
            fi;
            k++
        :: else -> break
        od;
        k = 0;
#ifdef BUG_6
        escaped = 0
#else
        escaped = registered
#endif
    }
}

#define forward_own(v)                                                         \
    if                                                                         \
    :: OWN(v) && state[v] == LIVE -> v = v + MOVES                             \
    :: else                                                                    \
    fi

inline copy_own(c)
{
    if
    :: state[c] == LIVE ->
        field[c + MOVES] = field[c];
        state[c + MOVES] = LIVE
    :: else
    fi
}

inline correct_own(c)
{
    if
    :: state[c] == LIVE -> forward_own(field[c + MOVES])
    :: else
    fi
}

inline bury_own(c)
{
    if
    :: state[c] == LIVE -> state[c] = DEAD
    :: else
    fi
}

inline move_own()
{
    copy_own(2 * me + 1);
    copy_own(2 * me + 2);
    correct_own(2 * me + 1);
    correct_own(2 * me + 2);
    forward_own(root[2 * me]);
    forward_own(root[2 * me + 1]);
    bury_own(2 * me + 1);
    bury_own(2 * me + 2);
#ifdef BUG_4
    escaped = 0
#else
    skip
#endif
}

inline allocate()
{
    if
    :: state[2 * me + 1] == FREE ->
        state[2 * me + 1] = LIVE;
        root[2 * me] = 2 * me + 1
    :: state[2 * me + 2] == FREE ->
        state[2 * me + 2] = LIVE;
        root[2 * me] = 2 * me + 2
    :: else
    fi
}

inline stop_all()
{
    if
    :: atomic { stop == 0 -> stop = me + 1 };
       (at_safe_point[1 - me] || ended[1 - me]) -> move_all();
       stop = 0
    :: stop != 0
    fi
}

proctype domain(byte me)
{
    byte k, steps;

    do
    :: stop != 0 && stop != me + 1 ->
        at_safe_point[me] = 1;
        stop == 0;
        at_safe_point[me] = 0
    :: steps < STEPS && stop == 0 ->
        steps++;
        if
        :: true -> atomic { allocate() }
        :: root[2 * me] != NIL -> store(BOARD, root[2 * me])
        :: root[2 * me] != NIL -> exchange(root[2 * me])
        :: root[2 * me + 1] = field[BOARD]
        :: root[2 * me + 1] != NIL ->
            atomic {
                look(root[2 * me + 1]);
                root[2 * me + 1] = field[root[2 * me + 1]]
            }
        :: root[2 * me + 1] != NIL -> store(root[2 * me + 1], root[2 * me])
        :: registered -> global = root[2 * me]
        :: registered -> root[2 * me + 1] = global
        :: me == 0 && !registered ->
#ifndef BUG_5
            escaped = 1;
#endif
            registered = 1
        :: stop_all()
#ifdef BUG_3
        :: true -> move_own()
#else
        :: !escaped -> move_own()
#endif
        fi;
        atomic {
            look(root[2 * me]);
            look(root[2 * me + 1])
        }
    :: steps == STEPS -> ended[me] = 1; break
    od
}

init
{
    state[BOARD] = LIVE;
    atomic { run domain(0); run domain(1) }
}
