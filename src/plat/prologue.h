/* prologue.h -- the first instructions of a function, copied to another place
 *                                                     [doc/design/patch.md] */
#ifndef ALQI_PLAT_PROLOGUE_H
#define ALQI_PLAT_PROLOGUE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    /* a jump to 32 bits' distance */
    ALQI_PLAT_JUMP_BYTES = 5,
    /* at most of a copy: whole instructions from below JUMP_BYTES on, of which
     * a short branch becomes a long one */
    ALQI_PLAT_COPY_BYTES = 40
};

struct alqi_plat_copied {
    size_t n_from;   /* bytes of the function that were copied  */
    size_t n_to;     /* bytes of the copy                       */
    const char *why; /* on failure, for people; a constant text */
};

/* Copies whole instructions, of JUMP_BYTES at least, that do at `to_address`
 * what they do at `from_address`; where they go on, the caller adds a jump
 * back. `from` has n_bytes of the function.  False, with copied->why: an
 * instruction that it does not know, or that cannot be moved. */
bool alqi_plat_prologue_copy(const uint8_t *from, size_t n_bytes,
                             uintptr_t from_address,
                             uint8_t to[ALQI_PLAT_COPY_BYTES],
                             uintptr_t to_address,
                             struct alqi_plat_copied *copied);

/* Whether the first bytes of a function may become a jump: nothing behind them
 * branches to them, not even to the start, where a loop's registers are no
 * arguments.  NULL: they may; else why not, a constant text. */
const char *alqi_plat_prologue_check(const uint8_t *function, size_t n_bytes,
                                     size_t n_first);

/* Bytes at the start of a function that stay: what an indirect branch may have
 * to find. */
size_t alqi_plat_prologue_marker(const uint8_t *from);

/* Writes a jump; false: it is too far. */
bool alqi_plat_jump_put(uint8_t at[ALQI_PLAT_JUMP_BYTES], uintptr_t at_address,
                        uintptr_t target);

#endif
