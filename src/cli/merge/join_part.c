/* join_part.c -- the events of one trace, written into the merged one
 *
 * [join_part.h] Everything that has a number gets a new one: blocks (ids),
 * threads, processes, rates, location codes (recode.c). State goes by stream
 * of the old trace (a lane): which thread allocates, at which rate, and
 * whether the next allocation continues a block. The sink holds what the new
 * stream has announced, so marks are written only where something changes.
 *
 * After a write has failed (whole->status) nothing more is written; the caller
 * looks at the status.
 *
 * Keeps .inv.before (doc/design/merge.md): Records stand directly before the
 *   allocation that they are about.
 * Keeps .inv.chain: Readers recognise chains of realloc by neighbours.
 * Keeps .inv.rate: An allocation says n_samples * (new rate / its trace's
 *   rate), as the format has it. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tool/cli.h"
#include "cli/convert/heap_beside.h"
#include "cli/merge/join_part.h"
#include "cli/read/notes.h"
#include "cli/read/ending.h"
#include "wire/reach.h"
#include "wire/side.h"
#include "wire/side_write.h"
#include "wire/ctf_verbatim.h"

/* FREED_KEPT: freed blocks that MOVED may still name; RATES_MAX bounds a
 * number from outside. */
enum { FREED_KEPT = 4096, RATES_MAX = 4096 };

/* Key in `threads` for allocations of a stream that names no thread. */
#define NO_THREAD (UINT64_C(1) << 60)

/* What a stream of the old trace announced last. */
struct alqi_cli_join_lane {
    /* the stream's number */
    uint16_t domain;
    /* old index, or NO_THREAD | domain */
    uint64_t thread;
    /* new id of the block that the next allocation continues; valid if
     * has_moved */
    uint64_t moved;
    /* the next allocation continues the block `moved` */
    bool has_moved;
    /* the next allocation is a realloc's whose old block was not sampled */
    bool is_reborn;
    /* samples per word */
    double rate;
};

/* ---- writing ------------------------------------------------------------- */

/* No write has failed so far. */
static bool
is_well(const struct alqi_cli_join_part *p)
{
    return p->whole->status == ALQ_OK;
}

/* Keeps the first failure. */
static void
note_status(struct alqi_cli_join_part *p, enum alq_status status)
{
    if (is_well(p))
        p->whole->status = status;
}

/* Notes a failed allocation. */
static void
need(struct alqi_cli_join_part *p, bool is_there)
{
    if (!is_there)
        note_status(p, ALQ_ENOMEM);
}

/* The writer of the sink's side records. */
static struct alqi_side_writer
side_at(struct alqi_cli_join_part *p, uint64_t us)
{
    return (struct alqi_side_writer){p->sink->writer, &p->whole->n_texts, us};
}

static void
put_mark(struct alqi_cli_join_part *p, uint64_t us, uint64_t kind,
         uint64_t number)
{
    struct alqi_side_writer side = side_at(p, us);

    note_status(p, alqi_side_write_mark(&side, kind, number));
}

static void
put_line(struct alqi_cli_join_part *p, uint64_t us, const char *line)
{
    struct alqi_side_writer side = side_at(p, us);

    note_status(p, alqi_side_write_line(&side, line));
}

/* Whether the line has the key at all. */
static bool
has(const char *line, const char *key)
{
    char text[2];

    return alqi_side_get(line, key, text, sizeof text);
}

/* ---- processes and threads ----------------------------------------------- */

/* The parent's process number in a context; 0 without one. */
static uint64_t
parent_of(const char *context)
{
    const char *key = strstr(context, " parent=");

    return key != NULL ? strtoull(key + strlen(" parent="), NULL, 10) : 0;
}

/* A process, as its record says it. */
struct process {
    uint64_t index;
    uint64_t pid;
    uint64_t parent;
    uint64_t start_us;
    const char *host;
    const char *program;
};

