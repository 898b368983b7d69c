/* python.c -- Python functions in the stacks of the recording
 *                                                    [doc/design/python.md]
 *
 * Where a sample is recorded, the calling thread's Python frames are read and
 * put into its native stack: a run of them for each frame of the evaluator.
 * Each becomes a number and a line (wire/raw.h .inv.python).
 *
 *   code object: unknown --first met--> named in the recording, known
 *                known, identity differs --> another object at the address:
 *                                            unknown
 *
 * .inv.identity  A known code object stands for its number only as long as what
 *                identifies it is what it was when it was named.
 * .inv.told      A number is named before the allocation that uses it is timed:
 *                a reader merges by time.
 * .inv.run       A run stands for the frame of the evaluator whose memory has
 *                the run's mark, and whose code lies in the interpreter.  Up to
 *                3.9 there are no marks: the i-th frame stands for the i-th
 *                frame of the evaluator's function, if they are as many.
 * .pair.python   alqi_preload_python_module() (release) ->
 *                alqi_preload_python_stack_slow(),
 *                alqi_preload_python_small_start() (acquire): the interpreter's
 *                description. */
#include <stdlib.h>
#include <string.h>

#include "preload/file.h"
#include "preload/python.h"
#include "preload/stream.h"

enum {
    KNOWN_LOG = 16,
    LINES_LOG = 16,
    PROBES = 16, /* slots that a code object may be in */
    FILE_BYTES_MAX = 1000
};

const struct alqi_python *_Atomic alqi_preload_python; /* .pair.python */
static atomic_bool is_unread; /* an interpreter was met that is not read */

/* A code object that was named. */
struct known {
    uintptr_t at; /* 0: the slot is free */
    struct alqi_python_code code;
    uint32_t number;
};

/* The line of an instruction of a numbered code object. */
struct line {
    uint64_t key; /* number and instruction; 0: free */
    uint32_t line;
};

struct tables {
    struct known known[1 << KNOWN_LOG];
    struct line lines[1 << LINES_LOG];
};

static struct {
    struct alqi_plat_lock lock; /* of all below, and of the stream */
    struct tables *tables;      /* NULL: none yet, or no memory */
    uint32_t n_numbers;         /* given out in this recording; 0 is none */
} names = {.lock = ALQI_PLAT_LOCK(PRELOAD_PYTHON)};

static struct alqi_preload_stream stream = {
    .kind = ALQI_RAW_MODULES,
    .index = ALQI_PRELOAD_STREAMS_MAX + 1,
};

/* What a thread needs to make its stacks; never unmapped, as its state. */
struct alqi_preload_python_stacks {
    struct alqi_python_frame *walk; /* depth_frames of each */
    uintptr_t *made;
    uintptr_t *written;
    uint32_t n_made;
    uint32_t n_written;
    /* Where `written` was written: valid for the allocation that is next. */
    uint64_t next_ordinal;
    uint64_t notes;
};

/* ---- the interpreter ----------------------------------------------------- */

void
alqi_preload_python_module(uintptr_t address)
{
    static struct alqi_python found[2]; /* one may be in use yet */
    static unsigned n_found;
    struct alqi_python *next = &found[n_found % 2];
    enum alqi_python_found what;

    if (alqi_preload_config.has_no_python ||
        atomic_load_explicit(&alqi_preload_python, memory_order_relaxed) !=
            NULL)
        return;
    what = alqi_python_find(address, next);
    if (what == ALQI_PYTHON_UNREAD)
        atomic_store_explicit(&is_unread, true, memory_order_relaxed);
    if (what != ALQI_PYTHON_READ)
        return;
    n_found++;
    atomic_store_explicit(&alqi_preload_python, next, memory_order_release);
}

bool
alqi_preload_python_is_unread(void)
{
    return atomic_load_explicit(&is_unread, memory_order_relaxed);
}

void
alqi_preload_python_forget(void)
{
    atomic_store_explicit(&alqi_preload_python, NULL, memory_order_relaxed);
}

/* ---- names --------------------------------------------------------------- */

/* Writes what a number stands for; false: no room in the recording. */
static bool
name_write_locked(const struct alqi_python *python,
                  struct alqi_python_reader *reader, uintptr_t at,
                  uint32_t number)
{
    char name[ALQI_RAW_NAME_BYTES_MAX], file[FILE_BYTES_MAX];
    uint64_t now_ns = alqi_plat_mono_ns_sigsafe();

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_PRELOAD_PYTHON));
    alqi_python_code_name(python, reader, at, name, sizeof name, file,
                          sizeof file);
    if (stream.chunk == NULL && !alqi_preload_stream_turn(&stream, now_ns))
        return false;
    if (!alqi_raw_put_code(&stream.encoder, now_ns, number, name, file) &&
        (!alqi_preload_stream_turn(&stream, now_ns) ||
         !alqi_raw_put_code(&stream.encoder, now_ns, number, name, file)))
        return false;
    alqi_preload_stream_commit(&stream);
    return true;
}

