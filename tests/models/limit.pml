/* limit.pml -- no request to a domain is lost, on machines that delay stores
 *
 * One domain's owner stores its limit again and again; a thread posts a flag
 * twice, a signal handler on the owner's own thread posts another at any point,
 * and a leader asks for a stop, which the owner may meet by polling or by going
 * away (stop.pml has that protocol; here are its two words).
 *
 * Memory: a store waits in its thread's buffer, one entry a place, and gets out
 * at any time, entries of different places in any order, but a release store
 * after those before it.  Loads see their own thread's entry first.  Thus both
 * x86's total store order and weaker machines are covered as far as stores are
 * concerned; loads are not delayed (each look stands behind a fence or an
 * exchange).  A futex call and an exchange act on memory at once; `fence` waits
 * until the buffer is empty.
 *
 *   post     flag := 1; limit := ones (release)         handler: the same
 *   poll   limit := computed; FENCE; look at flags; take each by an exchange,
 *            then serve it; until none is found
 *   stop     request := 1; limit := ones (release); FENCE; look at the state
 *   leave    state := BLOCKING; FENCE; look at the request
 *
 * Checked: when all is quiet and the limit is not ones, every flag posted has
 * been served since (.inv.limit); the stop ends (no deadlock).
 * Flaws:
 *   BUG_1  no fence in poll                         -> deadlock
 *   BUG_2  no fence in leave: a release store alone   -> deadlock
 *   BUG_3  a flag is taken by a load and a store      -> .inv.limit
 *   BUG_4  poll looks first and stores then         -> .inv.limit
 *   BUG_5  post stores the limit relaxed              -> .inv.limit
 *   BUG_6  no fence in stop                           -> deadlock
 *   BUG_7  poll looks, serves, stores again without a look -> deadlock */

#define OWNER 0
#define POSTER 1
#define LEADER 2
#define THREADS 3

#define LIMIT 0
#define FLAG 1        /* of the poster  */
#define SIGFLAG 2     /* of the handler */
#define REQUEST 3
#define STATE 4
#define PLACES 5

#define NONE 7        /* no entry */

#define RUNNING 0
#define BLOCKING 1
#define HELD 2
#define PARKED 3

#ifndef POSTS
#define POSTS 2
#endif
#ifndef OPS
#define OPS 2
#endif

byte memory[PLACES];
byte entry[THREADS * PLACES] = NONE;
byte behind[THREADS * PLACES]; /* places whose entries get out before it */
bool woken;                    /* the leader's futex */
bool posted[PLACES];           /* ghost: visible and not yet served */
bool in_handler;
byte posters = 3;              /* ghost: how many have not finished */

#define at(t, p) entry[(t) * PLACES + (p)]
#define value(t, p) (at(t, p) == NONE -> memory[p] : at(t, p))
#define pending(t) ((at(t, 0) != NONE) + 2 * (at(t, 1) != NONE) + \
    4 * (at(t, 2) != NONE) + 8 * (at(t, 3) != NONE) + 16 * (at(t, 4) != NONE))

#define fence(t) pending(t) == 0
#define store(t, p, v) \
    atomic { at(t, p) == NONE -> at(t, p) = v; behind[(t) * PLACES + (p)] = 0 }
#define store_release(t, p, v) \
    atomic { \
        at(t, p) == NONE -> \
        behind[(t) * PLACES + (p)] = pending(t); \
        at(t, p) = v \
    }

#define let_go(t, p, q) \
    behind[(t) * PLACES + (q)] = behind[(t) * PLACES + (q)] & (31 - (1 << (p)))

#define gets_out(t, p) \
    atomic { \
        at(t, p) != NONE && behind[(t) * PLACES + (p)] == 0 -> \
        memory[p] = at(t, p); \
        posted[p] = posted[p] || ((p == FLAG || p == SIGFLAG) && memory[p]); \
        at(t, p) = NONE; \
        let_go(t, p, 0); let_go(t, p, 1); let_go(t, p, 2); \
        let_go(t, p, 3); let_go(t, p, 4) \
    }

