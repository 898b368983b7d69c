#include "chain.h"

static unsigned
local_twin(unsigned x)
{
    return chain_middle(x, 9) * 3;
}

unsigned
other_unit(unsigned x)
{
    if (x % 3 == 0)
        return local_twin(x);
    return chain_leaf(chain_leaf(x));
}

unsigned
other_unit_twice(unsigned x)
{
    return other_unit(x) + local_twin(x + 1);
}

/* Dropped by the linker with --gc-sections; its DWARF stays. */
unsigned never_called(unsigned x);
unsigned
never_called(unsigned x)
{
    return chain_middle(x, 2) + chain_leaf(x);
}
