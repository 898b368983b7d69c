/* capture_test.h -- call trees for the tests of captures
 *
 * capture_test_tree.c is compiled once for each way to lay out frames; each
 * copy calls itself along `path` and runs `visit` at each leaf. */
#ifndef ALQI_STACK_CAPTURE_TEST_H
#define ALQI_STACK_CAPTURE_TEST_H

#include <stdint.h>

/* A sanitizer's frames are large, and it moves what is mapped; on aarch64
 * the referee's are. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CAPTURE_TEST_IS_SANITIZED 1
#else
#define CAPTURE_TEST_IS_SANITIZED 0
#endif
#if defined(__x86_64__)
#define CAPTURE_TEST_HAS_LARGE_FRAMES CAPTURE_TEST_IS_SANITIZED
#else
#define CAPTURE_TEST_HAS_LARGE_FRAMES 1
#endif

typedef void capture_test_visit(uint32_t max);

typedef void capture_test_tree(unsigned depth, uint64_t path,
                               capture_test_visit *visit, uint32_t max);

capture_test_tree capture_test_tree_o0;
capture_test_tree capture_test_tree_o2;
capture_test_tree capture_test_tree_o3;
capture_test_tree capture_test_tree_fp;

/* Frames from the caller of this on, innermost first; how many. */
int capture_test_referee(void **frames, int max);

capture_test_visit capture_test_agree;
capture_test_visit capture_test_caller;
capture_test_visit capture_test_replay;

#endif
