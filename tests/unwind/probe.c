/* probe.c -- our captures against libunwind's inside a real program
 *
 * Preloaded.  At every ALQ_UNWIND_EVERY-th malloc the stack is captured by
 * alqi_stack_capture and by libunwind's unw_backtrace, called in one function
 * so that all frames outside it must be equal.  Where they are not, libgcc's
 * unwinder is asked, and the capture falls into one class:
 *
 *   same        all frames equal
 *   peer_short  ours begins with theirs and equals libgcc's to the end:
 *               libunwind stopped early
 *   peer_wrong  ours equals libgcc's, theirs does not
 *   unexplained anything else
 *
 * Counts go to the file ALQ_UNWIND_OUT, one line a process; the first few
 * captures of each class but the first are written out frame by frame.
 * libunwind is opened RTLD_LOCAL: its _Unwind_ symbols must not replace those
 * of the program. */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

#include "plat/plat.h"
#include "stack/capture.h"

enum { FRAMES = 512, EXAMPLES = 3, FRESH_EVERY = 64 };
enum { SAME, PEER_SHORT, PEER_WRONG, UNEXPLAINED, N_CLASSES };

#define IE __attribute__((tls_model("initial-exec")))

extern void *__libc_malloc(size_t bytes);
__attribute__((visibility("default"))) void *malloc(size_t bytes);

static const char *const class_names[N_CLASSES] = {"same", "peer_short",
                                                   "peer_wrong", "unexplained"};
static _Atomic(uint64_t) n_class[N_CLASSES], n_replay_wrong, n_frames;
static _Atomic(int) is_ready;
static long every = 1000;
static int out_fd = 2;
static int (*peer_backtrace)(void **, int);
static _Unwind_Reason_Code (*gcc_backtrace)(_Unwind_Trace_Fn, void *);
static uintptr_t (*gcc_ip)(struct _Unwind_Context *);

struct trace {
    uint32_t n;
    uintptr_t pc[FRAMES];
};

/* All a capture needs, off the stack of the program. */
struct scratch {
    struct trace ours, theirs, gcc;
    struct alqi_stack_cache *cache, *fresh;
    uint64_t n;
};

static __thread IE struct scratch *scratch;
static __thread IE long left;
static __thread IE bool is_inside;

static _Unwind_Reason_Code
gcc_frame(struct _Unwind_Context *context, void *arg)
{
    struct trace *t = arg;

    if (t->n < FRAMES)
        t->pc[t->n++] = gcc_ip(context);
    return t->n < FRAMES ? _URC_NO_REASON : _URC_END_OF_STACK;
}

static void
print_trace(const char *who, const struct trace *t)
{
    dprintf(out_fd, "# %s: %u frames\n", who, t->n);
    for (uint32_t i = 1; i < t->n; i++) {
        struct dl_find_object found;

        if (_dl_find_object((void *)t->pc[i], &found) == 0)
            dprintf(out_fd, "#   %u %s+%#lx\n", i, found.dlfo_link_map->l_name,
                    t->pc[i] - found.dlfo_link_map->l_addr);
        else
            dprintf(out_fd, "#   %u %#lx\n", i, t->pc[i]);
    }
}

/* Frames 1.. of both, as many as the shorter has. */
static bool
is_same_prefix(const struct trace *a, const struct trace *b)
{
    uint32_t n = a->n < b->n ? a->n : b->n;

    return n > 0 &&
           memcmp(&a->pc[1], &b->pc[1], (n - 1) * sizeof a->pc[0]) == 0;
}

static int
classify(const struct scratch *s)
{
    bool is_prefix = is_same_prefix(&s->ours, &s->theirs);

    if (is_prefix && s->ours.n == s->theirs.n)
        return SAME;
    if (!is_same_prefix(&s->ours, &s->gcc) || s->gcc.n != s->ours.n)
        return UNEXPLAINED;
    return is_prefix && s->theirs.n < s->ours.n ? PEER_SHORT : PEER_WRONG;
}

