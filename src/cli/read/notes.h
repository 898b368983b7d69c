/* notes.h -- what the side records of a trace tell: threads, modules, how it
 * ended and what was dropped (wire/side.h) */
#ifndef ALQI_CLI_READ_NOTES_H
#define ALQI_CLI_READ_NOTES_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/read/names.h"
#include "wire/ctf.h"

/* A thread of the trace; a row that was never seen is all zeros. */
struct alqi_cli_thread {
    /* the trace has mentioned it */
    bool is_seen;
    /* the kernel's number */
    uint64_t tid;
    /* number of its name (names.h) */
    uint32_t name;
    /* sampled blocks that it allocated */
    uint64_t n_allocs;
    /* index of its process; 0 in a trace of one */
    uint32_t process;
};

/* A process of a trace that was merged from several. */
struct alqi_cli_process {
    /* resident, of the last record; 0 when it has ended */
    uint64_t rss_bytes;
    /* its process record has come */
    bool is_seen;
    /* kernel's numbers of the process and its parent */
    uint64_t pid, parent;
    /* since 1970 */
    uint64_t start_us;
    /* numbers of names; ended is ALQI_CLI_NO_NAME until its end record */
    uint32_t program, host, cmdline, ended;
    /* the kernel's maximum of resident memory, in bytes; 0: unknown */
    uint64_t most_rss_bytes;
    /* time of its end record, since 1970; written by the reader */
    uint64_t ended_us;
};

/* What the latest records of one stream say of its next allocations. */
struct alqi_cli_stream {
    /* index of the thread that makes them */
    uint64_t thread;
    /* its row in notes.threads */
    uint32_t thread_at;
    /* thread and thread_at are valid */
    bool has_thread;
    /* samples per word; 0: the trace's rate */
    double rate_per_word;
};

/* A module of the trace. */
struct alqi_cli_module_note {
    /* as the process had it (convert/codes.h) */
    uint64_t start, end, bias;
    /* location codes of the module: (start, end] */
    uint64_t code_start, code_end;
    /* number of the name */
    uint32_t path;
    /* number of the hexadecimal text */
    uint32_t build_id;
    /* number of the text: what its symbols lack; valid if is_bare */
    uint32_t missing;
    /* a record about its symbols has come */
    bool is_bare;
};

/* What a recording counts beside its events. */
enum { ALQI_CLI_N_COUNTERS = 19 };

/* What a counter of the end record means. */
struct alqi_cli_counter {
    /* in the end record, and in JSON */
    const char *key;
    /* for people, after the count */
    const char *text;
    /* figures are less true for it: the report says so */
    bool is_loss;
    /* a block, or a block's end, is not in the recording */
    bool is_hole;
    /* figures are as true, and the report says so, too */
    bool is_said;
};

extern const struct alqi_cli_counter alqi_cli_counters[ALQI_CLI_N_COUNTERS];

/* Notes on code made at run time that are kept; one process has two at most. */
enum { ALQI_CLI_JIT_NOTES_MAX = 8 };

/* All that the side records have said so far. */
struct alqi_cli_notes {
    /* the caller's; outlives the notes */
    struct alqi_cli_names *names;
    /* by index; of a trace merged from several */
    struct alqi_cli_process *processes;
    uint32_t n_processes;
    /* index + 1 of the process whose end was read last; 0: none; the reader
     * resets it */
    uint32_t gone;
    /* the same of the process whose end record was read last */
    uint32_t ending;
    /* of the stream that is read */
    uint16_t domain;
    /* what is known of the other streams, by domain */
    struct alqi_cli_stream *streams;
    uint32_t n_streams;
    /* by thread index; not all are seen */
    struct alqi_cli_thread *threads;
    uint32_t threads_capacity, n_threads;
    /* in order of arrival: index is the module's id */
    struct alqi_cli_module_note *modules;
    uint32_t n_modules;
    /* numbers of texts: what the names of code made at run time lack */
    uint32_t jit_notes[ALQI_CLI_JIT_NOTES_MAX];
    uint32_t n_jit_notes;
    /* index of the thread whose allocations follow */
    uint64_t thread;
    /* its row in threads; valid if has_thread */
    uint32_t thread_at;
    /* samples per word, by rate index */
    double *rates;
    uint32_t n_rates;
    /* of the allocations that follow; 0: the trace's */
    double rate_per_word;
    /* block that the next allocation continues; valid if has_moved */
    uint64_t moved_from;
    /* realloc makes the next block; the reader resets it */
    bool is_reborn;
    /* resident now, of all processes together */
    uint64_t rss_bytes;
    /* records of it so far: a change means a new one */
    uint64_t n_rss;
    /* records of marks so far: a change means a new one, of that name; those
     * that lack a name are damage */
    uint64_t n_marks, n_nameless_marks;
    uint32_t mark;
    /* the line of the record that was taken last, if it tells classes of blocks
     * (wire/reach.h); else NULL */
    const char *reach;
    /* the same of a step of ways */
    const char *holder;
    /* the same of a snapshot that lies beside the trace */
    const char *snapshot;
    /* the reader resets it after the allocation */
    bool has_moved;
    bool has_thread;
    /* a side record has come: the trace is one of ours */
    bool has_any;
    /* an end record has come */
    bool has_end;
    /* of the end records, summed over processes */
    uint64_t counts[ALQI_CLI_N_COUNTERS];
    /* number of exit, exec, killed or running; over all processes the worst */
    uint32_t ended;
    /* of the only process, as its end record has it: the signal that ended it,
     * and the kernel's maximum of resident memory; 0: unknown */
    uint64_t signal, most_rss_bytes;
    /* number of the words, separated by blanks */
    uint32_t cmdline;
};

/* Whether a trace of that context is of malloc, written by us as a whole: one
 * without its last record was cut. */
bool alqi_cli_is_of_malloc(const char *context);

/* Whether the last record of such a trace, or in one made of several that of a
 * process, has not come. */
bool alqi_cli_notes_lack_end(const struct alqi_cli_notes *notes,
                             const char *context);

void alqi_cli_notes_init(struct alqi_cli_notes *notes,
                         struct alqi_cli_names *names);
void alqi_cli_notes_free(struct alqi_cli_notes *notes);

/* Takes a location event; false when it is no side record. */
bool alqi_cli_notes_take(struct alqi_cli_notes *notes,
                         const struct alqi_ctf_location *location);

/* After it: the record was of that time, should it be a process's end. */
static inline void
alqi_cli_notes_ended(struct alqi_cli_notes *notes, uint64_t time_us)
{
    if (notes->ending != 0)
        notes->processes[notes->ending - 1].ended_us = time_us;
    notes->ending = 0;
}

/* The events that follow are of another stream: what thread, has_thread and
 * rate_per_word mean goes by stream. */
void alqi_cli_notes_stream(struct alqi_cli_notes *notes, uint16_t domain);

/* Number of the process whose allocations follow; 0 in a trace of one. */
uint32_t alqi_cli_notes_process(const struct alqi_cli_notes *notes);

/* Counts one sampled allocation for the thread that makes them now. */
void alqi_cli_notes_count(struct alqi_cli_notes *notes);

#endif
