/* reach.c -- classes of blocks become side records of the trace
 *
 * [reach.h, wire/reach.h] When all events are written, each block that was
 * classed and lives still gets its number in the trace; then the numbers are
 * written by class and holder, each in their order.
 *
 * .inv.same_block  Between the scan and the end blocks may be freed, and others
 *             made at their addresses. A sampled block is known by stream and
 *             ordinal, which no other has. An exact one is the same if its
 *             address has the number that it had in the trace of the scan's
 *             moment: numbers are given in the order of time, so only what
 *             happened in the same microsecond in another thread may shift
 *             them; then the block has no class. */
#include "cli/convert/reach.h"

#include <stdlib.h>

#include "cli/convert/conversion.h"
#include "cli/convert/convert.h"
#include "cli/tool/cli.h"
#include "wire/reach.h"

void
alqi_cli_reaches_add(struct alqi_cli_reaches *r, uint64_t address,
                     uint32_t stream, uint64_t number)
{
    if (r->n == r->capacity) {
        r->capacity = r->capacity == 0 ? 1024 : 2 * r->capacity;
        r->at = alqi_cli_realloc(r->at, r->capacity, sizeof *r->at);
    }
    r->at[r->n++] = (struct alqi_cli_reached){
        .address = address, .number = number, .stream = stream};
}

uint32_t
alqi_cli_reaches_step(struct alqi_cli_reaches *r, uint32_t in, const char *name,
                      uint32_t most)
{
    r->steps = alqi_cli_grow(r->steps, r->n_steps, sizeof *r->steps);
    r->steps[r->n_steps] = (struct alqi_cli_reached_step){
        .name = alqi_cli_copy(name), .in = in, .most = most};
    return ++r->n_steps;
}

void
alqi_cli_reaches_free(struct alqi_cli_reaches *r)
{
    for (uint32_t i = 0; i < r->n_steps; i++)
        free(r->steps[i].name);
    free(r->steps);
    free(r->at);
    *r = (struct alqi_cli_reaches){0};
}

/* The object of the trace, if it lives: .inv.same_block. */
static bool
object_of(const struct alqi_cli_conversion *c, const struct alqi_cli_reached *b,
          uint64_t *id)
{
    const struct alqi_base_map *live = alqi_cli_exact_live(c->exact);

    if (b->stream != ALQI_CLI_REACHED_EXACT)
        return alqi_base_map_get(
            &c->live, alqi_cli_conversion_key(b->stream, b->number), id);
    return live != NULL && alqi_base_map_get(live, b->address, id) &&
           *id == b->number;
}

/* By class, holder, and what is old: each line has one of these. */
static int
compare(const void *left, const void *right)
{
    const struct alqi_cli_told *a = left, *b = right;

    if (a->reach != b->reach)
        return a->reach < b->reach ? -1 : 1;
    if (a->holder != b->holder)
        return a->holder < b->holder ? -1 : 1;
    if (a->is_old != b->is_old)
        return a->is_old ? 1 : -1;
    return a->id < b->id ? -1 : a->id > b->id;
}

static bool
is_of_line(const struct alqi_cli_told *a, const struct alqi_cli_told *b)
{
    return a->reach == b->reach && a->holder == b->holder &&
           a->is_old == b->is_old;
}

/* A step's number in the trace; 0: none. */
static uint64_t
number_of(const struct alqi_cli_reaches *r, uint32_t step)
{
    return step > 0 ? r->n_before + step : 0;
}

static enum alq_status
numbers_write(const struct alqi_cli_reaches *r,
              const struct alqi_side_writer *side,
              const struct alqi_cli_told *told, size_t n)
{
    struct alqi_side_reach *lines = calloc(1, sizeof *lines);
    enum alq_status status = lines != NULL ? ALQ_OK : ALQ_ENOMEM;

    for (size_t i = 0; status == ALQ_OK && i < n; i++) {
        if (i == 0 || !is_of_line(&told[i], &told[i - 1])) {
            status = alqi_side_reach_end(lines, side);
            lines->class = alqi_view_reach_name(told[i].reach);
            lines->holder = number_of(r, told[i].holder);
            lines->is_old = told[i].is_old;
        }
        if (status == ALQ_OK)
            status = alqi_side_reach_put(lines, side, told[i].id);
    }
    if (status == ALQ_OK)
        status = alqi_side_reach_end(lines, side);
    free(lines);
    return status;
}

static enum alq_status
steps_write(const struct alqi_cli_reaches *r,
            const struct alqi_side_writer *side)
{
    enum alq_status status = ALQ_OK;

    for (uint32_t i = 0; status == ALQ_OK && i < r->n_steps; i++) {
        const struct alqi_side_holder holder = {
            .id = number_of(r, i + 1),
            .in = number_of(r, r->steps[i].in),
            .most = r->steps[i].most,
            .name = r->steps[i].name};

        status = alqi_side_holder_put(side, &holder);
    }
    return status;
}

static enum alq_status
moment_write(const struct alqi_side_writer *side, bool is_end)
{
    char text[64];
    struct alqi_side_line line = ALQI_SIDE_LINE_IN(text);

    alqi_side_text(&line, NULL, "reach");
    alqi_side_text(&line, "at",
                   is_end ? ALQI_SIDE_REACH_END : ALQI_SIDE_REACH_EXIT);
    return alqi_side_write_line(side, text);
}

enum alq_status
alqi_cli_told_write(const struct alqi_cli_reaches *r,
                    struct alqi_cli_told *told, size_t n,
                    const struct alqi_side_writer *side)
{
    enum alq_status status = moment_write(side, r->is_end);

    if (n > 0)
        qsort(told, n, sizeof *told, compare);
    if (status == ALQ_OK)
        status = steps_write(r, side);
    if (status == ALQ_OK)
        status = numbers_write(r, side, told, n);
    return status;
}

enum alq_status
alqi_cli_conversion_reach(struct alqi_cli_conversion *c, uint64_t time_ns)
{
    const struct alqi_cli_reaches *r = c->reaches;
    struct alqi_side_writer side = alqi_cli_conversion_side(c, time_ns);
    struct alqi_cli_told *told = malloc((r->n + 1) * sizeof *told);
    enum alq_status status;
    size_t n = 0;
    uint64_t id;

    if (told == NULL)
        return ALQ_ENOMEM;
    for (size_t i = 0; i < r->n; i++)
        if (r->at[i].reach != ALQI_VIEW_UNTOLD && object_of(c, &r->at[i], &id))
            told[n++] = (struct alqi_cli_told){id, r->at[i].holder,
                                               r->at[i].reach, r->at[i].is_old};
    status = alqi_cli_told_write(r, told, n, &side);
    free(told);
    return status;
}
