/* join.c -- the order in which several traces become one
 *
 * [join.h] First the heads of all traces are read and sorted. Then each trace
 * becomes a part (join_part.c) while its events last. A heap of open parts
 * gives the one whose next event is the earliest. In format 2 all parts write
 * into one sink; in format 3 each has its own.
 *
 * States of a part: head read -> open (in the heap) -> closed. A trace is
 * opened when the merging comes to its start and closed after its last event,
 * so a directory of a thousand short processes needs no more files than those
 * that ran at the same time.
 *
 * Keeps .inv.order, .inv.start (doc/design/merge.md): Events of one time are in
 *   the order of their traces; a trace is open when the next event is not
 *   before its start. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/base.h"
#include "cli/tool/cli.h"
#include "cli/merge/join.h"
#include "cli/merge/join_part.h"
#include "cli/tool/least.h"
#include "cli/read/notes.h"

enum { STREAMS_MAX = 1024 /* reader.c */, BITS_OF_BYTE_TRACE = 8 };

struct part {
    /* the trace and its way into the sink */
    struct alqi_cli_join_part part;
    /* format 3: its stream of the new trace */
    struct alqi_cli_join_sink sink;
    /* time of its next event; orders the heap */
    uint64_t next_us;
    /* index of its head; breaks ties */
    uint32_t number;
};

struct join {
    /* of all traces, sorted (.inv.order); owned */
    struct alqi_cli_join_head *heads;
    uint32_t n_heads;
    /* heads of which a part was made: those before it are open or closed */
    uint32_t n_opened;
    /* open parts, the earliest first; room for all */
    void **heap;
    uint32_t n_open;
    /* format of the new trace */
    uint16_t version;
    /* header of the new trace */
    struct alqi_ctf_info info;
    /* text that info points to */
    char context[200];
    /* format 3: the next object id, shared by the streams */
    uint64_t next_id;
    /* where the new trace goes; the caller's */
    struct alqi_cli_trace_out *out;
    /* what all parts share */
    struct alqi_cli_join_whole whole;
    /* format 2: the only stream */
    struct alqi_cli_join_sink sink;
};

/* ---- heads --------------------------------------------------------------- */

/* A trace is read more than once, so it must be a regular file. Of what does
 * not exist, opening it says so. */
static bool
is_regular(const char *path)
{
    struct stat st;

    if (strcmp(path, "-") != 0 && (stat(path, &st) != 0 || S_ISREG(st.st_mode)))
        return true; /* or what opening it says */
    return alqi_cli_refuse(
        "%s is no regular file: several traces are read more than "
        "once; write it to a file first",
        strcmp(path, "-") == 0 ? "standard input" : path);
}

/* Samples for each word that was tried. A malloc trace gives its rate for
 * bytes, and tries words. */
static double
rate_tried(const struct alqi_ctf_info *info)
{
    if (info->word_bits != BITS_OF_BYTE_TRACE || !(info->rate > 0))
        return info->rate;
    return info->rate < 1.0 / ALQI_WORD_BYTES ? info->rate * ALQI_WORD_BYTES
                                              : 1;
}

/* The trace can be merged with the first one; else the reason has been said. */
static bool
is_usable(const struct join *j, const struct alqi_cli_join_head *h)
{
    const struct alqi_cli_join_head *first = &j->heads[0];

    if (!(h->rate > 0 && h->rate <= 1))
        return alqi_cli_refuse(
            "%s: a sampling rate of %g cannot be merged with "
            "others",
            h->path, h->rate);
    if (h->word_bits != first->word_bits)
        return alqi_cli_refuse(
            "%s counts in words of %u bits, %s in words of %u: they "
            "cannot be merged",
            first->path, first->word_bits, h->path, h->word_bits);
    return true;
}

/* Reads a trace's header into the next head. What was found in a directory and
 * cannot be read, or was itself merged, is skipped. -1: go on. */
static int
head_read(struct join *j, const struct alqi_cli_path *path)
{
    struct alqi_cli_join_head *h = &j->heads[j->n_heads];
    const struct alqi_ctf_info *info;
    struct alqi_cli_input *input;
    int rc;

    if (!is_regular(path->path))
        return ALQI_CLI_UNREADABLE;
    rc = alqi_cli_input_open(path->path, NULL, NULL, &input);
    if (rc >= 0 && path->is_listed) {
        j->whole.result->status = rc; /* said; the others are good */
        return -1;
    }
    if (rc >= 0)
        return rc;
    info = alqi_ctf_reader_info(alqi_cli_input_reader(input));
    if (path->is_listed && alqi_cli_is_joined(info->context)) {
        alqi_cli_say("%s was merged from others and is left out; name it "
                     "itself to read it",
                     path->path);
        alqi_cli_input_drop(input);
        return -1;
    }
    *h = (struct alqi_cli_join_head){
        .path = path->path,
        .executable = alqi_cli_copy(info->executable),
        .host = alqi_cli_copy(info->host),
        .context = alqi_cli_copy(info->context),
        .start_us = info->start_us,
        .pid = info->pid,
        .rate = rate_tried(info),
        .word_bits = info->word_bits,
    };
    alqi_cli_input_drop(input);
    j->n_heads++;
    return is_usable(j, h) ? -1 : ALQI_CLI_UNREADABLE;
}

