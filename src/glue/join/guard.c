/* guard.c -- see task.h: the frame of alqi_glue_guarded, as unwinders see it
 *
 * A personality routine needs no landing pad when all is done in it, and so
 * nothing of the compiler's runtime but the address of the frame: the unwinder
 * that calls has it, this library is not linked with one. */
#include <dlfcn.h>
#include <unwind.h>

#include "base/base.h"
#include "glue/join/task.h"

#pragma weak _Unwind_GetCFA

/* In a personality routine it is what the stack pointer was at the call, the
 * CFA of whom the frame has called: in libgcc and in LLVM's. */
typedef _Unwind_Word cfa_fn(struct _Unwind_Context *context);

/* The unwinder's function, of the program or of what it has loaded; NULL:
 * another unwinder is at work. */
static cfa_fn *
cfa_of_unwinder(void)
{
    void *library;

    if (_Unwind_GetCFA != NULL)
        return _Unwind_GetCFA;
    library = dlopen("libgcc_s.so.1", RTLD_LAZY | RTLD_NOLOAD);
    return library != NULL ? (cfa_fn *)dlsym(library, "_Unwind_GetCFA") : NULL;
}

_Unwind_Reason_Code alqi_glue_guard_personality(
    int version, _Unwind_Action actions, _Unwind_Exception_Class class,
    struct _Unwind_Exception *exception, struct _Unwind_Context *context);

/* The unwinder calls it in two phases; only in the second one are frames left.
 * The guard's word lies at the stack pointer of the call (guard.S). */
__attribute__((visibility("hidden"))) _Unwind_Reason_Code
alqi_glue_guard_personality(int version, _Unwind_Action actions,
                            _Unwind_Exception_Class class,
                            struct _Unwind_Exception *exception,
                            struct _Unwind_Context *context)
{
    cfa_fn *cfa_of;
    struct alqi_glue_guard *guard;

    (void)version;
    (void)class;
    (void)exception;
    if ((actions & _UA_CLEANUP_PHASE) == 0)
        return _URC_CONTINUE_UNWIND;
    cfa_of = cfa_of_unwinder();
    if (cfa_of == NULL)
        return _URC_CONTINUE_UNWIND; /* it is found later (.inv.at) */
    guard = *(struct alqi_glue_guard **)(uintptr_t)cfa_of(context);
    guard->left(guard);
    return _URC_CONTINUE_UNWIND;
}
