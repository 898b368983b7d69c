/* ephe_weak.pml -- ephe.pml's protocol where memory is not ordered
 *
 * Words of an ephemeron are loaded with acquire, stored with release, and
 * swapped with both (heap/weak.h).
 *
 *   empty    key DEAD -> EMPTYING; data := none; key := none
 *   look     until the key is neither; then the data
 *   set      likewise; then key := LIVE, data := NEW
 *
 * Checked: whoever finds the key not dead finds no data of the dead key; what
 * is set stays.
 * Flaws:
 *   BUG_1  the stores are relaxed           -> data of the dead key
 *   BUG_2  the loads are relaxed            -> the same
 *   BUG_3  the key is empty before the data -> the same */

#define KEY 0
#define DATA 1
#define LOCATIONS 2
#define VALUES 6
#define THREADS 3

#include "weak.pml"

#define NONE 0
#define DEAD 1
#define EMPTYING 2
#define LIVE 3
#define OLD 1
#define NEW 2

#ifdef BUG_1
#define STORES RELAXED
#else
#define STORES RELEASE
#endif
#ifdef BUG_2
#define LOADS RELAXED
#else
#define LOADS ACQUIRE
#endif

byte done;

inline make_empty(t)
{
    atomic {
        won = newest_of(KEY) == DEAD;
        if
        :: won ->
            view[t].at[KEY] = memory[KEY].newest;
#ifdef BUG_3
            append(t, KEY, NONE, STORES, true)
#else
            append(t, KEY, EMPTYING, STORES, true)
#endif
        :: else
        fi
    }
    if
    :: won ->
        store(t, DATA, NONE, STORES);
#ifndef BUG_3
        store(t, KEY, NONE, STORES)
#endif
    :: else
    fi
}

inline settle(t)
{
    do
    :: true ->
        load(t, KEY, LOADS, key);
        if
        :: key == DEAD -> make_empty(t)
        :: key == EMPTYING
        :: else -> break
        fi
    od
}

proctype cleaner(byte t)
{
    byte k, key;
    bool won;

    load(t, KEY, LOADS, key);
    if
    :: key == DEAD -> make_empty(t)
    :: else
    fi;
    done++
}

proctype looker(byte t)
{
    byte k, key, n;
    bool won;

    settle(t);
    load(t, DATA, LOADS, n);
    assert(n != OLD);
    done++
}

proctype setter(byte t)
{
    byte k, key;
    bool won;

    settle(t);
    store(t, KEY, LIVE, STORES);
    store(t, DATA, NEW, STORES);
    done++
}

init
{
    atomic {
        memory[KEY].is[0].value = DEAD;
        memory[DATA].is[0].value = OLD;
        run cleaner(0);
        run looker(1);
        run setter(2)
    }
    done == 3;
    assert(newest_of(KEY) == LIVE && newest_of(DATA) == NEW)
}
