/* malloc_leave.c -- may a task be left by longjmp out of this malloc?
 *
 * malloc is called by anybody: by the C library with a stream's lock held, by
 * another library half-way through its data, by a signal handler.  So the stack
 * is walked from here to the frame, and every function on it must belong to the
 * module of a task that is left, which asked for it.  Nobody has to declare
 * anything; alq_foreign_begin is for code of the module itself.
 *
 *   leave()  permit  |preload: malloc|  program's ...  |alq_with_resource ...|
 *   `--- ours, and the preload's ---'   `-- of its module, or leavable --'  to
 *
 * Where the walk does not arrive, the answer is no. */
#include <dlfcn.h>

#include "base/base.h"
#include "glue/join/malloc_limiter.h"
#include "plat/plat.h"
#include "stack/capture.h"

enum { FRAMES_MAX = 1024 };

struct range {
    uintptr_t start, end;
};

extern const char __start_aliquot_leavable[]
    __attribute__((weak, visibility("hidden")));
extern const char __stop_aliquot_leavable[]
    __attribute__((weak, visibility("hidden")));
extern const char __start_aliquot_text[] __attribute__((weak));
extern const char __stop_aliquot_text[] __attribute__((weak));

/* One comparison tells both bounds: below start the difference wraps. */
static bool
is_in(const struct range *r, uintptr_t pc)
{
    return pc - r->start < r->end - r->start;
}

/* The mapping of the file that has the address; an empty one if none does. */
static struct range
module_of(uintptr_t address)
{
    struct dl_find_object found;

    if (_dl_find_object((void *)address, &found) != 0)
        return (struct range){0, 0};
    return (struct range){(uintptr_t)found.dlfo_map_start,
                          (uintptr_t)found.dlfo_map_end};
}

/* The library's own code: its mapping, or, in an archive, its section
 * (src/glue/CMakeLists.txt). */
static struct range
own_text(void)
{
#ifdef ALQI_IS_SHARED
    return module_of((uintptr_t)&module_of);
#else
    return (struct range){(uintptr_t)__start_aliquot_text,
                          (uintptr_t)__stop_aliquot_text};
#endif
}

static bool
is_leavable(uintptr_t pc)
{
    const struct range r = {(uintptr_t)__start_aliquot_leavable,
                            (uintptr_t)__stop_aliquot_leavable};

    return is_in(&r, pc);
}

/* Code of a task that is left if `to` is. */
static bool
is_of_task(const struct alqi_limit_frame *f, const struct alqi_limit_frame *to,
           uintptr_t pc)
{
    for (;; f = f->outer) {
        const struct range r = module_of(f->task);

        if (is_in(&r, pc))
            return true;
        if (f == to)
            return false;
    }
}

/* Whether frames from the n-th on, to that of `to`, may all be left. */
static bool
may_leave_from(const struct alqi_glue_malloc_limiter *l,
               const struct alqi_limit_frame *to,
               const struct alqi_stack_cache *memo,
               const struct alqi_stack_result *stack, uint32_t n)
{
    const struct range own = own_text();

    for (; n < stack->n_frames; n++) {
        uintptr_t pc = stack->frames[n] - 1;

        if (alqi_stack_frame_cfa_at(memo, n) > (uintptr_t)to->leave)
            return is_leavable(pc);
        if (!is_leavable(pc) &&
            (is_in(&own, pc) || !is_of_task(l->t.innermost, to, pc)))
            return false;
    }
    return false;
}

/* Walks the stack from here. Frames of the library, then of the preload, are
 * passed over: they expect to be left. */
static bool
may_leave(const struct alqi_glue_malloc_limiter *l,
          const struct alqi_limit_frame *to, struct alqi_stack_cache *memo)
{
    const struct alqi_stack_regs here = alqi_stack_regs_here();
    const struct range own = own_text();
    const struct range preload = module_of((uintptr_t)l->api);
    struct alqi_stack_result stack;
    uint32_t n = 0;

    stack = alqi_stack_capture(memo, &here, 0, 0, FRAMES_MAX);
    while (n < stack.n_frames && is_in(&own, stack.frames[n] - 1))
        n++;
    while (n < stack.n_frames && is_in(&preload, stack.frames[n] - 1))
        n++;
    return may_leave_from(l, to, memo, &stack, n);
}

/* The cache for the walk is mapped for this call: it is too large for a stack,
 * and malloc is what called. */
bool
alqi_glue_malloc_may_leave(const struct alqi_glue_malloc_limiter *l,
                           const struct alqi_limit_frame *to)
{
    size_t n_bytes = alqi_stack_cache_bytes(FRAMES_MAX);
    struct alqi_stack_cache *memo;
    bool may;

    if ((uintptr_t)&n_bytes > (uintptr_t)to->leave)
        return false; /* another stack */
    memo = alqi_plat_pages_map(n_bytes);
    if (memo == NULL)
        return false;
    alqi_stack_cache_init(memo, FRAMES_MAX);
    may = may_leave(l, to, memo);
    alqi_plat_pages_unmap(memo, n_bytes);
    return may;
}