/* Writes the record that announces a process. */
static void
process_announce(struct alqi_cli_join_part *p, uint64_t us,
                 const struct process *process)
{
    char text[ALQI_SIDE_LINE_BYTES];
    struct alqi_side_line line = ALQI_SIDE_LINE_IN(text);

    alqi_side_text(&line, NULL, "process");
    alqi_side_number(&line, "index", process->index);
    alqi_side_number(&line, "pid", process->pid);
    alqi_side_number(&line, "parent", process->parent);
    alqi_side_number(&line, "start_us", process->start_us);
    alqi_side_text(&line, "host", process->host);
    alqi_side_text(&line, "program", process->program);
    put_line(p, us, text);
}

/* Announces the only process of a trace, at its start. */
static void
process_begin(struct alqi_cli_join_part *p)
{
    const struct alqi_cli_join_head *h = p->head;
    struct process process = {p->whole->n_processes++,
                              h->pid,
                              parent_of(h->context),
                              h->start_us,
                              h->host,
                              h->executable};

    p->process = process.index;
    process_announce(p, h->start_us, &process);
}

/* The new index of the process that a line of the old trace is about. A merged
 * trace names it, perhaps before it announces it. */
static uint64_t
process_of_line(struct alqi_cli_join_part *p, const char *line)
{
    uint64_t old = alqi_side_get_number(line, "process", 10);
    uint64_t new = p->process;

    if (!p->is_joined || !has(line, "process"))
        return p->process;
    if (!alqi_base_map_get(&p->processes, old, &new)) {
        new = p->whole->n_processes++;
        need(p, alqi_base_map_put(&p->processes, old, new));
    }
    return new;
}

/* The new index of an old thread; *is_new if it was given out just now. */
static uint64_t
thread_number(struct alqi_cli_join_part *p, uint64_t old, bool *is_new)
{
    uint64_t new = 0;

    *is_new = !alqi_base_map_get(&p->threads, old, &new);
    if (*is_new) {
        new = p->whole->n_threads++;
        need(p, alqi_base_map_put(&p->threads, old, new));
    }
    return new;
}

/* Writes the record that names a thread by its new index. */
static void
thread_announce(struct alqi_cli_join_part *p, uint64_t us, uint64_t index,
                uint64_t tid, const char *name, uint64_t process)
{
    struct alqi_side_writer side = side_at(p, us);

    note_status(
        p, alqi_side_write_thread(&side, index, tid, (int64_t)process, name));
}

/* Announces a thread of the old trace under its new index. */
static void
take_thread(struct alqi_cli_join_part *p, uint64_t us, const char *line)
{
    char name[256] = "";
    uint64_t old = alqi_side_get_number(line, "index", 10);
    bool is_new;

    alqi_side_get(line, "name", name, sizeof name);
    thread_announce(p, us, thread_number(p, old, &is_new),
                    alqi_side_get_number(line, "tid", 10), name,
                    process_of_line(p, line));
}

/* The new index of the thread that allocates. One that the old trace never
 * announced is announced here; without a thread, the stream is one. */
static uint64_t
thread_of(struct alqi_cli_join_part *p, uint64_t us,
          const struct alqi_cli_join_lane *lane)
{
    bool is_new;
    uint64_t new = thread_number(p, lane->thread, &is_new);
    char name[32] = "";

    if (!is_new)
        return new;
    if (lane->thread >= NO_THREAD && p->source.has_streams)
        snprintf(name, sizeof name, "domain %u", lane->domain);
    thread_announce(p, us, new, p->head->pid, name, p->process);
    return new;
}

/* ---- rates --------------------------------------------------------------- */

/* Notes a rate by its old index. A rate beyond the trace's own is damage: the
 * trace's stands in. */
