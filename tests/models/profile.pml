/* profile.pml -- stop, discard, orphan, adopt: profiles and entries of a
 * scanned heap, whose domains stop, discard, end and collect as they like
 *
 * The model of memprof/{profile,scan,orphan,thread}.c.  Domain 0 starts a
 * profile and spawns domain 1, which inherits it.  Both sample, poll, stop,
 * discard, drop their handles, collect; 1 ends, 0 may go on to another profile,
 * and start a third one in the memory of the first as soon as that is free.  At
 * last 0 is alone, discards, lets every block die, and polls.
 *
 *   enter     refs 0: refuse; refs + 1 (one compare and swap); other id, or not
 *             SAMPLING: give it back
 *   turn      alloc, promote, dealloc of one entry; before each the status
 *   discard   STOPPED -> DISCARDED; the caller's own lists are swept
 *   collect   a stop (ending.pml has its steps): adopt, then note each entry
 *   end       ENDING: un-run alloc callbacks are dropped, slots let go, what is
 *             left goes to the orphans under their lock; VACANT
 *
 * Checked: alloc, promote, dealloc at most once, in order, of blocks to which
 * it has happened, alloc in the domain that allocated (.inv.once); a datum ends
 * in one dealloc or release (.inv.datum); whoever discarded sees no callback
 * but releases any more (.prop.discard); a collection misses no entry
 * (.inv.handed); a profile's memory is its own while an entry has it, goes to
 * the pool once, and stops itself when its last domain lets go and not before
 * (.inv.stable, .inv.attached); nothing is left at the end.
 * Flaws:
 *   BUG_1   enter takes a reference of what lies in the pool -> pooled twice
 *   BUG_2   enter does not compare ids          -> another profile's entry
 *   BUG_3   the child takes over when it runs   -> stops while one samples
 *   BUG_4   VACANT before the hand-over         -> a collection misses entries
 *   BUG_5   adopts when it has noted            -> the same
 *   BUG_6   the flag is up before the orphans are there -> lost
 *   BUG_7   one look at the status a turn       -> callback after discard
 *   BUG_8   a discard sweeps the running entry  -> freed twice
 *   BUG_9   a discarded entry is freed only     -> its datum is lost
 *   BUG_10  leaving counts by a load and a store -> never stops itself
 *   BUG_11  the running entry is not noted      -> its death is lost
 *   BUG_12  un-run alloc callbacks are handed over -> run elsewhere */

#ifndef ACTIONS
#define ACTIONS 2
#endif
#define ENTRIES 2
#define other (1 - me)
#ifndef BUG_11
#define NOTED(e) 1
#else
#define NOTED(e) (where[e] != RUNS)
#endif
#ifndef BUG_6
#define ANY_TOO any_orphans = 1
#else
#define ANY_TOO skip
#endif

mtype = { SAMPLING, STOPPED, DISCARDED };
mtype = { NONE, LISTED, OWED, FIFO, RUNS, SWEPT, ORPHAN, ORPHAN_OWED };
mtype = { YOUNG, OLD, GONE };
mtype = { VACANT, RUN, ENDING };
mtype = { KEEP, FREE, LET_GO };

/* The profile that one piece of memory holds. */
mtype status = SAMPLING;
byte id = 1;
byte holders = 3; /* 0's slot, and a handle each */
byte entries;
byte attached = 1;
bool pooled;

byte slot[2];
mtype state[2];
bool safe[2]; /* at a safe point: others may collect */
bool any_orphans;
byte n_made;
byte collections = 1, pranks = 1; /* in callbacks, the latter */

mtype where[ENTRIES] = NONE;
byte owner[ENTRIES]; /* domain */
byte profile[ENTRIES];
mtype block[ENTRIES];
bool due[ENTRIES], moved[ENTRIES], dead[ENTRIES], datum[ENTRIES];
bool swept[ENTRIES]; /* on the thread's list of what is to be let go */

/* Ghosts. */
byte sharers = 1; /* domains that the rules say are covered */
bool child_is_over;
byte born_in[ENTRIES];
bool missed[ENTRIES]; /* what happened to its block */
bool was_old[ENTRIES], did_alloc[ENTRIES], did_promote[ENTRIES];
bool had_datum[ENTRIES];
byte lasts[ENTRIES]; /* deallocs and releases */
byte discarded_by[2]; /* bits: ids */

