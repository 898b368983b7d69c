/* value.c -- the interpreter as a whole: its roots, symbols, new blocks, errors
 *
 * What is set up in scheme_new is taken down in scheme_drop, in reverse. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "scheme.h"

enum { STACK_SLOTS = 1 << 16, STACK_SPARE = 1 << 14, NAMES_FIRST = 1024 };

/* ---- beginning and end -------------------------------------------------- */

/* Called at each collection, since the blocks may move; it has no values. */
static void
count_moves(void *arg, void (*visit)(void *, alq_value *), void *visit_arg)
{
    ((struct scheme *)arg)->moves++;
}

static bool
machine_open(struct scheme *s)
{
    s->stack = malloc(STACK_SLOTS * sizeof *s->stack);
    s->calls = malloc(STACK_SLOTS * sizeof *s->calls);
    if (s->stack == NULL || s->calls == NULL)
        return false;
    s->stack_limit = s->stack + STACK_SLOTS - STACK_SPARE;
    scheme_reset(s);
    s->stack_range = (struct alq_range){.base = s->stack, .top = &s->top};
    return alq_range_add(s->d, &s->stack_range) == ALQ_OK;
}

static bool
names_open(struct scheme *s)
{
    s->names_size = NAMES_FIRST;
    s->names = malloc(2 * s->names_size * sizeof *s->names);
    s->is_fixed = calloc(s->names_size, sizeof *s->is_fixed);
    s->symbol_hash_size = 2 * NAMES_FIRST;
    s->symbol_hash = calloc(s->symbol_hash_size, sizeof *s->symbol_hash);
    if (s->names == NULL || s->is_fixed == NULL || s->symbol_hash == NULL)
        return false;
    s->names_top = s->names;
    s->names_range = (struct alq_range){.base = s->names, .top = &s->names_top};
    return alq_range_add(s->d, &s->names_range) == ALQ_OK;
}

static bool
registers_open(struct scheme *s)
{
    struct alq_global *all[] = {&s->cont,         &s->handlers, &s->error,
                                &s->memory_error, &s->tail,     &s->output};
    unsigned i;

    for (i = 0; i < sizeof all / sizeof all[0]; i++) {
        all[i]->value = NIL;
        if (alq_global_add(s->d, all[i]) != ALQ_OK)
            return false;
    }
    s->moves_scanner = (struct alq_scanner){.scan = count_moves, .arg = s};
    return alq_scanner_add(s->d, &s->moves_scanner) == ALQ_OK;
}

/* Made now: when memory is out it cannot be made. */
static bool
memory_error_make(struct scheme *s)
{
    char text[80];

    snprintf(text, sizeof text, "out of memory: the heap may have %zu MiB",
             s->limit_mib);
    s->memory_error.value = scheme_string(s, text, strlen(text));
    if (s->memory_error.value == ALQ_NULL)
        return false;
    s->memory_error.value =
        scheme_block_of(s, TAG_CONDITION, s->memory_error.value,
                        (alq_value[]){NIL, from_fixnum(0)}, 2);
    return s->memory_error.value != ALQ_NULL;
}

struct scheme *
scheme_new(const struct scheme_config *config)
{
    struct alq_domain_config heap = {.minor_words = config->minor_words,
                                     .limit_bytes = config->limit_mib << 20};
    struct scheme *s = calloc(1, sizeof *s);

    if (s == NULL)
        return NULL;
    s->limit_mib = config->limit_mib;
    if (alq_domain_new(&heap, &s->d) != ALQ_OK) {
        free(s);
        return NULL;
    }
    if (!machine_open(s) || !names_open(s) || !registers_open(s) ||
        !memory_error_make(s)) {
        scheme_drop(s);
        return NULL;
    }
    scheme_file_add(s, "string"); /* number 0 */
    number_start(s);
    list_start(s);
    text_start(s);
    table_start(s);
    port_start(s);
    run_start(s);
    analyse_start(s);
    return s;
}

/* The domain goes first: finalisers of ports and of code run now. */
void
scheme_drop(struct scheme *s)
{
    alq_domain_drop(s->d);
    while (s->n_files > 0)
        free(s->files[--s->n_files]);
    free(s->files);
    free(s->symbol_hash);
    free(s->is_fixed);
    free(s->names);
    free(s->calls);
    free(s->stack);
    free(s);
}

