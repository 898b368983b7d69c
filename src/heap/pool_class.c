/* pool_class.c -- the table of slot sizes, and of the class of each size
 *
 * The first table is constant; the second is filled at each start of a heap,
 * with the same values, and read without a lock.  The sizes up to 8 words are
 * their classes, + 1, which the copying loops rely on. */
#include "heap/pool_class.h"

const uint16_t alqi_heap_class_words[ALQI_HEAP_CLASSES] = {
    1,  2,  3,  4,  5,  6,   7,   8,   10,  12,  14,  16,
    17, 19, 22, 25, 28, 32,  33,  37,  42,  47,  53,  59,
    65, 73, 81, 89, 99, 108, 118, 128, 151, 170, 204, 257};

uint8_t alqi_heap_class_table[ALQI_HEAP_CLASS_WORDS_MAX + 1];

/* Fills the table.  The lock is that of the heap's users. */
void
alqi_heap_class_start_locked(void)
{
    size_t words;
    unsigned c = 0;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_HEAP_USERS));
    for (words = 1; words <= ALQI_HEAP_CLASS_WORDS_MAX; words++) {
        if (words > alqi_heap_class_words[c])
            c++;
        alqi_heap_class_table[words] = (uint8_t)c;
    }
}
