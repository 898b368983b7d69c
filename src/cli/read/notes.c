/* notes.c -- the side records of a trace, taken in as they are read
 *
 * [notes.h, wire/side.h] Two kinds of records arrive as locations. Marks
 * (thread, rate, moved) say what holds for the allocations that follow in the
 * same stream. Text lines describe the run: threads, modules, processes,
 * resident memory, the end.
 *
 * State goes by stream: alqi_cli_notes_stream saves what the marks of one
 * stream said and brings back what those of another did. A reader must call it
 * whenever the domain of the events changes.
 *
 * Numbers in records come from outside. Each table has a bound, and a number
 * beyond it is ignored or shares the last row, so that a forged trace cannot
 * fill memory.
 *
 * A module's range of codes is that of wire/code.h (.inv.code). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/tool/cli.h"
#include "cli/read/notes.h"
#include "wire/code.h"
#include "wire/side.h"

/* Bounds of a value's bytes and of the numbers of threads, rates and
 * processes. */
enum {
    VALUE_MAX = 4096,
    THREADS_MAX = 65536,
    RATES_MAX = 65536,
    PROCESSES_MAX = 1 << 20
};

/* A cause stands before what follows from it: frees of blocks that were made
 * within the profiler are frees of unknown blocks. */
const struct alqi_cli_counter alqi_cli_counters[ALQI_CLI_N_COUNTERS] = {
    {"dropped_nested", "samples dropped: the profiler was interrupted", true,
     true},
    {"dropped_nomem", "samples dropped: no memory for its tables", true, true},
    {"dropped_space", "samples dropped: no room in the file", true, true},
    {"dropped_cap", "samples dropped: too many blocks at once", true, true},
    {"lost_frees", "frees lost: their blocks count as never freed", true, true},
    {"within", "allocations within the profiler (callbacks, handlers), or more",
     false, true},
    {"unseen_frees", "frees not seen: told by the next block there", false,
     true},
    {"unknown_frees", "frees of blocks that are not in the recording", false,
     true},
    {"damaged_chunks", "parts of the recording damaged and left out", true,
     true},
    {"stacks_incomplete", "stacks end before the first frame", true, false},
    {"stacks_truncated", "stacks cut at the depth limit", true, false},
    {"inherited_frees", "frees of blocks from before the fork", false, true},
    {"deepbind_dropped", "dlopen calls that lost RTLD_DEEPBIND", false, false},
    {"own_malloc", "process with a malloc of its own, which is not recorded",
     true, true},
    {"late_starts",
     "process recorded from some time after its start: live means allocated "
     "since then",
     true, true},
    {"pauses", "process whose recording was stopped meanwhile", false, true},
    {"after_end", "blocks of threads that had ended, not recorded", false,
     true},
    {"dropped_marks", "marks dropped: their phases are part of the one before",
     true, false},
    {"unlooked",
     "of the processes --leaks did not look at: a signal, exec or a bare "
     "system call came first, or a filter of system calls",
     false, false, true},
};

/* The converter writes source=malloc into the context. */
bool
alqi_cli_is_of_malloc(const char *context)
{
    return strstr(context, "source=malloc") != NULL;
}

/* Of a merged trace each process must have its own end record. */
bool
alqi_cli_notes_lack_end(const struct alqi_cli_notes *notes, const char *context)
{
    if (!alqi_cli_is_of_malloc(context))
        return false;
    for (uint32_t i = 0; i < notes->n_processes; i++)
        if (notes->processes[i].is_seen &&
            notes->processes[i].ended == ALQI_CLI_NO_NAME)
            return true;
    return !notes->has_end;
}

void
alqi_cli_notes_init(struct alqi_cli_notes *notes, struct alqi_cli_names *names)
{
    memset(notes, 0, sizeof *notes);
    notes->names = names;
}

void
alqi_cli_notes_free(struct alqi_cli_notes *notes)
{
    free(notes->threads);
    free(notes->modules);
    free(notes->rates);
    free(notes->processes);
    free(notes->streams);
}

/* A text of the line as a name; ALQI_CLI_NO_NAME without the key. */
static uint32_t
name(struct alqi_cli_notes *notes, const char *line, const char *key)
{
    char value[VALUE_MAX];

    if (!alqi_side_get(line, key, value, sizeof value))
        return ALQI_CLI_NO_NAME;
    return alqi_cli_names_intern(notes->names, value);
}

