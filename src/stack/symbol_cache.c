/* symbol_cache.c -- answers of earlier commands, kept on disk by build-id
 * [doc/design/symbol]
 *
 * A file, BUILDID-HASH.symbols, where HASH is of the whole key:
 *
 *   header       magic, checksum, sizes, key
 *   addresses    u64[n], ascending
 *   firsts       u32[n + 1]: the first frame of each, and the end
 *   frames       of four u32: function, file (places in texts), line, column
 *   texts        each ends with a zero byte
 *
 * Numbers are those of the machine: a cache does not leave it.
 *
 *   no file --write--> whole --other command's write--> whole
 *                        \--any damage--> refused, as no file; written anew
 *
 * .inv.kept_key     A file answers for a key that is equal in every byte: the
 *                   build-id, each file found for it, this program and libdw.
 * .inv.kept_whole   A file comes under its name by rename, when all of it is
 *                   written; it is never changed after that.
 * .inv.kept_inside  Nothing of a file is used before its checksum, each order,
 *                   and each place in it were checked; a text ends in it.
 * .inv.kept_own     Directory and files belong to the user who runs this, and
 *                   nobody else may write them; nothing is made in another
 *                   user's home.
 * .inv.kept_bound   After a write the cache has at most BYTES_MAX bytes and
 *                   FILES_MAX files, or what others add meanwhile. */
#include "stack/symbol_cache.h"

#include <dirent.h>
#include <dlfcn.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "base/base.h"
#include "base/map.h"
#include "stack/symbol_array.h"
#include "stack/symbol_dwarf.h"

enum {
    FILE_BYTES_MAX = 16 << 20,
    BYTES_MAX = 256 << 20,
    FILES_MAX = 4096,
    HOUR_S = 3600,
    PATH_BYTES = 4096,
    FILE_NAME_BYTES = 2 * ALQI_SYMBOL_ID_BYTES_MAX + 64
};

#define SUFFIX ".symbols"
#define SUFFIX_NEW ".new" /* of a file that is being written */

/* What a file begins with.  The checksum is of all behind it. */
struct header {
    char magic[8]; /* the last digit is the version of the format */
    uint32_t file_bytes;
    uint32_t checksum;
    uint32_t n_addresses, n_frames, n_text_bytes, reserved;
    struct alqi_symbol_cache_key key;
};

static const char magic[8] = "ALQSYM\0001";

/* A frame in a file. */
struct record {
    uint32_t function, file; /* places in the texts */
    uint32_t line, column;
};

_Static_assert(sizeof(struct header) % 8 == 0, "addresses are aligned");

/* ---- the directory ------------------------------------------------------- */

/* The directory if it is the user's own, and closed to others' writes where
 * that is asked; else -1, and it is closed. */
static int
dir_own(int fd, bool is_private)
{
    struct stat st;

    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
        (!is_private || (st.st_mode & 022) == 0))
        return fd;
    close(fd);
    return -1;
}

/* A directory of the user's in another one; is made if that is asked.  Closes
 * `parent` unless it is AT_FDCWD. */
static int
dir_enter(int parent, const char *name, bool is_made, bool is_private)
{
    int fd;

    if (is_made)
        mkdirat(parent, name, 0700);
    fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (parent != AT_FDCWD)
        close(parent);
    return dir_own(fd, is_private);
}

/* Opens the directory that the environment names; -1: there is none, or it is
 * not the user's (.inv.kept_own). */
static int
dir_open(bool is_made)
{
    const char *own = getenv("ALIQUOT_CACHE"), *base = getenv("XDG_CACHE_HOME"),
               *home = getenv("HOME");
    int fd;

    if (own != NULL)
        return own[0] == '\0' ? -1 : dir_enter(AT_FDCWD, own, is_made, true);
    if (base != NULL && base[0] == '/') {
        fd = dir_enter(AT_FDCWD, base, is_made, false);
    } else {
        if (home == NULL || home[0] != '/')
            return -1;
        fd = dir_enter(AT_FDCWD, home, false, false);
        if (fd >= 0)
            fd = dir_enter(fd, ".cache", is_made, false);
    }
    if (fd >= 0)
        fd = dir_enter(fd, "aliquot", is_made, false);
    return fd >= 0 ? dir_enter(fd, "symbols", is_made, true) : -1;
}

static void
identity_read(struct alqi_symbol_identity *identity, const char *path)
{
    struct stat st;

    if (stat(path, &st) == 0)
        *identity = alqi_symbol_identity_of(&st);
}

