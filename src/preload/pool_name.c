/* pool_name.c -- names of the program's pools in the recording
 *                                                     [doc/design/pool.md]
 *
 *   name: unknown --first sample of a block--> has a number in the recording
 *
 * .inv.named  A name is written before the allocation that uses it is timed (as
 *             python.c .inv.told). */
#include "preload/pool_name.h"

#include <aliquot/pool.h>
#include <string.h>

#include "preload/file.h"
#include "preload/stream.h"

enum { NAMES = 1024, NAME_BYTES_MAX = 200 };

static struct {
    struct alqi_plat_lock lock; /* of all below, and of the stream        */
    uint64_t hashes[NAMES];     /* of names that have a number; 0: a free
                                   place, whose number is not given out   */
    uint32_t n_names;
} names = {.lock = ALQI_PLAT_LOCK(PRELOAD_POOL_NAMES)};

static struct alqi_preload_stream stream = {
    .kind = ALQI_RAW_MODULES,
    .index = ALQI_PRELOAD_STREAMS_MAX + 2,
};

static uint64_t
hash_of(const char *name, size_t n)
{
    uint64_t hash = n + 1;

    for (size_t i = 0; i < n; i++)
        hash = alqi_base_mix(hash ^ (unsigned char)name[i]);
    return hash | 1;
}

/* Writes what a number stands for; false: no room in the recording. */
static bool
name_write_locked(const char *name, size_t n, uint32_t number)
{
    char text[NAME_BYTES_MAX + 3];
    uint64_t now_ns = alqi_plat_mono_ns_sigsafe();

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_PRELOAD_POOL_NAMES));
    text[0] = '[';
    memcpy(text + 1, name, n);
    memcpy(text + 1 + n, "]", 2);
    if (stream.chunk == NULL && !alqi_preload_stream_turn(&stream, now_ns))
        return false;
    if (!alqi_raw_put_code(&stream.encoder, now_ns, number, text,
                           ALQI_RAW_POOL_FILE) &&
        (!alqi_preload_stream_turn(&stream, now_ns) ||
         !alqi_raw_put_code(&stream.encoder, now_ns, number, text,
                            ALQI_RAW_POOL_FILE)))
        return false;
    alqi_preload_stream_commit(&stream);
    return true;
}

/* Names beyond the first NAMES / 2 share the last number. */
static uint32_t
number_of_locked(const char *name)
{
    size_t n = strnlen(name, NAME_BYTES_MAX);
    uint64_t hash = hash_of(name, n);
    uint32_t at = (uint32_t)(hash >> 32) % NAMES;

    ALQI_ASSERT(alqi_base_rank_is_held_sigsafe(ALQI_RANK_PRELOAD_POOL_NAMES));
    while (names.hashes[at] != 0 && names.hashes[at] != hash)
        at = (at + 1) % NAMES;
    if (names.hashes[at] == hash)
        return ALQI_RAW_POOL_FIRST + at;
    if (names.n_names >= NAMES / 2)
        return ALQI_RAW_POOL_FIRST + NAMES;
    if (!name_write_locked(name, n, ALQI_RAW_POOL_FIRST + at))
        return 0;
    names.hashes[at] = hash;
    if (++names.n_names == NAMES / 2)
        name_write_locked("other pools", strlen("other pools"),
                          ALQI_RAW_POOL_FIRST + NAMES);
    return ALQI_RAW_POOL_FIRST + at;
}

uint32_t
alqi_preload_pool_number_slow(void)
{
    const struct alq_pool *pool = alqi_preload_hot.pool;
    uint32_t was = alqi_preload_lock(&names.lock);
    uint32_t number = number_of_locked(pool->name != NULL ? pool->name : "");

    alqi_preload_unlock(&names.lock, was);
    return number;
}

/* What comes next is another recording, which has no names. */
static void
names_renew(void)
{
    memset(names.hashes, 0, sizeof names.hashes);
    names.n_names = 0;
    alqi_preload_stream_renew(&stream);
}

void
alqi_preload_pool_name_close(void)
{
    uint32_t was = alqi_preload_lock(&names.lock);

    names_renew();
    alqi_preload_unlock(&names.lock, was);
}

void
alqi_preload_pool_name_fork_child(void)
{
    alqi_plat_lock_break(&names.lock);
    stream.chunk = NULL; /* the parent's */
    names_renew();
}