static void
take_rate(struct alqi_cli_join_part *p, const char *line)
{
    uint64_t index = alqi_side_get_number(line, "index", 10);

    if (!has(line, "index") || index >= RATES_MAX || !has(line, "per_word"))
        return;
    while (p->n_rates <= index) {
        p->rates = alqi_cli_grow(p->rates, p->n_rates, sizeof *p->rates);
        p->rates[p->n_rates++] = p->head->rate;
    }
    p->rates[index] = alqi_side_get_real(line, "per_word");
    if (!(p->rates[index] > 0 && p->rates[index] <= p->head->rate))
        p->rates[index] = p->head->rate;
}

/* The new index of a rate. Indexes are shared by all streams, but each stream
 * must name a rate before it uses the index. */
static uint64_t
rate_index(struct alqi_cli_join_part *p, uint64_t us, double rate)
{
    struct alqi_side_writer side = side_at(p, us);
    uint64_t bits, index, is_known;

    memcpy(&bits, &rate, sizeof bits);
    if (!alqi_base_map_get(&p->whole->rates, bits, &index)) {
        index = p->whole->rates.n_used;
        need(p, alqi_base_map_put(&p->whole->rates, bits, index));
    }
    if (alqi_base_map_get(&p->sink->rates, bits, &is_known))
        return index;
    need(p, alqi_base_map_put(&p->sink->rates, bits, 1));
    note_status(p, alqi_side_write_rate(&side, index, rate));
    return index;
}

/* Announces the rate of the allocations that follow, if it changes. */
static void
rate_switch(struct alqi_cli_join_part *p, uint64_t us, double rate)
{
    if (rate == p->sink->rate)
        return;
    p->sink->rate = rate;
    put_mark(p, us, ALQI_SIDE_RATE, rate_index(p, us, rate));
}

/* ---- side records -------------------------------------------------------- */

/* Writes a line of the old trace with the new number of its process. A line
 * that is too long is cut at a blank. */
static void
forward(struct alqi_cli_join_part *p, uint64_t us, const char *line)
{
    char out[ALQI_SIDE_LINE_BYTES];
    struct alqi_side_line new = ALQI_SIDE_LINE_IN(out);
    size_t n = strcspn(line, " ");

    if (n >= sizeof out / 2)
        return;
    memcpy(out, line, n);
    out[n] = '\0';
    new.n = n;
    alqi_side_number(&new, "process", process_of_line(p, line));
    for (line += n; *line == ' '; line += n) {
        n = 1 + strcspn(line + 1, " ");
        if (strncmp(line, " process=", strlen(" process=")) == 0)
            continue;
        if (n >= sizeof out - new.n)
            break;
        memcpy(out + new.n, line, n);
        new.n += n;
        out[new.n] = '\0';
    }
    put_line(p, us, out);
}

/* Announces a process of a trace that was itself merged. */
static void
take_process(struct alqi_cli_join_part *p, uint64_t us, const char *line)
{
    char program[2048] = "", host[512] = "", key[48];
    struct process process = {
        .pid = alqi_side_get_number(line, "pid", 10),
        .parent = alqi_side_get_number(line, "parent", 10),
        .start_us = alqi_side_get_number(line, "start_us", 10),
        .host = host,
        .program = program,
    };

    p->n_announced++;
    alqi_side_get(line, "program", program, sizeof program);
    alqi_side_get(line, "host", host, sizeof host);
    snprintf(key, sizeof key, "process process=%" PRIu64,
             alqi_side_get_number(line, "index", 10));
    process.index = process_of_line(p, key);
    process_announce(p, us, &process);
}

/* Writes the lines about modules that the new trace needs now. */
static void
recode_lines(struct alqi_cli_join_part *p, uint64_t us)
{
    struct alqi_side_writer side = side_at(p, us);

    note_status(p, alqi_cli_recode_tell(p->whole->recode, &side));
}

/* Notes that a process has its end record, and forwards the record. */
static void
take_end(struct alqi_cli_join_part *p, uint64_t us, const char *line)
{
    char ended[32];

    if (alqi_side_get(line, "ended", ended, sizeof ended))
        p->is_running = strcmp(ended, "running") == 0;
    p->n_ended++;
    forward(p, us, line);
}

