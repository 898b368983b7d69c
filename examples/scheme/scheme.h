/* scheme.h -- a small Scheme on the managed heap
 *
 * A program that shows how a language lives on <aliquot/heap.h>; the chapter
 * doc/embedding.md walks through it.
 *
 *   value.c    an interpreter, symbols, errors  data.c       what is built in
 *   read.c     text to data                     limit.c      limits, profiles
 *   compile.c  data to instructions             main.c       the command
 *   run.c      the machine                      prelude.scm  all the rest
 *
 * How it keeps the three rules of the heap:
 *
 * Roots.  Values of running Scheme code stand on the machine's stack, which is
 * registered once, as a range; global variables in a second one.  What is built
 * in finds its arguments on the stack, so it does nothing for them; a C
 * function that holds another value over a call that may collect has a frame.
 * Stores.  New small blocks are filled by alq_init_small, other new blocks by
 * alq_init; alq_store writes from then on.  The stack and the global variables
 * are no blocks: plain stores.
 * Polls.  The machine polls where a procedure is entered and where a loop goes
 * back; so does a C loop over data of any length.
 *
 * What fails, an allocation, too, leaves by longjmp (throw), so no function
 * returns ALQ_NULL.  Each domain that runs Scheme has an interpreter of its
 * own, with its own variables; they share the heap, and the symbols. */
#ifndef SCHEME_H
#define SCHEME_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <aliquot/aliquot.h>

/* ---- data --------------------------------------------------------------- */

/* To the heap any odd word is an integer.  Scheme divides them by the next bit:
 * ...01 is an integer of 62 bits, ...11 something else that is not a block. */
#define is_fixnum(v) ((alq_bits(v) & 3) == 1)
#define to_fixnum(v) ((int64_t)alq_bits(v) >> 2)
#define from_fixnum(n) alq_from_int((int64_t)(n)*2)
#define ARE_FIXNUMS(a, b) ((((alq_bits(a) ^ 1) | (alq_bits(b) ^ 1)) & 3) == 0)

enum immediate { IMM_CONSTANT, IMM_CHAR, IMM_SYMBOL, IMM_PRIM, IMM_SYNTAX };
#define IMMEDIATE(kind, n)                                                     \
    ALQ_VALUE((uintptr_t)(n) << 8 | (uintptr_t)(kind) << 2 | 3)
#define is_immediate(v, kind)                                                  \
    ((alq_bits(v) & 0xFF) == ((uintptr_t)(kind) << 2 | 3))
#define immediate_of(v) ((uint32_t)(alq_bits(v) >> 8))
#define FALSE IMMEDIATE(IMM_CONSTANT, 0)
#define TRUE IMMEDIATE(IMM_CONSTANT, 1)
#define NIL IMMEDIATE(IMM_CONSTANT, 2)
#define UNSPECIFIED IMMEDIATE(IMM_CONSTANT, 3)
#define END_OF_FILE IMMEDIATE(IMM_CONSTANT, 4)
#define UNDEFINED IMMEDIATE(IMM_CONSTANT, 5) /* a variable without a value */
#define FAILED IMMEDIATE(IMM_CONSTANT, 6)    /* in place of a value */
#define from_bool(is) ((is) ? TRUE : FALSE)
#define is_false(v) alq_is_same(v, FALSE)
#define is_nil(v) alq_is_same(v, NIL)

/* Tags of blocks; strings and doubles have the heap's.  Vectors have tag 0, as
 * the empty block has. */
enum tag {
    TAG_VECTOR,   /* elements */
    TAG_PAIR,     /* car, cdr, and the line, if it was read */
    TAG_CLOSURE,  /* code, its struct code as an integer, captured values */
    TAG_CODE,     /* custom block that owns a form's code, constants */
    TAG_CELL,     /* a variable that is captured and assigned */
    TAG_EXIT,     /* the number of a call/cc */
    TAG_MACRO,    /* procedure */
    TAG_CONDITION /* message, or an enum alq_status; irritants; frame */
};
enum { CONDITION_MESSAGE, CONDITION_IRRITANTS, CONDITION_FRAME };
enum { CLOSURE_CODE, CLOSURE_ENTRY, CLOSURE_CAPTURED };

