/* reach.c -- classes of blocks become side records of the trace
 *
 * [reach.h, wire/reach.h] When all events are written, each block that was
 * classed and lives still gets its number in the trace; then the numbers are
 * written in their order, by class.
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

enum { REACH_BITS = 3 };

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

void
alqi_cli_reaches_free(struct alqi_cli_reaches *r)
{
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

static int
compare(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

    return a < b ? -1 : a > b;
}

/* Numbers with their classes below, in order; to be freed. */
static uint64_t *
numbers_make(const struct alqi_cli_conversion *c, size_t *n)
{
    const struct alqi_cli_reaches *r = c->reaches;
    uint64_t *numbers = malloc((r->n + 1) * sizeof *numbers), id;

    *n = 0;
    for (size_t i = 0; numbers != NULL && i < r->n; i++)
        if (r->at[i].reach != ALQI_VIEW_UNTOLD && object_of(c, &r->at[i], &id))
            numbers[(*n)++] = id << REACH_BITS | r->at[i].reach;
    if (*n > 0)
        qsort(numbers, *n, sizeof *numbers, compare);
    return numbers;
}

static enum alq_status
numbers_write(const struct alqi_side_writer *side, const uint64_t *numbers,
              size_t n)
{
    struct alqi_side_reach *lines = calloc(ALQI_VIEW_REACHES, sizeof *lines);
    enum alq_status status = lines != NULL ? ALQ_OK : ALQ_ENOMEM;

    for (int i = 0; status == ALQ_OK && i < ALQI_VIEW_REACHES; i++)
        lines[i].class = alqi_view_reach_name((enum alqi_view_reach)i);
    for (size_t i = 0; status == ALQ_OK && i < n; i++)
        status =
            alqi_side_reach_put(&lines[numbers[i] & ((1u << REACH_BITS) - 1)],
                                side, numbers[i] >> REACH_BITS);
    for (int i = 0; status == ALQ_OK && i < ALQI_VIEW_REACHES; i++)
        status = alqi_side_reach_end(&lines[i], side);
    free(lines);
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
alqi_cli_conversion_reach(struct alqi_cli_conversion *c, uint64_t time_ns)
{
    struct alqi_side_writer side = alqi_cli_conversion_side(c, time_ns);
    size_t n;
    uint64_t *numbers = numbers_make(c, &n);
    enum alq_status status = ALQ_ENOMEM;

    if (numbers != NULL)
        status = moment_write(&side, c->reaches->is_end);
    if (status == ALQ_OK)
        status = numbers_write(&side, numbers, n);
    free(numbers);
    return status;
}