void
scheme_reset(struct scheme *s)
{
    s->top = s->fp = s->bottom = s->stack;
    s->call_top = s->call_bottom = s->calls;
    s->pc = NULL;
    s->level = 0;
    s->cont.value = s->handlers.value = NIL;
    s->error.value = FALSE;
    alq_status_clear(s->d);
}

unsigned
scheme_file_add(struct scheme *s, const char *name)
{
    char **files = realloc(s->files, (s->n_files + 1) * sizeof *files);

    if (files == NULL)
        return 0;
    s->files = files;
    files[s->n_files] = strdup(name);
    return files[s->n_files] == NULL ? 0 : s->n_files++;
}

void
scheme_prims_add(struct scheme *s, const struct prim *prims, unsigned n)
{
    unsigned i;

    for (i = 0; i < n && s->n_prims < PRIMS_MAX; i++) {
        alq_value name = scheme_intern(s, prims[i].name, strlen(prims[i].name));

        if (name == ALQ_NULL)
            return; /* scheme_eval of the prelude will say so */
        s->names[2 * symbol_number(name) + 1] = IMMEDIATE(IMM_PRIM, s->n_prims);
        s->is_fixed[symbol_number(name)] = true;
        s->prims[s->n_prims++] = &prims[i];
    }
}

/* ---- new blocks --------------------------------------------------------- */

/* The arguments stand in a frame during the allocation, which may move what
 * they point to; behind it they are read from there. */
alq_value
scheme_cons(struct scheme *s, alq_value a, alq_value b)
{
    alq_value pair;
    ALQ_FRAME(s->d, f, a, b);

    f.a = a;
    f.b = b;
    pair = alq_alloc_small(s->d, 2, TAG_PAIR);
    if (pair == ALQ_NULL)
        return scheme_fail_memory(s);
    alq_init_small(pair, 0, f.a);
    alq_init_small(pair, 1, f.b);
    return pair;
}

alq_value
scheme_string(struct scheme *s, const char *chars, size_t bytes)
{
    alq_value string = alq_string_copy(s->d, chars, bytes);

    return string == ALQ_NULL ? scheme_fail_memory(s) : string;
}

alq_value
scheme_double(struct scheme *s, double x)
{
    alq_value v = alq_alloc_double(s->d, x);

    return v == ALQ_NULL ? scheme_fail_memory(s) : v;
}

/* alq_alloc may return a block of the major heap, so alq_init fills it. */
alq_value
scheme_block(struct scheme *s, size_t n, unsigned tag, alq_value fill)
{
    alq_value block;
    size_t i;
    ALQ_FRAME(s->d, f, fill);

    f.fill = fill;
    block = alq_alloc(s->d, n, tag);
    if (block == ALQ_NULL)
        return scheme_fail_memory(s);
    for (i = 0; i < n; i++)
        alq_init(s->d, block, i, f.fill);
    return block;
}

alq_value
scheme_block_of(struct scheme *s, unsigned tag, alq_value first,
                const alq_value *values, unsigned n)
{
    alq_value block;
    unsigned i;
    ALQ_FRAME(s->d, f, slots[8]);

    f.slots[0] = first;
    for (i = 0; i < n; i++)
        f.slots[i + 1] = values[i];
    block = alq_alloc_small(s->d, n + 1, tag);
    if (block == ALQ_NULL)
        return scheme_fail_memory(s);
    for (i = 0; i <= n; i++)
        alq_init_small(block, i, f.slots[i]);
    return block;
}

void *
scheme_memory(struct scheme *s, void *old, size_t bytes)
{
    void *p = realloc(old, bytes);

    if (p == NULL)
        scheme_fail_memory(s);
    return p;
}

/* ---- symbols ------------------------------------------------------------ */

static uint32_t
hash_of(const char *chars, size_t bytes)
{
    uint32_t hash = 2166136261U;

    while (bytes-- > 0)
        hash = (hash ^ (unsigned char)*chars++) * 16777619U;
    return hash;
}

