/* owned.h -- which pages of the process this library has mapped for itself
 *
 * Not the program's: who looks for pointers to its blocks passes them over. */
#ifndef ALQI_PLAT_OWNED_H
#define ALQI_PLAT_OWNED_H

#include <stddef.h>

/* Of pages that have just been mapped, and that are about to be unmapped; each
 * of them once.  Lock-free; any thread, in a signal handler, too.  Without
 * memory for its table a mapping is forgotten. */
void alqi_plat_owned_add_sigsafe(const void *pages, size_t bytes);
void alqi_plat_owned_remove_sigsafe(const void *pages);

/* Visits them; one that is added or removed meanwhile may be missed. */
void alqi_plat_owned_each(void (*visit)(void *arg, const void *pages,
                                        size_t bytes),
                          void *arg);

#endif
