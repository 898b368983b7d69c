/* value.c -- an interpreter, its symbols, what is built in, and errors */
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "scheme.h"

/* ---- symbols ------------------------------------------------------------ */

/* A symbol is a number, so nothing ever moves it.  It stays, in all domains:
 * frames have it, which may be told when the code is gone. */
enum { BUCKETS = 1 << 14 };

static struct {
    char *text;
    uint32_t bytes, next; /* in its bucket, + 1 */
} symbols[SYMBOLS_MAX];
static uint32_t buckets[BUCKETS], n_symbols;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all three */

const char *
name_of(uint32_t symbol)
{
    return symbols[symbol].text;
}

/* Its number; SYMBOLS_MAX: there is no room for one more. */
static uint32_t
intern_locked(const char *chars, size_t bytes, uint32_t *bucket)
{
    uint32_t i;
    char *text;

    for (i = *bucket; i != 0; i = symbols[i - 1].next)
        if (symbols[i - 1].bytes == bytes &&
            memcmp(symbols[i - 1].text, chars, bytes) == 0)
            return i - 1;
    text = n_symbols < SYMBOLS_MAX ? calloc(1, bytes + 1) : NULL;
    if (text == NULL)
        return SYMBOLS_MAX;
    symbols[n_symbols].text = memcpy(text, chars, bytes);
    symbols[n_symbols].bytes = (uint32_t)bytes;
    symbols[n_symbols].next = *bucket;
    *bucket = ++n_symbols;
    return n_symbols - 1;
}

/* chars may be in the heap: nothing here collects. */
alq_value
intern(struct scheme *s, const char *chars, size_t bytes)
{
    uint32_t hash = 0, n;
    size_t i;

    for (i = 0; i < bytes; i++)
        hash = (hash ^ (unsigned char)chars[i]) * 16777619;
    pthread_mutex_lock(&lock);
    n = intern_locked(chars, bytes, &buckets[(hash ^ hash >> 16) % BUCKETS]);
    pthread_mutex_unlock(&lock);
    if (n == SYMBOLS_MAX)
        fail(s, ALQ_NULL, "too many symbols");
    while (s->globals_top <= s->globals + n)
        *s->globals_top++ = UNDEFINED;
    return IMMEDIATE(IMM_SYMBOL, n);
}

uint32_t
next_name(struct scheme *s, const char **names)
{
    size_t n = strcspn(*names, " ");
    const char *name = *names;

    *names += n + (name[n] == ' ');
    return n > 0 ? immediate_of(intern(s, name, n)) : 0;
}

/* ---- start and end ------------------------------------------------------ */

struct prim *built_in;

static unsigned
n_checked(const char *takes)
{
    size_t n = strlen(takes);

    while (n > 0 && strchr("aA*", takes[n - 1]) != NULL)
        n--;
    return (unsigned)n;
}

/* For snapshots: the variable of a place of s->globals. */
static const char *
global_name(const struct alq_range *range, size_t symbol)
{
    (void)range;
    return name_of((uint32_t)symbol);
}

struct scheme *
scheme_new(struct alq_domain *d, char **args)
{
    struct scheme *s = calloc(1, sizeof *s);
    const struct prim *prim;
    const char *names;
    uint32_t symbol;

    if (s == NULL)
        return NULL;
    s->d = d;
    s->args = args;
    s->session = UINT_MAX;
    s->globals_top = s->globals;
    for (s->run.top = s->stack; s->run.top < s->stack + ROOTS; s->run.top++)
        *s->run.top = NIL;
    s->stack_range = (struct alq_range){.base = s->stack, .top = &s->run.top};
    s->globals_range =
        (struct alq_range){.base = s->globals, .top = &s->globals_top};
    alq_range_add(s->d, &s->stack_range);
    alq_range_name(s->d, &s->stack_range, "stack", NULL);
    alq_range_add(s->d, &s->globals_range);
    alq_range_name(s->d, &s->globals_range, "global", global_name);
    symbol(s, "(reads and compiles)"); /* number 0 */
    s->stack[ROOT_STATUS] = alq_alloc(d, 3, TAG_CONDITION);
    if (alq_is_null(s->stack[ROOT_STATUS]) || !compile_start(s)) {
        scheme_drop(s);
        return NULL;
    }
    alq_store(d, s->stack[ROOT_STATUS], CONDITION_IRRITANTS, NIL);
    for (prim = built_in; prim != NULL; prim = prim->next)
        for (names = prim->name; (symbol = next_name(s, &names)) != 0;) {
            s->globals[symbol] = IMMEDIATE(IMM_PRIM, s->n_prims);
            s->known[symbol] = prim->fn != NULL;
            s->prims[s->n_prims] = *prim;
            s->prims[s->n_prims].n_checked = n_checked(prim->takes);
            s->prims[s->n_prims++].name = name_of(symbol);
        }
    return s;
}

void
scheme_drop(struct scheme *s)
{
    alq_range_remove(s->d, &s->stack_range);
    alq_range_remove(s->d, &s->globals_range);
    free(s->compiler);
    free(s);
}

/* ---- what is built in --------------------------------------------------- */

const char kinds_of_blocks[256] = {
    [TAG_VECTOR] = 'v',    [TAG_PAIR] = 'p',      [TAG_CLOSURE] = 'f',
    [TAG_EXIT] = 'f',      [TAG_CONDITION] = 'e', [ALQ_TAG_STRING] = 's',
    [ALQ_TAG_DOUBLE] = 'd'};

bool
is_kind(alq_value v, int kind)
{
    int is = kind_of(v);

    return kind == is || kind == 'a' ||
           (kind == 'n' && (is == 'i' || is == 'd')) ||
           (kind == 'l' && list_length(v) >= 0);
}

