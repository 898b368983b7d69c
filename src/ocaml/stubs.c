/* stubs.c -- the externals of OCaml's library `aliquot`, for any runtime
 *
 * A library of its own, linked before the runtime.  See primitives.h. */
#include "ocaml/primitives.h"

extern const struct aliquot_primitives aliquot_primitives
    __attribute__((weak, visibility("default")));

#define STUB(name, without)                                                    \
    ALQI_OCAML_API value aliquot_##name(value argument);                       \
    value aliquot_##name(value argument)                                       \
    {                                                                          \
        if (&aliquot_primitives != NULL)                                       \
            return aliquot_primitives.name(argument);                          \
        if ((without) == ALQI_OCAML_FAILS)                                     \
            caml_failwith("Aliquot: link with -runtime-variant _aliquot");     \
        return without;                                                        \
    }
ALQI_OCAML_PRIMITIVES(STUB)

ALQI_OCAML_API value aliquot_is_available(value unit);

value
aliquot_is_available(value unit)
{
    (void)unit;
    return alqi_ocaml_bool(&aliquot_primitives != NULL);
}
