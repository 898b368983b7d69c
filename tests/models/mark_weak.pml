/* mark_weak.pml -- what a marker reads where memory is not ordered
 *                                       [src/heap/major_mark.c, alloc_direct.c]
 *
 * That marking ends is decided in a stop (mark.pml), which orders everything.
 * Before it a marker reads slots of pools and fields that others write:
 *
 *   born     the fields of a slot, relaxed; its header, release; then a field
 *            of another block := its address, release: the program's store, or
 *            that of a domain that promotes alone
 *   overflow another block's header := marked, relaxed; its pool's bit |= 1
 *   recover  bit &= 0: the marks, relaxed.  a header, acquire: its fields
 *   mark     a field; then the header behind that address
 *
 * Checked: no field is read before it was written, no block without a header is
 * marked, recovery meets each mark that a bit is for (.inv.overflow).
 * Flaws:
 *   BUG_1  the header is stored relaxed             -> a field not written
 *   BUG_2  recovery loads the header relaxed        -> the same
 *   BUG_3  the address is stored relaxed            -> no header
 *   BUG_4  the header's address does not depend on the field -> the same
 *   BUG_5  the bit is set relaxed                   -> a mark is missed
 *   BUG_6  the bit is taken relaxed                 -> the same */

#define SLOT_HEADER 0
#define SLOT_FIELD 1
#define FIELD 2
#define MARK 3
#define BIT 4
#define LOCATIONS 5
#define VALUES 4
#define THREADS 3
#define MUTATOR 0
#define OVERFLOWER 1
#define MARKER 2

#include "weak.pml"

#ifdef BUG_1
#define HEADER_STORE RELAXED
#else
#define HEADER_STORE RELEASE
#endif
#ifdef BUG_2
#define HEADER_LOAD RELAXED
#else
#define HEADER_LOAD ACQUIRE
#endif
#ifdef BUG_3
#define FIELD_STORE RELAXED
#else
#define FIELD_STORE RELEASE
#endif
#ifdef BUG_4
#define FIELD_LOAD RELAXED
#else
#define FIELD_LOAD DEPENDS
#endif
#ifdef BUG_5
#define BIT_SET RELAXED
#else
#define BIT_SET SEQ_CST
#endif
#ifdef BUG_6
#define BIT_TAKE RELAXED
#else
#define BIT_TAKE SEQ_CST
#endif

proctype mutator()
{
    byte k;

    store(MUTATOR, SLOT_FIELD, 1, RELAXED);
    store(MUTATOR, SLOT_HEADER, 1, HEADER_STORE);
    store(MUTATOR, FIELD, 1, FIELD_STORE)
}

proctype overflower()
{
    byte k, n;

    store(OVERFLOWER, MARK, 1, RELAXED);
    exchange(OVERFLOWER, BIT, 1, BIT_SET, BIT_SET, n)
}

inline recover()
{
    exchange(MARKER, BIT, 0, BIT_TAKE, BIT_TAKE, n);
    if
    :: n == 1 ->
        load(MARKER, MARK, RELAXED, n);
        assert(n == 1)
    :: else
    fi;
    load(MARKER, SLOT_HEADER, HEADER_LOAD, n);
    if
    :: n == 1 ->
        load(MARKER, SLOT_FIELD, RELAXED, n);
        assert(n == 1)
    :: else
    fi
}

inline mark()
{
    load(MARKER, FIELD, FIELD_LOAD, n);
    if
    :: n == 1 ->
        load(MARKER, SLOT_HEADER, RELAXED, n);
        assert(n == 1)
    :: else
    fi
}

proctype marker()
{
    byte k, n;

    if
    :: true -> recover()
    :: true -> mark()
    fi
}

init
{
    atomic {
        run mutator();
        run overflower();
        run marker()
    }
}