void
alqi_symbol_cache_init(struct alqi_symbol_cache *cache, bool is_allowed)
{
    memset(cache, 0, sizeof *cache);
    cache->dir = -1;
    cache->is_allowed = is_allowed;
}

/* Opens the directory and finds what resolves, once; false: no cache. */
static bool
cache_open(struct alqi_symbol_cache *cache)
{
    Dl_info info;

    if (!cache->is_allowed || cache->is_asked)
        return cache->dir >= 0;
    cache->is_asked = true;
    identity_read(&cache->resolver[0], "/proc/self/exe");
    if (dladdr((void *)(uintptr_t)dwarf_begin_elf, &info) != 0 &&
        info.dli_fname != NULL)
        identity_read(&cache->resolver[1], info.dli_fname);
    /* without knowing who resolves, no answer can be told from an old one */
    if (cache->resolver[0].inode != 0)
        cache->dir = dir_open(false);
    return cache->dir >= 0;
}

/* ---- a file -------------------------------------------------------------- */

/* Completes the key, and writes the name of its file. */
static void
file_name(const struct alqi_symbol_cache *cache,
          struct alqi_symbol_cache_key *key, char *name)
{
    uint64_t words[sizeof *key / 8], hash = 0, i;
    size_t n = 0;

    _Static_assert(sizeof *key % 8 == 0, "no byte is left out");
    memcpy(key->resolver, cache->resolver, sizeof key->resolver);
    memcpy(words, key, sizeof words);
    for (i = 0; i < ALQI_COUNT_OF(words); i++)
        hash = alqi_base_mix(hash ^ words[i]);
    for (i = 0; i < key->build_id_bytes; i++)
        n += (size_t)snprintf(name + n, FILE_NAME_BYTES - n, "%02x",
                              key->build_id[i]);
    snprintf(name + n, FILE_NAME_BYTES - n, "-%016llx" SUFFIX,
             (unsigned long long)hash);
}

static uint32_t
checksum_of(const uint8_t *bytes, size_t n)
{
    enum { FROM = offsetof(struct header, n_addresses) };

    return (uint32_t)crc32_z(crc32_z(0, NULL, 0), bytes + FROM, n - FROM);
}

/* Bytes of a whole file with that header. */
static uint64_t
bytes_of(const struct header *h)
{
    return sizeof *h + (uint64_t)h->n_addresses * sizeof(uint64_t) +
           ((uint64_t)h->n_addresses + 1) * sizeof(uint32_t) +
           (uint64_t)h->n_frames * sizeof(struct record) + h->n_text_bytes;
}

/* Whether the file is whole, and of the key (.inv.kept_key). */
static bool
header_is_right(const struct header *h, const uint8_t *bytes, size_t n,
                const struct alqi_symbol_cache_key *key)
{
    return memcmp(h->magic, magic, sizeof magic) == 0 && h->file_bytes == n &&
           memcmp(&h->key, key, sizeof *key) == 0 && bytes_of(h) == n &&
           h->n_text_bytes > 0 && bytes[n - 1] == '\0' &&
           h->checksum == checksum_of(bytes, n);
}

/* Addresses ascend, and each has at least one frame and not too many. */
static bool
addresses_are_right(const struct alqi_symbol_kept *kept, uint32_t n_frames)
{
    uint32_t i, n;

    if (kept->firsts[0] != 0 || kept->firsts[kept->n_addresses] != n_frames)
        return false;
    for (i = 0; i < kept->n_addresses; i++) {
        n = kept->firsts[i + 1] - kept->firsts[i];
        if (kept->firsts[i + 1] <= kept->firsts[i] ||
            n > ALQI_SYMBOL_DEPTH_MAX ||
            (i > 0 && kept->addresses[i] <= kept->addresses[i - 1]))
            return false;
    }
    return true;
}

/* Makes frames of the records; false: one is damaged, or no memory. */
static bool
frames_make(struct alqi_symbol_kept *kept, const struct header *h)
{
    const void *at = kept->firsts + kept->n_addresses + 1;
    const struct record *r = at;
    const char *texts = (const char *)(r + h->n_frames);
    uint32_t i;

    kept->frames = calloc((size_t)h->n_frames + 1, sizeof *kept->frames);
    if (kept->frames == NULL)
        return false;
    for (i = 0; i < h->n_frames; i++) {
        if (r[i].function >= h->n_text_bytes || r[i].file >= h->n_text_bytes ||
            texts[r[i].function] == '\0')
            return false;
        kept->frames[i] = (struct alqi_symbol_frame){
            texts + r[i].function, texts + r[i].file, r[i].line, r[i].column};
    }
    return true;
}

