/* build.c -- writes an index from front to back
 *
 * [build.h] Columns that a birth fills are written a block of rows at a time.
 * Columns that are known at a row's end (life, flags, promotion, holder) are
 * kept until the last birth and follow then. Tables and the event stream are
 * kept in memory and come last, the foot at the very end.
 *
 * Which rows were live at the peak is found at the end: each colour keeps how
 * long the event stream was when its peak was last moved, and goes through the
 * events up to there.
 *
 * After the first failure (error) nothing more is written. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "view/build.h"
#include "view/table.h"

enum { DATA_ALIGN = 16 };

/* Columns of one block that are known only when its rows end. */
struct ends {
    /* microseconds, by row */
    uint64_t lives[ALQI_VIEW_BLOCK_ROWS];
    /* time from birth + 1; 0: never; NULL: no row of the block was */
    uint64_t *promoted;
    /* its step + 1; 0: none; NULL: no row of the block has one */
    uint64_t *holders;
    /* enum alqi_view_flag; until finish PEAK holds the row's colours */
    uint16_t flags[ALQI_VIEW_BLOCK_ROWS];
};

struct alqi_view_build {
    /* takes the index's bytes, front to back */
    alqi_view_write_fn *write;
    void *write_arg;
    /* the first failure; NULL: none */
    const char *error;
    /* bytes so far: the place of the next ones */
    uint64_t n_written;
    /* filled in as sections are written */
    struct alqi_view_foot foot;

    /* all but DATA, in memory until the end */
    struct alqi_view_table sections[ALQI_VIEW_N_SECTIONS];
    /* struct ends *, by block; owned */
    struct alqi_view_table ends;
    /* columns of the block that is being filled */
    uint64_t fresh[ALQI_VIEW_N_COLUMNS][ALQI_VIEW_BLOCK_ROWS];
    uint32_t n_rows;
    /* births since the last event: they become one event */
    uint64_t n_births;
    struct {
        /* by colour: length of the event stream when its peak was moved last */
        size_t event_bytes;
        /* and how many rows there were */
        uint32_t rows;
    } peaks[ALQI_VIEW_COLOURS];
};

/* Bytes of one record of each section. */
static const size_t each_bytes[ALQI_VIEW_N_SECTIONS] = {
    [ALQI_VIEW_S_META] = sizeof(struct alqi_view_meta),
    [ALQI_VIEW_S_DATA] = 1,
    [ALQI_VIEW_S_SLICES] = sizeof(struct alqi_view_slice),
    [ALQI_VIEW_S_EVENTS] = 1,
    [ALQI_VIEW_S_CHAINS] = sizeof(struct alqi_view_chain),
    [ALQI_VIEW_S_CLASSES] = sizeof(struct alqi_view_class),
    [ALQI_VIEW_S_ORIGINS] = sizeof(struct alqi_view_origin),
    [ALQI_VIEW_S_STACKS] = sizeof(struct alqi_view_stack),
    [ALQI_VIEW_S_NODES] = sizeof(struct alqi_view_node),
    [ALQI_VIEW_S_FUNCTIONS] = sizeof(struct alqi_view_function),
    [ALQI_VIEW_S_THREADS] = sizeof(struct alqi_view_thread),
    [ALQI_VIEW_S_RESIDENT] = sizeof(struct alqi_view_resident),
    [ALQI_VIEW_S_MARKS] = sizeof(struct alqi_view_mark),
    [ALQI_VIEW_S_NOTES] = sizeof(uint32_t),
    [ALQI_VIEW_S_STEPS] = sizeof(struct alqi_view_holder_step),
    [ALQI_VIEW_S_TEXT_AT] = sizeof(uint64_t),
    [ALQI_VIEW_S_TEXTS] = 1,
};

static const char *const no_memory = "there is no memory for the index";

/* Keeps the first failure: what fails afterwards fails because of it. */
static void
fail(struct alqi_view_build *b, const char *why)
{
    if (b->error == NULL)
        b->error = why;
}

