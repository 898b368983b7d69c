/* scheme.h -- a small Scheme on the managed heap
 *
 * A program that shows how a language lives on <aliquot/heap.h>; the chapter
 * doc/embedding.md walks through it.
 *
 *   value.c     the interpreter as a whole, symbols, errors, where it stands
 *   read.c      text to data          print.c     data to text
 *   analyse.c   data to a tree        generate.c  the tree to instructions
 *   emit.c      instructions as words
 *   run.c       the machine: calls, continuations, errors
 *   number.c list.c text.c table.c port.c         what is built in
 *   prelude.scm what is written in Scheme itself
 *
 * How it keeps the three rules of the heap:
 *
 * Roots.  Values of running Scheme code stand on the machine's stack, a
 * registered range; names and their values in a second one; the machine's
 * registers are globals; C functions that hold a value over a call that may
 * collect have a frame.  C functions for Scheme get their arguments where they
 * stand on the stack, so these need nothing.
 * Stores.  New small blocks are filled by alq_init_small, all other blocks by
 * alq_init and alq_store.  The stack and the names are no blocks: plain stores.
 * Polls.  The machine polls when a procedure is entered and when it loops.
 *
 * A function that returns alq_value returns ALQ_NULL when it fails; the reason
 * is then in scheme->error. */
#ifndef SCHEME_H
#define SCHEME_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <aliquot/aliquot.h>

/* ---- data --------------------------------------------------------------- */

/* To the heap any odd word is an integer.  Scheme divides them by the next bit:
 * ...01 is an integer of 62 bits, ...11 something else that is not a block. */
#define FIXNUM_MAX (((int64_t)1 << 61) - 1)
#define FIXNUM_MIN (-FIXNUM_MAX - 1)

enum immediate { IMM_CONSTANT, IMM_CHAR, IMM_PRIM, IMM_SYNTAX };

#define IMMEDIATE(kind, n) ((alq_value)(n) << 8 | (alq_value)(kind) << 2 | 3)
#define FALSE IMMEDIATE(IMM_CONSTANT, 0)
#define TRUE IMMEDIATE(IMM_CONSTANT, 1)
#define NIL IMMEDIATE(IMM_CONSTANT, 2)
#define UNSPECIFIED IMMEDIATE(IMM_CONSTANT, 3)
#define END_OF_FILE IMMEDIATE(IMM_CONSTANT, 4)
#define UNDEFINED IMMEDIATE(IMM_CONSTANT, 5) /* a name without a value */
#define ABSENT IMMEDIATE(IMM_CONSTANT, 6)    /* a free place in a table */

/* Tags of blocks; strings, doubles and custom blocks have the heap's. */
enum tag {
    TAG_PAIR,      /* car, cdr, and where it was read, if it was */
    TAG_SYMBOL,    /* name, number, hash */
    TAG_VECTOR,    /* elements */
    TAG_CLOSURE,   /* code, its struct code as an integer, captured values */
    TAG_CODE,      /* custom block that owns the struct code, constants */
    TAG_CELL,      /* a variable that is captured and assigned */
    TAG_CONT,      /* enum cont_field */
    TAG_TABLE,     /* enum table_field, table.c */
    TAG_RECORD,    /* its type, fields */
    TAG_MACRO,     /* procedure */
    TAG_CONDITION, /* message, irritants, place */
    TAG_VALUES     /* several values that a procedure returned */
};

static inline bool
is_fixnum(alq_value v)
{
    return (v & 3) == 1;
}

static inline alq_value
from_fixnum(int64_t n)
{
    return alq_from_int(n * 2);
}

static inline int64_t
to_fixnum(alq_value v)
{
    return (int64_t)v >> 2;
}

static inline bool
is_immediate(alq_value v, enum immediate kind)
{
    return (v & 0xFF) == ((alq_value)kind << 2 | 3);
}

static inline uint32_t
immediate_of(alq_value v)
{
    return (uint32_t)(v >> 8);
}

/* Scheme code never holds ALQ_NULL. */
static inline bool
is_tag(alq_value v, unsigned tag)
{
    return (v & 1) == 0 && alq_tag(v) == tag;
}

static inline bool
is_pair(alq_value v)
{
    return is_tag(v, TAG_PAIR);
}

static inline bool
is_string(alq_value v)
{
    return is_tag(v, ALQ_TAG_STRING);
}

static inline alq_value
car(alq_value pair)
{
    return alq_field(pair, 0);
}

static inline alq_value
cdr(alq_value pair)
{
    return alq_field(pair, 1);
}

static inline alq_value
from_bool(bool is)
{
    return is ? TRUE : FALSE;
}

static inline uint32_t
symbol_number(alq_value symbol)
{
    return (uint32_t)to_fixnum(alq_field(symbol, 1));
}

/* ---- code --------------------------------------------------------------- */

struct source {
    uint32_t at;    /* word of the code */
    uint64_t place; /* file, line, column: place_make */
};

