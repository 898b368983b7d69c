/* index.c -- an index opened, checked and read
 *
 * [index.h] Opening checks in this order: foot, sections, texts, slices,
 * tables; the weights of the classes are computed last. What is checked here
 * is relied on later: places of columns and texts, parents, ranges of
 * probabilities. Numbers in columns are not checked at the opening, because
 * they are many; readers bound them (alqi_view_read_numbers). */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "view/index.h"
#include "view/interval.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "numbers are read where they lie");

enum { SECTION_ALIGN = 8, PROCESSES_MAX = 1 << 20 };

/* With smaller ones sums of weights would overflow. */
static const double P_LEAST = 1e-30;

static const char *const not_whole = "it is damaged";

/* ---- opening ------------------------------------------------------------- */

/* The foot, if the bytes are an index of this version; else NULL. */
static const struct alqi_view_foot *
foot_of(const void *bytes, size_t n_bytes)
{
    const struct alqi_view_foot *foot;

    if (n_bytes < sizeof *foot || n_bytes % SECTION_ALIGN != 0)
        return NULL;
    foot =
        (const void *)((const unsigned char *)bytes + n_bytes - sizeof *foot);
    if (memcmp(foot->magic, ALQI_VIEW_MAGIC, sizeof foot->magic) != 0 ||
        foot->version != ALQI_VIEW_VERSION || foot->foot_bytes != sizeof *foot)
        return NULL;
    return foot;
}

const unsigned char *
alqi_view_index_key(const void *bytes, size_t n_bytes)
{
    const struct alqi_view_foot *foot = foot_of(bytes, n_bytes);

    return foot != NULL ? foot->key : NULL;
}

/* The records of a section, *n of them. NULL: its place is not inside the
 * file. */
static const void *
section(const struct alqi_view_index *x, enum alqi_view_section which,
        size_t each_bytes, uint32_t *n)
{
    uint64_t at = x->foot->sections[which].at;
    uint64_t n_bytes = x->foot->sections[which].n_bytes;

    if (at % SECTION_ALIGN != 0 || at > x->n_bytes ||
        n_bytes > x->n_bytes - at || n_bytes % each_bytes != 0 ||
        n_bytes / each_bytes >= UINT32_MAX)
        return NULL;
    *n = (uint32_t)(n_bytes / each_bytes);
    return x->bytes + at;
}

/* The same of a section of bytes. */
static const void *
section_bytes(const struct alqi_view_index *x, enum alqi_view_section which,
              size_t *n)
{
    uint64_t at = x->foot->sections[which].at;
    uint64_t n_bytes = x->foot->sections[which].n_bytes;

    if (at > x->n_bytes || n_bytes > x->n_bytes - at)
        return NULL;
    *n = (size_t)n_bytes;
    return x->bytes + at;
}

/* Finds all sections but texts and data. False: one is not whole, or a table
 * that rows need is empty. */
static bool
sections_find(struct alqi_view_index *x)
{
    uint32_t n_meta, n_slices;

    x->meta = section(x, ALQI_VIEW_S_META, sizeof *x->meta, &n_meta);
    x->slices = section(x, ALQI_VIEW_S_SLICES, sizeof *x->slices, &n_slices);
    x->chains = section(x, ALQI_VIEW_S_CHAINS, sizeof *x->chains, &x->n_chains);
    x->classes =
        section(x, ALQI_VIEW_S_CLASSES, sizeof *x->classes, &x->n_classes);
    x->origins =
        section(x, ALQI_VIEW_S_ORIGINS, sizeof *x->origins, &x->n_origins);
    x->stacks = section(x, ALQI_VIEW_S_STACKS, sizeof *x->stacks, &x->n_stacks);
    x->nodes = section(x, ALQI_VIEW_S_NODES, sizeof *x->nodes, &x->n_nodes);
    x->functions = section(x, ALQI_VIEW_S_FUNCTIONS, sizeof *x->functions,
                           &x->n_functions);
    x->threads =
        section(x, ALQI_VIEW_S_THREADS, sizeof *x->threads, &x->n_threads);
    x->resident =
        section(x, ALQI_VIEW_S_RESIDENT, sizeof *x->resident, &x->n_resident);
    x->marks = section(x, ALQI_VIEW_S_MARKS, sizeof *x->marks, &x->n_marks);
    x->notes = section(x, ALQI_VIEW_S_NOTES, sizeof *x->notes, &x->n_notes);
    x->steps = section(x, ALQI_VIEW_S_STEPS, sizeof *x->steps, &x->n_steps);
    x->text_at =
        section(x, ALQI_VIEW_S_TEXT_AT, sizeof *x->text_at, &x->n_texts);
    return x->meta != NULL && n_meta == 1 && x->slices != NULL &&
           n_slices == (uint64_t)x->n_blocks * ALQI_VIEW_N_COLUMNS &&
           x->chains != NULL && x->classes != NULL && x->origins != NULL &&
           x->stacks != NULL && x->nodes != NULL && x->n_nodes > 0 &&
           x->functions != NULL && x->n_functions > 0 && x->threads != NULL &&
           x->resident != NULL && x->marks != NULL && x->notes != NULL &&
           x->steps != NULL && x->text_at != NULL && x->n_texts > 1 &&
           (x->n_rows == 0 ||
            (x->n_classes > 0 && x->n_origins > 0 && x->n_stacks > 0));
}