/* The place of a name, or a free one; it holds the number + 1. */
static uint32_t *
symbol_find(struct scheme *s, const char *chars, size_t bytes, uint32_t hash)
{
    uint32_t mask = (uint32_t)s->symbol_hash_size - 1, i = hash & mask;

    for (; s->symbol_hash[i] != 0; i = (i + 1) & mask) {
        alq_value name =
            alq_field(s->names[2 * (size_t)(s->symbol_hash[i] - 1)], 0);

        if (alq_string_bytes(name) == bytes &&
            memcmp(alq_string_chars(name), chars, bytes) == 0)
            break;
    }
    return &s->symbol_hash[i];
}

/* Twice as many.  The collector sees the range's base change, and its top. */
static bool
names_grow(struct scheme *s)
{
    size_t i, n = s->names_size, used = (size_t)(s->names_top - s->names);
    alq_value *names = realloc(s->names, 4 * n * sizeof *names);
    bool *is_fixed = realloc(s->is_fixed, 2 * n * sizeof *is_fixed);
    uint32_t *hash = calloc(4 * n, sizeof *hash);

    if (names != NULL) {
        s->names = s->names_range.base = names;
        s->names_top = names + used;
    }
    if (is_fixed != NULL)
        s->is_fixed = is_fixed;
    if (names == NULL || is_fixed == NULL || hash == NULL) {
        free(hash);
        scheme_fail_memory(s);
        return false;
    }
    memset(is_fixed + n, 0, n * sizeof *is_fixed);
    free(s->symbol_hash);
    s->symbol_hash = hash;
    s->symbol_hash_size = 4 * n;
    s->names_size = 2 * n;
    for (i = 0; i < used / 2; i++) {
        uint32_t at = (uint32_t)to_fixnum(alq_field(names[2 * i], 2));

        while (hash[at & (4 * n - 1)] != 0)
            at++;
        hash[at & (4 * n - 1)] = (uint32_t)i + 1;
    }
    return true;
}

alq_value
scheme_intern(struct scheme *s, const char *chars, size_t bytes)
{
    uint32_t hash = hash_of(chars, bytes);
    uint32_t *place = symbol_find(s, chars, bytes, hash);
    size_t number = (size_t)(s->names_top - s->names) / 2;
    alq_value v;

    if (*place != 0)
        return s->names[2 * (size_t)(*place - 1)];
    if (number == s->names_size) {
        if (!names_grow(s))
            return ALQ_NULL;
        place = symbol_find(s, chars, bytes, hash);
    }
    v = scheme_string(s, chars, bytes);
    if (v == ALQ_NULL)
        return v;
    v = scheme_block_of(
        s, TAG_SYMBOL, v,
        (alq_value[]){from_fixnum((int64_t)number), from_fixnum(hash)}, 2);
    if (v == ALQ_NULL)
        return v;
    *place = (uint32_t)number + 1;
    s->names[2 * number] = v;
    s->names[2 * number + 1] = UNDEFINED;
    s->names_top += 2;
    return v;
}

/* ---- where it stands ---------------------------------------------------- */

static bool
has_word(const struct code *code, const int32_t *pc)
{
    return pc >= code->words && pc < code->words + code->n_words;
}

static uint64_t
place_in(const struct code *code, const int32_t *pc)
{
    ptrdiff_t at = pc - code->words;
    uint64_t place = code->place;
    uint32_t i;

    if (!has_word(code, pc))
        return place;
    for (i = 0; i < code->n_sources && code->sources[i].at <= at; i++)
        place = code->sources[i].place;
    return place;
}

static void
place_fill(const struct scheme *s, struct scheme_place *out,
           const char *procedure, uint64_t place)
{
    out->procedure = procedure;
    out->file = s->files[place >> 48];
    out->line = (unsigned)(place >> 20 & 0xFFFFFFF);
    out->column = (unsigned)(place & 0xFFFFF);
}

unsigned
scheme_places(const struct scheme *s, struct scheme_place *out, unsigned max)
{
    const alq_value *fp = s->fp;
    const struct call *call = s->call_top;
    const int32_t *pc = s->pc;
    unsigned n = 0;

    while (n < max && fp > s->bottom) {
        if (is_tag(fp[-1], TAG_CLOSURE)) {
            const struct code *code = closure_code(fp[-1]);

            place_fill(s, &out[n++], code->name, place_in(code, pc));
        } else if (is_immediate(fp[-1], IMM_PRIM)) {
            place_fill(s, &out[n++], s->prims[immediate_of(fp[-1])]->name, 0);
        }
        if (call == s->call_bottom)
            break;
        call--;
        pc = call->pc;
        fp -= call->delta;
    }
    return n;
}