void
arity(const struct prim *prim, unsigned *min, unsigned *max)
{
    size_t n = strlen(prim->takes);

    *min = (unsigned)strspn(prim->takes, "abcdefghijklmnopqrstuvwxyz");
    *max = n > 0 && prim->takes[n - 1] == '*' ? MANY : (unsigned)n;
}

void
check(struct scheme *s, const struct prim *prim, const alq_value *args,
      unsigned n)
{
    const char *takes = prim->takes;
    static const char *const names[] = {
        ['c'] = "character", ['e'] = "error object", ['f'] = "function",
        ['i'] = "integer",   ['l'] = "list",         ['n'] = "number",
        ['p'] = "pair",      ['s'] = "string",       ['v'] = "vector",
        ['y'] = "symbol"};

    for (; n > 0 && *takes > '*'; takes++, args++, n--)
        if (!is_kind(*args, *takes | 32))
            fail(s, *args, "%s: not a %s", prim->name, names[*takes | 32]);
}

/* ---- errors ------------------------------------------------------------- */

void
throw_on(struct scheme *s)
{
    longjmp(*s->run.error, 1);
}

void
throw_to(struct scheme *s, alq_value target, alq_value thrown)
{
    if (!is_tag(target, TAG_EXIT))
        s->n_trace = frames(s, s->trace, TRACE_MAX);
    s->stack[ROOT_TARGET] = target;
    s->stack[ROOT_THROWN] = thrown;
    throw_on(s);
}

/* Where it is. */
uintptr_t
here(const struct scheme *s)
{
    uintptr_t frame = FRAME(0, s->file) | s->line;

    if (!s->run.is_compiling)
        frames(s, &frame, 1);
    return frame;
}

void
fail(struct scheme *s, alq_value irritant, const char *format, ...)
{
    char message[300];
    va_list args;
    ALQ_FRAME(s->d, f, irritants);

    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    f.irritants = alq_is_null(irritant) ? NIL : PAIR(s, irritant, NIL);
    irritant = text(s, message);
    throw_to(
        s, NIL,
        cons(s, TAG_CONDITION, irritant, f.irritants, from_fixnum(here(s))));
}

/* Nothing is allocated here: the condition was made in time, its message is a
 * status, and stores cannot fail. */
void
fail_status(struct scheme *s)
{
    alq_value v = s->stack[ROOT_STATUS];
    enum alq_status status = alq_status_of(s->d);

    alq_store(s->d, v, CONDITION_MESSAGE, from_fixnum(status));
    alq_store(s->d, v, CONDITION_FRAME, from_fixnum(here(s)));
    throw_to(s, status == ALQ_ELIMIT ? FALSE : NIL, v);
}

/* (error message irritant ...) */
PRIM(error, "error", "a*")
{
    alq_value irritants = list_of(s, args + 1, n - 1);

    if (is_fixnum(args[0])) /* it would be taken for a status */
        fail(s, args[0], "error: a number is no message");
    throw_to(s, NIL,
             cons(s, TAG_CONDITION, args[0], irritants, from_fixnum(here(s))));
}

/* (%stopped message irritants): thrown where a limit has thrown before. */
PRIM(stopped, "%stopped", "al")
{
    alq_value frame = alq_field(s->stack[ROOT_STATUS], CONDITION_FRAME);

    s->stack[ROOT_THROWN] = cons(s, TAG_CONDITION, args[0], args[1], frame);
    s->stack[ROOT_TARGET] = NIL;
    throw_on(s);
}

PRIM(raise_value, "raise", "a")
{
    throw_to(s, NIL, args[0]);
}

VALUE_PRIM(message, "%message", "e", alq_field(args[0], CONDITION_MESSAGE))
VALUE_PRIM(irritants, "error-object-irritants", "e",
           alq_field(args[0], CONDITION_IRRITANTS))
VALUE_PRIM(status_text, "%status-text", "i",
           text(s, alq_status_text((enum alq_status)to_fixnum(args[0]))))
VALUE_PRIM(constant, "%constant", "i",
           IMMEDIATE(IMM_CONSTANT, to_fixnum(args[0]) & 7))

/* (%thrown): what a handler has caught. */
PRIM(thrown, "%thrown", "")
{
    alq_value v = s->stack[ROOT_THROWN];

    s->stack[ROOT_THROWN] = FALSE;
    return v;
}

/* (%frames e): where an error stands, and then the procedures that ran. */
PRIM(trace, "%frames", "a")
{
    uintptr_t frame = s->n_trace > 0 ? s->trace[0] : here(s);
    unsigned i;
    ALQ_FRAME(s->d, f, list);

    if (is_tag(args[0], TAG_CONDITION))
        frame = (uintptr_t)to_fixnum(alq_field(args[0], CONDITION_FRAME));
    for (f.list = NIL, i = s->n_trace; i > 0; i--)
        f.list = PAIR(s, from_fixnum(s->trace[i - 1]), f.list);
    return PAIR(s, from_fixnum(frame), f.list);
}

/* (%name x): of a procedure, or a frame's. */
PRIM(name, "%name", "a")
{
    uintptr_t frame = (uintptr_t)to_fixnum(args[0]);

    if (is_immediate(args[0], IMM_PRIM))
        return symbol(s, s->prims[immediate_of(args[0])].name);
    if (is_tag(args[0], TAG_CLOSURE))
        frame = closure_code(args[0])->frame;
    return IMMEDIATE(IMM_SYMBOL, FRAME_NAME(frame) % n_symbols);
}

/* (%file frame) */
VALUE_PRIM(file, "%file", "i",
           IMMEDIATE(IMM_SYMBOL,
                     FRAME_FILE((uintptr_t)to_fixnum(args[0])) % n_symbols))
