/* idle.pml -- a server that nobody asks ends, and no other
 *
 * A request is counted as open, ends at some time and is counted no more; the
 * server looks whether none is open and none has ended for IDLE ticks. Time
 * passes at any moment, up to TICKS.
 *
 *   request  n_open++; answers; last = now; n_open--
 *   look     n_open != 0: not idle; l = last; now - l > IDLE: idle
 *
 * Checked: a look that finds the server idle began IDLE ticks after the end of
 * each request that had begun before the look.
 * Flaws:
 *   BUG_1  the look reads `last` before `n_open`
 *   BUG_2  a request lowers `n_open` before it sets `last` */

#define IDLE 1
#define TICKS 4
#define REQUESTS 2

byte now, last, n_open;
bool is_looking;
bool is_early;    /* ghost: the request began before the look */
byte early_end;   /* ghost: when such a request ended last */

active proctype time()
{
    do
    :: now < TICKS -> now++
    :: break
    od
}

active proctype request()
{
    byte i;

    for (i : 1 .. REQUESTS) {
        atomic { n_open++; is_early = !is_looking }
#ifdef BUG_2
        atomic { n_open--; if :: is_early -> early_end = now :: else fi }
        last = now
#else
        atomic {
            last = now;
            if :: is_early -> early_end = now :: else fi
        }
        n_open--
#endif
    }
}

active proctype server()
{
    byte l;

    do
    :: is_looking = true;
#ifdef BUG_1
       l = last;
       if
       :: n_open != 0 -> goto busy
       :: else
       fi;
#else
       if
       :: n_open != 0 -> goto busy
       :: else
       fi;
       l = last;
#endif
       atomic {
           if
           :: now - l > IDLE ->
              assert(now - early_end > IDLE);
              break
           :: else
           fi
       }
busy:
       is_looking = false;
       if
       :: now == TICKS -> break
       :: else
       fi
    od
}
