/* compile.h -- what analyse.c hands to generate.c: a tree of nodes
 *
 * Nodes are malloc's, so a constant in one is a boxed root.  Names are numbers,
 * not symbols: these need no root. */
#ifndef SCHEME_COMPILE_H
#define SCHEME_COMPILE_H

#include "scheme.h"

enum { PARAMS_MAX = 250, CAPTURED_MAX = 250, ANY_LENGTH = INT32_MAX };

enum syntax { SYNTAX_DEFINE, SYNTAX_BEGIN };

enum kind {
    NODE_CONSTANT,
    NODE_LOCAL,
    NODE_GLOBAL,
    NODE_SET_LOCAL,  /* value */
    NODE_SET_GLOBAL, /* value */
    NODE_DEFINE,     /* value */
    NODE_IF,         /* test, then, else */
    NODE_OR,
    NODE_SEQUENCE,
    NODE_LAMBDA, /* body */
    NODE_CALL,   /* procedure, arguments */
    NODE_LET,    /* a value for each variable, body */
    NODE_LETREC, /* NODE_INITs and other nodes, body */
    NODE_INIT,   /* value */
    NODE_LOOP    /* as NODE_LET; calls of loop_var in it begin it again */
};

struct var {
    struct var *next; /* bound with it */
    struct lambda *owner;
    uint32_t name;
    int slot; /* of a loop: where it begins */
    bool is_assigned;
    bool is_captured;
    bool is_late;      /* of a letrec, and its value is no lambda */
    bool is_set;       /* its value is there, as far as code is made */
    struct node *loop; /* it is the name of one */
};

struct lambda {
    struct lambda *outer;
    struct var *params; /* the rest is the last */
    unsigned n_params;
    bool has_rest;
    uint32_t name;
    uint64_t place;
    struct var *captured[CAPTURED_MAX];
    unsigned n_captured;
};

struct constant {
    struct alq_root *root;
    struct constant *next;   /* of the compiler */
    struct constant *before; /* in the same code */
};

struct node {
    enum kind kind;
    uint32_t number;
    uint64_t place;
    struct node *kid;
    struct node *last;
    struct node *next;
    struct var *var; /* that it means; the first that it binds */
    struct var *loop_var;
    struct lambda *lambda;
    alq_value immediate;       /* a constant, */
    struct constant *constant; /* or one that is a block */
};

struct piece; /* of memory */

struct compiler {
    struct scheme *s;
    struct piece *pieces;
    struct constant *constants;
    unsigned depth;
    uint64_t place; /* of the last form that has one */
    bool has_failed;
    char spare[sizeof(struct lambda)];
};

/* Zeroed memory until the end of the compilation; spare when there is none. */
void *compile_memory(struct compiler *c, size_t bytes);

struct constant *constant_new(struct compiler *c, alq_value v);

/* The closure of a node, which has no variables outside. */
alq_value generate(struct compiler *c, struct node *node);

/* ---- emit.c ------------------------------------------------------------- */

enum { NO_LABEL = -1 };

struct generator {
    struct compiler *c;
    struct lambda *lambda;
    int32_t *words;
    size_t n_words;
    size_t size;
    struct source *sources;
    size_t n_sources;
    size_t sources_size;
    int next;
    int n_slots;
    ptrdiff_t last; /* the instruction before this one, if nothing jumps here */
    struct constant *constants; /* the last first */
    size_t n_constants;
};

void word(struct generator *g, int64_t w);
/* An operation with the first n of three words. */
void emit(struct generator *g, enum op op, int64_t a, int64_t b, int64_t c,
          int n);
/* What comes next stands there in the text. */
void source(struct generator *g, uint64_t place);
int take_slot(struct generator *g);
/* A jump with n words before its offset; label() says where it goes: here. */
ptrdiff_t jump(struct generator *g, enum op op, int64_t a, int64_t b, int n);
void label(struct generator *g, ptrdiff_t at, int n);
void loop_back(struct generator *g, ptrdiff_t start);
/* From a slot that is free again. */
void move(struct generator *g, int to, int from);
alq_value code_block(struct generator *g);

/* A cell is needed: its value must be seen by a closure when it changes. */
static inline bool
is_cell(const struct var *var)
{
    return var->is_captured && (var->is_assigned || var->is_late);
}

#endif
