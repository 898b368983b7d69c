/* shared_stubs.c -- variables of C code that domains pass values by: shared.ml
 *
 * 0 is a global root, 1 a generational one, 2 is shown by a hook. */
#define CAML_INTERNALS
#include <caml/memory.h>
#include <caml/mlvalues.h>
#include <caml/roots.h>

static value variables[3] = {Val_unit, Val_unit, Val_unit};
static scan_roots_hook next_hook;

static void
hook(scanning_action action, scanning_action_flags flags, void *data,
     caml_domain_state *domain)
{
    action(data, variables[2], &variables[2]);
    if (next_hook != NULL)
        next_hook(action, flags, data, domain);
}

value
shared_begin(value kind)
{
    if (Int_val(kind) == 0)
        caml_register_global_root(&variables[0]);
    else if (Int_val(kind) == 1)
        caml_register_generational_global_root(&variables[1]);
    else
        next_hook = atomic_exchange(&caml_scan_roots_hook, hook);
    return Val_unit;
}

value
shared_end(value kind)
{
    if (Int_val(kind) == 0)
        caml_remove_global_root(&variables[0]);
    else if (Int_val(kind) == 1)
        caml_remove_generational_global_root(&variables[1]);
    else
        atomic_store(&caml_scan_roots_hook, next_hook);
    variables[Int_val(kind)] = Val_unit;
    return Val_unit;
}

value
shared_put(value kind, value v)
{
    if (Int_val(kind) == 1)
        caml_modify_generational_global_root(&variables[1], v);
    else
        variables[Int_val(kind)] = v;
    return Val_unit;
}

value
shared_get(value kind)
{
    return variables[Int_val(kind)];
}
