/* prologue.c -- the first instructions of a function, copied to another place
 *
 * They are copied as they are, but for what is relative to their place.
 *
 * .inv.refuse  An instruction that instruction.c does not know is refused, and
 *              so are calls (their return address would be in the copy, which
 *              no unwinder knows), and branches into what is copied.  The copy
 *              looks at what is copied alone: the caller has the rest of the
 *              function checked, too. */
#include "plat/prologue.h"

#include <string.h>

#include "plat/instruction.h"

#if defined(__x86_64__)

static bool
fits(int64_t far)
{
    return far >= INT32_MIN && far <= INT32_MAX;
}

static void
far_put(uint8_t *at, int64_t far)
{
    int32_t value = (int32_t)far;

    memcpy(at, &value, sizeof value);
}

/* One of 8 bits becomes one of 32. */
static size_t
short_copy(const uint8_t *from, const struct alqi_plat_instruction *i,
           uint8_t *to, int64_t moved)
{
    to[0] = 0x0F;
    to[1] = (uint8_t)(from[i->opcode_at] + 0x10);
    far_put(to + 2, i->short_far + (int64_t)i->n_bytes - 6 - moved);
    return 6;
}

/* Copies an instruction that moves by so many bytes; 0: it would reach too far.
 */
static size_t
instruction_copy(const uint8_t *from, const struct alqi_plat_instruction *i,
                 uint8_t *to, int64_t moved)
{
    int32_t far;

    if (i->is_short)
        return fits(moved + INT16_MAX) && fits(moved - INT16_MAX)
                   ? short_copy(from, i, to, moved)
                   : 0;
    memcpy(to, from, i->n_bytes);
    if (i->relative_at == 0)
        return i->n_bytes;
    memcpy(&far, from + i->relative_at, sizeof far);
    if (!fits(far - moved))
        return 0;
    far_put(to + i->relative_at, far - moved);
    return i->n_bytes;
}

/* Where the branch at that offset of the function goes, as an offset;
 * INT64_MAX: it is none. */
static int64_t
branch_target(const uint8_t *from, const struct alqi_plat_instruction *i,
              size_t at)
{
    int32_t far;

    if (i->is_short)
        return (int64_t)(at + i->n_bytes) + i->short_far;
    if (!i->is_branch)
        return INT64_MAX;
    memcpy(&far, from + at + i->relative_at, sizeof far);
    return (int64_t)(at + i->n_bytes) + far;
}

static bool
fail(struct alqi_plat_copied *copied, const char *why)
{
    copied->why = why;
    return false;
}

bool
alqi_plat_prologue_copy(const uint8_t *from, size_t n_bytes,
                        uintptr_t from_address,
                        uint8_t to[ALQI_PLAT_COPY_BYTES], uintptr_t to_address,
                        struct alqi_plat_copied *copied)
{
    uint8_t window[ALQI_PLAT_JUMP_BYTES + 2 * ALQI_PLAT_INSTRUCTION_BYTES] = {
        0};
    int64_t target[ALQI_PLAT_JUMP_BYTES];
    unsigned n_targets = 0;
    size_t at = 0, n;

    *copied = (struct alqi_plat_copied){0};
    if (n_bytes > sizeof window)
        n_bytes = sizeof window;
    memcpy(window, from, n_bytes);
    while (at < ALQI_PLAT_JUMP_BYTES) {
        struct alqi_plat_instruction i;

        if (!alqi_plat_instruction_read(window + at, &i) || !i.is_copied)
            return fail(copied, "it begins with an instruction that cannot be "
                                "moved");
        if (at + i.n_bytes > n_bytes ||
            (i.is_end && at + i.n_bytes < ALQI_PLAT_JUMP_BYTES))
            return fail(copied, "it is shorter than a jump");
        target[n_targets++] = branch_target(window, &i, at);
        n = instruction_copy(
            window + at, &i, to + copied->n_to,
            (int64_t)(to_address + copied->n_to - from_address - at));
        if (n == 0)
            return fail(copied, "its copy is too far from what it refers to");
        copied->n_to += n;
        at += i.n_bytes;
    }
    for (unsigned k = 0; k < n_targets; k++)
        if (target[k] >= 0 && target[k] < (int64_t)at)
            return fail(copied, "it branches into its first instructions");
    copied->n_from = at;
    return true;
}

const char *
alqi_plat_prologue_check(const uint8_t *function, size_t n_bytes,
                         size_t n_first)
{
    size_t at = n_first;

    while (at < n_bytes) {
        uint8_t window[ALQI_PLAT_INSTRUCTION_BYTES] = {0};
        size_t n = n_bytes - at < sizeof window ? n_bytes - at : sizeof window;
        struct alqi_plat_instruction i;
        int64_t target;

        memcpy(window, function + at, n);
        if (!alqi_plat_instruction_read(window, &i) || i.n_bytes > n)
            return "an instruction in it is not known, and may be a branch to "
                   "its start";
        target = branch_target(window, &i, 0);
        if (target != INT64_MAX && target + (int64_t)at >= 0 &&
            target + (int64_t)at < (int64_t)n_first)
            return "it branches into its first instructions";
        at += i.n_bytes;
    }
    return NULL;
}

/* endbr64 */
size_t
alqi_plat_prologue_marker(const uint8_t *from)
{
    static const uint8_t endbr64[] = {0xF3, 0x0F, 0x1E, 0xFA};

    return memcmp(from, endbr64, sizeof endbr64) == 0 ? sizeof endbr64 : 0;
}

bool
alqi_plat_jump_put(uint8_t at[ALQI_PLAT_JUMP_BYTES], uintptr_t at_address,
                   uintptr_t target)
{
    int64_t far = (int64_t)(target - at_address - ALQI_PLAT_JUMP_BYTES);

    if (!fits(far))
        return false;
    at[0] = 0xE9;
    far_put(at + 1, far);
    return true;
}

#else

bool
alqi_plat_prologue_copy(const uint8_t *from, size_t n_bytes,
                        uintptr_t from_address,
                        uint8_t to[ALQI_PLAT_COPY_BYTES], uintptr_t to_address,
                        struct alqi_plat_copied *copied)
{
    (void)from, (void)n_bytes, (void)from_address, (void)to, (void)to_address;
    *copied = (struct alqi_plat_copied){.why = "this is not an x86-64 machine"};
    return false;
}

const char *
alqi_plat_prologue_check(const uint8_t *function, size_t n_bytes,
                         size_t n_first)
{
    (void)function, (void)n_bytes, (void)n_first;
    return "this is not an x86-64 machine";
}

size_t
alqi_plat_prologue_marker(const uint8_t *from)
{
    (void)from;
    return 0;
}

bool
alqi_plat_jump_put(uint8_t at[ALQI_PLAT_JUMP_BYTES], uintptr_t at_address,
                   uintptr_t target)
{
    (void)at, (void)at_address, (void)target;
    return false;
}

#endif
