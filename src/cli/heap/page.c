/* page.c -- roots, biggest holders, kinds: the page without other wishes, and
 * --histogram                                                        [heap.h]
 */
#include <stdio.h>

#include "cli/heap/chain.h"
#include "cli/heap/print.h"

enum { KINDS_SERVED = 500 }; /* the first ones */
enum { WORD_BYTES = 8, USED = ALQI_CLI_HEAP_BYTES + ALQI_CLI_HEAP_BLOCKS + 2 };

/* ---- kinds --------------------------------------------------------------- */

/* Kinds as rows, their numbers as orders: by what of them is held. */
static void
kinds_sort(struct alqi_cli_heap_run *r, struct alqi_cli_heap_rows *rows)
{
    struct alqi_cli_heap_snapshot *s = &r->snapshot;

    *rows = (struct alqi_cli_heap_rows){.most = UINT32_MAX};
    for (uint32_t i = 0; i < s->n_kinds; i++) {
        const struct alqi_cli_heap_kind *k = &s->kinds[i];
        struct alqi_cli_heap_row row = {
            .order = i, .words = k->held.words, .n_blocks = k->held.n_blocks};

        if (k->all.n_blocks > 0)
            alqi_cli_heap_rows_offer(rows, &row);
    }
}

static void
kinds_print(struct alqi_cli_heap_run *r)
{
    struct alqi_cli_heap_snapshot *s = &r->snapshot;
    struct alqi_cli_heap_rows rows;
    uint64_t n;

    kinds_sort(r, &rows);
    n = r->top == 0 || rows.n < r->top ? rows.n : r->top;
    alqi_cli_heap_title(&r->term, "KINDS", "own bytes of held blocks");
    alqi_cli_heap_heads(&r->term, "kind");
    for (uint64_t i = 0; i < n; i++) {
        alqi_cli_heap_figures(&r->term, rows.rows[i].words,
                              rows.rows[i].n_blocks);
        fputs("  ", r->term.out);
        alqi_cli_heap_rest(&r->term, ALQI_CLI_BOLD, USED,
                           alqi_cli_heap_kind_name(s, rows.rows[i].order));
    }
    alqi_cli_heap_more(&r->term, rows.n - n);
    alqi_cli_heap_rows_free(&rows);
}

/* Members: all kinds, but for a server. */
static void
kinds_json(struct alqi_cli_heap_run *r, json_t *of)
{
    struct alqi_cli_heap_snapshot *s = &r->snapshot;
    struct alqi_cli_heap_rows rows;
    json_t *to = json_array();
    uint32_t n;

    kinds_sort(r, &rows);
    n = r->taken != NULL && rows.n > KINDS_SERVED ? KINDS_SERVED : rows.n;
    for (uint32_t i = 0; i < n; i++) {
        const struct alqi_cli_heap_kind *k = &s->kinds[rows.rows[i].order];
        json_t *o = json_object();

        alqi_cli_json_set(
            o, "kind",
            json_string(alqi_cli_heap_kind_name(s, rows.rows[i].order)));
        alqi_cli_json_count(o, "bytes", k->held.words * WORD_BYTES);
        alqi_cli_json_count(o, "blocks", k->held.n_blocks);
        alqi_cli_json_count(o, "garbage_bytes",
                            (k->all.words - k->held.words) * WORD_BYTES);
        alqi_cli_json_count(o, "garbage_blocks",
                            k->all.n_blocks - k->held.n_blocks);
        json_array_append_new(to, o);
    }
    alqi_cli_json_set(of, "kinds", to);
    alqi_cli_json_count(of, "kinds_left_out", rows.n - n);
    alqi_cli_heap_rows_free(&rows);
}

/* ---- roots and blocks ---------------------------------------------------- */

static void
row_print(struct alqi_cli_heap_run *r, const struct alqi_cli_heap_facts *facts,
          const struct alqi_cli_heap_row *row)
{
    struct alqi_cli_heap_snapshot *s = &r->snapshot;
    struct alqi_cli_heap_chain chain;
    char text[ALQI_CLI_HEAP_TEXT];

    alqi_cli_heap_figures(&r->term, row->words, row->n_blocks);
    fputs("  ", r->term.out);
    alqi_cli_heap_fact_text(s, &row->is, text, sizeof text);
    alqi_cli_heap_rest(&r->term, ALQI_CLI_BOLD, USED, text);
    if (row->is.address == 0)
        return;
    chain = alqi_cli_heap_chain_of(s, row->above);
    alqi_cli_heap_chain_text(s, facts, &chain, text, sizeof text);
    fprintf(r->term.out, "%*s← ", USED + 2, "");
    alqi_cli_heap_rest(&r->term, ALQI_CLI_DIM, USED + 4, text);
}

