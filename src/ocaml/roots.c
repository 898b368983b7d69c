/* roots.c -- OCaml's roots, shown to the heap
 *
 *   stacks, C roots   upstream's caml_do_roots scans them, with the frame
 *                     tables of native code; the threads of systhreads by its
 *                     hook
 *   the domain's own  its local storage and last exception
 *   modules           caml_globals and those that Dynlink adds: static blocks,
 *                     whose fields marking reads; a young value in one of them
 *                     is remembered, as in an old block
 *   variables         registered by C code, in a map by address; the first
 *                     domain's share of a stop's collection has them
 *
 * Registered variables are all shown in each minor collection of a stop, the
 * generational ones, too: they are few.
 *
 * .inv.modules    A field of a module's block is written by caml_initialize or
 *                 caml_modify alone, so minor collections need not read
 *                 modules.
 * .inv.variables  A generational variable is written by caml_modify_... alone,
 *                 after which its young value has escaped (.inv.private).  C
 *                 code writes any other variable as it likes, so while there
 *                 is one no domain collects alone.
 * .inv.visits     No lock is held over a visit of a variable: it may wait for
 *                 another worker, whose sweeping runs finalisers of C code,
 *                 and these may remove variables.
 * .inv.hook       The hook of systhreads shows each domain's threads with that
 *                 domain.  Nothing is known of another hook, so while there is
 *                 one no domain collects alone. */
#include <stdlib.h>

#include "base/map.h"
#include "heap/hosted.h"
#include "heap/minor_escape.h"
#include "plat/plat.h"
#include "ocaml/head.h"
#include "ocaml/roots.h"

enum { ONLY_YOUNG = 1 }; /* caml_do_roots may leave out what is old */

/* ---- the hook ------------------------------------------------------------ */

/* Thread's initialisation makes the first domain's first thread, sets the hook,
 * and registers a function by name.  So the hook's change between the two is
 * its own. */
static struct {
    void (*of_threads)(void); /* NULL: not set */
    bool is_next;             /* the thread is made, and no hook is set yet */
} hook;

static void (*hook_now(void))(void)
{
    return __atomic_load_n(&caml_scan_roots_hook, __ATOMIC_ACQUIRE);
}

void
alqi_ocaml_hook_is_next(void)
{
    if (hook.of_threads == NULL && hook_now() == NULL)
        hook.is_next = true; /* there is one domain yet */
}

static void
hook_note(void)
{
    if (!hook.is_next)
        return;
    hook.of_threads = hook_now();
    hook.is_next = false;
}

static bool
hook_is_known(void)
{
    return hook_now() == NULL || hook_now() == hook.of_threads;
}

/* ---- registered variables ----------------------------------------------- */

static struct {
    value **variables; /* NULL: removed while is_visited */
    size_t n;
    bool is_visited; /* variables keep their places meanwhile */
    size_t size;
    struct alqi_base_map places; /* of each variable in the array */
    struct alqi_base_map plain;  /* those that C code writes as it likes */
} globals;

static struct alqi_plat_lock globals_lock = ALQI_PLAT_LOCK(OCAML_GLOBALS);

/* .inv.variables: v is about to be where other domains may read it. */
static void
escape(value v)
{
    struct alqi_domain *d = alqi_ocaml_domain(caml_state);

    if (d != NULL && alqi_heap_is_young(d, v))
        alqi_heap_escape(d->heap);
}

/* Registers a variable once, however often it is added.  `is_plain`: C code
 * writes it without telling the heap. */
