/* capture_test_referee.c -- the stack as libgcc's unwinder has it
 *
 * Called directly: glibc's backtrace() would do, but sanitizers put a frame
 * of their own in front of it. */
#include <unwind.h>

#include "stack/capture_test.h"

struct trace {
    void **frames;
    int n;
    int max;
    int n_skipped;
};

/* A visitor of _Unwind_Backtrace: notes the pc of each frame but the referee's
 * own, up to t->max. */
static _Unwind_Reason_Code
frame(struct _Unwind_Context *context, void *arg)
{
    struct trace *t = arg;

    if (t->n_skipped++ == 0)
        return _URC_NO_REASON; /* the referee's own */
    if (t->n == t->max || _Unwind_GetIP(context) == 0)
        return _URC_END_OF_STACK;
    t->frames[t->n++] = (void *)_Unwind_GetIP(context);
    return _URC_NO_REASON;
}

__attribute__((noinline)) int
capture_test_referee(void **frames, int max)
{
    struct trace t = {frames, 0, max, 0};

    _Unwind_Backtrace(frame, &t);
    return t.n;
}
