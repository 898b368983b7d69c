/* memory.c -- reading what pages there are, a megabyte at a time
 *
 * A mapping may be of a terabyte, of which a page is used: what its process
 * never touched holds no pointer, and is found in the table of pages that the
 * system keeps.
 *
 * .inv.kept  A memory does not change while it is read, so a page that was read
 *            stays as it is. */
#include "cli/leaks/memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/attach/sent.h"
#include "cli/tool/cli.h"
#include "plat/plat.h"

enum {
    PIECE_BYTES = 1 << 20,
    PAGES_AT_ONCE = 4096,
    /* Shorter ranges are read without a look. */
    LOOK_BYTES = 64 << 10,
    KEPT_BYTES = 4096, /* of a page that is kept, whatever the system's are */
    N_KEPT = 1024
};

struct alqi_cli_leak_page {
    uint64_t address; /* 0: none */
    size_t n_words;   /* so many could be read */
    uint64_t words[KEPT_BYTES / 8];
};

/* Bits of a page in the table: it is in memory, or in swap. */
#define IS_THERE (UINT64_C(3) << 62)

static int
pages_open(pid_t pid)
{
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/pagemap", (int)pid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

void
alqi_cli_leak_memory_open(struct alqi_cli_leak_memory *m,
                          const struct alqi_cli_core *core)
{
    bool is_sent = core->sent != NULL;

    *m = (struct alqi_cli_leak_memory){
        .core = core,
        .pages = is_sent ? -1 : pages_open(core->pid),
        .shared_pages = is_sent ? -1 : pages_open(core->target.pid),
        .buffer = alqi_cli_realloc(NULL, 1, PIECE_BYTES),
        .kept = alqi_cli_zeros(N_KEPT, sizeof *m->kept),
    };
}

void
alqi_cli_leak_memory_close(struct alqi_cli_leak_memory *m)
{
    if (m->pages >= 0)
        close(m->pages);
    if (m->shared_pages >= 0)
        close(m->shared_pages);
    free(m->buffer);
    free(m->kept);
}

/* Reads on behind what could not be read: page by page. */
static void
piece_read(struct alqi_cli_leak_memory *m, uint64_t from, uint64_t to,
           alqi_cli_leak_words_fn *words, void *arg)
{
    uint64_t page = alqi_plat_page_bytes_sigsafe();

    while (from < to) {
        size_t n =
            alqi_cli_core_read(m->core, from, m->buffer, to - from) & ~7u;

        if (n == 0) {
            uint64_t next = (from | (page - 1)) + 1;

            m->unread_bytes += (next < to ? next : to) - from;
            from = next;
            continue;
        }
        words(arg, from, m->buffer, n / 8);
        m->n_words += n / 8;
        from += n;
    }
}

static void
range_read(struct alqi_cli_leak_memory *m, uint64_t from, uint64_t to,
           alqi_cli_leak_words_fn *words, void *arg)
{
    for (uint64_t at = from; at < to; at += PIECE_BYTES)
        piece_read(m, at, to - at > PIECE_BYTES ? at + PIECE_BYTES : to, words,
                   arg);
}

/* Reads runs of pages that are there, of so many from `first` on. */
static void
pages_read(struct alqi_cli_leak_memory *m, uint64_t from, uint64_t to,
           const uint64_t *table, size_t n, alqi_cli_leak_words_fn *words,
           void *arg)
{
    uint64_t page = alqi_plat_page_bytes_sigsafe(), first = from & ~(page - 1);

    for (size_t i = 0, end; i < n; i = end + 1) {
        uint64_t start, stop;

        while (i < n && (table[i] & IS_THERE) == 0)
            i++;
        for (end = i; end < n && (table[end] & IS_THERE) != 0;)
            end++;
        start = first + i * page;
        stop = first + end * page;
        range_read(m, start < from ? from : start, stop > to ? to : stop, words,
                   arg);
    }
}

/* So many entries of the table; 0: there is none. */
static size_t
table_read(const struct alqi_cli_leak_memory *m, bool is_shared, uint64_t first,
           uint64_t table[PAGES_AT_ONCE], size_t n)
{
    int fd = is_shared ? m->shared_pages : m->pages;
    ssize_t n_bytes;

    if (m->core->sent != NULL)
        return alqi_cli_sent_pages(m->core->sent, is_shared, first, table, n);
    if (fd < 0)
        return 0;
    n_bytes =
        pread(fd, table, n * sizeof *table, (off_t)(first * sizeof *table));
    return n_bytes > 0 ? (size_t)n_bytes / sizeof *table : 0;
}

void
alqi_cli_leak_memory_each(struct alqi_cli_leak_memory *m, uint64_t from,
                          uint64_t to, bool is_shared,
                          alqi_cli_leak_words_fn *words, void *arg)
{
    uint64_t page = alqi_plat_page_bytes_sigsafe();
    uint64_t table[PAGES_AT_ONCE];

    from = (from + 7) & ~UINT64_C(7);
    to &= ~UINT64_C(7);
    while (to > from && to - from >= LOOK_BYTES) {
        uint64_t first = from / page, stop, left = (to - 1) / page + 1 - first;
        size_t n = table_read(m, is_shared, first, table,
                              left < PAGES_AT_ONCE ? left : PAGES_AT_ONCE);

        if (n == 0)
            break;
        stop = (first + n) * page;
        if (stop > to)
            stop = to;
        pages_read(m, from, stop, table, n, words, arg);
        from = stop;
    }
    if (to > from)
        range_read(m, from, to, words, arg);
}

bool
alqi_cli_leak_memory_word(const struct alqi_cli_leak_memory *m,
                          uint64_t address, uint64_t *word)
{
    return alqi_cli_core_read(m->core, address, word, sizeof *word) ==
           sizeof *word;
}

/* .inv.kept */
static const struct alqi_cli_leak_page *
page_of(struct alqi_cli_leak_memory *m, uint64_t address)
{
    uint64_t from = address / KEPT_BYTES * KEPT_BYTES;
    struct alqi_cli_leak_page *p = &m->kept[address / KEPT_BYTES % N_KEPT];

    if (p->address != from) {
        p->address = from;
        p->n_words =
            alqi_cli_core_read(m->core, from, p->words, KEPT_BYTES) / 8;
    }
    return p;
}

size_t
alqi_cli_leak_memory_peek(struct alqi_cli_leak_memory *m, uint64_t address,
                          uint64_t *words, size_t n)
{
    size_t n_read = 0;

    while (n_read < n && address % 8 == 0) {
        const struct alqi_cli_leak_page *p = page_of(m, address);
        size_t at = address % KEPT_BYTES / 8, some = n - n_read;

        if (at >= p->n_words)
            break;
        if (some > p->n_words - at)
            some = p->n_words - at;
        memcpy(words + n_read, p->words + at, some * 8);
        n_read += some;
        address += some * 8;
    }
    return n_read;
}
