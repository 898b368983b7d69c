/* print.c -- lines and members that all pages have                  [print.h]
 */
#include "cli/heap/print.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/heap/chain.h"
#include "cli/report/draw.h"
#include "cli/tool/cli.h"
#include "cli/tool/text.h"

enum { WORD_BYTES = 8, COMMAND_BYTES = 400 };

void
alqi_cli_heap_figures(const struct alqi_cli_term *t, uint64_t words,
                      uint64_t n_blocks)
{
    alqi_cli_draw_right(t, alqi_cli_text_bytes((double)words * WORD_BYTES).text,
                        ALQI_CLI_HEAP_BYTES);
    alqi_cli_draw_right(t, alqi_cli_text_count((double)n_blocks).text,
                        ALQI_CLI_HEAP_BLOCKS);
}

void
alqi_cli_heap_heads(const struct alqi_cli_term *t, const char *text)
{
    fputs(alqi_cli_style(t, ALQI_CLI_DIM), t->out);
    alqi_cli_draw_right(t, "bytes", ALQI_CLI_HEAP_BYTES);
    alqi_cli_draw_right(t, "blocks", ALQI_CLI_HEAP_BLOCKS);
    fprintf(t->out, "  %s%s\n", text, alqi_cli_style(t, ALQI_CLI_PLAIN));
}

void
alqi_cli_heap_title(const struct alqi_cli_term *t, const char *title,
                    const char *meaning)
{
    fprintf(t->out, "%s%s%s%s%s\n", alqi_cli_style(t, ALQI_CLI_BOLD), title,
            alqi_cli_style(t, ALQI_CLI_PLAIN), meaning[0] != '\0' ? "  " : "",
            meaning);
}

void
alqi_cli_heap_more(const struct alqi_cli_term *t, uint64_t n)
{
    if (n > 0)
        fprintf(t->out, "   %" PRIu64 " more (--top=0 shows all)\n", n);
}

void
alqi_cli_heap_rest(const struct alqi_cli_term *t, enum alqi_cli_style style,
                   int used, const char *text)
{
    int left = t->width - used;

    alqi_cli_draw_fit_name(t, style, text, &left);
    fputc('\n', t->out);
}

/* ---- the head ------------------------------------------------------------ */

/* The arguments, separated by blanks. */
static void
command_text(const struct alqi_cli_heap_snapshot *s, char *out, size_t capacity)
{
    char raw[COMMAND_BYTES];
    size_t n = s->command.n < sizeof raw - 1 ? s->command.n : sizeof raw - 1;

    for (size_t i = 0; i < n; i++)
        raw[i] = s->command.bytes[i] == '\0' ? ' ' : s->command.bytes[i];
    while (n > 0 && raw[n - 1] == ' ')
        n--;
    raw[n] = '\0';
    alqi_cli_clean(out, capacity, raw);
}

static struct alqi_cli_heap_sums
garbage(const struct alqi_cli_heap_snapshot *s)
{
    return (struct alqi_cli_heap_sums){s->all.n_blocks - s->held.n_blocks,
                                       s->all.words - s->held.words};
}

static void
outside_say(const struct alqi_cli_term *t,
            const struct alqi_cli_heap_snapshot *s)
{
    if (s->n_edges_outside > 0)
        fprintf(t->out,
                "%" PRIu64 " pointers lead to memory outside of the heap\n",
                s->n_edges_outside);
    if (s->n_roots_outside > 0)
        fprintf(t->out,
                "%" PRIu64 " roots lead to memory outside of the heap\n",
                s->n_roots_outside);
}

void
alqi_cli_heap_cut_say(const struct alqi_cli_term *t,
                      const struct alqi_cli_heap_snapshot *s)
{
    if (s->damage == NULL)
        return;
    fprintf(t->out,
            "%s! The snapshot is cut short: %s at byte %" PRIu64 ". Blocks, "
            "pointers and roots\n"
            "  are missing, so it cannot be known who holds what, nor what is "
            "garbage.%s\n\n",
            alqi_cli_style(t, ALQI_CLI_WARN), s->damage, s->damage_bytes,
            alqi_cli_style(t, ALQI_CLI_PLAIN));
}

void
alqi_cli_heap_head(struct alqi_cli_heap_run *r)
{
    const struct alqi_cli_heap_snapshot *s = &r->snapshot;
    const struct alqi_cli_term *t = &r->term;
    struct alqi_cli_heap_sums lost = garbage(s);
    char command[COMMAND_BYTES];

    alqi_cli_heap_cut_say(t, s);
    command_text(s, command, sizeof command);
    fprintf(t->out, "process %" PRIu64 " (%s), %s", s->pid, command,
            alqi_cli_text_time(s->wall_us).text);
    if (s->has_end)
        fprintf(t->out, ", stopped for %s; %s wrote it",
                alqi_cli_text_duration((double)s->stop_ns / 1000).text,
                s->is_copied ? "a copy of the process" : "the process itself");
    fprintf(t->out,
            "\n%" PRIu32 " roots of %" PRIu32 " names; sampled blocks: %" PRIu32
            "\n\n",
            s->n_roots, s->n_holders, s->n_samples);
    alqi_cli_heap_heads(t, "");
    alqi_cli_heap_figures(t, s->held.words, s->held.n_blocks);
    fprintf(t->out, "  %sHELD%s     roots lead to them\n",
            alqi_cli_style(t, ALQI_CLI_BOLD),
            alqi_cli_style(t, ALQI_CLI_PLAIN));
    alqi_cli_heap_figures(t, lost.words, lost.n_blocks);
    fprintf(t->out, "  %sGARBAGE%s  not yet collected\n",
            alqi_cli_style(t, ALQI_CLI_BOLD),
            alqi_cli_style(t, ALQI_CLI_PLAIN));
    outside_say(t, s);
    fputc('\n', t->out);
}

