/* roots.c -- OCaml's roots, shown to the heap
 *
 *   stacks, C roots   upstream's caml_do_roots scans them, with the frame
 *                     tables of native code; the threads of systhreads by its
 *                     hook
 *   modules           caml_globals and those that Dynlink adds: static blocks,
 *                     whose fields marking reads; a young value in one of them
 *                     is remembered, as in an old block
 *   variables         registered by C code, in a map by address
 *
 * Registered variables are all shown in each minor collection, the generational
 * ones, too: they are few.
 *
 * .inv.modules  A field of a module's block is written by caml_initialize or
 *               caml_modify alone, so minor collections need not read modules.
 */
#include <stdlib.h>

#include "base/map.h"
#include "heap/hosted.h"
#include "plat/plat.h"
#include "ocaml/head.h"
#include "ocaml/roots.h"

enum { ONLY_YOUNG = 1 }; /* caml_do_roots may leave out what is old */

/* ---- registered variables ----------------------------------------------- */

static struct {
    value **variables;
    size_t n;
    size_t size;
    struct alqi_base_map places; /* of each variable in the array */
} globals;

static struct alqi_plat_lock globals_lock = ALQI_PLAT_LOCK(OCAML_GLOBALS);

void
alqi_ocaml_global_add(value *variable)
{
    uint64_t place;

    alqi_plat_lock(&globals_lock);
    if (!alqi_base_map_get(&globals.places, (uintptr_t)variable, &place)) {
        if (globals.n == globals.size) {
            size_t size = globals.size == 0 ? 64 : globals.size * 2;
            value **more = realloc(globals.variables, size * sizeof *more);

            if (more == NULL)
                caml_fatal_error("no memory for global roots");
            globals.variables = more;
            globals.size = size;
        }
        if (!alqi_base_map_put(&globals.places, (uintptr_t)variable, globals.n))
            caml_fatal_error("no memory for global roots");
        globals.variables[globals.n++] = variable;
    }
    alqi_plat_unlock(&globals_lock);
}

void
alqi_ocaml_global_remove(value *variable)
{
    uint64_t place;

    alqi_plat_lock(&globals_lock);
    if (alqi_base_map_get(&globals.places, (uintptr_t)variable, &place)) {
        value *last = globals.variables[--globals.n];

        globals.variables[place] = last;
        (void)alqi_base_map_put(&globals.places, (uintptr_t)last, place);
        (void)alqi_base_map_take(&globals.places, (uintptr_t)variable, &place);
    }
    alqi_plat_unlock(&globals_lock);
}

ALQI_OCAML_API void
caml_register_global_root(value *variable)
{
    alqi_ocaml_global_add(variable);
}

ALQI_OCAML_API void
caml_remove_global_root(value *variable)
{
    alqi_ocaml_global_remove(variable);
}

ALQI_OCAML_API void
caml_register_generational_global_root(value *variable)
{
    alqi_ocaml_global_add(variable);
}

ALQI_OCAML_API void
caml_remove_generational_global_root(value *variable)
{
    alqi_ocaml_global_remove(variable);
}

ALQI_OCAML_API void
caml_modify_generational_global_root(value *variable, value v)
{
    *variable = v;
}

/* ---- modules ------------------------------------------------------------ */

/* Of natdynlink: each a list of blocks, as caml_globals[i]. */
static struct dynamic {
    value *blocks;
    struct dynamic *next;
} * dynamics;

ALQI_OCAML_API void
caml_register_dyn_globals(void **lists, int n)
{
    for (int i = 0; i < n; i++) {
        struct dynamic *more = malloc(sizeof *more);

        if (more == NULL)
            caml_fatal_error("no memory for a module's roots");
        more->blocks = lists[i];
        more->next = dynamics;
        dynamics = more;
    }
}

static void
module_visit(value *blocks, void (*visit)(void *, alq_value *), void *arg)
{
    for (; *blocks != 0; blocks++)
        for (uintptr_t i = 0; i < alq_wosize(*blocks); i++)
            visit(arg, (alq_value *)*blocks + i);
}

static void
modules_visit(void (*visit)(void *, alq_value *), void *arg)
{
    for (value **list = caml_globals; list != NULL && *list != NULL; list++)
        module_visit(*list, visit, arg);
    for (struct dynamic *d = dynamics; d != NULL; d = d->next)
        module_visit(d->blocks, visit, arg);
}

/* ---- all of them -------------------------------------------------------- */

void
alqi_ocaml_show(void *data, value v, volatile value *slot)
{
    const struct alqi_ocaml_visitor *to = data;

    if (alq_is_block(v))
        to->visit(to->arg, (alq_value *)slot);
}

void
alqi_heap_host_scan(struct alqi_domain *d, bool young_only,
                    void (*visit)(void *arg, alq_value *slot), void *arg)
{
    struct alqi_ocaml_visitor to = {visit, arg};

    if (alqi_ocaml_state(d)->current_stack == NULL)
        return; /* the domain is being started */
    caml_do_roots(alqi_ocaml_show, young_only ? ONLY_YOUNG : 0, &to,
                  alqi_ocaml_state(d), 1);
    if (d->slot != 0)
        return; /* what follows is nobody's: the first domain's share has it */
    alqi_plat_lock(&globals_lock);
    for (size_t i = 0; i < globals.n; i++)
        if (*globals.variables[i] != 0)
            visit(arg, globals.variables[i]);
    alqi_plat_unlock(&globals_lock);
    if (!young_only)
        modules_visit(visit, arg);
}