/* ---- references ----------------------------------------------------------- */

inline drop(counter)
{
    atomic {
        assert(counter > 0);
        counter--;
        if
        :: holders + entries == 0 -> assert(!pooled); pooled = 1
        :: else
        fi
    }
}

/* The status is another's as soon as the memory is: who asks holds it. */
inline enter(armed, ok)
{
    atomic {
#ifndef BUG_1
        ok = (holders + entries != 0);
#else
        ok = 1;
#endif
        entries = entries + ok
    }
    if
    :: ok ->
        if
#ifndef BUG_2
        :: id != armed -> drop(entries); ok = 0
        :: id == armed && status != SAMPLING -> drop(entries); ok = 0
        :: id == armed && status == SAMPLING
#else
        :: status != SAMPLING -> drop(entries); ok = 0
        :: status == SAMPLING
#endif
        fi
    :: else
    fi
}

inline detach()
{
    slot[me] = 0;
    atomic {
        sharers--;
#ifndef BUG_10
        attached--;
        n = attached
    }
#else
        n = attached - 1
    }
    attached = n;
#endif
    if
    :: n == 0 ->
        atomic {
            if
            :: status == SAMPLING -> assert(sharers == 0); status = STOPPED
            :: else
            fi
        }
    :: else
    fi;
    drop(holders)
}

/* ---- what a program asks for ---------------------------------------------- */

inline stop()
{
    if
    :: slot[me] ->
        atomic {
            if
            :: status == SAMPLING -> status = STOPPED
            :: else
            fi
        }
        detach()
    :: else
    fi
}

inline free(e)
{
    atomic {
        assert(where[e] != NONE);
        assert(!pooled && id == profile[e]);
        where[e] = NONE;
        due[e] = 0;
        drop(entries)
    }
}

inline release(e)
{
    atomic {
        lasts[e] = lasts[e] + datum[e];
        datum[e] = 0;
        free(e)
    }
}

inline run_swept()
{
    atomic {
        do
        :: k < ENTRIES ->
            if
            :: swept[k] && owner[k] == me -> swept[k] = 0; release(k)
            :: else
            fi;
            k++
        :: else -> k = 0; break
        od
    }
}

/* Whoever discards holds a handle. */
inline discard()
{
    atomic {
        if
        :: status == STOPPED -> status = DISCARDED; n = 1
        :: else -> n = 0
        fi
    }
    if
    :: n ->
        atomic { /* the domain's own lists: nobody else is at them */
            k = 0;
            do
            :: k < ENTRIES ->
                if
                :: where[k] == LISTED && owner[k] == me && profile[k] == id ->
                    where[k] = SWEPT;
                    swept[k] = 1
#ifdef BUG_8
                :: where[k] == RUNS && owner[k] == me && profile[k] == id ->
                    swept[k] = 1
#endif
                :: else
                fi;
                k++
            :: else -> k = 0; break
            od;
            discarded_by[me] = discarded_by[me] | (1 << id)
        }
    :: else
    fi
}

/* ---- collections ---------------------------------------------------------- */

inline take_orphans()
{
    k = 0;
    do
    :: k < ENTRIES ->
        if
        :: where[k] == ORPHAN -> where[k] = LISTED; owner[k] = me
        :: where[k] == ORPHAN_OWED -> where[k] = OWED; owner[k] = me
        :: else
        fi;
        k++
    :: else -> k = 0; break
    od;
    any_orphans = 0
}

inline adopt()
{
    atomic {
        if
        :: any_orphans -> take_orphans()
        :: else
        fi
    }
}

inline note(e)
{
    assert(state[owner[e]] == RUN && where[e] != ORPHAN &&
           where[e] != ORPHAN_OWED);
    missed[e] = missed[e] | !NOTED(e);
    if
    :: NOTED(e) && block[e] == OLD && was_old[e] ->
        moved[e] = moved[e] | !did_promote[e]
    :: NOTED(e) && block[e] == GONE ->
        dead[e] = 1;
        moved[e] = was_old[e] && !did_promote[e]
    :: else
    fi;
    if
    :: where[e] == LISTED && (moved[e] || dead[e] || status == DISCARDED) ->
        where[e] = OWED
    :: else
    fi
}

