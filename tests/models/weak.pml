/* weak.pml -- a memory in which loads and stores pass each other
 *
 * Included by models that check once more, on processors as aarch64, what
 * another model checks step by step.  It is the release and acquire part of
 * C11's memory model, by messages and views: a location has each value that it
 * ever had, in the order of its stores; a thread has a view, which is for each
 * location the oldest of these values that it may still read.  A load may read
 * any value from there on, so a store may come late to some threads and early
 * to others, and two stores in either order.
 *
 *   RELAXED  the load moves the view of its location; the store adds a value
 *            that carries nothing
 *   ACQUIRE  of a load: joins the view that the value carries
 *   RELEASE  of a store: the value carries the thread's view
 *   SEQ_CST  ACQUIRE of a load, RELEASE of a store; and such a load reads no
 *            value that is older than the last one stored so (`sc`)
 *
 * A load whose address was computed from a loaded value is ordered behind that
 * load (DEPENDS); here the first one then is ACQUIRE, which is more: no more
 * than this one location may be read behind it.
 * With FENCES a relaxed load also notes the view that its value carries, which
 * fence_acquire() joins.
 * A lock is a view: taking joins it, freeing leaves the thread's there.  A
 * read-modify-write reads the newest value, and what it adds carries what that
 * carried, too.
 *
 * Left out: a store that takes its place before one that is there already (of
 * another thread's, to the same location: limit.pml has these), and loads that
 * see a store which depends on them.
 *
 * The model defines LOCATIONS, VALUES (most of a location) and THREADS; its
 * processes have a byte `k`. */

#define RELAXED 0
#define ACQUIRE 1
#define RELEASE 1
#define SEQ_CST 2
#define DEPENDS ACQUIRE

typedef view_of { byte at[LOCATIONS] }
typedef message { byte value; view_of carries }
typedef location { byte newest; message is[VALUES] }

location memory[LOCATIONS];
view_of view[THREADS];
view_of sc; /* the newest values stored SEQ_CST */
#ifdef FENCES
view_of noted[THREADS];
#endif

inline join(to, from)
{
    k = 0;
    do
    :: k < LOCATIONS ->
        if
        :: to.at[k] < from.at[k] -> to.at[k] = from.at[k]
        :: else
        fi;
        k++
    :: else -> break
    od;
    k = 0
}

inline load(t, x, order, out)
{
    atomic {
        if
        :: order == SEQ_CST && view[t].at[x] < sc.at[x] -> view[t].at[x] = sc.at[x]
        :: else
        fi;
        do
        :: view[t].at[x] < memory[x].newest -> view[t].at[x]++
        :: break
        od;
        out = memory[x].is[view[t].at[x]].value;
        if
        :: order != RELAXED -> join(view[t], memory[x].is[view[t].at[x]].carries)
        :: else
#ifdef FENCES
            -> join(noted[t], memory[x].is[view[t].at[x]].carries)
#endif
        fi
    }
}

#ifdef FENCES
inline fence_acquire(t)
{
    atomic { join(view[t], noted[t]) }
}
#endif

/* A new value; `carries` has the old one's, if a read-modify-write adds it. */
inline append(t, x, what, order, is_rmw)
{
    assert(memory[x].newest + 1 < VALUES);
    if
    :: is_rmw ->
        join(memory[x].is[memory[x].newest + 1].carries,
             memory[x].is[memory[x].newest].carries)
    :: else
    fi;
    memory[x].newest++;
    memory[x].is[memory[x].newest].value = what;
    view[t].at[x] = memory[x].newest;
    memory[x].is[memory[x].newest].carries.at[x] = memory[x].newest;
    if
    :: order != RELAXED -> join(memory[x].is[memory[x].newest].carries, view[t])
    :: else
    fi;
    if
    :: order == SEQ_CST -> sc.at[x] = memory[x].newest
    :: else
    fi
}

inline store(t, x, what, order)
{
    atomic { append(t, x, what, order, false) }
}

/* The newest value, as `what` computes it from `out`. */
inline exchange(t, x, what, acquires, releases, out)
{
    atomic {
        view[t].at[x] = memory[x].newest;
        out = memory[x].is[memory[x].newest].value;
        if
        :: acquires != RELAXED -> join(view[t], memory[x].is[view[t].at[x]].carries)
        :: else
        fi;
        append(t, x, what, releases, true)
    }
}

#define newest_of(x) memory[x].is[memory[x].newest].value
