/* heap_trace.h -- what the managed heap of a recorded program has left
 *
 * The library writes it as a trace (trace.h of the public headers), with the
 * names that it could find in the process.  Here the machine's frames get what
 * debug information says of them, as those of a recording do. */
#ifndef ALQI_CLI_CONVERT_HEAP_TRACE_H
#define ALQI_CLI_CONVERT_HEAP_TRACE_H

#include <stdbool.h>
#include <stdint.h>

#include "stack/symbol.h"
#include "wire/ctf.h"

/* What the trace's header says. */
struct alqi_cli_heap_head {
    /* of the process that wrote the trace */
    uint64_t pid;
    /* the format: 3 means several streams */
    unsigned version;
    /* path of its program, NUL-terminated */
    char executable[1024];
};

/* Counts of a copy; they grow with each step. */
struct alqi_cli_heap_result {
    /* sampled blocks copied */
    uint64_t n_allocs;
    /* promotions copied */
    uint64_t n_promotes;
    double allocated_bytes; /* estimate */
    /* samples that the process had no room for */
    uint64_t n_dropped;
    /* the end record is missing: the process was killed or runs */
    bool is_cut;
};

/* False: it is no trace; *error says why. */
bool alqi_cli_heap_trace_head(const char *path, struct alqi_cli_heap_head *head,
                              char *error, size_t error_bytes);

/* Whether the process that writes it is there still. */
bool alqi_cli_heap_trace_is_live(const char *path);

/* Writes it anew.  ended: "exit" or "killed", should it not say so itself.
 * reaches: of its blocks, at its end, by heap_held.h; NULL: not known. */
struct alqi_cli_reaches;
enum alq_status alqi_cli_heap_trace_write(
    const char *path, const char *ended, const struct alqi_cli_reaches *reaches,
    struct alqi_symbol_table *symbols, alqi_ctf_packet_fn *packet,
    void *packet_arg, struct alqi_cli_heap_result *result);

/* The same in steps, of a trace of format 2 that may go on: _read comes to the
 * end of its input where there is no whole packet yet.
 *
 *   open --> step, again and again --> end --> close
 *
 * Each may fail as alqi_cli_heap_trace_write does; then only close is left. */
struct alqi_cli_heap_rewriting;

enum alq_status alqi_cli_heap_rewriting_open(
    alqi_ctf_read_fn *read, void *read_arg, struct alqi_symbol_table *symbols,
    alqi_ctf_packet_fn *packet, void *packet_arg,
    struct alqi_cli_heap_result *result, struct alqi_cli_heap_rewriting **out);
/* At most so many events; *is_more: there may be more at once. */
enum alq_status
alqi_cli_heap_rewriting_step(struct alqi_cli_heap_rewriting *rewriting,
                             uint64_t n_most, bool *is_more);
/* What has been taken so far is in packets that were handed out. */
enum alq_status
alqi_cli_heap_rewriting_flush(struct alqi_cli_heap_rewriting *rewriting);
/* "" or what is wrong with the trace: there is no more. */
const char *
alqi_cli_heap_rewriting_damage(const struct alqi_cli_heap_rewriting *rewriting);
/* NULL is allowed. */
enum alq_status
alqi_cli_heap_rewriting_close(struct alqi_cli_heap_rewriting *rewriting);

#endif
