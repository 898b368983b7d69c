/* unread.c -- a program with what tells an interpreter from other modules, as
 * of a version 3.14 that is built without a global lock; it only allocates */
#include <stdint.h>
#include <stdlib.h>

const unsigned long Py_Version = 0x030e00f0;

struct {
    char mark[8];
    uint64_t version, is_free_threaded;
} _PyRuntime = {"xdebugpy", 0x030e00f0, 1};

/* A look-up of the rest would find it. */
int PyCode_Type, PyUnicode_Type, PyBytes_Type, PyFrame_Type;

void *
PyEval_EvalFrameEx(void)
{
    return NULL;
}

void *
_PyEval_EvalFrameDefault(void)
{
    return NULL;
}

void *
PyThreadState_GetUnchecked(void)
{
    abort();
}

void *
PyGILState_GetThisThreadState(void)
{
    abort();
}

int
Py_IsInitialized(void)
{
    return 0;
}

void
PyMem_GetAllocator(void)
{
    abort();
}

void
PyMem_SetAllocator(void)
{
    abort();
}

int
main(void)
{
    for (int i = 0; i < 1000; i++) {
        void *volatile block = malloc(1000);

        free(block);
    }
    return 0;
}