/* What a procedure does; made by generate.c, owned by a custom block. */
struct code {
    uint32_t n_params; /* without the rest */
    bool has_rest;
    uint32_t n_slots;
    uint32_t n_words;
    uint32_t n_sources;
    const struct source *sources; /* ascending */
    char name[48];
    uint64_t place;
    int32_t words[];
};

enum { CLOSURE_CODE, CLOSURE_ENTRY, CLOSURE_CAPTURED };

static inline const struct code *
closure_code(alq_value closure)
{
    return (const struct code *)alq_to_int(alq_field(closure, CLOSURE_ENTRY));
}

/* Each word of code begins with an operation and how many slots of the frame
 * are in use there: what the collector may look at. */
enum op {
    OP_MOVE,
    OP_IMMEDIATE,
    OP_CONSTANT,
    OP_GLOBAL,
    OP_CAPTURED,
    OP_CELL_GET,
    OP_CLOSURE,
    OP_CONS,
    OP_CAR,
    OP_CDR,
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_ADD_INT,
    OP_VECTOR_REF,
    OP_LAST_WITH_TARGET = OP_VECTOR_REF, /* their word 1 is a slot to set */
    OP_VECTOR_SET,
    OP_GLOBAL_SET,
    OP_GLOBAL_DEFINE,
    OP_CELL_NEW,
    OP_CELL_SET,
    OP_PATCH,
    OP_CALL,
    OP_CALL_GLOBAL,
    OP_TAIL_CALL,
    OP_TAIL_CALL_GLOBAL,
    OP_PRIM,
    OP_RETURN,
    OP_JUMP,
    OP_LOOP,
    OP_IF,
    OP_IF_NULL,
    OP_IF_PAIR,
    OP_IF_EQ,
    OP_IF_LESS,
    OP_IF_AT_MOST,
    OP_IF_EQUAL,
    OP_IF_EQ_INT,
    OP_IF_LESS_INT,
    OP_IF_AT_MOST_INT,
    OP_IF_MORE_INT,
    OP_IF_AT_LEAST_INT,
    OP_IF_EQUAL_INT,
    OP_NONE
};

/* Procedures that the machine itself carries out. */
enum control { CONTROL_APPLY, CONTROL_CALLCC, CONTROL_EVAL };

struct scheme;

/* args[0] to args[n - 1] are roots, and may be overwritten. */
typedef alq_value prim_fn(struct scheme *s, alq_value *args, unsigned n);

#define PRIM(name)                                                             \
    static alq_value prim_##name(struct scheme *s, alq_value *args, unsigned n)

struct prim {
    const char *name;
    prim_fn *fn; /* NULL: the machine does it */
    unsigned min;
    unsigned max;     /* ANY: no limit */
    unsigned special; /* enum op that does the same; enum control */
};

enum { ANY = 255, PRIMS_MAX = 512, DEPTH_MAX = 2000 };

/* ---- the interpreter ---------------------------------------------------- */

struct call {
    const int32_t *pc; /* of the call's instruction */
    intptr_t delta;    /* from the caller's frame to the callee's */
};

enum cont_field {
    CONT_SLOTS, /* a vector */
    CONT_CALLS, /* struct calls in an abstract block */
    CONT_N_SLOTS,
    CONT_N_CALLS,
    CONT_BELOW, /* what comes after these calls */
    CONT_HANDLERS,
    CONT_LEVEL,
    CONT_FIELDS
};

struct scheme {
    struct alq_domain *d;

    /* The machine.  A frame is a procedure's slots on the stack; fp[-1] is the
     * procedure.  What a profiler wants to know: scheme_places. */
    alq_value *stack;
    alq_value *stack_limit; /* a frame ends below */
    alq_value *top;
    alq_value *fp;
    const int32_t *pc; /* at the last instruction that might collect or fail */
    struct call *calls;
    struct call *call_top;
    alq_value *bottom; /* of this level: a macro runs above what is compiled */
    struct call *call_bottom;
    unsigned level;
    struct alq_range stack_range;
    struct alq_global cont; /* below the stack's bottom */
    struct alq_global handlers;
    struct alq_global error;
    struct alq_global memory_error; /* made in time */
    struct alq_global tail; /* the closure that made the last tail call */

    /* Names, by number: symbol, then value. */
    alq_value *names;
    alq_value *names_top;
    size_t names_size;
    struct alq_range names_range;
    bool *is_fixed; /* the value is what is built in */
    uint32_t *symbol_hash;
    size_t symbol_hash_size;

    const struct prim *prims[PRIMS_MAX];
    unsigned n_prims;
    unsigned macro_prim;  /* %macro */
    unsigned signal_name; /* of %signal in the prelude */

    uint64_t moves; /* collections that may have moved blocks: table.c */
    struct alq_scanner moves_scanner;

    struct alq_global output; /* ports */
    uint64_t read_place;      /* of the datum that was read last */
    char **files;
    unsigned n_files;
    size_t limit_mib;
};