/* What happens to a block: a young one moves or dies, an old one may die. */
inline fate(e)
{
    if
    :: block[e] == YOUNG -> block[e] = OLD; was_old[e] = 1
    :: block[e] != GONE -> block[e] = GONE
    :: block[e] != YOUNG
    fi
}

inline collect()
{
    atomic {
        (safe[other] || state[other] == VACANT);
#ifndef BUG_5
        adopt();
#endif
        do
        :: k < ENTRIES ->
            if
            :: where[k] != NONE -> fate(k); note(k)
            :: else
            fi;
            k++
        :: else -> k = 0; break
        od;
#ifdef BUG_5
        adopt();
#endif
    }
}

inline maybe_collect()
{
    if
    :: collections > 0 -> collections--; safe[me] = 1; collect(); safe[me] = 0
    :: true
    fi
}

/* ---- turns ---------------------------------------------------------------- */

/* A callback: others may collect, and it may do what a program may. */
inline callback(e)
{
    assert(!(discarded_by[me] & (1 << profile[e])));
    safe[me] = 1;
    if
    :: pranks > 0 -> pranks--; stop()
    :: pranks > 0 && handle && slot[me] == 0 -> pranks--; discard()
    :: collections > 0 -> collections--; collect()
    :: true
    fi;
    safe[me] = 0
}

/* Is it to go before its next callback? */
inline look(e)
{
    if
    :: next == KEEP ->
        assert(!pooled && id == profile[e]);
        if
        :: status == DISCARDED -> next = LET_GO
        :: status != DISCARDED
        fi
    :: else
    fi
}

inline turn(e)
{
    next = KEEP;
    if
    :: due[e] ->
        due[e] = 0;
        if
        :: status == SAMPLING ->
            atomic {
                assert(!did_alloc[e] && born_in[e] == me);
                did_alloc[e] = 1
            }
            callback(e);
            if
            :: datum[e] = 1; had_datum[e] = 1
            :: next = FREE
            fi
        :: status != SAMPLING -> next = FREE
        fi
    :: else
    fi;
    look(e);
    if
    :: next == KEEP && moved[e] ->
        atomic {
            assert(did_alloc[e] && !did_promote[e] && was_old[e]);
            did_promote[e] = 1
        }
        callback(e);
        moved[e] = 0;
        if
        :: true
        :: next = LET_GO /* it drops */
        fi
    :: else
    fi;
#ifndef BUG_7
    look(e);
#endif
    if
    :: next == KEEP && dead[e] ->
        atomic {
            assert(block[e] == GONE && did_promote[e] == was_old[e]);
            datum[e] = 0;
            lasts[e]++
        }
        callback(e);
        next = FREE
    :: next == KEEP && !dead[e] -> assert(!missed[e]); where[e] = LISTED
    :: else
    fi;
    if
    :: next == FREE -> free(e)
#ifndef BUG_9
    :: next == LET_GO -> release(e)
#else
    :: next == LET_GO -> free(e)
#endif
    :: next == KEEP
    fi;
    run_swept()
}

inline poll()
{
    adopt();
    i = 0;
    do
    :: i < ENTRIES ->
        atomic {
            go = (where[i] == OWED || where[i] == FIFO) && owner[i] == me;
            if
            :: go -> where[i] = RUNS
            :: else
            fi
        }
        if
        :: go -> turn(i)
        :: else
        fi;
        i++
    :: else -> i = 0; break
    od
}

/* i: which entry it will be. */
inline sample(armed)
{
    enter(armed, go);
    if
    :: go ->
        atomic {
            where[i] = FIFO;
            owner[i] = me;
            born_in[i] = me;
            profile[i] = armed;
            block[i] = YOUNG;
            due[i] = 1;
            assert(id == armed)
        }
    :: else
    fi;
    i = 0
}

inline act(armed)
{
    if
    :: atomic { n_made < ENTRIES -> i = n_made; n_made++ }
        sample(armed)
    :: true -> stop()
    :: handle && slot[me] == 0 -> discard(); run_swept()
    :: true -> poll()
    :: true -> maybe_collect()
    fi
}

