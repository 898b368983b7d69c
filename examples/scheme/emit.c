/* emit.c -- instructions as words, and the block that owns them */
#include <stdlib.h>
#include <string.h>

#include "compile.h"

/* ---- instructions ------------------------------------------------------- */

void
word(struct generator *g, int64_t w)
{
    if (g->n_words == g->size) {
        size_t size = g->size == 0 ? 64 : 2 * g->size;
        int32_t *words = scheme_memory(g->c->s, g->words, size * sizeof *words);

        if (words == NULL) {
            g->c->has_failed = true;
            return;
        }
        g->words = words;
        g->size = size;
    }
    g->words[g->n_words++] = (int32_t)w;
}

void
emit(struct generator *g, enum op op, int64_t a, int64_t b, int64_t c, int n)
{
    g->last = (ptrdiff_t)g->n_words;
    word(g, (int64_t)op | (int64_t)g->next << 8);
    if (n > 0)
        word(g, a);
    if (n > 1)
        word(g, b);
    if (n > 2)
        word(g, c);
}

/* What comes next stands there in the text. */
void
source(struct generator *g, uint64_t place)
{
    struct source *sources = g->sources;
    size_t size = g->sources_size == 0 ? 16 : 2 * g->sources_size;

    if (place == 0 ||
        (g->n_sources > 0 && sources[g->n_sources - 1].place == place))
        return;
    if (g->n_sources == g->sources_size) {
        sources = scheme_memory(g->c->s, sources, size * sizeof *sources);
        if (sources == NULL) {
            g->c->has_failed = true;
            return;
        }
        g->sources = sources;
        g->sources_size = size;
    }
    sources[g->n_sources++] =
        (struct source){.at = (uint32_t)g->n_words, .place = place};
}

int
take_slot(struct generator *g)
{
    if (++g->next > g->n_slots)
        g->n_slots = g->next;
    return g->next - 1;
}

/* Jumps hold where they begin until their label is known: the instruction's
 * last word, relative to its first. */
ptrdiff_t
jump(struct generator *g, enum op op, int64_t a, int64_t b, int n)
{
    emit(g, op, a, b, 0, n);
    word(g, 0);
    return g->last;
}

void
label(struct generator *g, ptrdiff_t at, int n)
{
    if (!g->c->has_failed)
        g->words[at + n + 1] = (int32_t)((ptrdiff_t)g->n_words - at);
    g->last = NO_LABEL;
}

void
loop_back(struct generator *g, ptrdiff_t start)
{
    emit(g, OP_LOOP, start - (ptrdiff_t)g->n_words, 0, 0, 1);
}

/* From a slot that is free again: if the last instruction has just set it, that
 * sets the other one instead. */
void
move(struct generator *g, int to, int from)
{
    if (to == from || g->c->has_failed)
        return;
    if (g->last != NO_LABEL && from >= g->next &&
        (g->words[g->last] & 0xFF) <= OP_LAST_WITH_TARGET &&
        g->words[g->last + 1] == from)
        g->words[g->last + 1] = to;
    else
        emit(g, OP_MOVE, to, from, 0, 2);
}

/* ---- the finished code ----- */

/* A custom block owns what a procedure does; when no closure and no frame has
 * it any more, the collector calls this. */
static void
code_finalise(alq_value block)
{
    free(*(struct code **)alq_custom_data(block));
}

static const struct alq_custom_ops code_ops = {.name = "code",
                                               .finalise = code_finalise};

static struct code *
code_make(struct generator *g)
{
    size_t words_bytes = (g->n_words * sizeof *g->words + 7) & ~(size_t)7;
    size_t sources_bytes = g->n_sources * sizeof *g->sources;
    struct code *code = scheme_memory(
        g->c->s, NULL, sizeof *code + words_bytes + sources_bytes);
    alq_value name = g->c->s->names[2 * (size_t)g->lambda->name];

    if (code == NULL)
        return NULL;
    memcpy(code->words, g->words, g->n_words * sizeof *g->words);
    if (sources_bytes > 0)
        memcpy((char *)code->words + words_bytes, g->sources, sources_bytes);
    code->sources = (struct source *)((char *)code->words + words_bytes);
    code->n_words = (uint32_t)g->n_words;
    code->n_sources = (uint32_t)g->n_sources;
    code->n_params = g->lambda->n_params;
    code->has_rest = g->lambda->has_rest;
    code->n_slots = (uint32_t)g->n_slots;
    code->place = g->lambda->place;
    snprintf(code->name, sizeof code->name, "%s",
             g->lambda->outer == NULL ? "top level"
             : g->lambda->name == 0   ? "lambda"
                                      : alq_string_chars(alq_field(name, 0)));
    return code;
}

/* The TAG_CODE block.  The owner first, so that nothing is lost on the way. */
alq_value
code_block(struct generator *g)
{
    struct scheme *s = g->c->s;
    struct constant *constant;
    size_t i = g->n_constants;
    struct code *code;
    alq_value block;
    ALQ_FRAME(s->d, f, owner);

    f.owner =
        alq_alloc_custom_mem(s->d, &code_ops, sizeof(struct code *),
                             sizeof *code + g->n_words * sizeof *g->words +
                                 g->n_sources * sizeof *g->sources);
    if (f.owner == ALQ_NULL)
        return scheme_fail_memory(s);
    code = code_make(g);
    if (code == NULL)
        return ALQ_NULL;
    *(struct code **)alq_custom_data(f.owner) = code;
    block = alq_alloc(s->d, i + 1, TAG_CODE);
    if (block == ALQ_NULL)
        return scheme_fail_memory(s);
    alq_init(s->d, block, 0, f.owner);
    for (constant = g->constants; i > 0; i--, constant = constant->before)
        alq_init(s->d, block, i, alq_root_get(constant->root));
    return block;
}