/* Checks that the texts rise, and that the last ends with a zero byte: any
 * text then ends inside the section. Turns n_texts from entries into texts. */
static bool
texts_check(struct alqi_view_index *x)
{
    size_t n = 0;

    x->n_texts--;
    x->texts = section_bytes(x, ALQI_VIEW_S_TEXTS, &n);
    if (x->texts == NULL || x->text_at[0] != 0 || x->text_at[x->n_texts] != n ||
        n == 0 || x->texts[n - 1] != '\0')
        return false;
    for (uint32_t i = 0; i < x->n_texts; i++)
        if (x->text_at[i] >= x->text_at[i + 1])
            return false;
    return true;
}

/* Checks that every column of every block lies inside the data. */
static bool
slices_check(struct alqi_view_index *x)
{
    size_t n_data = 0;

    x->data = section_bytes(x, ALQI_VIEW_S_DATA, &n_data);
    x->events = section_bytes(x, ALQI_VIEW_S_EVENTS, &x->n_event_bytes);
    if (x->data == NULL || x->events == NULL ||
        (x->data - x->bytes) % SECTION_ALIGN != 0)
        return false;
    for (uint32_t b = 0; b < x->n_blocks; b++)
        for (int c = 0; c < ALQI_VIEW_N_COLUMNS; c++) {
            const struct alqi_view_slice *s =
                alqi_view_slice_of(x, b, (enum alqi_view_column)c);
            uint64_t width = s->at & ALQI_VIEW_WIDTH_MASK, at = s->at - width;

            if (width > 8 || (width & (width - 1)) != 0 || at > n_data ||
                width * alqi_view_block_rows(x, b) > n_data - at)
                return false;
        }
    return true;
}

/* Checks the numbers inside the tables (.inv.parent, probabilities, processes,
 * order of chains and of steps). */
static bool
tables_check(const struct alqi_view_index *x)
{
    for (uint32_t i = 1; i < x->n_nodes; i++)
        if (x->nodes[i].parent >= i || x->nodes[i].function >= x->n_functions)
            return false;
    for (uint32_t i = 0; i < x->n_stacks; i++)
        if (x->stacks[i].node >= x->n_nodes)
            return false;
    for (uint32_t i = 0; i < x->n_classes; i++)
        if (!(x->classes[i].p >= P_LEAST && x->classes[i].p <= 1) ||
            !(x->classes[i].colour_p >= P_LEAST && x->classes[i].colour_p <= 1))
            return false;
    for (uint32_t i = 0; i < x->n_origins; i++)
        if (x->origins[i].process >= PROCESSES_MAX)
            return false;
    for (uint32_t i = 1; i < x->n_chains; i++)
        if (x->chains[i - 1].row >= x->chains[i].row)
            return false;
    for (uint32_t i = 0; i < x->n_steps; i++)
        if (x->steps[i].in != ALQI_VIEW_NO_STEP && x->steps[i].in >= i)
            return false;
    return x->nodes[0].parent == 0 && x->nodes[0].function < x->n_functions;
}

