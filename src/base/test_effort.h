/* test_effort.h -- how often a test repeats itself in this build
 *
 * The many rounds, and the laws that need many samples, are for rel and chk.
 * A build that checks each collection, a sanitizer, and the emulator of another
 * processor take ten to a hundred times as long, and are there for the ways
 * through the code, as the other compiler is: these a few rounds take as well.
 * A hard build collects at every safe point, so that a round is many there. */
#ifndef ALQI_BASE_TEST_EFFORT_H
#define ALQI_BASE_TEST_EFFORT_H

#include "base/base.h"

enum {
#if ALQI_CHECKS >= 2 || defined(__SANITIZE_ADDRESS__) ||                       \
    defined(__SANITIZE_THREAD__) || defined(__aarch64__) || defined(__clang__)
    ALQI_TEST_IS_BRIEF = 1
#else
    ALQI_TEST_IS_BRIEF = 0
#endif
};

/* Of rounds, steps or blocks: `many` of them, `few` in a brief build, `least`
 * in a hard one; a constant if they are. */
#define ALQI_TEST_ROUNDS(many, few, least)                                     \
    (ALQI_CHECKS >= 3 ? (least) : ALQI_TEST_IS_BRIEF ? (few) : (many))

#endif