/* A step of ways under its new id. */
static void
take_holder(struct alqi_cli_join_part *p, uint64_t us, const char *line)
{
    struct alqi_side_writer side = side_at(p, us);
    struct alqi_side_holder holder;
    char name[ALQI_SIDE_HOLDER_BYTES];
    uint64_t old, in = 0;

    if (!alqi_side_holder_get(&holder, line, name) ||
        (holder.in > 0 && !alqi_base_map_get(&p->holders, holder.in, &in))) {
        p->whole->result->n_strange++;
        return;
    }
    old = holder.id;
    holder.id = ++p->whole->n_holders;
    holder.in = in;
    alqi_cli_map_put(&p->holders, old, holder.id);
    note_status(p, alqi_side_holder_put(&side, &holder));
}

/* The classes of blocks under their new numbers; no more than the trace has
 * allocated (p->n_reached). */
static void
take_reach(struct alqi_cli_join_part *p, uint64_t us, const char *line)
{
    struct alqi_side_reach_runs *runs = alqi_cli_realloc(NULL, 1, sizeof *runs);
    struct alqi_side_reach *out = alqi_cli_zeros(1, sizeof *out);
    struct alqi_side_writer side = side_at(p, us);
    char class[32] = "";
    uint64_t first, n, new;
    uint64_t holder = alqi_side_get_number(line, "holder", 10);
    bool is_well = alqi_side_reach_open(runs, line);

    alqi_side_get(line, "class", class, sizeof class);
    out->class = class;
    out->is_old = alqi_side_get_number(line, "old", 10) != 0;
    if (holder > 0 && !alqi_base_map_get(&p->holders, holder, &out->holder))
        p->whole->result->n_strange++;
    while (is_well && alqi_side_reach_next(runs, &first, &n)) {
        is_well = n <= p->n_allocs - p->n_reached;
        for (uint64_t i = 0; is_well && i < n; i++, p->n_reached++)
            if (alqi_base_map_get(&p->ids, first + i, &new))
                note_status(p, alqi_side_reach_put(out, &side, new));
            else
                p->whole->result->n_strange++;
    }
    p->whole->result->n_strange += !is_well || *runs->at != '\0';
    note_status(p, alqi_side_reach_end(out, &side));
    free(runs);
    free(out);
}

/* The blocks under their new numbers; one that died meanwhile has none. */
static void
told_take(struct alqi_cli_join_part *p, struct alqi_cli_reaches *r, uint64_t us)
{
    struct alqi_side_writer side = side_at(p, us);
    struct alqi_cli_told *told = alqi_cli_realloc(NULL, r->n + 1, sizeof *told);
    size_t n = 0;

    for (size_t i = 0; i < r->n; i++) {
        told[n] = (struct alqi_cli_told){.holder = r->at[i].holder,
                                         .reach = r->at[i].reach};
        n += alqi_base_map_get(&p->ids, r->at[i].number, &told[n].id);
    }
    r->n_before = p->whole->n_holders;
    p->whole->n_holders += r->n_steps;
    note_status(p, alqi_cli_told_write(r, told, n, &side));
    free(told);
}

/* What a snapshot beside the trace tells stands in the new trace itself: the
 * file lies beside the old one. */
static void
take_snapshot(struct alqi_cli_join_part *p, uint64_t us, const char *line)
{
    struct alqi_cli_heap_beside beside;
    struct alqi_cli_reaches r = {.n = 0};

    alqi_cli_heap_beside_find(&beside, p->head->path, p->head->pid, line);
    if (beside.why[0] != '\0' || !alqi_cli_heap_beside_read(&beside, &r))
        alqi_cli_say("%s: who holds the blocks is not known: %s", p->head->path,
                     beside.why);
    else
        told_take(p, &r, us);
    alqi_cli_reaches_free(&r);
}