struct scheme_config {
    size_t limit_mib;   /* heap, at most */
    size_t minor_words; /* 0: the heap's default */
};

/* One at a time; NULL: no memory, or a config out of range. */
struct scheme *scheme_new(const struct scheme_config *config);
void scheme_drop(struct scheme *s);

/* Compiles and runs a form that stands in a root or on the stack. */
alq_value scheme_eval(struct scheme *s, alq_value form);

/* Runs a procedure to its end, above what is running already. */
alq_value scheme_apply(struct scheme *s, alq_value procedure, unsigned n,
                       const alq_value *args);

/* ---- where it stands ---------------------------------------------------- */

static inline uint64_t
place_make(unsigned file, unsigned line, unsigned column)
{
    return (uint64_t)file << 48 | (uint64_t)line << 20 |
           (column < 1 << 20 ? column : (1 << 20) - 1);
}

struct scheme_place {
    const char *procedure;
    const char *file;
    unsigned line;
    unsigned column;
};

/* The running procedures, innermost first; as many as are on the stack, at most
 * max.  Reads memory only, so it serves in a callback of the heap, too. */
unsigned scheme_places(const struct scheme *s, struct scheme_place *out,
                       unsigned max);

uint64_t place_of_form(alq_value form); /* 0: not known */
void scheme_print_error(struct scheme *s, FILE *out);

/* Forgets the error and what was running. */
void scheme_reset(struct scheme *s);

unsigned scheme_file_add(struct scheme *s, const char *name);

/* ---- errors: all return ALQ_NULL ---------------------------------------- */

#define PRINTF(m) __attribute__((format(printf, m, (m) + 1)))

/* irritant: a value that the message ends with, or ALQ_NULL */
alq_value scheme_fail(struct scheme *s, alq_value irritant, const char *format,
                      ...) PRINTF(3);
alq_value scheme_fail_at(struct scheme *s, uint64_t place, alq_value irritant,
                         const char *format, ...) PRINTF(4);
alq_value scheme_fail_memory(struct scheme *s);

/* ---- making data: arguments need no other root -------------------------- */

alq_value scheme_cons(struct scheme *s, alq_value a, alq_value b);
alq_value scheme_string(struct scheme *s, const char *chars, size_t bytes);
alq_value scheme_intern(struct scheme *s, const char *chars, size_t bytes);
alq_value scheme_double(struct scheme *s, double x);
/* A block whose fields are all `fill`. */
alq_value scheme_block(struct scheme *s, size_t n, unsigned tag,
                       alq_value fill);
/* Of `first` and n values. */
alq_value scheme_block_of(struct scheme *s, unsigned tag, alq_value first,
                          const alq_value *values, unsigned n);

/* malloc and realloc that fail as Scheme does. */
void *scheme_memory(struct scheme *s, void *old, size_t bytes);

/* ---- parts -------------------------------------------------------------- */

alq_value scheme_compile(struct scheme *s, alq_value form); /* a closure */
bool is_equal(alq_value a, alq_value b);
bool is_eqv(alq_value a, alq_value b);

/* number.c */
bool is_number(alq_value v);
double to_double(alq_value number);
alq_value scheme_number(struct scheme *s, const char *text, int radix);
alq_value scheme_arith(struct scheme *s, int op, alq_value a, alq_value b);
/* Whether a < b ('<'), a <= b ('l'), a = b ('='); negative: no numbers. */
int scheme_compare(struct scheme *s, int op, alq_value a, alq_value b);

/* port.c: a port stays where it is when its block moves */
struct port {
    FILE *file;  /* NULL: the text below */
    char *bytes; /* written so far; to be read */
    size_t n_bytes;
    size_t size;
    size_t at;
    bool is_input;
    bool is_standard; /* its file is not closed */
    unsigned file_number;
    unsigned line;
    unsigned column; /* of the next character */
};

struct port *to_port(alq_value v); /* NULL: it is none */
alq_value scheme_port(struct scheme *s, FILE *file, const char *text,
                      size_t bytes, bool is_input);
int port_get(struct port *port); /* EOF at the end */
int port_peek(struct port *port);
void port_put(struct port *port, const char *bytes, size_t n);
void port_print(struct port *port, const char *format, ...) PRINTF(2);

alq_value scheme_read(struct scheme *s, struct port *port);
void scheme_write(struct port *port, alq_value v, bool is_display);

struct char_name {
    const char *name;
    unsigned character;
};
extern const struct char_name char_names[]; /* the last has no name */

void scheme_prims_add(struct scheme *s, const struct prim *prims, unsigned n);
void number_start(struct scheme *s);
void list_start(struct scheme *s);
void text_start(struct scheme *s);
void table_start(struct scheme *s);
void port_start(struct scheme *s);
void run_start(struct scheme *s);
void analyse_start(struct scheme *s);

#endif
