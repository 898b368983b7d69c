/* stack.c -- bounds of the calling thread's stack, asked for once a thread
 *
 *   high 0: not asked --first call--> low, high: the bounds
 *                            '------> low 0, high 1: the system does not say
 *
 * The answer is kept, since asking may read /proc and call malloc.  On another
 * stack, of a signal or a coroutine, the bounds stay and the answer is false.
 */
#include <pthread.h>
#include <stddef.h>

#include "plat/stack.h"

static _Thread_local uintptr_t low __attribute__((tls_model("initial-exec")));
static _Thread_local uintptr_t high __attribute__((tls_model("initial-exec")));

static void
look(void)
{
    pthread_attr_t attr;
    void *start;
    size_t bytes;

    high = 1; /* not again */
    if (pthread_getattr_np(pthread_self(), &attr) != 0)
        return;
    if (pthread_attr_getstack(&attr, &start, &bytes) == 0) {
        low = (uintptr_t)start;
        high = low + bytes;
    }
    pthread_attr_destroy(&attr);
}

bool
alqi_plat_stack_bounds(uintptr_t *start, uintptr_t *end)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);

    if (high == 0)
        look();
    *start = low;
    *end = high;
    return here >= low && here < high;
}

void
alqi_plat_stack(uintptr_t *used_bytes, uintptr_t *all_bytes)
{
    uintptr_t start, end;

    *used_bytes = 0;
    *all_bytes = 0;
    if (alqi_plat_stack_bounds(&start, &end)) {
        *used_bytes = end - (uintptr_t)__builtin_frame_address(0);
        *all_bytes = end - start;
    }
}