/* Takes a text line by its first word. Lines about modules go into the
 * recoding, which writes its own; words that mean nothing here are
 * forwarded. */
static void
take_line(struct alqi_cli_join_part *p, uint64_t us, const char *line)
{
    char word[16];

    if (!alqi_side_get(line, NULL, word, sizeof word))
        word[0] = '\0';
    if (strcmp(word, "thread") == 0)
        take_thread(p, us, line);
    else if (strcmp(word, "module") == 0)
        alqi_cli_recode_module(p->whole->recode, &p->codes, line);
    else if (strcmp(word, "symbols") == 0)
        alqi_cli_recode_symbols(p->whole->recode, &p->codes, line);
    else if (strcmp(word, "rate") == 0)
        take_rate(p, line);
    else if (strcmp(word, "end") == 0)
        take_end(p, us, line);
    else if (strcmp(word, "process") == 0)
        take_process(p, us, line);
    else if (strcmp(word, "reach") == 0 && has(line, "ids"))
        take_reach(p, us, line);
    else if (strcmp(word, "holder") == 0)
        take_holder(p, us, line);
    else if (strcmp(word, "snapshot") == 0)
        take_snapshot(p, us, line);
    else
        forward(p, us, line);
    recode_lines(p, us);
}

/* The next allocation of the lane continues a block. If that block was freed
 * too long ago, the chain is cut and counted. */
static void
take_moved(struct alqi_cli_join_part *p, struct alqi_cli_join_lane *lane,
           uint64_t old)
{
    if (old == ALQI_SIDE_REBORN) {
        lane->is_reborn = true;
        return;
    }
    lane->has_moved = alqi_base_map_get(&p->ids, old, &lane->moved) ||
                      alqi_base_map_get(&p->forgotten, old, &lane->moved);
    if (!lane->has_moved)
        p->whole->result->n_unlinked++;
}

/* Takes a side record. Plain locations are left out: the writer asks recode
 * for the names of new codes. */
static void
take_location(struct alqi_cli_join_part *p, struct alqi_cli_join_lane *lane,
              uint64_t us, const struct alqi_ctf_location *place)
{
    uint64_t number = place->code & ALQI_SIDE_NUMBER_MASK;

    if (!alqi_side_is(place->code))
        return;
    switch (place->code & ALQI_SIDE_KIND_MASK) {
    case ALQI_SIDE_MOVED:
        take_moved(p, lane, number);
        break;
    case ALQI_SIDE_THREAD:
        lane->thread = number;
        break;
    case ALQI_SIDE_RATE:
        lane->rate = number < p->n_rates ? p->rates[number] : p->head->rate;
        break;
    case ALQI_SIDE_TEXT:
        if (place->n_entries == 1)
            take_line(p, us, place->entries[0].function);
        break;
    }
}

/* ---- events -------------------------------------------------------------- */

/* Fills whole->stack with the new codes of the event's stack. */
static void
stack_recode(struct alqi_cli_join_part *p, const struct alqi_ctf_event *e)
{
    struct alqi_cli_join_whole *w = p->whole;

    if (e->n_codes > w->stack_capacity) {
        w->stack_capacity = 2 * e->n_codes;
        w->stack =
            alqi_cli_realloc(w->stack, w->stack_capacity, sizeof *w->stack);
    }
    for (uint32_t i = 0; i < e->n_codes; i++)
        w->stack[i] = alqi_cli_recode_code(w->recode, &p->codes, e->codes[i]);
}

/* Writes the records that stand before an allocation (.inv.before), and clears
 * the lane's moved block. */
