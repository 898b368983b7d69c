#include <stddef.h>

#include "base/base.h"
#include "refuse.h"

struct refuse refuse;

void
refuse_begin(uint64_t from, uint64_t n)
{
    refuse = (struct refuse){.from = from, .n = n, .armed = true};
}

bool
refuse_one(void)
{
    uint64_t call = __atomic_add_fetch(&refuse.calls, 1, __ATOMIC_RELAXED);

    return refuse.armed && refuse.from != 0 && call >= refuse.from &&
           call - refuse.from < refuse.n;
}

bool __real_alqi_plat_space_commit(void *start, size_t bytes);
bool __wrap_alqi_plat_space_commit(void *start, size_t bytes);
void *__real_alqi_plat_space_reserve(size_t bytes, size_t align);
void *__wrap_alqi_plat_space_reserve(size_t bytes, size_t align);
void *__real_alqi_plat_pages_map(size_t bytes);
void *__wrap_alqi_plat_pages_map(size_t bytes);
void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__real_calloc(size_t n, size_t bytes);
void *__wrap_calloc(size_t n, size_t bytes);
void *__real_realloc(void *p, size_t bytes);
void *__wrap_realloc(void *p, size_t bytes);

/* A hard heap forbids access and allows it again; that cannot fail. */
bool
__wrap_alqi_plat_space_commit(void *start, size_t bytes)
{
    if ((ALQI_CHECKS < 3 || bytes != 32768) && refuse_one())
        return false;
    return __real_alqi_plat_space_commit(start, bytes);
}

void *
__wrap_alqi_plat_space_reserve(size_t bytes, size_t align)
{
    return refuse_one() ? NULL : __real_alqi_plat_space_reserve(bytes, align);
}

void *
__wrap_alqi_plat_pages_map(size_t bytes)
{
    return refuse_one() ? NULL : __real_alqi_plat_pages_map(bytes);
}

void *
__wrap_malloc(size_t bytes)
{
    return refuse_one() ? NULL : __real_malloc(bytes);
}

void *
__wrap_calloc(size_t n, size_t bytes)
{
    return refuse_one() ? NULL : __real_calloc(n, bytes);
}

void *
__wrap_realloc(void *p, size_t bytes)
{
    return refuse_one() ? NULL : __real_realloc(p, bytes);
}