struct alqi_view_build *
alqi_view_build_new(alqi_view_write_fn *write, void *arg)
{
    static const struct alqi_view_node root;
    struct alqi_view_build *b = calloc(1, sizeof *b);
    uint64_t first = 0;

    if (b == NULL)
        return NULL;
    b->write = write;
    b->write_arg = arg;
    for (int i = 0; i < ALQI_VIEW_N_SECTIONS; i++)
        b->sections[i].each_bytes = each_bytes[i];
    b->ends.each_bytes = sizeof(struct ends *);
    if (!alqi_view_table_add(&b->sections[ALQI_VIEW_S_TEXT_AT], &first))
        fail(b, no_memory);
    alqi_view_build_node(b, &root);
    return b;
}

/* The ends of a block; valid until the build is dropped. */
static struct ends *
ends_of(const struct alqi_view_build *b, uint32_t block)
{
    return ((struct ends **)b->ends.rows)[block];
}

static void
ends_free(struct ends *e)
{
    if (e == NULL)
        return;
    free(e->promoted);
    free(e->holders);
    free(e);
}

void
alqi_view_build_drop(struct alqi_view_build *b)
{
    if (b == NULL)
        return;
    for (uint32_t i = 0; i < b->ends.n; i++)
        ends_free(ends_of(b, i));
    for (int i = 0; i < ALQI_VIEW_N_SECTIONS; i++)
        free(b->sections[i].rows);
    free(b->ends.rows);
    free(b);
}

/* A copy of a column of a block, if there is one; false: no memory. */
static bool
column_copy(uint64_t **to, const uint64_t *from)
{
    size_t n_bytes = ALQI_VIEW_BLOCK_ROWS * sizeof *from;

    *to = from != NULL ? malloc(n_bytes) : NULL;
    if (*to != NULL)
        memcpy(*to, from, n_bytes);
    return (*to != NULL) == (from != NULL);
}

/* Adds a copy of a block's ends; false: no memory. */
static bool
ends_copy(struct alqi_view_build *b, const struct ends *from)
{
    bool ok;
    struct ends *e = malloc(sizeof *e);

    if (e == NULL || !alqi_view_table_add(&b->ends, &e)) {
        free(e);
        return false;
    }
    *e = *from;
    ok = column_copy(&e->promoted, from->promoted);
    return column_copy(&e->holders, from->holders) && ok;
}

/* Gives the copy tables of its own. */
static bool
tables_copy(struct alqi_view_build *to, const struct alqi_view_build *from)
{
    bool ok = true;

    for (int i = 0; i < ALQI_VIEW_N_SECTIONS; i++) {
        const struct alqi_view_table *t = &from->sections[i];

        to->sections[i] = (struct alqi_view_table){.each_bytes = t->each_bytes};
        ok = ok && (t->n == 0 ||
                    alqi_view_table_append(&to->sections[i], t->rows, t->n));
    }
    to->ends = (struct alqi_view_table){.each_bytes = from->ends.each_bytes};
    for (uint32_t i = 0; ok && i < from->ends.n; i++)
        ok = ends_copy(to, ends_of(from, i));
    return ok;
}

struct alqi_view_build *
alqi_view_build_copy(const struct alqi_view_build *from,
                     alqi_view_write_fn *write, void *arg)
{
    struct alqi_view_build *b = malloc(sizeof *b);

    if (b == NULL)
        return NULL;
    *b = *from;
    b->write = write;
    b->write_arg = arg;
    if (tables_copy(b, from))
        return b;
    alqi_view_build_drop(b);
    return NULL;
}

/* Writes bytes. They are counted even after a failure, so that places stay
 * consistent. */
static void
put(struct alqi_view_build *b, const void *bytes, size_t n)
{
    if (b->error == NULL && n > 0 && !b->write(b->write_arg, bytes, n))
        fail(b, "the index cannot be written");
    b->n_written += n;
}

/* Writes zeros up to a multiple of align. */
static void
pad(struct alqi_view_build *b, size_t align)
{
    static const char zeros[DATA_ALIGN];

    put(b, zeros, (size_t)(-b->n_written % align));
}

/* ---- names --------------------------------------------------------------- */

/* Adds a record to a section; returns its number. */
static uint32_t
add(struct alqi_view_build *b, enum alqi_view_section which, const void *row)
{
    struct alqi_view_table *t = &b->sections[which];

    if (!alqi_view_table_add(t, row)) {
        fail(b, no_memory);
        return 0;
    }
    return (uint32_t)t->n - 1;
}