/* Scheme code never holds ALQ_NULL. */
#define is_tag(v, tag) (!alq_is_int(v) && alq_tag(v) == (tag))
#define is_pair(v) is_tag(v, TAG_PAIR)
#define car(pair) alq_field(pair, 0)
#define cdr(pair) alq_field(pair, 1)

/* ---- code --------------------------------------------------------------- */

/* x, y and z are a, b and c as operands: an odd one is an immediate, an even
 * one a place of the frame, as its distance in bytes.
 *
 *   MOVE        place a = y             CONS ...    place a = (cons y z), ...
 *   CONSTANT    place a = constant b    VECTOR_SET  (vector-set! x y z)
 *   GLOBAL      place a = global b      SET         global a = y, which has a
 *   CAPTURED    place a = field b of                value; DEFINE: or has not
 *               the closure             CELL_NEW    place a = a cell of it
 *   CELL_GET    place a = what is in y  CELL_SET    in the cell x is y
 *   CLOSURE     place a = closure of constant b with c values from there on
 *   CALL        place a = the procedure there, called with b values
 *   TAIL        the same instead of this frame, which has c parameters
 *   PRIM        place a = what is built in as number c, of b values from there
 *   RETURN      x from this frame, which has b parameters
 *   JUMP, LOOP  c instructions on; LOOP polls
 *   IF ...      c on unless x; unless (null? x), unless (< x y), ... */
#define OPERATIONS(OP)                                                         \
    OP(MOVE), OP(CONSTANT), OP(GLOBAL), OP(CAPTURED), OP(CELL_GET), OP(CONS),  \
        OP(CAR), OP(CDR), OP(ADD), OP(SUB), OP(MUL), OP(VECTOR_REF),           \
        OP(CLOSURE), OP(VECTOR_SET), OP(SET), OP(DEFINE), OP(CELL_NEW),        \
        OP(CELL_SET), OP(CALL), OP(TAIL), OP(PRIM), OP(RETURN), OP(JUMP),      \
        OP(LOOP), OP(IF), OP(IF_NULL), OP(IF_PAIR), OP(IF_EQ), OP(IF_LESS),    \
        OP(IF_MORE), OP(IF_AT_MOST), OP(IF_AT_LEAST), OP(IF_EQUAL), OP(HALT)
#define OP_NAME(name) OP_##name
enum op { OPERATIONS(OP_NAME) };

struct instruction {
    uint16_t op;
    uint16_t n_used; /* places in use: what the collector may look at */
    int32_t a, b, c;
};

/* What a procedure does. */
struct code {
    struct code *next; /* of its form */
    uintptr_t frame;
    int32_t arity; /* how many values it takes; with a rest, -1 */
    int32_t n_params, n_places;
    uint32_t *lines; /* of the instructions */
    struct instruction instructions[];
};
#define closure_code(v)                                                        \
    ((const struct code *)alq_to_address(alq_field(v, CLOSURE_ENTRY)))

/* A procedure and a line in it, in one word, which says the same for ever: two
 * symbols and a number, of 20 bits each. */
#define FRAME(name, file) ((uintptr_t)(name) << 40 | (uintptr_t)(file) << 20)
#define FRAME_NAME(frame) ((uint32_t)((frame) >> 40))
#define FRAME_FILE(frame) ((uint32_t)((frame) >> 20) & 0xFFFFF)
#define FRAME_LINE(frame) ((uint32_t)(frame)&0xFFFFF)

/* ---- the interpreter ---------------------------------------------------- */

enum { DEPTH_MAX = 2000, TRACE_MAX = 9, MANY = 1 << 30 };
enum { SYMBOLS_MAX = 1 << 20, STACK_PLACES = 1 << 23, STACK_SPARE = 1 << 15 };

