/* limit_kit.h -- tasks that tests of limits on the heap have in common */
#ifndef ALQI_EMBED_LIMIT_KIT_H
#define ALQI_EMBED_LIMIT_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <aliquot/aliquot.h>

#include "domains_kit.h"

enum {
    PAIR_WORDS = 3, /* a block of two fields, and its header */
#if defined __SANITIZE_THREAD__ || defined __SANITIZE_ADDRESS__
    IS_SANITIZED = 1,
#else
    IS_SANITIZED = 0,
#endif
    IS_BRIEF = ALQI_TEST_IS_BRIEF
};

/* Of repetitions: each block that hard builds make is a collection. */
static inline int
reps(int many, int few, int least)
{
    return ALQI_TEST_ROUNDS(many, few, least);
}

/* ---- limits ------------------------------------------------------------- */

struct alq_limits limit_words(uint64_t n);
struct alq_limits limit_sampled(uint64_t words);
struct alq_limits limit_token(struct alq_token *token);

/* ---- tasks -------------------------------------------------------------- */

struct alloc {
    uint64_t n;    /* of blocks to make             */
    size_t wosize; /* of each, for make_blocks      */
    uint64_t made; /* is counted, from 0            */
};

/* A struct alloc's blocks, garbage at once; pairs are made inline. */
enum alq_status make_blocks(struct alq_domain *on, void *arg);
enum alq_status make_pairs(struct alq_domain *on, void *arg);

enum alq_status do_nothing(struct alq_domain *on, void *arg);

/* Until it is stopped; the argument is a uint64_t that counts. */
enum alq_status poll_for_ever(struct alq_domain *on, void *arg);

/* Pairs enough for so many words. */
static inline uint64_t
pairs_of(uint64_t words)
{
    return (words + PAIR_WORDS - 1) / PAIR_WORDS;
}

#endif