/* The row of a thread, marked as seen. Threads are numbered from 0 without
 * large gaps: a table by number keeps the look-up at one load. Threads beyond
 * the bound share the last row. */
static uint32_t
thread_at(struct alqi_cli_notes *notes, uint64_t index)
{
    uint32_t i = index < THREADS_MAX ? (uint32_t)index : THREADS_MAX - 1;

    notes->threads = alqi_cli_widen(notes->threads, &notes->threads_capacity, i,
                                    sizeof *notes->threads);
    if (!notes->threads[i].is_seen)
        notes->n_threads++;
    notes->threads[i].is_seen = true;
    return i;
}

/* The process whose index stands at the key. NULL: the line names none, or a
 * number beyond the bound. */
static struct alqi_cli_process *
process_at(struct alqi_cli_notes *notes, const char *line, const char *key)
{
    char value[32];
    uint64_t i;

    if (!alqi_side_get(line, key, value, sizeof value))
        return NULL;
    i = strtoull(value, NULL, 10);
    if (i >= PROCESSES_MAX)
        return NULL;
    while (notes->n_processes <= i) {
        notes->processes = alqi_cli_grow(notes->processes, notes->n_processes,
                                         sizeof *notes->processes);
        memset(&notes->processes[notes->n_processes++], 0,
               sizeof *notes->processes);
    }
    return &notes->processes[i];
}

static void
take_thread(struct alqi_cli_notes *notes, const char *line)
{
    uint32_t i = thread_at(notes, alqi_side_get_number(line, "index", 10));

    notes->threads[i].tid = alqi_side_get_number(line, "tid", 10);
    notes->threads[i].name = name(notes, line, "name");
    if (process_at(notes, line, "process") != NULL)
        notes->threads[i].process =
            (uint32_t)alqi_side_get_number(line, "process", 10);
}

/* Modules are numbered by arrival; the record's own id is that number. */
static void
take_module(struct alqi_cli_notes *notes, const char *line)
{
    struct alqi_cli_module_note *m;
    uint64_t reuse = alqi_side_get_number(line, "reuse", 10);

    notes->modules =
        alqi_cli_grow(notes->modules, notes->n_modules, sizeof *notes->modules);
    m = &notes->modules[notes->n_modules++];
    m->start = alqi_side_get_number(line, "start", 16);
    m->end = alqi_side_get_number(line, "end", 16);
    m->bias = alqi_side_get_number(line, "bias", 16);
    m->path = name(notes, line, "path");
    m->build_id = name(notes, line, "build_id");
    m->is_bare = false;
    m->code_start = alqi_code_of(m->start, reuse);
    m->code_end = alqi_code_of(m->end, reuse);
    alqi_cli_names_add_module(notes->names, m->code_start, m->code_end,
                              alqi_cli_names_text(notes->names, m->path));
}

/* Sets the resident bytes of a process, or of the only one, and with them the
 * sum of all. */
static void
rss_set(struct alqi_cli_notes *notes, struct alqi_cli_process *process,
        uint64_t bytes)
{
    notes->n_rss++;
    if (process == NULL) {
        notes->rss_bytes = bytes;
        return;
    }
    notes->rss_bytes += bytes - process->rss_bytes;
    process->rss_bytes = bytes;
}

static void
take_rss(struct alqi_cli_notes *notes, const char *line)
{
    rss_set(notes, process_at(notes, line, "process"),
            alqi_side_get_number(line, "bytes", 10));
}

static void
take_mark(struct alqi_cli_notes *notes, const char *line)
{
    char value[ALQI_SIDE_MARK_BYTES];

    if (!alqi_side_get(line, "name", value, sizeof value) || value[0] == '\0') {
        notes->n_nameless_marks++;
        return;
    }
    notes->n_marks++;
    notes->mark = alqi_cli_names_intern(notes->names, value);
}

/* Rates are numbered from 0. Where several streams share the numbers, each
 * stream repeats those that it needs. */