static void
marks_put(struct alqi_cli_join_part *p, struct alqi_cli_join_lane *lane,
          uint64_t us)
{
    uint64_t thread = thread_of(p, us, lane);

    recode_lines(p, us);
    rate_switch(p, us, lane->rate);
    if (thread != p->sink->thread)
        put_mark(p, us, ALQI_SIDE_THREAD, thread);
    p->sink->thread = thread;
    if (lane->is_reborn)
        put_mark(p, us, ALQI_SIDE_MOVED, ALQI_SIDE_REBORN);
    if (lane->has_moved)
        put_mark(p, us, ALQI_SIDE_MOVED, lane->moved);
    lane->has_moved = lane->is_reborn = false;
}

/* Writes an allocation under a new id. An id that is in use is damage. If the
 * block's free was seen before, it follows at once. */
static void
take_alloc(struct alqi_cli_join_part *p, struct alqi_cli_join_lane *lane,
           const struct alqi_ctf_event *e)
{
    uint64_t length = e->length > 0 ? (uint64_t)e->length : 0;
    double n_samples = e->n_samples > 0 ? (double)e->n_samples : 0;
    uint64_t new, us = e->time_us;

    bool is_known = alqi_base_map_get(&p->ids, e->id, &new);

    if (is_known || e->length < 0)
        p->whole->result->n_strange++;
    if (is_known)
        return;
    stack_recode(p, e);
    marks_put(p, lane, us);
    if (!is_well(p))
        return;
    n_samples *= p->whole->rate / p->head->rate; /* .inv.rate */
    note_status(p, alqi_ctf_write_alloc_verbatim(
                       p->sink->writer, us, length,
                       n_samples < 0x1p53 ? (uint64_t)llround(n_samples)
                                          : (uint64_t)1 << 53,
                       e->source, p->whole->stack, e->n_codes, &new));
    if (!is_well(p))
        return;
    p->whole->result->n_allocs++;
    p->n_allocs++;
    need(p, alqi_base_map_put(&p->ids, e->id, new));
    if (alqi_base_map_take(&p->early, e->id, &us)) {
        alqi_base_map_take(&p->ids, e->id, &new);
        note_status(p, alqi_ctf_write_collect(p->sink->writer, us, new));
    }
}

/* Remembers a freed block for a while: a MOVED record may name it. */
static void
freed_keep(struct alqi_cli_join_part *p, uint64_t old, uint64_t new)
{
    uint64_t *slot = &p->freed[p->n_freed % FREED_KEPT];
    uint64_t value;

    if (p->n_freed >= FREED_KEPT)
        alqi_base_map_take(&p->forgotten, *slot, &value);
    *slot = old;
    p->n_freed++;
    need(p, alqi_base_map_put(&p->forgotten, old, new));
}

/* Writes a promotion or a free. Among several streams a free may come before
 * its allocation, and waits in early. */
static void
take_later(struct alqi_cli_join_part *p, const struct alqi_ctf_event *e)
{
    uint64_t new;

    if (!alqi_base_map_get(&p->ids, e->id, &new)) {
        if (p->source.has_streams && e->kind == ALQI_CTF_COLLECT)
            need(p, alqi_base_map_put(&p->early, e->id, e->time_us));
        else
            p->whole->result->n_strange++;
        return;
    }
    if (e->kind == ALQI_CTF_PROMOTE) {
        note_status(p,
                    alqi_ctf_write_promote(p->sink->writer, e->time_us, new));
        return;
    }
    alqi_base_map_take(&p->ids, e->id, &new);
    freed_keep(p, e->id, new);
    note_status(p, alqi_ctf_write_collect(p->sink->writer, e->time_us, new));
}

/* The state of a stream; a new one begins at the trace's rate, without a
 * thread. */
static struct alqi_cli_join_lane *
lane_of(struct alqi_cli_join_part *p, uint16_t domain)
{
    struct alqi_cli_join_lane *lane;

    for (uint32_t i = 0; i < p->n_lanes; i++)
        if (p->lanes[i].domain == domain)
            return &p->lanes[i];
    p->lanes = alqi_cli_realloc(p->lanes, p->n_lanes + 1, sizeof *p->lanes);
    lane = &p->lanes[p->n_lanes++];
    *lane = (struct alqi_cli_join_lane){
        .domain = domain, .thread = NO_THREAD | domain, .rate = p->head->rate};
    return lane;
}

