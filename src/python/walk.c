/* walk.c -- the calling thread's Python frames
 *
 *   thread state [-> _PyCFrame (on the evaluator's stack)] -> innermost frame
 *                -> previous frames, a run for each call of the evaluator
 *
 * A run has a mark, an address on the stack of its evaluator: its _PyCFrame, or
 * the entry frame that ends it (layout.h).  Up to 3.10 frames are objects, each
 * a run of its own; up to 3.9 no mark is known.
 *
 * .inv.own    Frames are read of the calling thread's states alone: the one
 * that holds the GIL, if that says it is this thread's, as in a
 *             sub-interpreter; then the one that the thread began with, whose
 *             frames are further out, or which it has put down and nobody
 *             changes.
 * .inv.trust  The reader is trusted while the thread holds the GIL by the
 *             state it began with, and called the allocator as any function is
 *             called: then the interpreter's structures are whole, as its own
 *             tracemalloc relies on.  Otherwise, as in a signal handler that
 *             came while a frame was pushed, each page is asked for. */
#include <pthread.h>

#include "python/layout.h"
#include "python/read.h"

enum {
    STEPS_MAX = 1 << 16,
    OBJECT_BYTES = 112, /* what is read of a frame object lies in so many */
    NOT_BEGUN = -2      /* as a number of bytes of code: before the first
                           instruction */
};

/* Whether the state says that it is the calling thread's. */
static bool
is_own(const struct alqi_python_layout *l, struct alqi_python_reader *r,
       uintptr_t state)
{
    uintptr_t id;

    return alqi_python_word(r, state + l->thread_id, &id) &&
           id == (uintptr_t)pthread_self();
}

/* The same of a state that may be another thread's, which may free it at any
 * moment: the kernel reads it. */
static bool
is_own_after_all(const struct alqi_python_layout *l, uintptr_t state)
{
    uintptr_t id;

    return alqi_plat_peek_sigsafe(state + l->thread_id, &id, sizeof id) &&
           id == (uintptr_t)pthread_self();
}

/* The states whose frames are the thread's (.inv.own), innermost first; returns
 * how many.  Decides whether the reader is trusted. */
static uint32_t
states_find(const struct alqi_python *python, bool is_plain,
            struct alqi_python_reader *r, uintptr_t states[2])
{
    uintptr_t own = (uintptr_t)python->own_thread();
    uintptr_t current = (uintptr_t)python->current_thread();
    uint32_t n = 0;

    r->n_pages = 0;
    r->file = 0;
    r->is_trusted = is_plain && own != 0 && own == current;
    if (current != 0 && current != own &&
        is_own_after_all(python->layout, current))
        states[n++] = current;
    if (own != 0 && is_own(python->layout, r, own))
        states[n++] = own;
    return n;
}

/* A walk of one state's frames. */
struct walk {
    const struct alqi_python *python;
    const struct alqi_python_layout *layout;
    struct alqi_python_reader *reader;
    struct alqi_python_frame *frames;
    uint32_t n, most;
    uint32_t first;   /* of the run under way */
    uintptr_t cframe; /* of that run, where there is one */
};

/* The run that is under way has its mark. */
static void
run_end(struct walk *w, uintptr_t mark)
{
    for (; w->first < w->n; w->first++)
        w->frames[w->first].entry_at = mark;
}

/* Takes the frame at `at` and steps to the one before it; false: the walk is
 * over.  What does not fit is walked over for the mark of its run. */
static bool
frame_take(struct walk *w, uintptr_t *at)
{
    const struct alqi_python_layout *l = w->layout;
    struct alqi_python_frame f;
    uintptr_t previous;
    uint8_t entry;

    if (!alqi_python_is_struct(w->reader, *at, l->frame_entry + 1u))
        return false;
    f.code =
        alqi_python_load(*at, l->frame_code) & ~(uintptr_t)l->frame_code_tag;
    f.instr = alqi_python_load(*at, l->frame_instr);
    previous = alqi_python_load(*at, l->frame_previous);
    entry = *(const uint8_t *)(*at + l->frame_entry);
    if (l->entry == ALQI_PYTHON_ENTRY_FRAME && entry == ALQI_PYTHON_ENTRY_OWNER)
        run_end(w, *at);
    else if (w->n < w->most)
        w->frames[w->n++] = f;
    if (l->entry == ALQI_PYTHON_ENTRY_FLAG && entry != 0) {
        run_end(w, w->cframe);
        if (!alqi_python_word(w->reader, w->cframe + l->cframe_previous,
                              &w->cframe))
            return false;
    }
    *at = previous;
    return w->n < w->most || w->first < w->n;
}

/* The same of a frame that is an object, up to 3.10. */
static bool
object_take(struct walk *w, uintptr_t *at)
{
    const struct alqi_python_layout *l = w->layout;
    struct alqi_python_frame *f = &w->frames[w->n];
    int32_t last;

    if (w->n == w->most || !alqi_python_is_a(w->reader, *at, OBJECT_BYTES,
                                             l->type, w->python->frame_type))
        return false;
    last = *(const int32_t *)(*at + l->frame_instr);
    f->code = alqi_python_load(*at, l->frame_code);
    f->instr = f->code + (uintptr_t)(last < 0 ? (intptr_t)NOT_BEGUN
                                              : (intptr_t)last * l->last_bytes);
    f->entry_at =
        l->entry == ALQI_PYTHON_ENTRY_EACH ? w->cframe : ALQI_PYTHON_NO_MARK;
    w->first = ++w->n;
    *at = alqi_python_load(*at, l->frame_previous);
    return w->n < w->most &&
           (l->entry != ALQI_PYTHON_ENTRY_EACH ||
            alqi_python_word(w->reader, w->cframe + l->cframe_previous,
                             &w->cframe));
}

/* Appends the frames of one state, whole runs only. */
static void
state_walk(struct walk *w, uintptr_t state)
{
    const struct alqi_python_layout *l = w->layout;
    uintptr_t at;

    if (!alqi_python_word(w->reader, state + l->thread_top, &at))
        return;
    w->cframe = at;
    if (l->entry == ALQI_PYTHON_ENTRY_EACH &&
        !alqi_python_word(w->reader, state + l->thread_cframe, &w->cframe))
        return;
    if (l->has_cframe &&
        !alqi_python_word(w->reader, w->cframe + l->cframe_frame, &at))
        return;
    for (uint32_t n = 0; at != 0 && n < STEPS_MAX; n++)
        if (!(l->last_bytes != 0 ? object_take(w, &at) : frame_take(w, &at)))
            break;
    w->n = w->first;
}

uint32_t
alqi_python_walk(const struct alqi_python *python, bool is_plain,
                 struct alqi_python_reader *reader,
                 struct alqi_python_frame *frames, uint32_t most)
{
    struct walk w = {python, python->layout, reader, frames, 0, most, 0, 0};
    uintptr_t states[2];
    uint32_t n = states_find(python, is_plain, reader, states);

    for (uint32_t i = 0; i < n; i++)
        state_walk(&w, states[i]);
    return w.n;
}
