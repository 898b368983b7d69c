/* Inlined across units, with names of its own in each. */
static inline __attribute__((always_inline)) unsigned
chain_leaf(unsigned x)
{
    return x * 2654435761u ^ x >> 7;
}

static inline __attribute__((always_inline)) unsigned
chain_middle(unsigned x, unsigned n)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < n; i++)
        sum += chain_leaf(x + i);
    return sum;
}

unsigned other_unit(unsigned x);
unsigned other_unit_twice(unsigned x);