static void
take_rate(struct alqi_cli_notes *notes, const char *line)
{
    uint64_t index = alqi_side_get_number(line, "index", 10);
    char value[64];

    if (index >= RATES_MAX ||
        !alqi_side_get(line, "per_word", value, sizeof value))
        return;
    while (notes->n_rates <= index) {
        notes->rates =
            alqi_cli_grow(notes->rates, notes->n_rates, sizeof *notes->rates);
        notes->rates[notes->n_rates++] = 0;
    }
    notes->rates[index] = strtod(value, NULL);
}

/* Announces a process of a merged trace. */
static void
take_process(struct alqi_cli_notes *notes, const char *line)
{
    struct alqi_cli_process *process = process_at(notes, line, "index");

    if (process == NULL)
        return;
    process->is_seen = true;
    process->pid = alqi_side_get_number(line, "pid", 10);
    process->parent = alqi_side_get_number(line, "parent", 10);
    process->start_us = alqi_side_get_number(line, "start_us", 10);
    process->program = name(notes, line, "program");
    process->host = name(notes, line, "host");
}

/* What the symbols of a module lack; of a module that is not known it is
 * dropped. */
static void
take_symbols(struct alqi_cli_notes *notes, const char *line)
{
    uint64_t id = alqi_side_get_number(line, "id", 10);

    if (id >= notes->n_modules)
        return;
    notes->modules[id].missing = name(notes, line, "note");
    notes->modules[id].is_bare = true;
}

static void
take_jit(struct alqi_cli_notes *notes, const char *line)
{
    if (notes->n_jit_notes < ALQI_CLI_JIT_NOTES_MAX)
        notes->jit_notes[notes->n_jit_notes++] = name(notes, line, "note");
}

/* The worse of two endings: one was killed, else one runs, else one ended, else
 * b. */
static uint32_t
ended_of(struct alqi_cli_notes *notes, uint32_t a, uint32_t b)
{
    static const char *const words[] = {"killed", "running", "exit"};

    for (size_t i = 0; i < ALQI_COUNT_OF(words); i++) {
        uint32_t word = alqi_cli_names_intern(notes->names, words[i]);

        if (a == word || b == word)
            return word;
    }
    return b;
}

/* Of several processes counters add up; of one the last record holds. */
static void
take_end(struct alqi_cli_notes *notes, const char *line)
{
    struct alqi_cli_process *process = process_at(notes, line, "process");
    uint32_t ended = name(notes, line, "ended");

    notes->has_end = true;
    for (size_t i = 0; i < ALQI_CLI_N_COUNTERS; i++) {
        uint64_t n = alqi_side_get_number(line, alqi_cli_counters[i].key, 10);

        notes->counts[i] = process != NULL ? notes->counts[i] + n : n;
    }
    if (process != NULL) {
        process->ended = ended;
        process->most_rss_bytes = alqi_side_get_number(line, "rss_most", 10);
        notes->ending = (uint32_t)alqi_side_get_number(line, "process", 10) + 1;
    } else {
        notes->most_rss_bytes = alqi_side_get_number(line, "rss_most", 10);
        notes->signal = alqi_side_get_number(line, "signal", 10);
    }
    notes->ended =
        process != NULL ? ended_of(notes, notes->ended, ended) : ended;
}

/* Whoever knows the blocks takes it. */
static void
take_reach(struct alqi_cli_notes *notes, const char *line)
{
    notes->reach = line;
}

static void
take_holder(struct alqi_cli_notes *notes, const char *line)
{
    notes->holder = line;
}

static void
take_snapshot(struct alqi_cli_notes *notes, const char *line)
{
    notes->snapshot = line;
}

/* Joins the words arg0, arg1 and so on by blanks, cut at VALUE_MAX. */
static void
take_cmdline(struct alqi_cli_notes *notes, const char *line)
{
    struct alqi_cli_process *process = process_at(notes, line, "process");
    uint32_t cmdline;
    char text[VALUE_MAX] = "";
    char value[VALUE_MAX];
    char key[16];
    size_t used = 0;

    for (unsigned i = 0;; i++) {
        int n;

        snprintf(key, sizeof key, "arg%u", i);
        if (!alqi_side_get(line, key, value, sizeof value))
            break;
        n = snprintf(text + used, sizeof text - used, "%s%s", i > 0 ? " " : "",
                     value);
        used += (size_t)n;
        if (used >= sizeof text)
            break;
    }
    cmdline = alqi_cli_names_intern(notes->names, text);
    if (process != NULL)
        process->cmdline = cmdline;
    else
        notes->cmdline = cmdline;
}

