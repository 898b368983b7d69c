/* rank.c -- from chk on: the ranks of the locks that a thread holds
 *
 * A thread's ranks are one word, a bit a rank; a group of locks that is held as
 * a whole shares its bit.  Only the thread itself reads or writes the word.  A
 * signal handler leaves the word as the handler found it, since a handler gives
 * back each lock that it takes. */
#include "base/rank.h"

#if ALQI_CHECKS >= 1

#include <string.h>

_Static_assert(ALQI_RANK_LIMIT <= 64, "a bit of the word for each rank");

#define TEXT(name, text) text,
static const char *const texts[] = {ALQI_RANKS(TEXT)};

static _Thread_local uint64_t held __attribute__((tls_model("initial-exec")));
static _Thread_local bool has_forgotten
    __attribute__((tls_model("initial-exec")));

static ALQI_COLD void
fail(enum alqi_rank rank)
{
    char text[256];
    unsigned highest = 63 - (unsigned)__builtin_clzll(held);

    strcpy(text, "lock order (.inv.rank): \"");
    strncat(text, texts[rank], 80);
    strcat(text, "\" taken under \"");
    strncat(text, texts[highest], 80);
    strcat(text, "\"");
    alqi_base_fail(__FILE__, __LINE__, text);
}

void
alqi_base_rank_push_sigsafe(enum alqi_rank rank)
{
    if (rank == ALQI_RANK_NONE)
        return;
    if (ALQI_UNLIKELY(held >> rank != 0))
        fail(rank);
    held |= (uint64_t)1 << rank;
}

void
alqi_base_rank_push_group_sigsafe(enum alqi_rank rank)
{
    if (ALQI_UNLIKELY(held >> rank > 1))
        fail(rank);
    held |= (uint64_t)1 << rank;
}

void
alqi_base_rank_note_sigsafe(enum alqi_rank rank)
{
    held |= (uint64_t)(rank != ALQI_RANK_NONE) << rank;
}

void
alqi_base_rank_pop_sigsafe(enum alqi_rank rank)
{
    held &= ~((uint64_t)1 << rank);
}

void
alqi_base_rank_forget_sigsafe(void)
{
    held = 0;
    has_forgotten = true;
}

bool
alqi_base_rank_is_held_sigsafe(enum alqi_rank rank)
{
    return (held >> rank & 1) != 0 || has_forgotten;
}

#endif
