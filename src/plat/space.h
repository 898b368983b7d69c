/* space.h -- address space: reserved first, backed by memory piece by piece
 *
 * Addresses and sizes are multiples of 4096 bytes, and pages may be larger: at
 * the ends of a range access is rather allowed than forbidden.  errno is
 * preserved. */
#ifndef ALQI_PLAT_SPACE_H
#define ALQI_PLAT_SPACE_H

#include <stdbool.h>
#include <stddef.h>

/* Addresses that nothing else gets and no access is allowed to, the first a
 * multiple of `align` (a power of two); NULL when there are not enough. */
void *alqi_plat_space_reserve(size_t bytes, size_t align);
void alqi_plat_space_release(void *start, size_t bytes);

/* Allows access; pages never used or given back hold zeros.  False when the
 * system refuses. */
bool alqi_plat_space_commit(void *start, size_t bytes);

/* Forbids access; what the pages hold comes back with the next commit. */
bool alqi_plat_space_forbid(void *start, size_t bytes);

/* Gives the memory of whole pages back; all of the range, which may be
 * accessed, holds zeros from now on. */
void alqi_plat_space_empty(void *start, size_t bytes);

/* Backs pages that will be written soon at once, where the system can. */
void alqi_plat_space_touch(void *start, size_t bytes);

/* Asks for huge pages where memory is not used yet; false when the system does
 * not have them. */
bool alqi_plat_space_huge(void *start, size_t bytes);

#endif