static void
variable_add(value *variable, bool is_plain)
{
    uint64_t place;

    alqi_plat_lock(&globals_lock);
    if (is_plain && !alqi_base_map_put(&globals.plain, (uintptr_t)variable, 1))
        caml_fatal_error("no memory for global roots");
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
alqi_ocaml_global_add(value *variable)
{
    escape(*variable);
    variable_add(variable, false);
}

void
alqi_ocaml_global_set(value *variable, value v)
{
    escape(v);
    *variable = v;
}

/* The last variable moves to a place that is free. */
static void
place_close(size_t place)
{
    value *last = globals.variables[--globals.n];

    globals.variables[place] = last;
    if (place < globals.n)
        (void)alqi_base_map_put(&globals.places, (uintptr_t)last, place);
}

void
alqi_ocaml_global_remove(value *variable)
{
    uint64_t place;

    alqi_plat_lock(&globals_lock);
    (void)alqi_base_map_take(&globals.plain, (uintptr_t)variable, &place);
    if (alqi_base_map_take(&globals.places, (uintptr_t)variable, &place)) {
        if (globals.is_visited)
            globals.variables[place] = NULL;
        else
            place_close(place);
    }
    alqi_plat_unlock(&globals_lock);
}

/* Which roots are shown, and how. */
enum shows {
    SHOWS_YOUNG, /* those that may be young */
    SHOWS_ALL,
    SHOWS_PLACES /* all, each where it lies: nothing runs or moves meanwhile */
};

/* In a stop: only finalisers of C code run meanwhile (.inv.visits).  The visit
 * changes a copy, which becomes the variable's value if the variable is still
 * there. */
static void
variables_visit(const struct alqi_domain *d, enum shows shows,
                void (*visit)(void *, alq_value *), void *arg)
{
    alqi_plat_lock(&globals_lock);
    globals.is_visited = true;
    for (size_t i = 0; i < globals.n; i++) {
        value *variable = globals.variables[i];
        value v = variable != NULL ? *variable : 0;

        if (v == 0 || !alq_is_block(v) ||
            (shows == SHOWS_YOUNG && !alqi_heap_is_young(d, v)))
            continue;
        alqi_plat_unlock(&globals_lock);
        visit(arg, shows == SHOWS_PLACES ? variable : &v);
        alqi_plat_lock(&globals_lock);
        if (globals.variables[i] == variable)
            *variable = v;
    }
    globals.is_visited = false;
    for (size_t i = globals.n; i-- > 0;)
        if (globals.variables[i] == NULL)
            place_close(i);
    alqi_plat_unlock(&globals_lock);
}

ALQI_OCAML_API void
caml_register_global_root(value *variable)
{
    struct alqi_domain *d = alqi_ocaml_domain(caml_state);

    if (d != NULL)
        alqi_heap_escape(d->heap); /* and stays so: alqi_heap_host_shares */
    variable_add(variable, true);
}

ALQI_OCAML_API void
caml_remove_global_root(value *variable)
{
    alqi_ocaml_global_remove(variable);
}

ALQI_OCAML_API void
caml_register_generational_global_root(value *variable)
{
    hook_note();
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
    alqi_ocaml_global_set(variable, v);
}

/* ---- modules ------------------------------------------------------------ */

/* The globals of modules that natdynlink has loaded: each a list of blocks, as
 * caml_globals[i]. */
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

bool
alqi_heap_host_shares(void)
{
    bool has_plain;

    alqi_plat_lock(&globals_lock);
    has_plain = globals.plain.n_used > 0;
    alqi_plat_unlock(&globals_lock);
    return has_plain || !hook_is_known();
}

static void
scan(struct alqi_domain *d, enum shows shows,
     void (*visit)(void *arg, alq_value *slot), void *arg)
{
    struct alqi_ocaml_visitor to = {visit, arg};

    if (alqi_ocaml_state(d)->current_stack == NULL)
        return; /* the domain is being started */
    caml_do_roots(alqi_ocaml_show, shows == SHOWS_YOUNG ? ONLY_YOUNG : 0, &to,
                  alqi_ocaml_state(d), 1);
    visit(arg, &alqi_ocaml_state(d)->dls_root);
    visit(arg, &alqi_ocaml_state(d)->backtrace_last_exn);
    if (d->slot != 0 || d->young.is_local)
        return; /* what follows is nobody's: the first domain's share has it */
    variables_visit(d, shows, visit, arg);
    if (shows != SHOWS_YOUNG)
        modules_visit(visit, arg);
}

void
alqi_heap_host_scan(struct alqi_domain *d, bool young_only,
                    void (*visit)(void *arg, alq_value *slot), void *arg)
{
    scan(d, young_only ? SHOWS_YOUNG : SHOWS_ALL, visit, arg);
}

void
alqi_heap_host_places_stw(struct alqi_domain *d,
                          void (*visit)(void *arg, alq_value *slot), void *arg)
{
    ALQI_ASSERT(alqi_heap_is_stopped(d->heap));
    scan(d, SHOWS_PLACES, visit, arg);
}