active proctype buffers()
{
end:
    do
    :: gets_out(OWNER, LIMIT)
    :: gets_out(OWNER, FLAG)
    :: gets_out(OWNER, SIGFLAG)
    :: gets_out(OWNER, STATE)
    :: gets_out(POSTER, FLAG)
    :: gets_out(POSTER, LIMIT)
    :: gets_out(LEADER, REQUEST)
    :: gets_out(LEADER, LIMIT)
    :: gets_out(LEADER, STATE)
    od
}

inline post(t, p)
{
    store(t, p, 1);
#ifndef BUG_5
    store_release(t, LIMIT, 1)
#else
    store(t, LIMIT, 1)
#endif
}

active proctype poster()
{
    byte posts = POSTS;

    do
    :: posts > 0 -> post(POSTER, FLAG); posts--
    :: else -> break
    od;
    fence(POSTER);
    posters--
}

/* Runs to its end before the owner goes on. */
active proctype handler()
{
    in_handler = 1;
    post(OWNER, SIGFLAG);
    in_handler = 0;
    posters--
}

active proctype leader()
{
    store(LEADER, REQUEST, 1);
    store_release(LEADER, LIMIT, 1);
    do
    :: woken = 0;
#ifndef BUG_6
        fence(LEADER);
#endif
        if
        :: atomic { value(LEADER, STATE) == BLOCKING -> /* compare and swap */
            if
            :: memory[STATE] == BLOCKING -> memory[STATE] = HELD; break
            :: else
            fi }
        :: value(LEADER, STATE) == PARKED -> break
        :: value(LEADER, STATE) == RUNNING -> woken
        fi
    od;
    store(LEADER, REQUEST, 0);
    store_release(LEADER, STATE, (memory[STATE] == PARKED -> RUNNING : BLOCKING));
    fence(LEADER);
    posters--
}

/* ---- the owner ----------------------------------------------------------- */

inline serve_flag(p)
{
#ifndef BUG_3
    atomic { value(OWNER, p) && at(OWNER, p) == NONE -> memory[p] = 0 };
#else
    value(OWNER, p);
    store(OWNER, p, 0);
#endif
    posted[p] = 0
}

inline serve_stop()
{
    store_release(OWNER, STATE, PARKED);
    fence(OWNER); /* the wake-up is a system call */
    woken = 1;
    value(OWNER, STATE) == RUNNING
}

inline poll()
{
    do
    :: found = 0;
#ifdef BUG_4
        if
        :: value(OWNER, FLAG) || value(OWNER, SIGFLAG) -> found = 1
        :: else
        fi;
#endif
        store(OWNER, LIMIT, 0);
#ifndef BUG_1
        fence(OWNER);
#endif
#ifndef BUG_4
        if
        :: value(OWNER, FLAG) -> serve_flag(FLAG); found = 1
        :: else
        fi;
        if
        :: value(OWNER, SIGFLAG) -> serve_flag(SIGFLAG); found = 1
        :: else
        fi;
#else
        if
        :: found && value(OWNER, FLAG) -> serve_flag(FLAG)
        :: found && value(OWNER, SIGFLAG) -> serve_flag(SIGFLAG)
        :: else
        fi;
#endif
        if
        :: value(OWNER, REQUEST) -> serve_stop(); found = 1
        :: else
        fi;
        if
        :: !found -> break
        :: else
#ifdef BUG_7
            -> store(OWNER, LIMIT, 0); break
#endif
        fi
    od
}

inline leave()
{
    store_release(OWNER, STATE, BLOCKING);
#ifndef BUG_2
    fence(OWNER);
#endif
    if
    :: value(OWNER, REQUEST) -> fence(OWNER); woken = 1
    :: else
    fi
}

inline come_back()
{
    fence(OWNER);
    atomic { memory[STATE] == BLOCKING -> memory[STATE] = RUNNING };
    poll()
}

active proctype owner() provided (!in_handler)
{
    byte ops = OPS;
    bool found;

    do
    :: ops > 0 ->
        ops--;
        if
        :: poll() /* a new chunk, a new sample */
        :: leave(); come_back()
        :: leave(); posters == 0; come_back() /* a long system call */
        fi
    :: ops == 0 -> break
    od;
    do
    :: value(OWNER, LIMIT) -> poll()
    :: posters == 0 && pending(OWNER) == 0 && memory[LIMIT] == 0 -> break
    od;
    assert(!posted[FLAG] && !posted[SIGFLAG] && !memory[REQUEST])
}
