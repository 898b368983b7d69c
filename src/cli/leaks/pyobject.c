/* pyobject.c -- objects of CPython, to which pointers lead behind their begin
 *
 *     [ weak references | dict or values ] _gc_next | _gc_prev | count | type
 *       where the type says so (3.11 on)                        ^ the pointer
 *
 * Nothing is asked of the interpreter: what is there has to be such an object
 * in all of these, so that no other pointer behind two words is taken for one.
 *
 * .inv.pytype  A type has the collector's flag, the flag for the two words
 *              exactly if they are there, and the type of its type, and so on,
 *              is one that is its own type, a variable of a file, and a type by
 *              its flags.
 * .inv.pyhead  An object is tracked, and both neighbours in its list lead back
 *              to it; or it is not, and the header has no pointer.  The lowest
 *              two bits of both words are flags; in the middle of a collection
 *              _gc_prev is a count, above a flag that says so.
 * .inv.pycount The count of references is no pointer.
 *
 * Without a global lock (3.13t, 3.14t) there is no header, and objects are not
 * in malloc's memory either. */
#include "cli/leaks/pyobject.h"

enum {
    /* words of a type, the same in 3.8 to 3.14 */
    TYPE = 1,
    FLAGS = 21,
    TYPE_WORDS = FLAGS + 1,
    /* bits of the flags: two words in front (3.11; 3.12 on the first, too) */
    HAS_WEAK_BEFORE = 1 << 3,
    HAS_DICT_BEFORE = 1 << 4,
    IS_COLLECTED = 1 << 14,
    /* of the header */
    POINTER_SHIFT = 2,
    FINALIZED = 1,
    COLLECTING = 2,
    COUNT_BITS = 32,
    /* types of types: of most it is the first */
    TYPES_DEEP = 8,
    /* bytes of the values' order that are none of it */
    VALUES_BEFORE = 2,
    VALUES_MOST = 30
};

#define IS_TYPE (UINT64_C(1) << 31)
#define POINTER(word) ((word) >> POINTER_SHIFT << POINTER_SHIFT)

/* What an address is: the map's values. */
enum kind { NO_TYPE = 1, COLLECTED, COLLECTED_BEFORE };

/* ---- types --------------------------------------------------------------- */

static bool
type_read(struct alqi_cli_leak_memory *memory, uint64_t at,
          uint64_t w[TYPE_WORDS])
{
    return alqi_cli_leak_memory_peek(memory, at, w, TYPE_WORDS) == TYPE_WORDS;
}

/* Whether `at` is the type of a type: .inv.pytype's chain. */
static bool
is_metatype(struct alqi_cli_leak_memory *memory, uint64_t at)
{
    const struct alqi_cli_mapping *m;
    uint64_t w[TYPE_WORDS];

    for (int i = 0; i < TYPES_DEEP; i++, at = w[TYPE]) {
        if (!type_read(memory, at, w) || (w[FLAGS] & IS_TYPE) == 0)
            return false;
        if (w[TYPE] != at)
            continue;
        m = alqi_cli_attach_target_at(&memory->core->target, at);
        return m != NULL && m->path[0] == '/';
    }
    return false;
}

static enum kind
kind_find(struct alqi_cli_leak_memory *memory, uint64_t type)
{
    uint64_t w[TYPE_WORDS];

    if (!type_read(memory, type, w) || (w[FLAGS] & IS_COLLECTED) == 0 ||
        !is_metatype(memory, w[TYPE]))
        return NO_TYPE;
    return (w[FLAGS] & (HAS_WEAK_BEFORE | HAS_DICT_BEFORE)) != 0
               ? COLLECTED_BEFORE
               : COLLECTED;
}

/* Many objects have few types; without memory for it each is asked anew. */
static enum kind
kind_of(struct alqi_cli_leak_pytypes *types,
        struct alqi_cli_leak_memory *memory, uint64_t type)
{
    uint64_t kind;

    if (!alqi_base_map_get(&types->map, type, &kind)) {
        kind = kind_find(memory, type);
        alqi_base_map_put(&types->map, type, kind);
    }
    return (enum kind)kind;
}

/* ---- headers ------------------------------------------------------------- */

static bool
is_count(uint64_t prev)
{
    return (prev & COLLECTING) != 0 &&
           prev >> (POINTER_SHIFT + COUNT_BITS) == 0;
}

/* .inv.pyhead; next, prev: the header's words. */
static bool
is_header(struct alqi_cli_leak_memory *memory, uint64_t header, uint64_t next,
          uint64_t prev)
{
    uint64_t w[2];

    if (next == 0)
        return (prev & ~(uint64_t)FINALIZED) == 0;
    if (alqi_cli_leak_memory_peek(memory, POINTER(next), w, 2) < 2 ||
        (POINTER(w[1]) != header && !is_count(w[1])))
        return false;
    return is_count(prev) ||
           (alqi_cli_leak_memory_peek(memory, POINTER(prev), w, 1) == 1 &&
            POINTER(w[0]) == header);
}

bool
alqi_cli_leak_is_pyobject(struct alqi_cli_leak_pytypes *types,
                          struct alqi_cli_leak_memory *memory, uint64_t object,
                          const uint64_t *w, bool has_before)
{
    enum { OVERFLOW_BITS = 16 }; /* above the count: flags (3.14) */

    return (w[0] << OVERFLOW_BITS) >> (COUNT_BITS + OVERFLOW_BITS) == 0 &&
           kind_of(types, memory, w[1]) ==
               (has_before ? COLLECTED_BEFORE : COLLECTED) &&
           is_header(memory, object - 16, w[-2], w[-1]);
}

/* ---- values -------------------------------------------------------------- */

/* In front of n values are n + 2 bytes, rounded up to words: the order in which
 * they were set, from behind, how many that are, and all the bytes. */
bool
alqi_cli_leak_is_pyvalues(const uint64_t *w, unsigned offset_bytes,
                          uint64_t block_bytes)
{
    const uint8_t *values = (const uint8_t *)w + offset_bytes;
    uint64_t n = (block_bytes - offset_bytes) / 8; /* or fewer: room is left */
    uint32_t seen = 0;

    if (block_bytes <= offset_bytes || values[-1] != offset_bytes || n == 0 ||
        n + 9 < offset_bytes || n > offset_bytes || values[-2] > n ||
        values[-2] + VALUES_BEFORE > (int)offset_bytes)
        return false;
    for (int i = 0; i < values[-2]; i++) {
        uint8_t at = values[-1 - VALUES_BEFORE - i];

        if (at >= n || at >= VALUES_MOST || (seen >> at & 1) != 0)
            return false;
        seen |= UINT32_C(1) << at;
    }
    return true;
}