void
alqi_cli_join_part_take(struct alqi_cli_join_part *p,
                        struct alqi_cli_lane *from)
{
    struct alqi_cli_join_lane *lane = lane_of(p, from->event.domain);
    const struct alqi_ctf_event *e = &from->event;

    p->codes.reader = alqi_cli_input_reader(from->input);
    if (e->kind == ALQI_CTF_LOCATION)
        take_location(p, lane, e->time_us, &e->location);
    else if (e->kind == ALQI_CTF_ALLOC)
        take_alloc(p, lane, e);
    else
        take_later(p, e);
}

/* A free, the MOVED mark and the new allocation must not be parted
 * (.inv.chain). */
bool
alqi_cli_join_part_is_within(struct alqi_cli_join_part *p,
                             const struct alqi_cli_lane *lane)
{
    const struct alqi_ctf_event *e = &lane->event;

    if (lane_of(p, e->domain)->has_moved)
        return true;
    return e->kind == ALQI_CTF_LOCATION && alqi_side_is(e->location.code) &&
           (e->location.code & ALQI_SIDE_KIND_MASK) == ALQI_SIDE_MOVED;
}

/* ---- opening and closing ------------------------------------------------- */

int
alqi_cli_join_part_open(struct alqi_cli_join_part *p,
                        const struct alqi_cli_join_head *head,
                        struct alqi_cli_join_whole *whole,
                        struct alqi_cli_join_sink *sink)
{
    int rc;

    memset(p, 0, sizeof *p);
    p->head = head;
    p->whole = whole;
    p->sink = sink;
    p->is_joined = alqi_cli_is_joined(head->context);
    rc = alqi_cli_source_open(&p->source, head->path);
    if (rc >= 0)
        return rc;
    p->freed = alqi_cli_realloc(NULL, FREED_KEPT, sizeof *p->freed);
    if (!p->is_joined)
        process_begin(p);
    return -1;
}

/* The process has ended: what it still held went with it. The time 0 means
 * that of the last event. */
static void
gone_put(struct alqi_cli_join_part *p)
{
    char text[64];
    struct alqi_side_line line = ALQI_SIDE_LINE_IN(text);

    alqi_side_text(&line, NULL, "gone");
    alqi_side_number(&line, "process", p->process);
    put_line(p, 0, text); /* at the time of its last event */
}

/* Reports that the trace has no end. A merged one needs one end record for
 * each process it names. */
static void
end_say(const struct alqi_cli_join_part *p)
{
    uint64_t n = p->is_joined && p->n_announced > 0 ? p->n_announced : 1;

    if (alqi_cli_is_of_malloc(p->head->context) && p->n_ended < n)
        alqi_cli_say(ALQI_CLI_NO_END_TEXT, p->head->path);
}

void
alqi_cli_join_part_close(struct alqi_cli_join_part *p, bool is_whole)
{
    struct alqi_cli_join_result *result = p->whole->result;

    if (is_whole && is_well(p) && !p->is_joined && !p->is_running)
        gone_put(p);
    if (is_whole && is_well(p) && p->source.status == ALQI_CLI_OK)
        end_say(p);
    result->n_strange += p->early.n_used;
    if (p->source.status != ALQI_CLI_OK)
        result->status = p->source.status;
    alqi_cli_source_close(&p->source);
    alqi_cli_recode_from_free(&p->codes);
    alqi_base_map_clear(&p->ids);
    alqi_base_map_clear(&p->early);
    alqi_base_map_clear(&p->threads);
    alqi_base_map_clear(&p->processes);
    alqi_base_map_clear(&p->holders);
    alqi_base_map_clear(&p->forgotten);
    free(p->freed);
    free(p->lanes);
    free(p->rates);
}
