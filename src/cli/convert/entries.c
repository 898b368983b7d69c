/* entries.c -- see entries.h */
#include <string.h>

#include "cli/convert/entries.h"
#include "view/cxxname.h"

enum {
    /* bytes of one location record; a reader takes a longer one for damage */
    RECORD_BYTES_MAX = 4096,
    RECORD_HEAD_BYTES = 9,
    /* line, columns, and the NULs of both names */
    ENTRY_HEAD_BYTES = 8,
    /* a shortened name with its NUL */
    NAME_BYTES_MAX = 400,
    LONG_NAME_COLUMNS = 80
};

/* The bytes that a location record of these entries takes in the trace. */
static size_t
record_bytes(const struct alqi_ctf_entry *entries, size_t n)
{
    size_t bytes = RECORD_HEAD_BYTES;

    for (size_t i = 0; i < n; i++)
        bytes += ENTRY_HEAD_BYTES + strlen(entries[i].file) +
                 strlen(entries[i].function);
    return bytes;
}

/* The short form of a name, or the name itself when there is no memory. */
static const char *
shorten(struct alqi_base_arena *names, const char *function)
{
    char text[NAME_BYTES_MAX];
    const char *kept;

    alqi_view_cxxname_shorten(text, sizeof text, function, LONG_NAME_COLUMNS);
    kept = alqi_base_arena_text(names, text, strlen(text));
    return kept != NULL ? kept : function;
}

size_t
alqi_cli_entries_fit(struct alqi_ctf_entry *entries, size_t n,
                     struct alqi_base_arena *names)
{
    size_t n_dropped = 0;

    if (record_bytes(entries, n) <= RECORD_BYTES_MAX)
        return n;
    for (size_t i = 0; i < n; i++)
        entries[i].function = shorten(names, entries[i].function);
    while (1 + n_dropped < n &&
           record_bytes(entries, 1) +
                   record_bytes(entries + 1 + n_dropped, n - 1 - n_dropped) >
               RECORD_BYTES_MAX)
        n_dropped++;
    memmove(entries + 1, entries + 1 + n_dropped,
            (n - 1 - n_dropped) * sizeof *entries);
    return n - n_dropped;
}
