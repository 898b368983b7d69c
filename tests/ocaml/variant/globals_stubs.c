/* globals_stubs.c -- a handle that holds a value by a generational root, which
 * its finaliser removes: globals.ml */
#include <caml/alloc.h>
#include <caml/custom.h>
#include <caml/memory.h>
#include <caml/mlvalues.h>
#include <stdlib.h>

#define Held(v) (*(value **)Data_custom_val(v))

static void
handle_finalise(value v)
{
    caml_remove_generational_global_root(Held(v));
    free(Held(v));
}

static struct custom_operations operations = {
    "aliquot.test.handle",      handle_finalise,
    custom_compare_default,     custom_hash_default,
    custom_serialize_default,   custom_deserialize_default,
    custom_compare_ext_default, custom_fixed_length_default};

value
handle_new(value of)
{
    CAMLparam1(of);
    CAMLlocal1(handle);
    value *held = malloc(sizeof *held);

    handle = caml_alloc_custom(&operations, sizeof held, 0, 1);
    Held(handle) = held;
    *held = of;
    caml_register_generational_global_root(held);
    CAMLreturn(handle);
}

value
handle_get(value handle)
{
    return *Held(handle);
}
