/* limit_weak.pml -- limit.pml's protocol where memory is not ordered
 *
 * limit.pml delays stores; here loads are early, too.  Each of two threads
 * posts a flag; the domain's owner moves its limit again and again.
 *
 *   post   flag := 1, seq_cst; limit := ones, seq_cst
 *   slow   the flag, relaxed; 1: exchange it, serve; then reset
 *   reset  limit := computed, seq_cst; the flag, seq_cst; 1: limit := ones
 *   move   compare and swap of the limit, unless that is ones
 *
 * Checked: when all is quiet and the limit is not ones, each post has been
 * served (.inv.limit), and who serves sees what stood before the post.
 * Flaws:
 *   BUG_1  the flag is stored relaxed              -> .inv.limit
 *   BUG_2  reset looks at the flag with acquire    -> .inv.limit
 *   BUG_3  the exchange of the flag is relaxed     -> what is served is not seen
 *   BUG_4  move stores without looking for ones    -> .inv.limit */

#define LIMIT 0
#define FLAG(p) (1 + (p))
#define WORK(p) (3 + (p)) /* what the post is about */
#define LOCATIONS 5
#define VALUES 10
#define POSTERS 2
#define OWNER POSTERS
#define THREADS (POSTERS + 1)

#include "weak.pml"

#define LOW 0
#define ONES 1

#ifdef BUG_1
#define POSTS RELAXED
#else
#define POSTS SEQ_CST
#endif
#ifdef BUG_2
#define LOOKS ACQUIRE
#else
#define LOOKS SEQ_CST
#endif
#ifdef BUG_3
#define TAKES RELAXED
#else
#define TAKES SEQ_CST
#endif

byte posted;
bool served[POSTERS];

proctype poster(byte p)
{
    byte k;

    store(p, WORK(p), 1, RELAXED);
    store(p, FLAG(p), 1, POSTS);
    store(p, LIMIT, ONES, SEQ_CST);
    posted++
}

inline take(p)
{
    load(OWNER, FLAG(p), RELAXED, n);
    if
    :: n == 1 ->
        exchange(OWNER, FLAG(p), 0, TAKES, TAKES, n);
        assert(n == 1);
        load(OWNER, WORK(p), RELAXED, n);
        assert(n == 1);
        served[p] = true
    :: else
    fi
}

inline reset()
{
    store(OWNER, LIMIT, LOW, SEQ_CST);
    load(OWNER, FLAG(0), LOOKS, n);
    if
    :: n == 0 -> load(OWNER, FLAG(1), LOOKS, n)
    :: else
    fi;
    if
    :: n == 1 -> store(OWNER, LIMIT, ONES, SEQ_CST)
    :: else
    fi
}

inline slow()
{
    take(0);
    take(1);
    reset()
}

inline move()
{
#ifdef BUG_4
    store(OWNER, LIMIT, LOW, SEQ_CST)
#else
    atomic {
        won = newest_of(LIMIT) == LOW;
        if
        :: won -> exchange(OWNER, LIMIT, LOW, SEQ_CST, SEQ_CST, n)
        :: else
        fi
    }
    if
    :: !won -> reset()
    :: else
    fi
#endif
}

proctype owner()
{
    byte k, n;
    bool won;

    if
    :: slow()
    :: move()
    fi;
    do
    :: newest_of(LIMIT) == ONES -> slow()
    :: posted == POSTERS && newest_of(LIMIT) == LOW -> break
    od;
    assert(served[0] && served[1])
}

init
{
    atomic {
        run poster(0);
        run poster(1);
        run owner()
    }
}