/* The weight of a block in the mean of n samplings, each with chance p. */
static struct alqi_view_weight
weight_of(double bytes, double p, double n)
{
    struct alqi_view_weight w = {
        .objects = 1 / p / n,
        .objects_var = (1 - p) / (p * p) / (n * n),
        .objects_third = (1 - p) / (p * p * p) / (n * n * n),
    };

    w.bytes = bytes * w.objects;
    w.bytes_var = bytes * bytes * w.objects_var;
    w.bytes_third = bytes * bytes * bytes * w.objects_third;
    w.seen_bytes = bytes / n;
    w.seen_objects = 1 / n;
    return w;
}

/* Sets the largest weight of an unseen sample. With a share of the rows it is
 * as if the rate had been that much less. */
static void
weights_largest(struct alqi_view_index *x)
{
    const struct alqi_view_meta *m = x->meta;
    double lambda = m->least_lambda * m->share;
    bool is_malloc = m->word_bits == 8;

    if (!(lambda > 0 && lambda < 1))
        return;
    x->most_bytes = (is_malloc ? 8 : m->word_bits / 8) / lambda;
    x->most_objects = alqi_view_least_weight(lambda, is_malloc);
}

/* Computes the weights of all classes. False: no memory. */
static bool
weights_make(struct alqi_view_index *x)
{
    x->weights = calloc((size_t)x->n_classes + 1, sizeof *x->weights);
    x->colour_weights =
        calloc((size_t)x->n_classes + 1, sizeof *x->colour_weights);
    if (x->weights == NULL || x->colour_weights == NULL)
        return false;
    for (uint32_t i = 0; i < x->n_classes; i++) {
        const struct alqi_view_class *c = &x->classes[i];
        double bytes = (double)c->size_bytes;

        x->weights[i] = weight_of(bytes, c->p, 1);
        x->colour_weights[i] = weight_of(bytes, c->colour_p, ALQI_VIEW_COLOURS);
    }
    weights_largest(x);
    return true;
}

/* Nothing outside of the bytes is read before the foot, the number of rows and
 * all places have been checked (.inv.index). Closing is safe after an error. */
const char *
alqi_view_index_open(struct alqi_view_index *x, const void *bytes,
                     size_t n_bytes)
{
    memset(x, 0, sizeof *x);
    x->bytes = bytes;
    x->n_bytes = n_bytes;
    x->foot = foot_of(bytes, n_bytes);
    if (x->foot == NULL)
        return "it is no index of this version";
    if (x->foot->n_rows > ALQI_VIEW_ROWS_MAX)
        return not_whole;
    x->n_rows = (uint32_t)x->foot->n_rows;
    x->n_blocks = (x->n_rows + ALQI_VIEW_BLOCK_ROWS - 1) / ALQI_VIEW_BLOCK_ROWS;
    if (!sections_find(x) || !texts_check(x) || !slices_check(x) ||
        !tables_check(x))
        return not_whole;
    x->n_named = x->n_functions;
    return weights_make(x) ? NULL : "there is no memory for it";
}

void
alqi_view_index_close(struct alqi_view_index *x)
{
    free(x->weights);
    free(x->colour_weights);
    x->weights = x->colour_weights = NULL;
}

const char *
alqi_view_text(const struct alqi_view_index *x, uint32_t number)
{
    if (number < x->n_texts)
        return x->texts + x->text_at[number];
    number -= x->n_texts;
    return number < x->wholes.n_texts ? x->wholes.texts[number] : "";
}

/* ---- columns ------------------------------------------------------------- */

/* One case of alqi_view_read: numbers of TYPE above the least. */
#define NUMBERS(TYPE)                                                          \
    for (uint32_t i = 0; i < n; i++) {                                         \
        TYPE v;                                                                \
        memcpy(&v, from + i * sizeof v, sizeof v);                             \
        out[i] = least + v;                                                    \
    }                                                                          \
    break

void
alqi_view_read(const struct alqi_view_index *x, uint32_t block,
               enum alqi_view_column column, uint64_t *out)
{
    const struct alqi_view_slice *s = alqi_view_slice_of(x, block, column);
    const unsigned char *from =
        x->data + (s->at & ~(uint64_t)ALQI_VIEW_WIDTH_MASK);
    uint32_t n = alqi_view_block_rows(x, block);
    uint64_t least = s->least;

