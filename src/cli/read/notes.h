/* notes.h -- what the side records of a trace tell: threads, modules, how it
 * ended and what was dropped (wire/side.h) */
#ifndef ALQI_CLI_READ_NOTES_H
#define ALQI_CLI_READ_NOTES_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/read/names.h"
#include "wire/ctf.h"

struct alqi_cli_thread {
    bool is_seen;
    uint64_t tid;
    uint32_t name;
    uint64_t n_allocs; /* sampled ones */
    uint32_t process;
};

/* In a trace made of several. */
struct alqi_cli_process {
    uint64_t rss_bytes; /* resident, as last told; 0 when it has ended */
    bool is_seen;
    uint64_t pid, parent;
    uint64_t start_us;                      /* since 1970 */
    uint32_t program, host, cmdline, ended; /* names */
};

/* What the latest records of one stream say of its next allocations. */
struct alqi_cli_stream {
    uint64_t thread; /* index of the one that makes them */
    uint32_t thread_at;
    bool has_thread;
    double rate_per_word; /* 0: the trace's */
};

struct alqi_cli_module_note {
    uint64_t start, end, bias;
    uint64_t code_start, code_end; /* of locations, (start, end] */
    uint32_t path;
    uint32_t build_id;
    uint32_t missing; /* name: what its symbols lack; meaningful if is_bare */
    bool is_bare;
};

/* What a recording counts beside its events. */
enum { ALQI_CLI_N_COUNTERS = 17 };

struct alqi_cli_counter {
    const char *key; /* in the end record, and in JSON */
    const char *text;
    bool is_loss; /* figures are less true for it: the report says so   */
    bool is_hole; /* a block, or a block's end, is not in the recording */
};

extern const struct alqi_cli_counter alqi_cli_counters[ALQI_CLI_N_COUNTERS];

struct alqi_cli_notes {
    struct alqi_cli_names *names;
    struct alqi_cli_process *processes; /* of a trace made of several */
    uint32_t n_processes;
    uint32_t gone;   /* number + 1 of the process whose end was told last */
    uint16_t domain; /* of the stream that is read */
    struct alqi_cli_stream *streams; /* the others, by domain */
    uint32_t n_streams;
    struct alqi_cli_thread *threads; /* by thread index, not all seen */
    uint32_t threads_capacity, n_threads;
    struct alqi_cli_module_note *modules;
    uint32_t n_modules;
    uint64_t thread; /* index of the one whose allocations follow */
    uint32_t thread_at;
    double *rates; /* samples per word, by rate index */
    uint32_t n_rates;
    double rate_per_word; /* of the allocations that follow; 0: the trace's */
    uint64_t moved_from;  /* block that the next allocation continues */
    bool is_reborn;       /* realloc makes it; taken back as has_moved is */
    uint64_t rss_bytes;   /* resident, as last told */
    uint64_t n_rss;       /* so often it was told */
    bool has_moved;       /* moved_from is; the reader of it takes it back */
    bool has_thread;
    bool has_any; /* any side record: one of our own traces */
    bool has_end;
    uint64_t counts[ALQI_CLI_N_COUNTERS];
    uint32_t ended;   /* name: exit, killed, running */
    uint32_t cmdline; /* name, words separated by blanks */
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

/* The events that follow are of another stream: what thread, has_thread and
 * rate_per_word mean goes by stream. */
void alqi_cli_notes_stream(struct alqi_cli_notes *notes, uint16_t domain);

/* Number of the process whose allocations follow; 0 in a trace of one. */
uint32_t alqi_cli_notes_process(const struct alqi_cli_notes *notes);

/* Counts one sampled allocation for the thread that makes them now. */
void alqi_cli_notes_count(struct alqi_cli_notes *notes);

#endif
