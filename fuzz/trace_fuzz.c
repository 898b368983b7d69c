/* trace_fuzz.c -- the trace reader and the dump on any bytes
 *
 * Besides not crashing: what the reader promises its consumers holds for each
 * event.  Dumped text is bounded, since a few bytes can name a deep stack. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "wire/ctf_dump.h"

enum { TEXT_BYTES_MAX = 1 << 20, DOMAINS_WATCHED = 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
    const uint8_t *data;
    size_t left;
};

static ptrdiff_t
take(void *arg, void *bytes, size_t n)
{
    struct input *in = arg;

    n = n < in->left ? n : in->left;
    if (n > 0)
        memcpy(bytes, in->data, n);
    in->data += n;
    in->left -= n;
    return (ptrdiff_t)n;
}

static bool
count_text(void *arg, const char *text, size_t n)
{
    size_t *total = arg;

    if (memchr(text, '\0', n) != NULL)
        abort();
    *total += n;
    return *total < TEXT_BYTES_MAX;
}

static void
count_warning(void *arg, uint64_t offset_bytes, const char *text)
{
    unsigned *n = arg;

    (void)offset_bytes;
    if (text[0] == '\0' || ++*n > 100)
        abort();
}

static void
check(bool is_true)
{
    if (!is_true)
        abort();
}

static void
read_events(struct alqi_ctf_reader *reader)
{
    uint64_t last_us[DOMAINS_WATCHED] = {0};
    struct alqi_ctf_event event;
    uint64_t sum = 0;
    size_t n_text = 0;
    int got;

    while ((got = alqi_ctf_reader_next(reader, &event)) > 0) {
        if (event.domain < DOMAINS_WATCHED) {
            check(event.time_us >= last_us[event.domain]);
            last_us[event.domain] = event.time_us;
        }
        if (event.kind == ALQI_CTF_ALLOC && event.n_codes > 0)
            sum += event.codes[0] + event.codes[event.n_codes - 1];
        for (uint32_t i = 0;
             event.kind == ALQI_CTF_LOCATION && i < event.location.n_entries;
             i++)
            sum += strlen(event.location.entries[i].function) +
                   strlen(event.location.entries[i].file);
        if (n_text < TEXT_BYTES_MAX)
            alqi_ctf_dump_event(reader, &event, count_text, &n_text);
    }
    __asm__ volatile("" : : "r"(sum)); /* read, whatever it is */
    check((got < 0) == (alqi_ctf_reader_error(reader)[0] != '\0'));
    check(alqi_ctf_reader_next(reader, &event) == got);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, size};
    unsigned n_warnings = 0;
    struct alqi_ctf_reader *reader;
    enum alq_status status =
        alqi_ctf_reader_open(take, &in, count_warning, &n_warnings, &reader);

    if (status == ALQ_OK)
        read_events(reader);
    else
        check(alqi_ctf_reader_error(reader)[0] != '\0');
    check(alqi_ctf_reader_offset_bytes(reader) <= size);
    alqi_ctf_reader_drop(reader);
    return 0;
}
