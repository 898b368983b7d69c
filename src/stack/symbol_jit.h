/* symbol_jit.h -- names of code that a program made as it ran
 *
 * A perf map (text) or a jitdump (binary) lists pieces of code in the order
 * they were made; both may still grow.  They come from the profiled program:
 * any bytes are harmless, and what is beyond a bound is counted and left out.
 * Pure: who calls reads the files. */
#ifndef ALQI_STACK_SYMBOL_JIT_H
#define ALQI_STACK_SYMBOL_JIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stack/symbol.h"

#define ALQI_SYMBOL_NO_CODE UINT32_MAX

/* All that one file has listed so far. */
struct alqi_symbol_jit;

/* What was not taken in. */
struct alqi_symbol_jit_counts {
    uint64_t n_odd;  /* lines or records without sense   */
    uint64_t n_over; /* beyond what is kept (symbol_jit.c) */
};

/* NULL when there is no memory. */
struct alqi_symbol_jit *alqi_symbol_jit_new(void);
void alqi_symbol_jit_drop(struct alqi_symbol_jit *jit);
struct alqi_symbol_jit_counts
alqi_symbol_jit_counts(const struct alqi_symbol_jit *jit);

/* Takes the next bytes of a perf map, whole lines only; returns how many are
 * done with.  The rest is to be given again, with more behind it.  is_full: no
 * more fits into the caller's buffer, so a line without end is passed over. */
size_t alqi_symbol_jit_take_map(struct alqi_symbol_jit *jit, const char *bytes,
                                size_t n_bytes, bool is_full);

/* The same of a jitdump, from its first byte on; what is returned may be more
 * than n_bytes: so much is to be passed over. */
size_t alqi_symbol_jit_take_dump(struct alqi_symbol_jit *jit,
                                 const uint8_t *bytes, size_t n_bytes,
                                 bool is_full);

/* The piece of code over that address at that time: the last one listed whose
 * time, where the file has times, is not later.  ALQI_SYMBOL_NO_CODE: none.
 * Times are of CLOCK_MONOTONIC. */
uint32_t alqi_symbol_jit_find(const struct alqi_symbol_jit *jit,
                              uint64_t address, uint64_t time_ns);

/* The name of a piece, and the line at an address in it, if the file has lines;
 * where the text has file and line, they are apart.  What
 * is not there is "" and 0.  False: no memory.  Stays valid until the drop. */
bool alqi_symbol_jit_frame(struct alqi_symbol_jit *jit, uint32_t piece,
                           uint64_t address, struct alqi_symbol_frame *frame);

#endif
