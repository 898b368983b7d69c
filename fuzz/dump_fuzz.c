/* dump_fuzz.c -- the decoder of heap snapshots on any bytes
 *
 * What is read is read a second time, edges skipped: the same records and
 * blocks must come, up to the same damage.  The bytes lie in memory of their
 * own, so that a read beyond them is seen. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "wire/dump_decode.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check(bool is_true)
{
    if (!is_true)
        abort();
}

static uint64_t
record_mix(uint64_t sum, struct alqi_dump_record *r)
{
    struct alqi_dump_site_frame f;

    for (unsigned i = 0; i < ALQI_COUNT_OF(r->numbers); i++)
        sum = alqi_base_mix(sum ^ r->numbers[i]);
    for (unsigned i = 0; i < ALQI_COUNT_OF(r->texts); i++)
        for (size_t k = 0; k < r->texts[i].n; k++)
            sum = alqi_base_mix(sum ^ (uint8_t)r->texts[i].bytes[k]);
    for (uint64_t i = 0; r->kind == ALQI_DUMP_SITE && i < r->numbers[1]; i++) {
        alqi_dump_next_frame(r, &f);
        sum = alqi_base_mix(sum ^ f.address ^ f.line ^ f.function.n);
    }
    return sum;
}

/* A number that all records and blocks make. */
static uint64_t
read_all(struct alqi_dump_decoder *d, const uint8_t *bytes, size_t n,
         bool has_edges)
{
    struct alqi_dump_block_read b;
    struct alqi_dump_record r;
    uint64_t sum = 0, target;

    if (!alqi_dump_decode(d, bytes, n))
        return 0;
    while (alqi_dump_next(d, &r) > 0) {
        sum = record_mix(sum, &r);
        while (alqi_dump_next_block(d, &b)) {
            check(b.address % 8 == 0 && b.wosize > 0);
            sum = alqi_base_mix(sum ^ b.address ^ b.wosize ^ b.kind_plus_1);
            while (has_edges && alqi_dump_next_edge(d, &target))
                ;
        }
    }
    return sum;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct alqi_dump_decoder d, again;
    uint8_t *bytes = malloc(size + 1);

    check(bytes != NULL);
    if (size > 0)
        memcpy(bytes, data, size);
    check(read_all(&d, bytes, size, true) ==
          read_all(&again, bytes, size, false));
    check((d.error == NULL) == d.is_over && d.at <= d.end);
    check(d.error == again.error && d.error_bytes == again.error_bytes);
    free(bytes);
    return 0;
}