/* A process of a merged trace has ended: its memory is resident no more. */
static void
take_gone(struct alqi_cli_notes *notes, const char *line)
{
    struct alqi_cli_process *process = process_at(notes, line, "process");

    if (process == NULL)
        return;
    notes->gone = (uint32_t)alqi_side_get_number(line, "process", 10) + 1;
    if (process->rss_bytes > 0)
        rss_set(notes, process, 0);
}

/* Takes a text line by its first word. Unknown words are skipped, so that a
 * later version may add some. */
static void
take_text(struct alqi_cli_notes *notes, const char *line)
{
    static const struct {
        const char *word;
        void (*take)(struct alqi_cli_notes *notes, const char *line);
    } kinds[] = {{"thread", take_thread},   {"module", take_module},
                 {"symbols", take_symbols}, {"jit", take_jit},
                 {"rate", take_rate},       {"rss", take_rss},
                 {"mark", take_mark},       {"end", take_end},
                 {"cmdline", take_cmdline}, {"process", take_process},
                 {"gone", take_gone},       {"reach", take_reach},
                 {"holder", take_holder},   {"snapshot", take_snapshot}};
    size_t n = strcspn(line, " ");

    for (size_t i = 0; i < ALQI_COUNT_OF(kinds); i++)
        if (strlen(kinds[i].word) == n && memcmp(line, kinds[i].word, n) == 0)
            kinds[i].take(notes, line);
}

/* The next allocation is a realloc's; without a number its old block was not
 * sampled. */
static void
take_moved(struct alqi_cli_notes *notes, uint64_t number)
{
    if (number == ALQI_SIDE_REBORN) {
        notes->is_reborn = true;
        return;
    }
    notes->has_moved = true;
    notes->moved_from = number;
}

bool
alqi_cli_notes_take(struct alqi_cli_notes *notes,
                    const struct alqi_ctf_location *location)
{
    uint64_t kind = location->code & ALQI_SIDE_KIND_MASK;

    notes->reach = notes->holder = notes->snapshot = NULL;
    if (!alqi_side_is(location->code))
        return false;
    notes->has_any = true;
    if (kind == ALQI_SIDE_THREAD) {
        notes->has_thread = true;
        notes->thread = location->code & ALQI_SIDE_NUMBER_MASK;
        notes->thread_at = thread_at(notes, notes->thread);
    } else if (kind == ALQI_SIDE_TEXT && location->n_entries == 1) {
        take_text(notes, location->entries[0].function);
    } else if (kind == ALQI_SIDE_MOVED) {
        take_moved(notes, location->code & ALQI_SIDE_NUMBER_MASK);
    } else if (kind == ALQI_SIDE_RATE) {
        uint64_t index = location->code & ALQI_SIDE_NUMBER_MASK;

        notes->rate_per_word = index < notes->n_rates ? notes->rates[index] : 0;
    }
    return true;
}

void
alqi_cli_notes_count(struct alqi_cli_notes *notes)
{
    if (notes->has_thread)
        notes->threads[notes->thread_at].n_allocs++;
}

/* Saves the current stream's state and brings back that of domain. */
void
alqi_cli_notes_stream(struct alqi_cli_notes *notes, uint16_t domain)
{
    uint16_t highest = domain > notes->domain ? domain : notes->domain;
    struct alqi_cli_stream *s;

    notes->streams = alqi_cli_widen(notes->streams, &notes->n_streams, highest,
                                    sizeof *notes->streams);
    notes->streams[notes->domain] =
        (struct alqi_cli_stream){notes->thread, notes->thread_at,
                                 notes->has_thread, notes->rate_per_word};
    s = &notes->streams[domain];
    notes->thread = s->thread;
    notes->thread_at = s->thread_at;
    notes->has_thread = s->has_thread;
    notes->rate_per_word = s->rate_per_word;
    notes->domain = domain;
}

uint32_t
alqi_cli_notes_process(const struct alqi_cli_notes *notes)
{
    return notes->has_thread ? notes->threads[notes->thread_at].process : 0;
}