/* Order of the traces (.inv.order). */
static int
compare_heads(const void *left, const void *right)
{
    const struct alqi_cli_join_head *a = left, *b = right;

    if (a->start_us != b->start_us)
        return a->start_us < b->start_us ? -1 : 1;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    return strcmp(a->path, b->path);
}

/* Reads and sorts all heads. -1: there is something to merge. */
static int
heads_read(struct join *j, const struct alqi_cli_paths *paths)
{
    int rc = -1;

    j->heads = alqi_cli_realloc(NULL, paths->n_paths, sizeof *j->heads);
    for (uint32_t i = 0; rc < 0 && i < paths->n_paths; i++)
        rc = head_read(j, &paths->paths[i]);
    if (rc < 0 && j->n_heads == 0) {
        alqi_cli_say("there is nothing to merge");
        rc = ALQI_CLI_UNREADABLE;
    }
    if (rc < 0 && j->version >= 3 && j->n_heads > STREAMS_MAX) {
        alqi_cli_say("format 3 holds %d traces, not %u; write format 2",
                     STREAMS_MAX, j->n_heads);
        rc = ALQI_CLI_USAGE;
    }
    qsort(j->heads, j->n_heads, sizeof *j->heads, compare_heads);
    return rc;
}

/* ---- the new trace ------------------------------------------------------- */

/* The text of all heads, or "" when they differ. */
static const char *
common(const struct join *j, bool is_host)
{
    const char *text = is_host ? j->heads[0].host : j->heads[0].executable;

    for (uint32_t i = 1; i < j->n_heads; i++)
        if (strcmp(text, is_host ? j->heads[i].host : j->heads[i].executable) !=
            0)
            return "";
    return text;
}

/* All of them are, and so is the merged trace. */
static bool
are_of_malloc(const struct join *j)
{
    for (uint32_t i = 0; i < j->n_heads; i++)
        if (!alqi_cli_is_of_malloc(j->heads[i].context))
            return false;
    return true;
}

/* Makes the header of the new trace. Its rate is the largest of all, so that
 * each allocation's scaled count is at least its own. */
static void
info_make(struct join *j)
{
    const struct alqi_cli_join_head *first = &j->heads[0];

    snprintf(j->context, sizeof j->context, "aliquot=%s%s merged=%u",
             ALQI_VERSION, are_of_malloc(j) ? " source=malloc" : "",
             j->n_heads);
    j->info = (struct alqi_ctf_info){
        .version = j->version,
        .word_bits = first->word_bits,
        .start_us = first->start_us,
        .pid = first->pid,
        .executable = common(j, false),
        .host = common(j, true),
        .params = "",
        .context = j->context,
    };
    for (uint32_t i = 0; i < j->n_heads; i++)
        if (j->heads[i].rate > j->whole.rate)
            j->whole.rate = j->heads[i].rate;
    j->info.rate = j->whole.rate;
    if (first->word_bits == BITS_OF_BYTE_TRACE)
        j->info.rate /= ALQI_WORD_BYTES;
}

/* Opens a stream of the new trace; the first one writes the trace's head. The
 * failure is in j->whole.status. */
static void
sink_open(struct join *j, struct alqi_cli_join_sink *sink, uint16_t domain)
{
    *sink = (struct alqi_cli_join_sink){.thread = UINT64_MAX,
                                        .rate = j->whole.rate};
    j->whole.status = alqi_ctf_writer_open_stream(
        &j->info, domain, j->version >= 3 ? &j->next_id : NULL,
        alqi_cli_trace_put, j->out, alqi_cli_recode_lookup, j->whole.recode,
        &sink->writer);
}

/* Closes a stream if it is open; the first failure is kept. */
static void
sink_close(struct join *j, struct alqi_cli_join_sink *sink)
{
    enum alq_status status;

    alqi_base_map_clear(&sink->rates);
    if (sink->writer == NULL)
        return;
    status = alqi_ctf_writer_close(sink->writer);
    sink->writer = NULL;
    if (j->whole.status == ALQ_OK)
        j->whole.status = status;
}

/* ---- open parts, the earliest first -------------------------------------- */

/* Order of the heap (.inv.order). */
static bool
is_before(const void *left, const void *right)
{
    const struct part *a = left, *b = right;

    return a->next_us != b->next_us ? a->next_us < b->next_us
                                    : a->number < b->number;
}

/* Closes a part that has left the heap. is_whole: all of its events were
 * taken. */
static void
part_close(struct join *j, struct part *p, bool is_whole)
{
    alqi_cli_join_part_close(&p->part, is_whole);
    if (j->version >= 3)
        sink_close(j, &p->sink);
    free(p);
}

/* Opens the next trace. One without events is closed at once. -1: go on; a
 * failed write is in j->whole.status. */
