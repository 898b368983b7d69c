/* param.h -- the heap's parameters: their ranges, and as text (ALIQUOTPARAM)
 *
 *   letter[=number[k|M|G]],...      the letters of OCAMLRUNPARAM: aliquot-gc(7)
 */
#ifndef ALQI_HEAP_PARAM_H
#define ALQI_HEAP_PARAM_H

#include "heap/state.h"

/* Told of each setting (n bytes at `setting`) that is not taken as it is. */
typedef void alqi_heap_param_warn_fn(const char *setting, size_t n,
                                     const char *why);

void alqi_heap_param_defaults(struct alqi_heap_tuning *t);

/* Brings each value into its range; none is negative. */
void alqi_heap_param_limit(struct alqi_heap_tuning *t);

/* Sets what the text says, within the ranges. */
void alqi_heap_param_read(struct alqi_heap_tuning *t, const char *text,
                          alqi_heap_param_warn_fn *warn);

/* Reads ALIQUOTPARAM into *t; warnings go to stderr.  Does nothing in a set-uid
 * program. */
void alqi_heap_param_environment(struct alqi_heap_tuning *t);

/* All values as such a text, of which at most `size` bytes, the last one 0, are
 * written; returns its length. */
size_t alqi_heap_param_write(const struct alqi_heap_tuning *t, char *text,
                             size_t size);

#endif
