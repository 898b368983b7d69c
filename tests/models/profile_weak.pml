/* profile_weak.pml -- references of profiles where memory is not ordered
 *                                          [src/memprof/profile.c, orphan.c]
 *
 * Of profile.pml's steps those that no lock orders.  The owner of a profile
 * discards it, lets it go, and makes another one in its memory as soon as that
 * is in the pool; a thread with a stale pointer enters the first one, notes an
 * entry, looks for discarded profiles, and lets the entry go.
 *
 *   discard  status := DISCARDED; n_discards + 1, release
 *   let go   refs - 1, acquire and release; 0: into the pool, under its lock
 *   make     id, status: relaxed; refs := 1, release
 *   enter    refs + 1 unless 0, acquire; id, relaxed: another one: let go
 *   sweep    n_discards, acquire: entries whose status, relaxed, is DISCARDED
 *
 * Checked: who has entered has the profile that it meant (.inv.stable); who has
 * counted a discard sees its status, else the entry stays for ever.
 * Flaws:
 *   BUG_1  refs := 1 is relaxed           -> another profile
 *   BUG_2  entering does not acquire      -> the same
 *   BUG_3  n_discards + 1 is relaxed      -> not swept
 *   BUG_4  n_discards is loaded relaxed   -> the same */

#define REFS 0
#define ID 1
#define STATUS 2
#define DISCARDS 3
#define LOCATIONS 4
#define VALUES 8
#define THREADS 2
#define OWNER 0
#define SAMPLER 1

#include "weak.pml"

#define SAMPLING 0
#define DISCARDED 1
#define FIRST 1
#define SECOND 2
#define MORE (n + 1)
#define LESS (n - 1)

#ifdef BUG_1
#define MAKES RELAXED
#else
#define MAKES RELEASE
#endif
#ifdef BUG_2
#define ENTERS RELAXED
#else
#define ENTERS ACQUIRE
#endif
#ifdef BUG_3
#define COUNTS RELAXED
#else
#define COUNTS RELEASE
#endif
#ifdef BUG_4
#define LOOKS RELAXED
#else
#define LOOKS ACQUIRE
#endif

view_of pool; /* what its lock carries */
bool is_pooled;
byte is;      /* ghost: the id of the memory's profile */

inline let_go(t)
{
    exchange(t, REFS, LESS, ACQUIRE, RELEASE, n);
    if
    :: n == 1 -> atomic { join(pool, view[t]); is_pooled = true }
    :: else
    fi
}

proctype owner()
{
    byte k, n;

    exchange(OWNER, STATUS, DISCARDED, ACQUIRE, RELEASE, n);
    exchange(OWNER, DISCARDS, MORE, RELAXED, COUNTS, n);
    let_go(OWNER);
    atomic {
        is_pooled;
        join(view[OWNER], pool);
        is = SECOND;
        append(OWNER, ID, SECOND, RELAXED, false)
    }
    store(OWNER, STATUS, SAMPLING, RELAXED);
    store(OWNER, REFS, 1, MAKES)
}

proctype sampler()
{
    byte k, n, id;
    bool won;

    atomic {
        won = newest_of(REFS) != 0;
        if
        :: won -> exchange(SAMPLER, REFS, MORE, ENTERS, RELAXED, n)
        :: else
        fi
    }
    if
    :: won ->
        load(SAMPLER, ID, RELAXED, id);
        if
        :: id == FIRST ->
            assert(is == FIRST);
            load(SAMPLER, DISCARDS, LOOKS, n);
            if
            :: n == 1 ->
                load(SAMPLER, STATUS, RELAXED, n);
                assert(n == DISCARDED)
            :: else
            fi
        :: else
        fi;
        let_go(SAMPLER)
    :: else
    fi
}

init
{
    atomic {
        memory[REFS].is[0].value = 1;
        memory[ID].is[0].value = FIRST;
        is = FIRST;
        run owner();
        run sampler()
    }
}
