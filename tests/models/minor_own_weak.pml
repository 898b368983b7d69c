/* minor_own_weak.pml -- minor_own.pml's hand-over where memory is not ordered
 *
 * A worker owns a minor heap and moves a block of it by plain stores, the
 * header first; another one has met the block, calls the owner, and moves it
 * itself if it finds it live once the heap is SHARED.
 *
 *   owner    copier FREE -> its own; header := 0, field 0 := the new place;
 *            is_called, relaxed; copier := SHARED, release
 *   other    copier, acquire, until it is SHARED; then a claim
 *            (minor_promote_weak.pml)
 *
 * Checked: the block is copied once, and both know where it is.
 * Flaws:
 *   BUG_1  SHARED is stored relaxed           -> the old field, or copied twice
 *   BUG_2  the other's load is relaxed        -> the same
 *   BUG_3  the owner shares what it is copying -> the same */

#define COPIER 0
#define HEADER 1
#define FIELD 2
#define CALLED 3
#define LOCATIONS 4
#define VALUES 6
#define THREADS 2
#define OWNER 0
#define OTHER 1

#include "weak.pml"

#define FREE 0
#define OWNED 1
#define SHARED 2
#define LIVE 7
#define IN_PROGRESS 1
#define MOVED 0
#define PLACE 9

byte copies;

/* copier FREE -> `to`, acquire and release; else nothing. */
inline change(t, to)
{
    atomic {
        view[t].at[COPIER] = memory[COPIER].newest;
        join(view[t], memory[COPIER].is[view[t].at[COPIER]].carries);
        won = newest_of(COPIER) == FREE;
        if
        :: won -> append(t, COPIER, to, RELEASE, true)
        :: else
        fi
    }
}

inline copied()
{
    copies++;
    assert(copies == 1)
}

inline share(t)
{
#ifdef BUG_1
    store(t, COPIER, SHARED, RELAXED)
#else
    store(t, COPIER, SHARED, RELEASE)
#endif
}

/* Of a SHARED heap. */
inline evacuate(t)
{
    load(t, HEADER, ACQUIRE, h);
    if
    :: h == LIVE ->
        atomic {
            view[t].at[HEADER] = memory[HEADER].newest;
            won = newest_of(HEADER) == LIVE;
            if
            :: won -> append(t, HEADER, IN_PROGRESS, RELAXED, true)
            :: else
            fi
        }
    :: else -> won = false
    fi;
    if
    :: won ->
        copied();
        store(t, FIELD, PLACE, RELAXED);
        store(t, HEADER, MOVED, RELEASE)
    :: else ->
        do
        :: load(t, HEADER, ACQUIRE, h);
            if
            :: h == MOVED -> break
            :: else
            fi
        od
    fi;
    load(t, FIELD, RELAXED, n);
    assert(n == PLACE)
}

/* Calls are looked at between two blocks: before this one, or behind it. */
proctype owner()
{
    byte k, h, n;
    bool won;

    change(OWNER, OWNED);
    if
    :: won ->
        load(OWNER, CALLED, RELAXED, n);
        if
        :: n == 1 -> share(OWNER); evacuate(OWNER)
        :: else ->
            copied();
            store(OWNER, HEADER, MOVED, RELAXED);
#ifdef BUG_3
            share(OWNER);
            store(OWNER, FIELD, PLACE, RELAXED)
#else
            store(OWNER, FIELD, PLACE, RELAXED);
            share(OWNER)
#endif
        fi
    :: else -> evacuate(OWNER)
    fi
}

proctype other()
{
    byte k, h, n;
    bool won;

    do
    :: true ->
#ifdef BUG_2
        load(OTHER, COPIER, RELAXED, h);
#else
        load(OTHER, COPIER, ACQUIRE, h);
#endif
        if
        :: h == SHARED -> break
        :: h == FREE -> change(OTHER, SHARED)
        :: else ->
            if
            :: newest_of(CALLED) == 0 -> store(OTHER, CALLED, 1, RELAXED)
            :: else
            fi
        fi
    od;
    evacuate(OTHER)
}

init
{
    atomic {
        memory[HEADER].is[0].value = LIVE;
        run owner();
        run other()
    }
}