static void
conclude(struct scratch *s)
{
    int c = classify(s);

    atomic_fetch_add(&n_frames, s->ours.n);
    if (atomic_fetch_add(&n_class[c], 1) < EXAMPLES && c != SAME) {
        dprintf(out_fd, "# --- %s\n", class_names[c]);
        print_trace("ours", &s->ours);
        print_trace("libunwind", &s->theirs);
        print_trace("libgcc", &s->gcc);
    }
}

static __attribute__((noinline)) void
capture(struct scratch *s)
{
    struct alqi_stack_regs here = alqi_stack_regs_here();
    struct alqi_stack_result r =
        alqi_stack_capture(s->cache, &here, 0, 0, FRAMES);

    s->ours.n = r.n_frames;
    memcpy(s->ours.pc, r.frames, r.n_frames * sizeof s->ours.pc[0]);
    s->theirs.n = (uint32_t)peer_backtrace((void **)s->theirs.pc, FRAMES);
    s->gcc.n = 0;
    if (s->ours.n != s->theirs.n || !is_same_prefix(&s->ours, &s->theirs))
        gcc_backtrace(gcc_frame, &s->gcc);
    if (s->n++ % FRESH_EVERY == 0) {
        alqi_stack_cache_init(s->fresh, FRAMES);
        r = alqi_stack_capture(s->fresh, &here, 0, 0, FRAMES);
        if (r.n_frames != s->ours.n ||
            memcmp(r.frames, s->ours.pc, r.n_frames * sizeof r.frames[0]))
            atomic_fetch_add(&n_replay_wrong, 1);
        s->gcc.n = 0;
        gcc_backtrace(gcc_frame, &s->gcc);
    }
    conclude(s);
}

static struct scratch *
scratch_make(void)
{
    struct scratch *s = alqi_plat_pages_map(sizeof *s);
    size_t bytes = alqi_stack_cache_bytes(FRAMES);

    s->cache = alqi_plat_pages_map(bytes);
    s->fresh = alqi_plat_pages_map(bytes);
    alqi_stack_cache_init(s->cache, FRAMES);
    return s;
}

static __attribute__((noinline)) void
sample(void)
{
    left = every;
    if (is_inside || !atomic_load_explicit(&is_ready, memory_order_acquire))
        return;
    is_inside = true;
    if (scratch == NULL)
        scratch = scratch_make();
    capture(scratch);
    is_inside = false;
}

void *
malloc(size_t bytes)
{
    if (--left < 0)
        sample();
    return __libc_malloc(bytes);
}

__attribute__((constructor)) static void
begin(void)
{
    const char *n = getenv("ALQ_UNWIND_EVERY");
    const char *path = getenv("ALQ_UNWIND_OUT");
    void *unwind, *gcc;

    is_inside = true;
    if (n != NULL)
        every = atol(n) - 1;
    if (path != NULL)
        out_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    unwind = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
    gcc = dlopen("libgcc_s.so.1", RTLD_NOW | RTLD_LOCAL);
    if (unwind != NULL && gcc != NULL) {
        peer_backtrace = (int (*)(void **, int))dlsym(unwind, "unw_backtrace");
        gcc_backtrace = (_Unwind_Reason_Code(*)(_Unwind_Trace_Fn, void *))dlsym(
            gcc, "_Unwind_Backtrace");
        gcc_ip =
            (uintptr_t(*)(struct _Unwind_Context *))dlsym(gcc, "_Unwind_GetIP");
        atomic_store(&is_ready, peer_backtrace != NULL &&
                                    gcc_backtrace != NULL && gcc_ip != NULL);
    }
    is_inside = false;
}

__attribute__((destructor)) static void
end(void)
{
    struct alqi_stack_counts c;
    uint64_t total = 0;

    atomic_store(&is_ready, 0);
    alqi_stack_counts(&c);
    for (int i = 0; i < N_CLASSES; i++)
        total += n_class[i];
    dprintf(out_fd,
            "captures %lu same %lu peer_short %lu peer_wrong %lu "
            "unexplained %lu replay_wrong %lu frames %lu replays %lu "
            "decoded %lu incomplete %lu\n",
            total, n_class[SAME], n_class[PEER_SHORT], n_class[PEER_WRONG],
            n_class[UNEXPLAINED], n_replay_wrong, n_frames, c.replays,
            c.rules_decoded, c.incomplete);
}