/* The first places of the stack. */
enum root {
    ROOT_THROWN, /* what is on its way to ... */
    ROOT_TARGET, /* ... an exit; NIL: a handler; FALSE: a limit */
    ROOT_STATUS, /* a condition that was made in time */
    ROOTS
};

/* What is built in.  args[0] to args[n - 1] are roots, and may be
 * overwritten. */
struct scheme;
struct prim;
typedef alq_value prim_fn(struct scheme *s, const struct prim *self,
                          alq_value *args, unsigned n);
struct prim {
    const char *name; /* or several */
    prim_fn *fn;      /* NULL: the machine does it */
    char takes[5];    /* its arguments' kinds, as is_kind has them; capitals:
                         they need not be there; *: any number of any kind */
    struct prim *next;
    unsigned n_checked; /* arguments: behind these all are of any kind */
};
extern struct prim *built_in;

/* Before main each adds itself. */
#define BUILT_IN(id, fn, names, takes)                                         \
    static __attribute__((constructor)) void add_##id(void)                    \
    {                                                                          \
        static struct prim prim = {names, fn, takes, NULL, 0};                 \
                                                                               \
        prim.next = built_in;                                                  \
        built_in = &prim;                                                      \
    }
#define PRIM(fn, names, takes)                                                 \
    static prim_fn fn;                                                         \
    BUILT_IN(fn, fn, names, takes)                                             \
    static alq_value fn(struct scheme *s, const struct prim *self,             \
                        alq_value *args, unsigned n)
/* One that is an expression. */
#define VALUE_PRIM(fn, names, takes, ...)                                      \
    PRIM(fn, names, takes)                                                     \
    {                                                                          \
        return __VA_ARGS__;                                                    \
    }

/* What is read. */
struct reader {
    FILE *file;
    unsigned line; /* from 1 */
    char *text;    /* the line, from malloc */
    size_t size, n, at;
    unsigned depth;
};

/* What runs. */
struct run {
    const struct run *outer; /* that waits for it */
    alq_value *fp;
    alq_value *top;               /* the collector reads the stack to here */
    const struct instruction *pc; /* the last that might collect or fail */
    jmp_buf *error;               /* where what fails goes to */
    int64_t exit;      /* the number of the call/cc that began it, or 0 */
    unsigned level;    /* of runs */
    bool is_compiling; /* or reading: errors stand at `line` */
    bool is_busy;      /* a form is compiled, even while its macro runs */
};

/* The arrays have their largest size from the start: the system gives memory
 * only to what is touched. */
struct scheme {
    struct alq_domain *d;
    struct run run;
    struct alq_range stack_range, globals_range;
    alq_value *globals_top;
    struct prim prims[256];
    unsigned n_prims;
    struct compiler *compiler;
    struct reader reader;
    uint32_t prelude; /* symbols: its file, ... */
    uint32_t file;    /* ... that of the form that is read or compiled */
    unsigned line;
    uintptr_t trace[TRACE_MAX]; /* frames, when something was thrown */
    unsigned n_trace;
    unsigned session; /* the level of its own runs */
    int64_t n_exits;
    struct alq_outcome outcome; /* of the last limits */
    char **args;                /* of the command, then NULL */
    uint8_t known[SYMBOLS_MAX]; /* to the compiler */
    alq_value globals[SYMBOLS_MAX];
    alq_value stack[STACK_PLACES];
};
#define STACK_LIMIT(s) ((s)->stack + STACK_PLACES - STACK_SPARE)

