/* block.pml -- who frees the entry of a block whose alloc callback is deferred
 *
 * The model of memprof/index.c.  Each `atomic` is one hold of the shard's lock.
 * Three processes meet at one entry:
 *   owner      the thread that owes the alloc callback: runs it, or ends
 *   program    frees the block, or reallocates it once or twice and frees it
 *   discarder  stops the profile and discards it
 * Checked: nobody touches the node after it was freed, it is freed exactly
 * once or lives on in the index of a profile that is not discarded, and a datum
 * is seen exactly once by then (.inv.two, .inv.datum).
 * BUG_1 .. BUG_3 leave out one rule each, and must be found. */

mtype = { SAMPLING, STOPPED, DISCARDED };
mtype = { RUN, KEEP, DEAD, FREE, LEFT, NONE };

mtype status = SAMPLING;
bool due = 1, running, dead, gone, taken, indexed = 1, datum;
byte freed, seen;
bool owner_done, program_done, discarder_done;

inline touch() { assert(freed == 0) }

/* The caller owns the entry: its last callback, dealloc or release. */
inline last_callback()
{
    atomic {
        touch();
        assert(!indexed && !taken && !due && !running);
        if
        :: datum -> seen++
        :: else
        fi;
        freed++
    }
}

/* end_locked: the owner is done with the entry for good. */
inline end_locked(next)
{
    due = 0;
    running = 0;
    if
#ifndef BUG_1
    :: taken -> gone = 1; next = LEFT
    :: else -> indexed = 0; next = FREE
#else
    :: indexed = 0; next = FREE
#endif
    fi
}

proctype owner()
{
    mtype next = NONE;
    bool keep;

    /* alqi_index_begin_deferred, or alqi_index_cancel_deferred when the thread ends */
    atomic {
        touch();
        if
        :: gone || status != SAMPLING -> end_locked(next)
        :: !gone -> end_locked(next) /* the thread ends */
        :: !gone && status == SAMPLING -> due = 0; running = 1; next = RUN
        fi
    }
    if
    :: next == RUN ->
        if
        :: keep = 1
        :: keep = 0
        fi;
        /* alqi_index_alloc_ran */
        atomic {
            touch();
            running = 0;
            next = KEEP;
            if
            :: keep -> datum = 1
            :: else
            fi;
            if
            :: gone && !taken -> next = FREE
            :: else ->
                if
                :: !keep -> end_locked(next)
                :: keep && dead -> next = DEAD
                :: else
                fi
            fi
        }
    :: else
    fi;
    if
    :: next == FREE || next == DEAD -> last_callback()
    :: else
    fi;
    owner_done = 1
}

proctype program()
{
    bool mine;
    byte reallocs = 2;

    do
    :: reallocs > 0 ->
        /* alqi_index_remove_for_realloc */
        reallocs--;
        mine = 0;
        atomic {
            if
            :: indexed -> touch(); indexed = 0; taken = 1; mine = 1
            :: else
            fi
        }
        if
        :: !mine -> break /* not tracked (any more) */
        :: mine ->
            if
            :: /* alqi_index_realloc_done: the block is gone */
                mine = 0;
                atomic {
                    touch();
                    taken = 0;
                    dead = 1;
                    if
                    :: gone -> mine = 1
                    :: !gone && (due || running)
                    :: else -> mine = 1
                    fi
                }
                if
                :: mine -> last_callback()
                :: else
                fi;
                goto over
            :: /* alqi_index_put: realloc has failed */
                mine = 0;
                atomic {
                    touch();
                    taken = 0;
                    if
                    :: gone -> mine = 1
#ifndef BUG_2
                    :: !gone && status == DISCARDED ->
                        gone = 1;
                        mine = !(due || running)
                    :: !gone && status != DISCARDED -> indexed = 1
#else
                    :: !gone -> indexed = 1
#endif
                    fi
                }
                if
                :: mine -> last_callback(); goto over
                :: else
                fi
            fi
        fi
    :: goto over /* the program keeps the block */
    :: break
    od;
    /* alqi_index_remove_dead */
    mine = 0;
    atomic {
        if
        :: indexed ->
            touch();
            indexed = 0;
            dead = 1;
#ifndef BUG_3
            mine = !(due || running)
#else
            mine = !due
#endif
        :: else
        fi
    }
    if
    :: mine -> last_callback()
    :: else
    fi;
over:
    program_done = 1
}

proctype discarder()
{
    bool mine;

    if
    :: status = STOPPED;
        if
        :: status = DISCARDED;
            /* alqi_index_sweep */
            atomic {
                if
                :: indexed ->
                    touch();
                    indexed = 0;
                    gone = 1;
                    mine = !(due || running)
                :: else
                fi
            }
            if
            :: mine -> last_callback()
            :: else
            fi
        :: true
        fi
    :: true
    fi;
    discarder_done = 1
}

init
{
    atomic {
        run owner();
        run program();
        run discarder()
    }
    owner_done && program_done && discarder_done;
    /* It lives on only in the index, and not after a discard. */
    assert(freed == 1 || (freed == 0 && indexed && status != DISCARDED));
    assert(freed == 0 || !datum || seen == 1);
    assert(freed == 1 || seen == 0)
}