/* ---- domains -------------------------------------------------------------- */

proctype child(byte me)
{
    byte actions = ACTIONS, i, k, n;
    bool go, handle = 1;
    mtype next;

#ifdef BUG_3
    if
    :: slot[0] -> atomic { slot[me] = 1; attached++; holders++ }
    :: else -> sharers--
    fi;
#endif
    do
    :: atomic { actions > 0 -> actions--; safe[me] = 0 }
        act(1);
        safe[me] = 1
    :: atomic { handle && slot[me] == 0 -> handle = 0; drop(holders) }
    :: atomic { true -> safe[me] = 0; break }
    od;
    if
    :: handle -> handle = 0; drop(holders)
    :: else
    fi;
    actions = 0;
    /* The minor heap is emptied. */
    safe[me] = 1;
    collect();
    safe[me] = 0;
#ifdef BUG_4
    state[me] = VACANT;
#else
    state[me] = ENDING;
#endif
    /* alqi_memprof_thread_end */
    do
    :: i < ENTRIES ->
        if
#ifndef BUG_12
        :: where[i] == FIFO && owner[i] == me && due[i] -> free(i)
#else
        :: where[i] == FIFO && owner[i] == me && due[i] -> where[i] = OWED
#endif
        :: where[i] == FIFO && owner[i] == me && !due[i] -> where[i] = OWED
        :: else
        fi;
        i++
    :: else -> i = 0; break
    od;
    /* alqi_memprof_domain_end */
    if
    :: slot[me] -> detach()
    :: else
    fi;
#ifdef BUG_6
    any_orphans = 1;
#endif
    atomic {
        do
        :: i < ENTRIES ->
            if
            :: where[i] == OWED && owner[i] == me ->
                where[i] = ORPHAN_OWED;
                ANY_TOO
            :: where[i] == LISTED && owner[i] == me ->
                where[i] = ORPHAN;
                ANY_TOO
            :: else
            fi;
            i++
        :: else -> i = 0; break
        od
    }
    state[me] = VACANT;
    child_is_over = 1
}

proctype first(byte me)
{
    byte actions = ACTIONS, i, k, n;
    bool go, handle = 1;
    mtype next;

    /* Spawn: the child is a domain, at a safe point until it runs. */
    atomic {
        sharers++;
#ifndef BUG_3
        slot[1] = 1;
        attached++;
        holders++;
#endif
        state[1] = RUN;
        safe[1] = 1;
        run child(1)
    }
    safe[me] = 1;
    do
    :: atomic { actions > 0 -> actions--; safe[me] = 0 }
        if
        :: true -> act(id)
        :: slot[me] -> detach() /* another profile takes its place */
        :: atomic {
            pooled ->
                pooled = 0;
                id = 2;
                status = SAMPLING;
                holders = 2;
                attached = 1;
                sharers = 1;
                slot[me] = 2;
                handle = 1
            }
        fi;
        safe[me] = 1
    :: atomic { handle && slot[me] == 0 -> handle = 0; drop(holders) }
    :: break
    od;
    child_is_over;
    safe[me] = 0;
    actions = 0;
    /* It was stopped by somebody, or by having no domain left. */
    assert(slot[me] || pooled || status != SAMPLING);
    stop();
    collect();
    poll();
    /* Without a discard what is tracked goes on to its death. */
    if
    :: handle -> discard(); run_swept()
    :: true
    fi;
    if
    :: handle -> handle = 0; drop(holders)
    :: else
    fi;
    /* All blocks die. */
    atomic {
        do
        :: k < ENTRIES ->
            if
            :: where[k] != NONE && block[k] != GONE -> block[k] = GONE
            :: else
            fi;
            k++
        :: else -> k = 0; break
        od
    }
    collect();
    poll();
    assert(pooled && entries == 0 && holders == 0 && attached == 0);
    do
    :: k < ENTRIES ->
        assert(where[k] == NONE && !datum[k]);
        assert(lasts[k] == had_datum[k]);
        k++
    :: else -> break
    od
}

init
{
    atomic {
        slot[0] = 1;
        state[0] = RUN;
        state[1] = VACANT;
        run first(0)
    }
}
