/* filter.pml -- a free finds a zero byte only for untracked addresses
 *
 * The model of memprof/filter.c: two tracked blocks in two shards, a filter of
 * three levels that grows twice, and bytes as counters.  Each `atomic` is one
 * hold of a shard's lock; the free's two loads are two steps.  A block is freed
 * by another process than the one that indexed it (.inv.zero, .inv.grow).
 * BUG_1 publishes the mask before the shards have counted; BUG_2 counts a new
 * entry at the level in force only; BUG_3 publishes the level before the
 * mask. */

#define BLOCKS 2

byte mask;               /* the level that frees go by, 0..2       */
byte now;                /* the level that new entries go by, 0..2 */
byte level[BLOCKS];      /* of the block's shard      */
byte bytes[BLOCKS * 3];  /* of a block at a level     */
bool in[BLOCKS];
byte lo[BLOCKS], hi[BLOCKS];
chan handed = [BLOCKS] of { byte };
byte n_freed;

proctype indexer(byte b)
{
    atomic {
        byte l;
        lo[b] = now;
        hi[b] = now;
#ifndef BUG_2
        if
        :: level[b] > now -> hi[b] = level[b]
        :: else
        fi;
#endif
        l = lo[b];
        do
        :: l <= hi[b] -> bytes[b * 3 + l]++; l++
        :: else -> break
        od;
        in[b] = 1
    }
    handed ! b
}

proctype freer()
{
    byte b, m, l;

    do
    :: handed ? b ->
        m = mask;
        assert(bytes[b * 3 + m] > 0);
        atomic {
            l = lo[b];
            do
            :: l <= hi[b] ->
                assert(bytes[b * 3 + l] > 0);
                bytes[b * 3 + l]--;
                l++
            :: else -> break
            od;
            in[b] = 0;
            n_freed++
        }
    :: n_freed == BLOCKS -> break
    od
}

inline count_all(target)
{
    b = 0;
    do
    :: b < BLOCKS ->
        atomic {
            level[b] = target;
            if
            :: in[b] && hi[b] < target ->
                bytes[b * 3 + target]++;
                hi[b] = target
            :: else
            fi;
            b++
        }
    :: else -> break
    od
}

proctype grower()
{
    byte b, target = 1;

    do
    :: target <= 2 ->
#ifdef BUG_1
        mask = target;
        now = target;
        count_all(target);
#else
        count_all(target);
#ifdef BUG_3
        now = target;
        mask = target;
#else
        mask = target;
        now = target;
#endif
#endif
        target++
    :: else -> break
    od
}

init
{
    byte i;

    atomic {
        run indexer(0);
        run indexer(1);
        run freer();
        run grower()
    }
    n_freed == BLOCKS && _nr_pr == 1;
    /* nothing is left behind */
    i = 0;
    do
    :: i < BLOCKS * 3 -> assert(bytes[i] == 0); i++
    :: else -> break
    od
}