/* Text i ends where text_at[i + 1] says; the first entry, 0, is there from the
 * beginning. */
uint32_t
alqi_view_build_text(struct alqi_view_build *b, const char *text)
{
    struct alqi_view_table *texts = &b->sections[ALQI_VIEW_S_TEXTS];
    uint64_t end;

    if (!alqi_view_table_append(texts, text, strlen(text) + 1)) {
        fail(b, no_memory);
        return 0;
    }
    end = texts->n;
    return add(b, ALQI_VIEW_S_TEXT_AT, &end) - 1;
}

uint32_t
alqi_view_build_function(struct alqi_view_build *b,
                         const struct alqi_view_function *function)
{
    return add(b, ALQI_VIEW_S_FUNCTIONS, function);
}

uint32_t
alqi_view_build_node(struct alqi_view_build *b,
                     const struct alqi_view_node *node)
{
    return add(b, ALQI_VIEW_S_NODES, node);
}

uint32_t
alqi_view_build_stack(struct alqi_view_build *b,
                      const struct alqi_view_stack *stack)
{
    return add(b, ALQI_VIEW_S_STACKS, stack);
}

uint32_t
alqi_view_build_class(struct alqi_view_build *b,
                      const struct alqi_view_class *class_)
{
    return add(b, ALQI_VIEW_S_CLASSES, class_);
}

uint32_t
alqi_view_build_origin(struct alqi_view_build *b,
                       const struct alqi_view_origin *origin)
{
    return add(b, ALQI_VIEW_S_ORIGINS, origin);
}

void
alqi_view_build_thread(struct alqi_view_build *b,
                       const struct alqi_view_thread *thread)
{
    add(b, ALQI_VIEW_S_THREADS, thread);
}

void
alqi_view_build_resident(struct alqi_view_build *b, uint64_t us, uint64_t bytes)
{
    struct alqi_view_resident r = {us, bytes};

    add(b, ALQI_VIEW_S_RESIDENT, &r);
}

void
alqi_view_build_mark(struct alqi_view_build *b, uint64_t us, uint32_t text)
{
    struct alqi_view_mark m = {.us = us, .text = text};

    add(b, ALQI_VIEW_S_MARKS, &m);
}

void
alqi_view_build_note(struct alqi_view_build *b, uint32_t text)
{
    add(b, ALQI_VIEW_S_NOTES, &text);
}

uint32_t
alqi_view_build_step(struct alqi_view_build *b,
                     const struct alqi_view_holder_step *step)
{
    return add(b, ALQI_VIEW_S_STEPS, step);
}

/* ---- columns ------------------------------------------------------------- */

/* Bytes that numbers up to range need. */
static size_t
width_of(uint64_t range)
{
    if (range == 0)
        return 0;
    if (range <= UINT8_MAX)
        return 1;
    if (range <= UINT16_MAX)
        return 2;
    return range <= UINT32_MAX ? 4 : 8;
}

/* Writes one column of one block: numbers above their least, in as few bytes
 * as they all need. */
static void
column_put(struct alqi_view_build *b, uint32_t block,
           enum alqi_view_column column, const uint64_t *from, uint32_t n)
{
    unsigned char bytes[ALQI_VIEW_BLOCK_ROWS * 8];
    struct alqi_view_slice *slices =
        (void *)b->sections[ALQI_VIEW_S_SLICES].rows;
    struct alqi_view_slice s = {from[0], from[0], 0};
    size_t width;

    for (uint32_t i = 1; i < n; i++) {
        s.least = from[i] < s.least ? from[i] : s.least;
        s.most = from[i] > s.most ? from[i] : s.most;
    }
    width = width_of(s.most - s.least);
    for (uint32_t i = 0; width > 0 && i < n; i++) {
        uint64_t v = from[i] - s.least;

        memcpy(bytes + i * width, &v, width);
    }
    pad(b, DATA_ALIGN);
    s.at = b->n_written | width;
    put(b, bytes, n * width);
    slices[(size_t)block * ALQI_VIEW_N_COLUMNS + column] = s;
}

/* Writes the columns of the births of the last block, which may be short, and
 * adds its slices. */