static int
part_open(struct join *j)
{
    const struct alqi_cli_join_head *head = &j->heads[j->n_opened];
    struct part *p = alqi_cli_zeros(1, sizeof *p);
    struct alqi_cli_lane *lane;
    int rc;

    p->number = j->n_opened++;
    if (j->version >= 3)
        sink_open(j, &p->sink, (uint16_t)p->number);
    if (j->whole.status != ALQ_OK) {
        free(p);
        return -1;
    }
    rc = alqi_cli_join_part_open(&p->part, head, &j->whole,
                                 j->version >= 3 ? &p->sink : &j->sink);
    lane = rc < 0 ? alqi_cli_source_first(&p->part.source) : NULL;
    if (lane == NULL) {
        part_close(j, p, rc < 0);
        return rc;
    }
    p->next_us = lane->event.time_us;
    j->heap[j->n_open++] = p;
    alqi_cli_least_order(j->heap, j->n_open, is_before);
    return -1;
}

/* The time of the next event of all open parts. */
static uint64_t
next_us(const struct join *j)
{
    const struct part *p = j->heap[0];

    return p->next_us;
}

/* Opens the traces that begin before the next event (.inv.start). -1: go on. */
static int
parts_open(struct join *j)
{
    int rc = -1;

    while (rc < 0 && j->n_opened < j->n_heads && j->whole.status == ALQ_OK &&
           (j->n_open == 0 || j->heads[j->n_opened].start_us <= next_us(j)))
        rc = part_open(j);
    return rc;
}

/* Takes the next event, and those that must follow it directly (join_part.c
 * .inv.chain). Then the part goes back into the heap, or is closed. */
static void
step(struct join *j)
{
    struct part *p = j->heap[0];
    struct alqi_cli_source *s = &p->part.source;
    struct alqi_cli_lane *lane = alqi_cli_source_first(s);

    do {
        const struct alqi_cli_input *input = lane->input;

        alqi_cli_join_part_take(&p->part, lane);
        alqi_cli_source_step(s, lane);
        if (s->n_lanes == 0 || lane->input != input)
            break; /* the lane has ended */
    } while (alqi_cli_join_part_is_within(&p->part, lane));
    lane = alqi_cli_source_first(s);
    if (lane != NULL) {
        p->next_us = lane->event.time_us;
    } else {
        j->heap[0] = j->heap[--j->n_open];
        part_close(j, p, true);
    }
    alqi_cli_least_sink(j->heap, j->n_open, 0, is_before);
}

/* ---- all ----------------------------------------------------------------- */

/* Raises the limit of open files to what is allowed: traces that overlap in
 * time are open together. */
static void
files_allow(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* Merges until no part is left or a write fails. -1: the trace is complete. */
static int
run(struct join *j)
{
    int rc = -1;

    if (j->version < 3)
        sink_open(j, &j->sink, 0);
    while (rc < 0 && j->whole.status == ALQ_OK) {
        rc = parts_open(j);
        if (rc < 0 && j->n_open == 0)
            break;
        if (rc < 0 && j->whole.status == ALQ_OK)
            step(j);
    }
    while (j->n_open > 0)
        part_close(j, j->heap[--j->n_open], false);
    sink_close(j, &j->sink);
    if (rc < 0 && j->whole.status != ALQ_OK) {
        alqi_cli_say("cannot write %s: %s", j->out->name,
                     alqi_cli_trace_failure(j->out, j->whole.status));
        rc = ALQI_CLI_UNREADABLE;
    }
    return rc;
}

/* Reports on stderr what was left out. */
static void
result_say(const struct alqi_cli_join_result *r)
{
    if (r->n_strange > 0)
        alqi_cli_say("%" PRIu64 " events make no sense and were left out; "
                     "'aliquot check' tells more",
                     r->n_strange);
    if (r->n_unlinked > 0)
        alqi_cli_say("%" PRIu64 " chains of realloc were cut: the blocks "
                     "before were freed long ago",
                     r->n_unlinked);
}

/* Frees what the merge owns; parts and sinks are closed before. */
static void
join_free(struct join *j)
{
    for (uint32_t i = 0; i < j->n_heads; i++) {
        free(j->heads[i].executable);
        free(j->heads[i].host);
        free(j->heads[i].context);
    }
    free(j->heads);
    free(j->heap);
    alqi_cli_recode_drop(j->whole.recode);
    alqi_base_map_clear(&j->whole.rates);
    free(j->whole.stack);
}

int
alqi_cli_join(const struct alqi_cli_paths *paths, uint16_t version,
              struct alqi_cli_trace_out *out,
              struct alqi_cli_join_result *result)
{
    struct join j;
    int rc;

    memset(&j, 0, sizeof j);
    memset(result, 0, sizeof *result);
    j.version = version;
    j.out = out;
    j.whole.result = result;
    files_allow();
    rc = heads_read(&j, paths);
    if (rc < 0) {
        j.heap = alqi_cli_realloc(NULL, j.n_heads, sizeof(struct part *));
        j.whole.recode = alqi_cli_recode_new();
        info_make(&j);
        rc = run(&j);
    }
    result->n_traces = j.n_heads;
    join_free(&j);
    if (rc < 0)
        result_say(result);
    return rc;
}