static void
rows_print(struct alqi_cli_heap_run *r, const struct alqi_cli_heap_facts *facts,
           const struct alqi_cli_heap_rows *rows, const char *title,
           const char *meaning, const char *last)
{
    alqi_cli_heap_title(&r->term, title, meaning);
    alqi_cli_heap_heads(&r->term, last);
    for (uint32_t i = 0; i < rows->n; i++)
        row_print(r, facts, &rows->rows[i]);
    alqi_cli_heap_more(&r->term, rows->n_left_out);
    fputc('\n', r->term.out);
}

static json_t *
rows_json(struct alqi_cli_heap_run *r, const struct alqi_cli_heap_facts *facts,
          const struct alqi_cli_heap_rows *rows)
{
    json_t *to = json_array();

    for (uint32_t i = 0; i < rows->n; i++)
        json_array_append_new(to,
                              alqi_cli_heap_row_json(r, facts, &rows->rows[i]));
    return to;
}

/* Everything that the two tables name. */
static void
rows_find(struct alqi_cli_heap_run *r, struct alqi_cli_heap_facts *facts,
          struct alqi_cli_heap_rows *holders, struct alqi_cli_heap_rows *blocks)
{
    alqi_cli_heap_rows_holders(holders, &r->snapshot, r->top);
    alqi_cli_heap_rows_blocks(blocks, &r->snapshot, r->top);
    alqi_cli_heap_rows_want(holders, facts);
    alqi_cli_heap_rows_want(blocks, facts);
    for (uint32_t i = 0; i < blocks->n; i++) {
        struct alqi_cli_heap_chain chain =
            alqi_cli_heap_chain_of(&r->snapshot, blocks->rows[i].above);

        alqi_cli_heap_chain_want(&chain, facts);
    }
    alqi_cli_heap_facts_fill(facts, &r->snapshot);
    alqi_cli_heap_rows_know(holders, facts, &r->snapshot);
    alqi_cli_heap_rows_know(blocks, facts, &r->snapshot);
}

void
alqi_cli_heap_histogram(struct alqi_cli_heap_run *r)
{
    json_t *to;

    if (!r->is_json) {
        alqi_cli_heap_head(r);
        kinds_print(r);
        return;
    }
    to = alqi_cli_heap_head_json(r);
    kinds_json(r, to);
    alqi_cli_heap_json_end(r, to);
}

static void
page_json(struct alqi_cli_heap_run *r, const struct alqi_cli_heap_facts *facts,
          const struct alqi_cli_heap_rows *holders,
          const struct alqi_cli_heap_rows *blocks)
{
    json_t *to = alqi_cli_heap_head_json(r);

    alqi_cli_json_set(to, "holders", rows_json(r, facts, holders));
    alqi_cli_json_count(to, "holders_left_out", holders->n_left_out);
    alqi_cli_json_set(to, "biggest", rows_json(r, facts, blocks));
    alqi_cli_json_count(to, "biggest_left_out", blocks->n_left_out);
    kinds_json(r, to);
    alqi_cli_heap_json_end(r, to);
}

void
alqi_cli_heap_page(struct alqi_cli_heap_run *r)
{
    struct alqi_cli_heap_rows holders, blocks;
    struct alqi_cli_heap_facts facts = {0};

    rows_find(r, &facts, &holders, &blocks);
    if (r->is_json) {
        page_json(r, &facts, &holders, &blocks);
    } else {
        alqi_cli_heap_head(r);
        rows_print(r, &facts, &holders, "ROOTS", "and what each holds alone",
                   "root");
        rows_print(r, &facts, &blocks, "BIGGEST",
                   "blocks by what goes with them: what only they hold",
                   "block, and what holds it alone");
        kinds_print(r);
    }
    alqi_cli_heap_facts_free(&facts);
    alqi_cli_heap_rows_free(&holders);
    alqi_cli_heap_rows_free(&blocks);
}