static void
births_put(struct alqi_view_build *b)
{
    static const enum alqi_view_column told[] = {
        ALQI_VIEW_BORN,   ALQI_VIEW_CLASS,   ALQI_VIEW_STACK,
        ALQI_VIEW_ORIGIN, ALQI_VIEW_SAMPLES,
    };
    static const struct alqi_view_slice none;
    uint32_t n = (b->n_rows - 1) % ALQI_VIEW_BLOCK_ROWS + 1;
    uint32_t block = (b->n_rows - 1) / ALQI_VIEW_BLOCK_ROWS;

    for (int c = 0; c < ALQI_VIEW_N_COLUMNS; c++)
        add(b, ALQI_VIEW_S_SLICES, &none);
    if (b->error != NULL)
        return;
    for (size_t i = 0; i < ALQI_COUNT_OF(told); i++)
        column_put(b, block, told[i], b->fresh[told[i]], n);
}

/* Writes the columns of the ends of a block. */
static void
ends_put(struct alqi_view_build *b, uint32_t block)
{
    static const uint64_t zeros[ALQI_VIEW_BLOCK_ROWS];
    uint64_t flags[ALQI_VIEW_BLOCK_ROWS];
    const struct ends *e = ends_of(b, block);
    uint32_t n = b->n_rows - block * ALQI_VIEW_BLOCK_ROWS;

    if (n > ALQI_VIEW_BLOCK_ROWS)
        n = ALQI_VIEW_BLOCK_ROWS;
    for (uint32_t i = 0; i < n; i++)
        flags[i] = e->flags[i];
    column_put(b, block, ALQI_VIEW_LIFE, e->lives, n);
    column_put(b, block, ALQI_VIEW_FLAGS, flags, n);
    column_put(b, block, ALQI_VIEW_PROMOTED,
               e->promoted != NULL ? e->promoted : zeros, n);
    column_put(b, block, ALQI_VIEW_HOLDER,
               e->holders != NULL ? e->holders : zeros, n);
}

/* ---- events -------------------------------------------------------------- */

/* Appends an event: the number's low 5 bits beside the kind, then 7 bits a
 * byte. */
static void
event_put(struct alqi_view_build *b, enum alqi_view_event_kind kind,
          uint64_t number)
{
    unsigned char bytes[ALQI_VIEW_EVENT_BYTES_MAX + 1];
    size_t n = 0;
    uint64_t rest = number >> 5;

    bytes[n++] =
        (unsigned char)(kind | (number & 31) << 2 | (rest > 0 ? 0x80 : 0));
    while (rest > 0) {
        bytes[n++] = (unsigned char)((rest & 0x7F) | (rest > 0x7F ? 0x80 : 0));
        rest >>= 7;
    }
    if (!alqi_view_table_append(&b->sections[ALQI_VIEW_S_EVENTS], bytes, n))
        fail(b, no_memory);
}

/* Writes the births that wait as one event, before another kind of event. */
static void
births_end(struct alqi_view_build *b)
{
    if (b->n_births > 0)
        event_put(b, ALQI_VIEW_E_BIRTHS, b->n_births);
    b->n_births = 0;
}

/* The ends of a new block; NULL: no memory. */
static struct ends *
ends_new(struct alqi_view_build *b)
{
    struct ends *e = calloc(1, sizeof *e);

    if (e == NULL || !alqi_view_table_add(&b->ends, &e)) {
        free(e);
        fail(b, no_memory);
        return NULL;
    }
    return e;
}

uint32_t
alqi_view_build_rows(const struct alqi_view_build *b)
{
    return b->n_rows;
}

/* The first colour is kept in the flags for good; the colour bits become
 * "counted at the peak" in finish. A row without colours gets the first colour
 * 3, which is none. */