/* Takes the file's bytes over; false: not as .inv.kept_inside demands. */
static bool
kept_take(struct alqi_symbol_kept *kept, uint8_t *bytes, size_t n,
          const struct alqi_symbol_cache_key *key)
{
    const void *at = bytes + sizeof(struct header);
    struct header h;

    kept->bytes = bytes;
    memcpy(&h, bytes, sizeof h);
    if (!header_is_right(&h, bytes, n, key))
        return false;
    kept->n_addresses = h.n_addresses;
    kept->addresses = at;
    at = kept->addresses + h.n_addresses;
    kept->firsts = at;
    return addresses_are_right(kept, h.n_frames) && frames_make(kept, &h);
}

/* Marks the file as used, once an hour at most. */
static void
file_touch(int fd, const struct stat *st)
{
    if (st->st_mtim.tv_sec + HOUR_S < time(NULL))
        futimens(fd, NULL);
}

/* The user's own regular file of a size that can be right. */
static bool
file_is_own(const struct stat *st)
{
    return S_ISREG(st->st_mode) && st->st_uid == geteuid() &&
           (st->st_mode & 022) == 0 &&
           st->st_size > (off_t)sizeof(struct header) &&
           st->st_size <= FILE_BYTES_MAX;
}

/* The whole file in malloc'd memory, because one that is mapped could shrink;
 * NULL: it is not there, not the user's, or no memory. */
static uint8_t *
file_read(int dir, const char *name, size_t *n_bytes)
{
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    uint8_t *bytes = NULL;
    struct stat st;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) == 0 && file_is_own(&st))
        bytes = malloc((size_t)st.st_size);
    if (bytes != NULL && read(fd, bytes, (size_t)st.st_size) != st.st_size) {
        free(bytes);
        bytes = NULL;
    }
    if (bytes != NULL) {
        *n_bytes = (size_t)st.st_size;
        file_touch(fd, &st);
    }
    close(fd);
    return bytes;
}

void
alqi_symbol_cache_read(struct alqi_symbol_cache *cache,
                       struct alqi_symbol_cache_key *key,
                       struct alqi_symbol_kept *kept)
{
    char name[FILE_NAME_BYTES];
    size_t n;
    uint8_t *bytes;

    if (!cache_open(cache))
        return;
    file_name(cache, key, name);
    bytes = file_read(cache->dir, name, &n);
    if (bytes != NULL && !kept_take(kept, bytes, n, key))
        alqi_symbol_kept_drop(kept);
}

size_t
alqi_symbol_kept_find(const struct alqi_symbol_kept *kept, uint64_t address,
                      const struct alqi_symbol_frame **frames)
{
    uint32_t lo = 0, hi = kept->n_addresses, middle;

    while (lo < hi) {
        middle = lo + (hi - lo) / 2;
        if (kept->addresses[middle] < address)
            lo = middle + 1;
        else
            hi = middle;
    }
    if (lo == kept->n_addresses || kept->addresses[lo] != address)
        return 0;
    *frames = &kept->frames[kept->firsts[lo]];
    return kept->firsts[lo + 1] - kept->firsts[lo];
}

void
alqi_symbol_kept_drop(struct alqi_symbol_kept *kept)
{
    free(kept->frames);
    free(kept->bytes);
    memset(kept, 0, sizeof *kept);
}

/* ---- writing ------------------------------------------------------------- */

/* Texts that are gathered, each once. */
struct texts {
    char *at;
    size_t n_bytes, capacity;
    struct alqi_base_map by_hash; /* hash to place + 1 */
};

static uint64_t
text_hash(const char *text)
{
    uint64_t hash = 0;

    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 0x100000001B3u;
    return alqi_base_mix(hash);
}

/* The place of a text that is new; false: no memory, or too many. */
static bool
text_add(struct texts *t, const char *text, uint32_t *place)
{
    size_t n = strlen(text) + 1;
    size_t capacity = 2 * t->capacity + n;
    char *more;

    if (t->n_bytes + n > FILE_BYTES_MAX)
        return false;
    if (t->n_bytes + n > t->capacity) {
        more = realloc(t->at, capacity);
        if (more == NULL)
            return false;
        t->at = more;
        t->capacity = capacity;
    }
    memcpy(t->at + t->n_bytes, text, n);
    *place = (uint32_t)t->n_bytes;
    t->n_bytes += n;
    return true;
}