/* Where the code object is known, or a slot that it may have. */
static struct known *
slot_of(struct tables *t, uintptr_t at)
{
    uint64_t hash = (uint64_t)(at >> 4) * 0x9E3779B97F4A7C15u;
    uint32_t first = (uint32_t)(hash >> (64 - KNOWN_LOG));

    for (uint32_t i = 0; i < PROBES; i++) {
        struct known *k = &t->known[(first + i) % (1u << KNOWN_LOG)];

        if (k->at == at || k->at == 0)
            return k;
    }
    return &t->known[first]; /* the other one is named again, if it comes */
}

/* The number of a code object (.inv.identity); 0: there is none there, or no
 * room to name it. */
static uint32_t
number_of_locked(const struct alqi_python *python,
                 struct alqi_python_reader *reader, struct tables *tables,
                 uintptr_t at, struct alqi_python_code *code)
{
    struct known *k;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_PRELOAD_PYTHON));
    if (!alqi_python_code_read(python, reader, at, code))
        return 0;
    k = slot_of(tables, at);
    if (ALQI_LIKELY(k->at == at && k->code.texts == code->texts &&
                    k->code.name == code->name &&
                    k->code.lines == code->lines &&
                    k->code.first_line == code->first_line))
        return k->number;
    if (names.n_numbers == ALQI_RAW_PYTHON_NUMBER_MAX ||
        !name_write_locked(python, reader, at, names.n_numbers + 1))
        return 0;
    *k = (struct known){at, *code, ++names.n_numbers};
    return k->number;
}

/* The line of an instruction; the table keeps the last of each slot. */
static uint32_t
line_of_locked(const struct alqi_python *python,
               struct alqi_python_reader *reader, struct tables *tables,
               const struct alqi_python_frame *frame,
               const struct alqi_python_code *code, uint32_t number)
{
    uint64_t key = (uint64_t)number << 32 | (uint32_t)(frame->instr >> 1);
    uint64_t hash = key * 0x9E3779B97F4A7C15u;
    struct line *l = &tables->lines[hash >> (64 - LINES_LOG)];

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_PRELOAD_PYTHON));
    if (ALQI_UNLIKELY(l->key != key)) {
        l->key = key;
        l->line = alqi_python_code_line(python, reader, frame->code, code,
                                        frame->instr);
    }
    return l->line;
}

/* Writes each frame's number and line into its `instr`; returns how many have
 * them, up to the first that has none. */
static uint32_t
frames_number(const struct alqi_python *python,
              struct alqi_python_reader *reader,
              struct alqi_python_frame *frames, uint32_t n)
{
    uint32_t was = alqi_preload_lock(&names.lock), i, number = 0, line;
    struct tables *tables = names.tables;
    struct alqi_python_code code;

    if (tables == NULL)
        tables = names.tables = alqi_plat_pages_map(sizeof *tables);
    for (i = 0; tables != NULL && i < n; i++) {
        if (i == 0 || frames[i].code != frames[i - 1].code) /* no recursion */
            number =
                number_of_locked(python, reader, tables, frames[i].code, &code);
        if (number == 0)
            break;
        line =
            line_of_locked(python, reader, tables, &frames[i], &code, number);
        frames[i].instr = alqi_raw_python_frame(number, line);
    }
    alqi_preload_unlock(&names.lock, was);
    return i;
}

/* ---- stacks -------------------------------------------------------------- */

/* The thread's room for stacks; NULL: no memory. */
static struct alqi_preload_python_stacks *
stacks_of(struct alqi_preload_thread *thread)
{
    struct alqi_preload_python_stacks *s = thread->python;
    size_t n = alqi_preload_config.depth_frames;

    if (ALQI_LIKELY(s != NULL))
        return s;
    s = alqi_plat_pages_map(sizeof *s +
                            n * (sizeof *s->walk + 2 * sizeof(uintptr_t)));
    if (s == NULL)
        return NULL;
    s->walk = (struct alqi_python_frame *)(s + 1);
    s->made = (uintptr_t *)(s->walk + n);
    s->written = s->made + n;
    thread->python = s;
    return s;
}

/* A stack in the making. */
struct making {
    const struct alqi_python *python;
    const struct alqi_stack_cache *cache;
    const struct alq_callstack *native;
    uintptr_t *frames;
    uint32_t n, most, n_native; /* n_native: frames of native that are done */
};

static void
push(struct making *m, uintptr_t frame)
{
    if (m->n < m->most)
        m->frames[m->n++] = frame;
}

/* Gives the frames of a version without marks those that the evaluator's frames
 * would have.  False: they do not fit, and nobody can say which is whose.  They
 * are as many, but for what the depth has cut; of a call that stands in a part
 * of the evaluator which the compiler put elsewhere nothing is known. */
