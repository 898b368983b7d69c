/* wait.h -- threads wait for a word to change
 *
 * The word is written by atomic stores; a thread that changes it
 * wakes the sleepers. */
#ifndef ALQI_PLAT_WAIT_H
#define ALQI_PLAT_WAIT_H

#include <stdint.h>

/* Sleeps while the word holds `value`: returns at once when it holds another,
 * else when it was woken, or for no reason: look again. errno is preserved. */
void alqi_plat_sleep(uint32_t *word, uint32_t value);

/* Sleeps as alqi_plat_sleep, or until alqi_plat_mono_ns_sigsafe() is
 * `until_ns`. */
void alqi_plat_sleep_until(uint32_t *word, uint32_t value, uint64_t until_ns);

/* Wakes up to n of those that sleep on the word.  errno is preserved. */
void alqi_plat_wake(uint32_t *word, unsigned n);

/* Waits until the word no longer holds `value`: looks for a few microseconds,
 * then sleeps.  Loads are acquire. */
void alqi_plat_wait_while(uint32_t *word, uint32_t value);

/* Waits until the word holds `value`; as alqi_plat_wait_while. */
void alqi_plat_wait_until(uint32_t *word, uint32_t value);

/* Another thread may have the processor. */
void alqi_plat_yield(void);

#endif
