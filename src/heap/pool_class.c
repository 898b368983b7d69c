/* pool_class.c -- the table of slot sizes, and of the class of each size
 *
 * Both are constant: heaps begin and end on several threads.  The sizes up to 8
 * words are their classes, + 1, which the copying loops rely on. */
#include "heap/pool_class.h"

/* A class, the least and the largest size that it is for: its slots have the
 * latter. */
#define CLASSES(X)                                                             \
    X(0, 1, 1), X(1, 2, 2), X(2, 3, 3), X(3, 4, 4), X(4, 5, 5), X(5, 6, 6),    \
        X(6, 7, 7), X(7, 8, 8), X(8, 9, 10), X(9, 11, 12), X(10, 13, 14),      \
        X(11, 15, 16), X(12, 17, 17), X(13, 18, 19), X(14, 20, 22),            \
        X(15, 23, 25), X(16, 26, 28), X(17, 29, 32), X(18, 33, 33),            \
        X(19, 34, 37), X(20, 38, 42), X(21, 43, 47), X(22, 48, 53),            \
        X(23, 54, 59), X(24, 60, 65), X(25, 66, 73), X(26, 74, 81),            \
        X(27, 82, 89), X(28, 90, 99), X(29, 100, 108), X(30, 109, 118),        \
        X(31, 119, 128), X(32, 129, 151), X(33, 152, 170), X(34, 171, 204),    \
        X(35, 205, 257)

#define SLOT_WORDS(size_class, least, most) [size_class] = (most)
const uint16_t alqi_heap_class_words[ALQI_HEAP_CLASSES] = {CLASSES(SLOT_WORDS)};

#define CLASS_OF(size_class, least, most) [least... most] = (size_class)
const uint8_t alqi_heap_class_table[ALQI_HEAP_CLASS_WORDS_MAX + 1] = {
    CLASSES(CLASS_OF)};
