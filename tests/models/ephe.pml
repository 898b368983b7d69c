/* ephe.pml -- a dead key is emptied, and the data with it
 *
 * An ephemeron with one key, which is dead, and data.  The collector cleans it;
 * a program looks for the data; another gives it a key that lives, and the same
 * data again.
 *
 *   empty    DEAD -> EMPTYING, by compare and swap; who did it: data := none,
 *            key := none.  Who finds EMPTYING waits (.inv.emptying)
 *   settle   until the key is neither: empty, or wait
 *   set      settle; then key := LIVE, data := NEW
 *   look     settle; then the data
 *
 * Checked: what is set stays; whoever finds the key not dead finds no data of
 * the dead key; nobody waits for ever.
 * Flaws:
 *   BUG_1  the data are emptied first, by a swap of what was read
 *                                                 -> what was set is gone
 *   BUG_2  the setter does not wait               -> what was set is gone
 *   BUG_3  the key is empty before the data are   -> the reader finds them
 *   BUG_4  who waits helps                        -> what was set is gone */

#define NONE 0
#define DEAD 1
#define EMPTYING 2
#define LIVE 3

#define OLD 1 /* data, with a ghost that tells them from the same, set anew */
#define NEW 2

byte key = DEAD;
byte data = OLD;
byte done;

/* The words are equal: only the model can tell them apart. */
#define same(a, b) ((a) != NONE && (b) != NONE || (a) == (b))

inline make_empty()
{
#ifdef BUG_1
    seen = data;
    atomic {
        if
        :: same(data, seen) -> data = NONE
        :: else
        fi
    }
    atomic {
        if
        :: key == DEAD -> key = NONE
        :: else
        fi
    }
#else
    atomic {
        won = (key == DEAD);
        if
#ifndef BUG_3
        :: won -> key = EMPTYING
#else
        :: won -> key = NONE
#endif
        :: else
        fi
    }
    if
    :: won -> data = NONE;
#ifndef BUG_3
        key = NONE
#endif
    :: else
    fi
#endif
}

/* Until the key is neither dead nor being emptied. */
inline settle()
{
    do
    :: true ->
        k = key;
        if
        :: k == DEAD -> make_empty()
        :: k == EMPTYING ->
#ifdef BUG_4
            data = NONE;
            atomic {
                if
                :: key == EMPTYING -> key = NONE
                :: else
                fi
            }
#else
            key != EMPTYING
#endif
        :: else -> break
        fi
    od
}

/* The collector: looks once, and waits for nobody. */
proctype cleaner()
{
    byte k, seen;
    bool won;

    k = key;
    if
    :: k == DEAD -> make_empty()
    :: else
    fi;
    done++
}

proctype looker()
{
    byte k, seen;
    bool won;

    settle();
    assert(data != OLD);
    done++
}

proctype setter()
{
    byte k, seen;
    bool won;

#ifdef BUG_2
    k = key;
    if
    :: k == DEAD -> make_empty()
    :: else
    fi;
#else
    settle();
#endif
    key = LIVE;
    data = NEW;
    done++
}

init
{
    atomic {
        run cleaner();
        run looker();
        run setter()
    }
    done == 3;
    assert(key == LIVE && data == NEW)
}
