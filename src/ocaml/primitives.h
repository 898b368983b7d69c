/* primitives.h -- what OCaml's library `aliquot` calls of the variant
 *
 * The library's stubs (stubs.c) are linked with any runtime.  They reach the
 * variant by one symbol, which is weak there: with OCaml's own runtime it is
 * missing, and a primitive raises Failure, or returns what is true without
 * limits. */
#ifndef ALQI_OCAML_PRIMITIVES_H
#define ALQI_OCAML_PRIMITIVES_H

#include "ocaml/contract.h"

enum { ALQI_OCAML_FAILS = 0 }; /* no value of OCaml's */

/* X(name, without): of one argument; without the variant it returns that. */
#define ALQI_OCAML_PRIMITIVES(X)                                               \
    X(exception, ALQI_OCAML_UNIT)                                              \
    X(run, ALQI_OCAML_FAILS)                                                   \
    X(is_interrupted, ALQI_OCAML_FALSE)                                        \
    X(mask, ALQI_OCAML_FALSE)                                                  \
    X(unmask, ALQI_OCAML_UNIT)                                                 \
    X(is_masked, ALQI_OCAML_FALSE)                                             \
    X(token_new, ALQI_OCAML_FAILS)                                             \
    X(token_set, ALQI_OCAML_UNIT)                                              \
    X(token_is_set, ALQI_OCAML_FALSE)                                          \
    X(safe_words, ALQI_OCAML_FAILS)                                            \
    X(stop_words, ALQI_OCAML_FAILS)                                            \
    X(limit_for, ALQI_OCAML_FAILS)                                             \
    X(get_bucket, ALQI_OCAML_FAILS)                                            \
    X(get_credit, ALQI_OCAML_FAILS)                                            \
    X(huge_fallback_count, ALQI_OCAML_FAILS)                                   \
    X(trace_start, ALQI_OCAML_FAILS)                                           \
    X(trace_stop, ALQI_OCAML_FAILS)                                            \
    X(trace_flush, ALQI_OCAML_FAILS)                                           \
    X(trace_count, ALQI_OCAML_FAILS)

#define ALQI_OCAML_PRIMITIVE(name, ...) value (*name)(value argument);
struct aliquot_primitives {
    ALQI_OCAML_PRIMITIVES(ALQI_OCAML_PRIMITIVE)
};

#define ALQI_OCAML_DECLARE(name, ...) value alqi_ocaml_##name(value argument);
ALQI_OCAML_PRIMITIVES(ALQI_OCAML_DECLARE)

#endif