/* The place of a text.  Two of one hash: the second is put anew each time. */
static bool
text_place(struct texts *t, const char *text, uint32_t *place)
{
    bool is_new;
    uint64_t *known = alqi_base_map_at(&t->by_hash, text_hash(text), &is_new);

    if (known == NULL)
        return false;
    if (!is_new && *known != 0 && strcmp(t->at + *known - 1, text) == 0) {
        *place = (uint32_t)(*known - 1);
        return true;
    }
    if (!text_add(t, text, place))
        return false;
    if (is_new)
        *known = (uint64_t)*place + 1;
    return true;
}

static int
entry_compare(const void *a, const void *b)
{
    const struct alqi_symbol_cache_entry *x = a, *y = b;

    return x->address < y->address ? -1 : x->address > y->address;
}

/* Fills the addresses, firsts and records behind the header. */
static bool
records_fill(uint8_t *file, const struct header *h,
             const struct alqi_symbol_cache_entry *entries, struct texts *texts)
{
    void *at = file + sizeof *h;
    uint64_t *addresses = at;
    uint32_t *firsts, i, k, n = 0;
    struct record *r;

    at = addresses + h->n_addresses;
    firsts = at;
    at = firsts + h->n_addresses + 1;
    r = at;
    for (i = 0; i < h->n_addresses; i++) {
        addresses[i] = entries[i].address;
        firsts[i] = n;
        for (k = 0; k < entries[i].count; k++, n++) {
            r[n].line = entries[i].frames[k].line;
            r[n].column = entries[i].frames[k].column;
            if (!text_place(texts, entries[i].frames[k].function,
                            &r[n].function) ||
                !text_place(texts, entries[i].frames[k].file, &r[n].file))
                return false;
        }
    }
    firsts[i] = n;
    return true;
}

/* Puts the texts behind the records, and the header in front; the file, or
 * NULL and `file` is freed. */
static uint8_t *
file_finish(uint8_t *file, struct header *h, const struct texts *texts)
{
    size_t before = (size_t)bytes_of(h);
    uint8_t *whole = NULL;

    if (before + texts->n_bytes <= FILE_BYTES_MAX && texts->n_bytes > 0)
        whole = realloc(file, before + texts->n_bytes);
    if (whole == NULL) {
        free(file);
        return NULL;
    }
    memcpy(whole + before, texts->at, texts->n_bytes);
    h->n_text_bytes = (uint32_t)texts->n_bytes;
    h->file_bytes = (uint32_t)bytes_of(h);
    memcpy(whole, h, sizeof *h);
    h->checksum = checksum_of(whole, h->file_bytes);
    memcpy(whole, h, sizeof *h);
    return whole;
}

/* The bytes of a file with the entries, in order; NULL: no memory, or it would
 * be too large. */
static uint8_t *
file_make(struct header *h, const struct alqi_symbol_cache_entry *entries,
          size_t n)
{
    struct texts texts = {0};
    uint8_t *file = NULL;
    size_t i, n_frames = 0;

    for (i = 0; i < n; i++)
        n_frames += entries[i].count;
    if (n > FILE_BYTES_MAX || n_frames > FILE_BYTES_MAX)
        return NULL;
    h->n_addresses = (uint32_t)n;
    h->n_frames = (uint32_t)n_frames;
    if (bytes_of(h) <= FILE_BYTES_MAX)
        file = calloc(1, (size_t)bytes_of(h));
    if (file != NULL && records_fill(file, h, entries, &texts)) {
        file = file_finish(file, h, &texts);
    } else {
        free(file);
        file = NULL;
    }
    free(texts.at);
    alqi_base_map_clear(&texts.by_hash);
    return file;
}

/* Writes all of it under that name, or leaves no file of it. */
static bool
file_write(int dir, const char *name, const uint8_t *bytes, size_t n)
{
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool is_whole;

    if (fd < 0)
        return false;
    is_whole = write(fd, bytes, n) == (ssize_t)n;
    is_whole &= close(fd) == 0;
    if (!is_whole)
        unlinkat(dir, name, 0);
    return is_whole;
}

