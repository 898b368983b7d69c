/* quiesce_weak.pml -- who waits until no thread is inside the profiler, and who
 * asks all to draw again, where memory is not ordered        [preload/thread.c]
 *
 * A thread goes in and out of the profiler, and counts down, by plain stores;
 * the other one takes something from all, waits, and frees it.
 *
 *   thread   mode := INSIDE; table; counts; mode := IDLE
 *            countdown := drawn; generation; another one: draws again
 *   forget   table := NULL; BARRIER; mode, until it is IDLE; BARRIER; free
 *   re-arm   generation + 1; BARRIER; countdown := a request
 *
 * BARRIER is a fence in every thread of the process (alqi_plat_barrier_all).
 * Checked: nobody inside has what is freed; who frees sees what was counted; a
 * thread that has not seen the generation finds the request.
 * Flaws:
 *   BUG_1  no barrier before the mode is looked at   -> used when freed
 *   BUG_2  no barrier behind it                      -> not counted
 *   BUG_3  re-arm has no barrier                     -> the request is lost */

#define MODE 0
#define TABLE 1
#define COUNT 2
#define GENERATION 3
#define COUNTDOWN 4
#define LOCATIONS 5
#define VALUES 5
#define THREADS 2
#define THREAD 0
#define OTHER 1

#include "weak.pml"

#define IDLE 0
#define INSIDE 1
#define THERE 0
#define GONE 1
#define DRAWN 1
#define REQUEST 2

byte seen;
bool is_freed, has_drawn;

inline barrier_all()
{
    atomic { join(view[OTHER], view[THREAD]); join(view[THREAD], view[OTHER]) }
}

inline visit()
{
    store(THREAD, MODE, INSIDE, RELAXED);
    load(THREAD, TABLE, RELAXED, n);
    if
    :: n == THERE -> assert(!is_freed)
    :: else
    fi;
    store(THREAD, COUNT, 1, RELAXED);
    store(THREAD, MODE, IDLE, RELAXED)
}

inline draw()
{
    store(THREAD, COUNTDOWN, DRAWN, RELAXED);
    load(THREAD, GENERATION, ACQUIRE, seen)
}

proctype thread()
{
    byte k, n;

    visit();
    draw();
    has_drawn = true
}

inline forget()
{
    store(OTHER, TABLE, GONE, RELAXED);
#ifndef BUG_1
    barrier_all();
#endif
    do
    :: load(OTHER, MODE, ACQUIRE, n);
        if
        :: n == IDLE -> break
        :: else
        fi
    od;
    entered = newest_of(COUNT) == 1 && newest_of(MODE) == IDLE;
#ifndef BUG_2
    barrier_all();
#endif
    is_freed = true;
    load(OTHER, COUNT, RELAXED, n);
    assert(!entered || n == 1)
}

inline rearm()
{
    store(OTHER, GENERATION, 1, SEQ_CST);
#ifndef BUG_3
    barrier_all();
#endif
    load(OTHER, COUNTDOWN, RELAXED, n);
    atomic {
        if
        :: n == newest_of(COUNTDOWN) ->
            append(OTHER, COUNTDOWN, REQUEST, RELAXED, true)
        :: else
        fi
    }
}

proctype other()
{
    byte k, n;
    bool entered;

    if
    :: true -> forget()
    :: true ->
        rearm();
        has_drawn;
        assert(seen == 1 || newest_of(COUNTDOWN) == REQUEST)
    fi
}

init
{
    atomic {
        run thread();
        run other()
    }
}
