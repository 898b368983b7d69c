/* whole.c -- what a block's first words say of pointers behind its begin
 *
 * Some libraries keep words of their own in front of what they point to.  A
 * block's first words tell which, so they are read once for each block that a
 * pointer leads to in that way, and the answers for all its places stay.
 *
 * answers of a block: 0 unknown -> bit 0 set: known, and bit `into` says yes.
 */
#include "cli/leaks/whole.h"

#include <stdlib.h>

#include "cli/tool/cli.h"

enum { LAST = ALQI_CLI_LEAK_AT_32, WORDS = LAST + 2 };

/* What is in these words is in a file that is mapped: a C++ object's table. */
static bool
are_of_files(const struct alqi_cli_leak_whole *whole, uint64_t a, uint64_t b)
{
    const struct alqi_cli_attach_target *t = &whole->memory->core->target;
    const struct alqi_cli_mapping *m = alqi_cli_attach_target_at(t, a);

    if (m == NULL || m->path[0] != '/')
        return false;
    m = alqi_cli_attach_target_at(t, b);
    return m != NULL && m->path[0] == '/';
}

/* The same that memcheck knows: a length of 8 bytes and as many bytes behind
 * 16; an array of objects, their number in front; a string, its length, its
 * room and a count in front; an object of several bases, each with its table.
 */
static bool
says_cplusplus(const struct alqi_cli_leak_whole *whole,
               const struct alqi_cli_leak_block *b, const uint64_t w[WORDS],
               enum alqi_cli_leak_into into)
{
    if (into == ALQI_CLI_LEAK_AT_8 && w[0] > 0 && b->bytes > 8 &&
        w[0] < b->bytes && (b->bytes - 8) % w[0] == 0)
        return true;
    if (into == ALQI_CLI_LEAK_AT_16 && w[0] == b->bytes - 16)
        return true;
    if (into == ALQI_CLI_LEAK_AT_24 && w[0] <= w[1] &&
        w[1] == b->bytes - 24 - 1)
        return true;
    return into <= ALQI_CLI_LEAK_AT_24 && are_of_files(whole, w[0], w[into]);
}

/* Of so many words. */
static bool
says_whole(struct alqi_cli_leak_whole *whole,
           const struct alqi_cli_leak_block *b, const uint64_t w[WORDS],
           size_t n, enum alqi_cli_leak_into into)
{
    if (b->bytes < 8u * (unsigned)into || n <= (size_t)into)
        return false;
    if (says_cplusplus(whole, b, w, into))
        return true;
    return (into == ALQI_CLI_LEAK_AT_16 || into == ALQI_CLI_LEAK_AT_32) &&
           n > (size_t)into + 1 && b->bytes >= 8u * ((unsigned)into + 2) &&
           alqi_cli_leak_is_pyobject(&whole->types, whole->memory,
                                     b->start + 8u * (unsigned)into, w + into,
                                     into == ALQI_CLI_LEAK_AT_32);
}

/* All answers of a block, with the bit that says that they are known.  An
 * instance of CPython 3.12 keeps a pointer to its values less 1. */
static uint8_t
answers_find(struct alqi_cli_leak_whole *whole,
             const struct alqi_cli_leak_block *b)
{
    uint64_t w[WORDS] = {0};
    size_t n = alqi_cli_leak_memory_peek(whole->memory, b->start, w, WORDS);
    unsigned answers = 1;

    for (unsigned i = ALQI_CLI_LEAK_AT_8; i <= LAST; i++) {
        if (says_whole(whole, b, w, n, (enum alqi_cli_leak_into)i))
            answers |= 1u << i;
        if (n >= i && alqi_cli_leak_is_pyvalues(w, 8 * i, b->bytes))
            answers |= 1u << i | 1u << ALQI_CLI_LEAK_BEFORE;
    }
    return (uint8_t)answers;
}

bool
alqi_cli_leak_is_whole(void *arg, uint32_t block, enum alqi_cli_leak_into into)
{
    struct alqi_cli_leak_whole *whole = arg;
    uint8_t *answers = &whole->answers[block];

    if (*answers == 0)
        *answers = answers_find(whole, &whole->table->blocks[block]);
    return (*answers >> into & 1) != 0;
}

void
alqi_cli_leak_whole_open(struct alqi_cli_leak_whole *whole,
                         struct alqi_cli_leak_memory *memory,
                         const struct alqi_cli_leak_table *table)
{
    *whole = (struct alqi_cli_leak_whole){
        .memory = memory,
        .table = table,
        .answers = alqi_cli_zeros(table->n + 1, sizeof *whole->answers)};
}

void
alqi_cli_leak_whole_close(struct alqi_cli_leak_whole *whole)
{
    free(whole->answers);
    alqi_base_map_clear(&whole->types.map);
}