/* Puts the bytes in the file's place (.inv.kept_whole). */
static bool
file_put(int dir, const char *name, const uint8_t *bytes, size_t n)
{
    char fresh[FILE_NAME_BYTES + 32];
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    snprintf(fresh, sizeof fresh, "%s.%llx" SUFFIX_NEW, name,
             (unsigned long long)alqi_base_mix(
                 (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec +
                 alqi_base_mix((uint64_t)getpid() ^ (uintptr_t)bytes)));
    if (!file_write(dir, fresh, bytes, n))
        return false;
    if (renameat(dir, fresh, dir, name) == 0)
        return true;
    unlinkat(dir, fresh, 0);
    return false;
}

bool
alqi_symbol_cache_write(struct alqi_symbol_cache *cache,
                        struct alqi_symbol_cache_key *key,
                        struct alqi_symbol_cache_entry *entries, size_t n)
{
    struct header h = {0};
    char name[FILE_NAME_BYTES];
    uint8_t *bytes;
    bool is_put;

    if (!cache_open(cache) && cache->is_allowed &&
        cache->resolver[0].inode != 0)
        cache->dir = dir_open(true);
    if (cache->dir < 0 || n == 0)
        return false;
    file_name(cache, key, name);
    memcpy(h.magic, magic, sizeof magic);
    h.key = *key;
    qsort(entries, n, sizeof *entries, entry_compare);
    bytes = file_make(&h, entries, n);
    if (bytes == NULL)
        return false;
    is_put = file_put(cache->dir, name, bytes, h.file_bytes);
    cache->has_written |= is_put;
    free(bytes);
    return is_put;
}

/* ---- the size of the whole ------------------------------------------------
 */

/* A file of the cache, for the one who removes old ones. */
struct old {
    char *name; /* owned */
    struct timespec used;
    off_t bytes;
};

struct olds {
    struct old *at;
    size_t n, capacity;
    off_t bytes; /* of all */
};

static bool
ends_with(const char *name, const char *suffix)
{
    size_t n = strlen(name), n_suffix = strlen(suffix);

    return n > n_suffix && strcmp(name + n - n_suffix, suffix) == 0;
}

static int
old_compare(const void *a, const void *b)
{
    const struct timespec *x = &((const struct old *)a)->used;
    const struct timespec *y = &((const struct old *)b)->used;

    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? -1 : 1;
    return x->tv_nsec < y->tv_nsec ? -1 : x->tv_nsec > y->tv_nsec;
}

/* Lists a file of the cache; removes one that a command which ended left half
 * written. */
static void
old_add(struct olds *olds, int dir, const char *name)
{
    bool is_new = ends_with(name, SUFFIX_NEW);
    struct stat st;

    if ((!is_new && !ends_with(name, SUFFIX)) ||
        fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISREG(st.st_mode))
        return;
    if (is_new && st.st_mtim.tv_sec + HOUR_S < time(NULL))
        unlinkat(dir, name, 0);
    if (is_new || !ALQI_SYMBOL_ARRAY_FIT(olds->at, olds->n, olds->capacity,
                                         SIZE_MAX / sizeof(struct old)))
        return;
    olds->at[olds->n] = (struct old){strdup(name), st.st_mtim, st.st_size};
    if (olds->at[olds->n].name == NULL)
        return;
    olds->bytes += st.st_size;
    olds->n++;
}

/* Removes the files used longest ago until a quarter is free
 * (.inv.kept_bound): so not every write has to remove one. */
static void
olds_remove(struct olds *olds, int dir)
{
    size_t i, n = olds->n;

    if (olds->bytes <= BYTES_MAX && n <= FILES_MAX)
        return;
    qsort(olds->at, n, sizeof *olds->at, old_compare);
    for (i = 0; i < olds->n &&
                (olds->bytes > BYTES_MAX / 4 * 3 || n > FILES_MAX / 4 * 3);
         i++, n--) {
        unlinkat(dir, olds->at[i].name, 0);
        olds->bytes -= olds->at[i].bytes;
    }
}

void
alqi_symbol_cache_drop(struct alqi_symbol_cache *cache)
{
    struct olds olds = {0};
    struct dirent *entry;
    DIR *list;

    if (cache->has_written && (list = fdopendir(cache->dir)) != NULL) {
        while ((entry = readdir(list)) != NULL)
            old_add(&olds, cache->dir, entry->d_name);
        olds_remove(&olds, cache->dir);
        while (olds.n > 0)
            free(olds.at[--olds.n].name);
        free(olds.at);
        closedir(list);
    } else if (cache->dir >= 0) {
        close(cache->dir);
    }
    cache->dir = -1;
}