    switch (s->at & ALQI_VIEW_WIDTH_MASK) {
    case 0:
        for (uint32_t i = 0; i < n; i++)
            out[i] = least;
        break;
    case 1:
        NUMBERS(uint8_t);
    case 2:
        NUMBERS(uint16_t);
    case 4:
        NUMBERS(uint32_t);
    default:
        NUMBERS(uint64_t);
    }
}

/* The same, of numbers below n. */
#define SMALL_NUMBERS(TYPE)                                                    \
    for (uint32_t i = 0; i < rows; i++) {                                      \
        TYPE v;                                                                \
        uint32_t number;                                                       \
        memcpy(&v, from + i * sizeof v, sizeof v);                             \
        number = least + (uint32_t)v;                                          \
        out[i] = number < n ? number : 0;                                      \
    }                                                                          \
    break

void
alqi_view_read_numbers(const struct alqi_view_index *x, uint32_t block,
                       enum alqi_view_column column, uint32_t n, uint32_t *out)
{
    const struct alqi_view_slice *s = alqi_view_slice_of(x, block, column);
    const unsigned char *from =
        x->data + (s->at & ~(uint64_t)ALQI_VIEW_WIDTH_MASK);
    uint32_t rows = alqi_view_block_rows(x, block);
    uint32_t least = (uint32_t)s->least;

    switch (s->at & ALQI_VIEW_WIDTH_MASK) {
    case 0:
        for (uint32_t i = 0; i < rows; i++)
            out[i] = least < n ? least : 0;
        break;
    case 1:
        SMALL_NUMBERS(uint8_t);
    case 2:
        SMALL_NUMBERS(uint16_t);
    case 4:
        SMALL_NUMBERS(uint32_t);
    default:
        SMALL_NUMBERS(uint64_t);
    }
}

/* The first chain whose row is not before `row`. */
static uint32_t
chain_from(const struct alqi_view_index *x, uint64_t row)
{
    uint32_t low = 0, high = x->n_chains;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;

        if (x->chains[middle].row < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const char *
alqi_view_reach_name(enum alqi_view_reach reach)
{
    static const char *const names[ALQI_VIEW_REACHES] = {
        [ALQI_VIEW_UNTOLD] = "unknown",    [ALQI_VIEW_LOST] = "lost",
        [ALQI_VIEW_INDIRECT] = "indirect", [ALQI_VIEW_POSSIBLE] = "possible",
        [ALQI_VIEW_HELD] = "held",
    };

    return names[reach];
}

const struct alqi_view_chain *
alqi_view_chain_of(const struct alqi_view_index *x, uint32_t row)
{
    uint32_t i = chain_from(x, row);

    return (alqi_view_cell(x, row, ALQI_VIEW_FLAGS) & ALQI_VIEW_CHAIN) != 0 &&
                   i < x->n_chains && x->chains[i].row == row
               ? &x->chains[i]
               : NULL;
}

/* A block without the flag CHAIN costs nothing. */
void
alqi_view_read_chains(const struct alqi_view_index *x, uint32_t block,
                      const uint64_t *flags, uint64_t *lives)
{
    uint64_t first = (uint64_t)block * ALQI_VIEW_BLOCK_ROWS;
    uint32_t n = alqi_view_block_rows(x, block);

    if (alqi_view_slice_of(x, block, ALQI_VIEW_FLAGS)->most < ALQI_VIEW_CHAIN)
        return;
    for (uint32_t i = chain_from(x, first);
         i < x->n_chains && x->chains[i].row - first < n; i++)
        if ((flags[x->chains[i].row - first] & ALQI_VIEW_CHAIN) != 0)
            lives[x->chains[i].row - first] = x->chains[i].life_us;
}

/* ---- events -------------------------------------------------------------- */

/* The rest of a number of several bytes. A number that the stream's end cuts
 * keeps what it has. */
bool
alqi_view_event_more(const struct alqi_view_index *x, size_t *at,
                     struct alqi_view_event *e)
{
    unsigned char byte = 0x80;

    for (unsigned shift = 5;
         (byte & 0x80) != 0 && *at < x->n_event_bytes && shift < 64;
         shift += 7) {
        byte = x->events[(*at)++];
        e->number |= (uint64_t)(byte & 0x7F) << shift;
    }
    return true;
}