uint32_t
alqi_view_build_birth(struct alqi_view_build *b,
                      const struct alqi_view_row *row)
{
    uint32_t i = b->n_rows % ALQI_VIEW_BLOCK_ROWS;

    if (b->n_rows == ALQI_VIEW_ROWS_MAX)
        fail(b, "the trace has more than 2^31 blocks");
    if (b->error != NULL || (i == 0 && ends_new(b) == NULL))
        return UINT32_MAX;
    b->fresh[ALQI_VIEW_BORN][i] = row->born_us;
    b->fresh[ALQI_VIEW_CLASS][i] = row->class_;
    b->fresh[ALQI_VIEW_STACK][i] = row->stack;
    b->fresh[ALQI_VIEW_ORIGIN][i] = row->origin;
    b->fresh[ALQI_VIEW_SAMPLES][i] = row->n_samples;
    ends_of(b, b->n_rows / ALQI_VIEW_BLOCK_ROWS)->flags[i] =
        (uint8_t)(row->colours | (unsigned)__builtin_ctz(row->colours | 8)
                                     << ALQI_VIEW_FIRST_SHIFT);
    b->n_births++;
    b->n_rows++;
    if (b->n_rows % ALQI_VIEW_BLOCK_ROWS == 0)
        births_put(b);
    return b->n_rows - 1;
}

/* The ends of a row's block; NULL for numbers that are no row. */
static struct ends *
row_at(struct alqi_view_build *b, uint32_t row)
{
    if (b->error != NULL || row >= b->n_rows)
        return NULL;
    return ends_of(b, row / ALQI_VIEW_BLOCK_ROWS);
}

void
alqi_view_build_free(struct alqi_view_build *b, uint32_t row, uint64_t life_us)
{
    struct ends *e = row_at(b, row);

    if (e == NULL)
        return;
    e->lives[row % ALQI_VIEW_BLOCK_ROWS] = life_us;
    births_end(b);
    event_put(b, ALQI_VIEW_E_FREE, b->n_rows - row);
}

/* Sets a row of a column that few blocks have. False: no memory. */
static bool
column_set(struct alqi_view_build *b, uint64_t **column, uint32_t row,
           uint64_t value)
{
    if (*column == NULL)
        *column = calloc(ALQI_VIEW_BLOCK_ROWS, sizeof **column);
    if (*column == NULL) {
        fail(b, no_memory);
        return false;
    }
    (*column)[row % ALQI_VIEW_BLOCK_ROWS] = value;
    return true;
}

/* A time of 0 would mean "never", so 1 is added. */
void
alqi_view_build_promote(struct alqi_view_build *b, uint32_t row,
                        uint64_t after_us)
{
    struct ends *e = row_at(b, row);

    if (e == NULL || !column_set(b, &e->promoted, row, after_us + 1))
        return;
    births_end(b);
    event_put(b, ALQI_VIEW_E_PROMOTE, b->n_rows - row);
}

/* The row's colours that are not in at_peak are cleared here: no event ends
 * it. */
void
alqi_view_build_left(struct alqi_view_build *b, uint32_t row, uint64_t life_us,
                     bool stays, unsigned at_peak, enum alqi_view_reach reach,
                     bool is_old)
{
    struct ends *e = row_at(b, row);

    if (e == NULL)
        return;
    e->lives[row % ALQI_VIEW_BLOCK_ROWS] = life_us;
    e->flags[row % ALQI_VIEW_BLOCK_ROWS] &=
        (uint16_t)(~ALQI_VIEW_PEAK | (int)at_peak);
    e->flags[row % ALQI_VIEW_BLOCK_ROWS] |=
        (uint16_t)(ALQI_VIEW_LEFT | (stays ? ALQI_VIEW_STAYS : 0) |
                   (is_old ? ALQI_VIEW_OLD : 0) |
                   (int)reach << ALQI_VIEW_REACH_SHIFT);
}

void
alqi_view_build_held(struct alqi_view_build *b, uint32_t row, uint32_t step)
{
    struct ends *e = row_at(b, row);

    if (e != NULL)
        (void)column_set(b, &e->holders, row, (uint64_t)step + 1);
}

void
alqi_view_build_chain(struct alqi_view_build *b, uint32_t row,
                      uint32_t generation, uint64_t life_us)
{
    struct alqi_view_chain chain = {row, generation, life_us};
    struct ends *e = row_at(b, row);

    if (e == NULL)
        return;
    e->flags[row % ALQI_VIEW_BLOCK_ROWS] |= ALQI_VIEW_CHAIN;
    add(b, ALQI_VIEW_S_CHAINS, &chain);
}

