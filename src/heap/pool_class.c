/* pool_class.c -- the table of slot sizes, and of the class of each size
 *
 * The first table is constant; the second is filled at each start of a heap,
 * with the same values, and read without a lock.  The copying loops rely on
 * .inv.class for the sizes up to 8 words. */
#include "heap/pool_class.h"

const uint16_t alqi_heap_class_words[ALQI_HEAP_CLASSES] = {
    1,  2,  3,  4,  5,  6,   7,   8,   10,  12,  14,  16,
    17, 19, 22, 25, 28, 32,  33,  37,  42,  47,  53,  59,
    65, 73, 81, 89, 99, 108, 118, 128, 151, 170, 204, 257};

uint8_t alqi_heap_class_table[ALQI_HEAP_CLASS_WORDS_MAX + 1];

/* Fills the table.  The caller has the lock of the heap's beginning. */
void
alqi_heap_class_start(void)
{
    size_t words;
    unsigned c = 0;

    for (words = 1; words <= ALQI_HEAP_CLASS_WORDS_MAX; words++) {
        if (words > alqi_heap_class_words[c])
            c++;
        ALQI_ASSERT(c < ALQI_HEAP_CLASSES &&
                    words <= alqi_heap_class_words[c] &&
                    (words > 8 || c == words - 1)); /* .inv.class */
        alqi_heap_class_table[words] = (uint8_t)c;
    }
}