static bool
marks_by_order(const struct making *m, struct alqi_python_frame *frames,
               uint32_t n)
{
    const struct alqi_python *python = m->python;
    uintptr_t size = python->evaluator_end - python->evaluator_start;
    uint32_t n_marked = 0, n_evaluators = 0;

    if (frames[0].entry_at != ALQI_PYTHON_NO_MARK)
        return true;
    for (uint32_t i = 0; i < m->native->n_frames; i++)
        if (m->native->frames[i] - 1 - python->evaluator_start < size) {
            n_evaluators++;
            if (n_marked < n)
                frames[n_marked++].entry_at =
                    alqi_stack_last_end_of(m->cache, i) - 1;
        }
    return n_evaluators == n || n == m->most || m->native->n_frames == m->most;
}

/* Whether native frame i is the evaluator's that has the mark. */
static bool
is_at(const struct making *m, uint32_t i, uintptr_t entry_at)
{
    return alqi_stack_last_end_of(m->cache, i) > entry_at &&
           (i == 0 || alqi_stack_last_end_of(m->cache, i - 1) <= entry_at) &&
           m->native->frames[i] - 1 - m->python->text_start <
               m->python->text_end - m->python->text_start;
}

/* One run of n Python frames, in the place of the evaluator's frame; where the
 * native stack ends before that, behind it (.inv.run). */
static void
run_put(struct making *m, const struct alqi_python_frame *run, uint32_t n)
{
    while (m->n_native < m->native->n_frames &&
           !is_at(m, m->n_native, run->entry_at))
        push(m, m->native->frames[m->n_native++]);
    for (uint32_t i = 0; i < n; i++)
        push(m, run[i].instr);
    if (m->n_native < m->native->n_frames &&
        alqi_preload_config.has_native_python)
        push(m, m->native->frames[m->n_native]);
    m->n_native += m->n_native < m->native->n_frames;
}

/* Marks of outer runs are further out; what comes after one that is not is no
 * part of this stack. */
static void
runs_put(struct making *m, const struct alqi_python_frame *walk, uint32_t n)
{
    uintptr_t last_at = 0;

    for (uint32_t i = 0, end; i < n && walk[i].entry_at > last_at; i = end) {
        last_at = walk[i].entry_at;
        for (end = i + 1; end < n && walk[end].entry_at == last_at; end++)
            continue;
        run_put(m, &walk[i], end - i);
    }
    while (m->n_native < m->native->n_frames)
        push(m, m->native->frames[m->n_native++]);
}

bool
alqi_preload_python_stack_slow(struct alqi_preload_thread *thread,
                               const struct alq_callstack *native,
                               struct alq_callstack *out)
{
    const struct alqi_python *python =
        atomic_load_explicit(&alqi_preload_python, memory_order_acquire);
    const struct alqi_memprof_thread *t = &thread->memprof;
    struct making m = {
        python, t->cache, native, NULL, 0, alqi_preload_config.depth_frames, 0};
    struct alqi_preload_python_stacks *s;
    struct alqi_python_reader reader;
    uint32_t n;

    if (thread->hot == NULL || t->last.frames != native->frames ||
        native->n_frames == 0 || (s = stacks_of(thread)) == NULL)
        return false;
    n = alqi_python_walk(python, alqi_stack_last_is_plain(t->cache), &reader,
                         s->walk, m.most);
    if (n > 0 && !marks_by_order(&m, s->walk, n))
        return false;
    if (n > 0)
        n = frames_number(python, &reader, s->walk, n);
    if (n == 0)
        return false;
    m.frames = s->made;
    runs_put(&m, s->walk, n);
    s->n_made = m.n;
    *out = (struct alq_callstack){s->made, m.n};
    alqi_preload_count(ALQI_RAW_PYTHON_FRAMES, 1);
    return true;
}

uint32_t
alqi_preload_python_shared(const struct alqi_preload_thread *thread)
{
    const struct alqi_preload_python_stacks *s = thread->python;
    uint32_t n = 0;

    if (thread->stream->encoder.next_ordinal != s->next_ordinal ||
        thread->stream->notes != s->notes)
        return 0;
    while (n < s->n_made && n < s->n_written &&
           s->made[s->n_made - 1 - n] == s->written[s->n_written - 1 - n])
        n++;
    return n;
}

void
alqi_preload_python_written(struct alqi_preload_thread *thread)
{
    struct alqi_preload_python_stacks *s = thread->python;
    uintptr_t *made = s->made;

    s->made = s->written;
    s->written = made;
    s->n_written = s->n_made;
    s->next_ordinal = thread->stream->encoder.next_ordinal;
    s->notes = thread->stream->notes;
}

/* What comes next is another recording, which has no names. */
static void
names_renew(void)
{
    names.tables = NULL;
    names.n_numbers = 0;
    alqi_preload_stream_renew(&stream);
}

void
alqi_preload_python_close(void)
{
    uint32_t was = alqi_preload_lock(&names.lock);
    struct tables *tables = names.tables;

    names_renew();
    alqi_preload_unlock(&names.lock, was);
    if (tables != NULL)
        alqi_plat_pages_unmap(tables, sizeof *tables);
}

/* The tables stay mapped, as the fork may have come in a handler that
 * interrupted their user. */
void
alqi_preload_python_fork_child(void)
{
    alqi_plat_lock_break(&names.lock);
    stream.chunk = NULL; /* the parent's */
    names_renew();
}