void
alqi_view_build_gone(struct alqi_view_build *b, uint32_t process, uint64_t us)
{
    births_end(b);
    event_put(b, ALQI_VIEW_E_GONE, process);
    event_put(b, ALQI_VIEW_E_GONE, us);
}

/* The births so far belong before the peak, so they are written first. */
void
alqi_view_build_peak(struct alqi_view_build *b, unsigned colours)
{
    births_end(b);
    for (unsigned k = 0; k < ALQI_VIEW_COLOURS; k++) {
        if ((colours >> k & 1) == 0)
            continue;
        b->peaks[k].event_bytes = b->sections[ALQI_VIEW_S_EVENTS].n;
        b->peaks[k].rows = b->n_rows;
    }
}

/* ---- the end ------------------------------------------------------------- */

/* Order of chains in the index. */
static int
by_row(const void *left, const void *right)
{
    const struct alqi_view_chain *a = left, *b = right;

    return a->row < b->row ? -1 : a->row > b->row;
}

/* Clears colour k of rows that were not live at its peak: those born after it,
 * and those freed up to it. Of rows that ended with their process build_left
 * has cleared the colours. */
static void
peak_mark(struct alqi_view_build *b, unsigned k)
{
    struct alqi_view_index x = {
        .events = b->sections[ALQI_VIEW_S_EVENTS].rows,
        .n_event_bytes = b->peaks[k].event_bytes,
    };
    struct alqi_view_event e;
    uint64_t n = 0;
    size_t at = 0;

    for (uint32_t i = b->peaks[k].rows; i < b->n_rows; i++)
        row_at(b, i)->flags[i % ALQI_VIEW_BLOCK_ROWS] &= (uint16_t) ~(1u << k);
    while (alqi_view_event_next(&x, &at, &e)) {
        if (e.kind == ALQI_VIEW_E_BIRTHS)
            n += e.number;
        else if (e.kind == ALQI_VIEW_E_FREE) {
            uint32_t row = (uint32_t)(n - e.number);

            row_at(b, row)->flags[row % ALQI_VIEW_BLOCK_ROWS] &=
                (uint16_t) ~(1u << k);
        }
    }
}

/* Writes the tables and notes their places; DATA was written as rows came. */
static void
sections_put(struct alqi_view_build *b)
{
    b->foot.sections[ALQI_VIEW_S_DATA].at = 0;
    b->foot.sections[ALQI_VIEW_S_DATA].n_bytes = b->n_written;
    for (int i = 0; i < ALQI_VIEW_N_SECTIONS; i++) {
        const struct alqi_view_table *t = &b->sections[i];

        if (i == ALQI_VIEW_S_DATA)
            continue;
        pad(b, DATA_ALIGN);
        b->foot.sections[i].at = b->n_written;
        b->foot.sections[i].n_bytes = t->n * t->each_bytes;
        put(b, t->rows, t->n * t->each_bytes);
    }
    pad(b, DATA_ALIGN);
}

const char *
alqi_view_build_finish(struct alqi_view_build *b,
                       const struct alqi_view_meta *meta,
                       const unsigned char *key)
{
    struct alqi_view_table *chains = &b->sections[ALQI_VIEW_S_CHAINS];

    if (b->n_rows % ALQI_VIEW_BLOCK_ROWS != 0)
        births_put(b);
    births_end(b);
    add(b, ALQI_VIEW_S_META, meta);
    if (b->error != NULL)
        return b->error;
    if (chains->n > 0)
        qsort(chains->rows, chains->n, chains->each_bytes, by_row);
    for (unsigned k = 0; k < ALQI_VIEW_COLOURS; k++)
        peak_mark(b, k);
    for (uint32_t i = 0; i < b->ends.n; i++)
        ends_put(b, i);
    sections_put(b);
    b->foot.n_rows = b->n_rows;
    memcpy(b->foot.key, key, sizeof b->foot.key);
    b->foot.version = ALQI_VIEW_VERSION;
    b->foot.foot_bytes = sizeof b->foot;
    memcpy(b->foot.magic, ALQI_VIEW_MAGIC, sizeof b->foot.magic);
    put(b, &b->foot, sizeof b->foot);
    return b->error;
}