/* The instruction may be that of the procedure at fp, of its caller when it has
 * not begun, or of one that was left by a tail call. */
static uint64_t
place_now(const struct scheme *s)
{
    alq_value all[3] = {NIL, NIL, s->tail.value};
    unsigned i;

    if (s->pc == NULL || s->fp == s->bottom)
        return 0;
    all[0] = s->fp[-1];
    if (s->call_top > s->call_bottom)
        all[1] = s->fp[-1 - s->call_top[-1].delta];
    for (i = 0; i < 3; i++)
        if (is_tag(all[i], TAG_CLOSURE) &&
            has_word(closure_code(all[i]), s->pc))
            return place_in(closure_code(all[i]), s->pc);
    return 0;
}

/* The reader adds a third field to its pairs. */
uint64_t
place_of_form(alq_value form)
{
    return is_pair(form) && alq_wosize(form) == 3
               ? (uint64_t)to_fixnum(alq_field(form, 2))
               : 0;
}

/* ---- errors ------------------------------------------------------------- */

/* Nothing is allocated here: the condition gets its place by a store. */
alq_value
scheme_fail_memory(struct scheme *s)
{
    s->error.value = s->memory_error.value;
    alq_store(s->d, s->error.value, 2, from_fixnum((int64_t)place_now(s)));
    return ALQ_NULL;
}

static alq_value
fail(struct scheme *s, uint64_t place, alq_value irritant, const char *format,
     va_list args)
{
    char text[400];
    ALQ_FRAME(s->d, f, irritants, condition);

    f.irritants = NIL;
    vsnprintf(text, sizeof text, format, args);
    if (irritant != ALQ_NULL) {
        f.irritants = scheme_cons(s, irritant, NIL);
        if (f.irritants == ALQ_NULL)
            return ALQ_NULL;
    }
    f.condition = scheme_string(s, text, strlen(text));
    if (f.condition == ALQ_NULL)
        return ALQ_NULL;
    f.condition = scheme_block_of(
        s, TAG_CONDITION, f.condition,
        (alq_value[]){f.irritants, from_fixnum((int64_t)place)}, 2);
    if (f.condition != ALQ_NULL)
        s->error.value = f.condition;
    return ALQ_NULL;
}

alq_value
scheme_fail(struct scheme *s, alq_value irritant, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fail(s, place_now(s), irritant, format, args);
    va_end(args);
    return ALQ_NULL;
}

alq_value
scheme_fail_at(struct scheme *s, uint64_t place, alq_value irritant,
               const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fail(s, place, irritant, format, args);
    va_end(args);
    return ALQ_NULL;
}

static void
print_place(const struct scheme_place *p, FILE *out)
{
    if (p->line != 0)
        fprintf(out, "%s:%u:%u", p->file, p->line, p->column);
    else
        fputs("built in", out);
}

void
scheme_print_error(struct scheme *s, FILE *out)
{
    struct scheme_place places[9];
    struct port port = {.file = out, .is_standard = true};
    alq_value error = s->error.value, list;
    unsigned i, n = scheme_places(s, places, 9);

    if (is_tag(error, TAG_CONDITION)) {
        struct scheme_place p;

        place_fill(s, &p, "", (uint64_t)to_fixnum(alq_field(error, 2)));
        if (p.line != 0) {
            print_place(&p, out);
            fputs(": ", out);
        }
        fputs("error: ", out);
        scheme_write(&port, alq_field(error, 0), true);
        list = alq_field(error, 1);
        for (i = 0; is_pair(list); list = cdr(list), i++) {
            fputs(i == 0 ? ": " : " ", out);
            scheme_write(&port, car(list), false);
        }
    } else {
        if (n > 0 && places[0].line != 0) {
            print_place(&places[0], out);
            fputs(": ", out);
        }
        fputs("error: raised: ", out);
        scheme_write(&port, error, false);
    }
    fputc('\n', out);
    for (i = 0; i < n && i < 8; i++) {
        fprintf(out, "  in %s (", places[i].procedure);
        print_place(&places[i], out);
        fputs(")\n", out);
    }
    if (n == 9)
        fputs("  ...\n", out);
}