/* value.c.  NULL: no memory. */
struct scheme *scheme_new(struct alq_domain *d, char **args);
void scheme_drop(struct scheme *s);
alq_value intern(struct scheme *s, const char *chars, size_t bytes);
#define symbol(s, name) intern(s, name, strlen(name))
#define GLOBAL(s, name) (&(s)->globals[immediate_of(symbol(s, name))])
/* The next one in a list of names, as a symbol; 0: there is none. */
uint32_t next_name(struct scheme *s, const char **names);
const char *name_of(uint32_t symbol); /* for ever */
bool is_kind(alq_value v, int kind);  /* of several kinds, too: n, l, a */
extern const char kinds_of_blocks[256];
void arity(const struct prim *prim, unsigned *min, unsigned *max);
void check(struct scheme *s, const struct prim *prim, const alq_value *args,
           unsigned n);

static inline int
kind_of(alq_value v)
{
    return is_fixnum(v)    ? 'i'
           : alq_is_int(v) ? " cyfk"[alq_bits(v) >> 2 & 7]
                           : kinds_of_blocks[alq_tag(v)];
}

/* Leaves for what enum root says; on: for what it says already. */
_Noreturn void throw_to(struct scheme *s, alq_value target, alq_value thrown);
_Noreturn void throw_on(struct scheme *s);
/* irritant: what is wrong, or ALQ_NULL. */
_Noreturn void fail(struct scheme *s, alq_value irritant, const char *format,
                    ...) __attribute__((format(printf, 3, 4)));
_Noreturn void fail_status(struct scheme *s);
uintptr_t here(const struct scheme *s); /* the frame, as far as there is one */

/* What an allocation has returned, if it has not failed. */
static inline alq_value
made(struct scheme *s, alq_value block)
{
    if (__builtin_expect(alq_is_null(block), 0))
        fail_status(s);
    return block;
}

/* What another domain or a limit wants of us comes in a poll. */
static inline void
poll_here(struct scheme *s)
{
    alq_poll(s->d);
    if (__builtin_expect(alq_status_of(s->d) != ALQ_OK, 0))
        fail_status(s);
}

/* read.c: the next form, or END_OF_FILE. */
alq_value read_form(struct scheme *s);

/* compile.c: a procedure of no arguments that does what the form says. */
alq_value compile(struct scheme *s, alq_value form);
bool compile_start(struct scheme *s);

/* run.c.  Calls a procedure with a list's items, above what is running already;
 * false: it was left, ROOT_TARGET says for what.  exit: as in struct run. */
bool run_above(struct scheme *s, alq_value procedure, alq_value list,
               int64_t exit, alq_value *out);
/* The same, but its caller is left, too. */
alq_value apply(struct scheme *s, alq_value procedure, alq_value list);
/* The running procedures, innermost first, at most max.  Reads memory only, so
 * it serves in a callback of the heap, too. */
unsigned frames(const struct scheme *s, uintptr_t *out, unsigned max);

/* data.c */
/* A block of two, or with a number of three fields. */
alq_value cons(struct scheme *s, unsigned tag, alq_value head, alq_value tail,
               alq_value number);
#define PAIR(s, head, tail) cons(s, TAG_PAIR, head, tail, ALQ_NULL)
alq_value list_of(struct scheme *s, const alq_value *items, unsigned n);
int64_t list_length(alq_value list); /* -1: it is no proper list */
alq_value vector_new(struct scheme *s, int64_t size, const alq_value *from,
                     int step);
uintptr_t vector_index(struct scheme *s, alq_value vector, alq_value i);
alq_value text(struct scheme *s, const char *chars);
alq_value string_of(struct scheme *s, const alq_value *chars, size_t n);
alq_value number_of(struct scheme *s, const char *text); /* FALSE: it is none */
double to_double(struct scheme *s, alq_value v);
alq_value arith(struct scheme *s, enum op op, alq_value a, alq_value b);
double compare(struct scheme *s, alq_value a, alq_value b);

/* limit.c.  A heap's profilers see Scheme's frames, of the calling thread's
 * interpreter from now on, or of none. */
bool profile_start(struct alq_domain *d);
void profile_thread(struct scheme *s);
/* While it runs it is known where the tasks of limits allocate.  NULL: no. */
struct alq_profile *sites_start(struct alq_domain *d);
void sites_stop(struct alq_profile *profile);

#endif
