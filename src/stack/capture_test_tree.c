/* capture_test_tree.c -- frames of every layout a compiler makes
 *
 * Compiled several times with different options; TREE is the name of the
 * entry.  Which function calls which, and how often, depends on `path`. */
#include <alloca.h>
#include <stdint.h>
#include <string.h>

#include "stack/capture_test.h"

struct way {
    uint64_t path;
    capture_test_visit *visit;
    uint32_t max;
};

typedef unsigned node(const struct way *w, unsigned depth);

static node plain, saving, aligned, variable, large;
static node *const nodes[8] = {plain,  saving, aligned, variable,
                               saving, plain,  large,   plain};

#define KEEP(x) __asm__ volatile("" : "+r"(x) : : "memory")

/* Goes down by a function that the path's bits choose, and now and then by a
 * second one, so that walks meet frames that have changed below others. */
static __attribute__((noinline)) unsigned
descend(const struct way *w, unsigned depth)
{
    unsigned n;

    if (depth == 0) {
        w->visit(w->max);
        return 1;
    }
    n = nodes[(w->path >> (depth & 63)) & 7](w, depth - 1);
    if (((w->path >> ((depth + 7) & 63)) & 15) == 0) {
        KEEP(n);
        n += nodes[(w->path >> ((depth + 3) & 63)) & 7](w, depth / 2);
    }
    KEEP(n);
    return n;
}

static __attribute__((noinline)) unsigned
plain(const struct way *w, unsigned depth)
{
    unsigned n = descend(w, depth);

    KEEP(n);
    return n;
}

/* Values that live across the call fill the callee-saved registers. */
static __attribute__((noinline)) unsigned
saving(const struct way *w, unsigned depth)
{
    uint64_t a = w->path, b = a * 3, c = a ^ b, d = a + c, e = b ^ d;
    unsigned n;

    KEEP(a);
    KEEP(b);
    KEEP(c);
    KEEP(d);
    KEEP(e);
    n = descend(w, depth);
    a += b ^ c ^ d ^ e ^ n;
    KEEP(a);
    return n;
}

/* A frame realigned for its variables: the CFA is an expression. */
static __attribute__((noinline)) unsigned
aligned(const struct way *w, unsigned depth)
{
    _Alignas(64) volatile char wide[64];
    unsigned n;

    wide[0] = (char)depth;
    n = descend(w, depth);
    return n + (wide[0] != (char)depth);
}

/* A frame of a size that the path chooses: the CFA needs a frame pointer. */
static __attribute__((noinline)) unsigned
variable(const struct way *w, unsigned depth)
{
    size_t bytes = 16 + (w->path >> depth) % 200;
    char *p = alloca(bytes);
    unsigned n;

    memset(p, (int)depth, bytes);
    KEEP(p);
    n = descend(w, depth);
    return n + (p[bytes - 1] != (char)depth);
}

/* A frame of some 3000 bytes. */
static __attribute__((noinline)) unsigned
large(const struct way *w, unsigned depth)
{
    volatile char big[3000];
    unsigned n;

    big[depth] = (char)depth;
    n = descend(w, depth);
    return n + (big[depth] != (char)depth);
}

void
TREE(unsigned depth, uint64_t path, capture_test_visit *visit, uint32_t max)
{
    struct way w = {path, visit, max};

    descend(&w, depth);
}