static void
sums_json(json_t *to, const char *key, const struct alqi_cli_heap_sums *sums)
{
    json_t *o = json_object();

    alqi_cli_json_count(o, "bytes", sums->words * WORD_BYTES);
    alqi_cli_json_count(o, "blocks", sums->n_blocks);
    alqi_cli_json_set(to, key, o);
}

json_t *
alqi_cli_heap_head_json(struct alqi_cli_heap_run *r)
{
    const struct alqi_cli_heap_snapshot *s = &r->snapshot;
    struct alqi_cli_heap_sums lost = garbage(s);
    json_t *to = json_object();
    char command[COMMAND_BYTES];

    command_text(s, command, sizeof command);
    alqi_cli_json_count(to, "pid", s->pid);
    alqi_cli_json_set(to, "command", json_string(command));
    alqi_cli_json_count(to, "time_us", s->wall_us);
    alqi_cli_json_set(to, "whole", json_boolean(s->has_end));
    if (s->damage != NULL) {
        alqi_cli_json_set(to, "damage", json_string(s->damage));
        alqi_cli_json_count(to, "damage_at_byte", s->damage_bytes);
    }
    alqi_cli_json_count(to, "stopped_ns", s->stop_ns);
    alqi_cli_json_set(to, "by_copy", json_boolean(s->is_copied));
    alqi_cli_json_count(to, "roots", s->n_roots);
    alqi_cli_json_count(to, "edges", s->n_edges);
    alqi_cli_json_count(to, "edges_outside", s->n_edges_outside);
    alqi_cli_json_count(to, "roots_outside", s->n_roots_outside);
    alqi_cli_json_count(to, "samples", s->n_samples);
    alqi_cli_json_count(to, "solve_us", r->solve_us);
    sums_json(to, "all", &s->all);
    sums_json(to, "held", &s->held);
    sums_json(to, "garbage", &lost);
    return to;
}

/* ---- rows ---------------------------------------------------------------- */

void
alqi_cli_heap_block_json(struct alqi_cli_heap_snapshot *s,
                         const struct alqi_cli_heap_fact *fact, json_t *to)
{
    const struct alqi_cli_heap_sample *sample =
        alqi_cli_heap_sample_at(s, fact->address);
    char text[ALQI_CLI_HEAP_TEXT];

    snprintf(text, sizeof text, "0x%" PRIx64, fact->address);
    alqi_cli_json_set(to, "address", json_string(text));
    alqi_cli_json_set(to, "kind",
                      json_string(alqi_cli_heap_kind_name(s, fact->kind)));
    alqi_cli_json_count(to, "own_bytes", fact->words * WORD_BYTES);
    if (sample == NULL || sample->site == ALQI_CLI_HEAP_NOTHING)
        return;
    alqi_cli_heap_site_name(s, sample->site, text, sizeof text);
    alqi_cli_json_set(to, "site", alqi_cli_json_clean(text));
}

json_t *
alqi_cli_heap_row_json(struct alqi_cli_heap_run *r,
                       const struct alqi_cli_heap_facts *facts,
                       const struct alqi_cli_heap_row *row)
{
    struct alqi_cli_heap_snapshot *s = &r->snapshot;
    struct alqi_cli_heap_chain chain;
    json_t *to = json_object();
    char text[ALQI_CLI_HEAP_TEXT];

    alqi_cli_json_count(to, "retained_bytes", row->words * WORD_BYTES);
    alqi_cli_json_count(to, "retained_blocks", row->n_blocks);
    if (row->is.address == 0) {
        uint32_t holder = row->is.number - s->graph.n_blocks;

        alqi_cli_json_set(to, "root",
                          json_string(alqi_cli_heap_holder_name(s, holder)));
        alqi_cli_json_count(to, "roots", s->holders[holder].n_roots);
        return to;
    }
    alqi_cli_heap_block_json(s, &row->is, to);
    chain = alqi_cli_heap_chain_of(s, row->above);
    alqi_cli_heap_chain_text(s, facts, &chain, text, sizeof text);
    alqi_cli_json_set(to, "held_by", alqi_cli_json_clean(text));
    return to;
}

void
alqi_cli_heap_json_end(struct alqi_cli_heap_run *r, json_t *to)
{
    if (r->taken != NULL) {
        *r->taken = to;
        return;
    }
    json_dumpf(to, stdout, JSON_INDENT(1));
    fputc('\n', stdout);
    json_decref(to);
}

int
alqi_cli_heap_refuse(struct alqi_cli_heap_run *r, bool is_usage,
                     const char *format, ...)
{
    char text[ALQI_CLI_HEAP_TEXT];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (r->taken == NULL)
        return is_usage ? alqi_cli_usage("heap", "heap: %s", text)
                        : alqi_cli_finding("heap: %s", text);
    *r->taken = json_object();
    alqi_cli_json_set(*r->taken, "error", alqi_cli_json_clean(text));
    return ALQI_CLI_USAGE;
}
