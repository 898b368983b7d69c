/* dump_decode_test.c -- what the encoder writes comes back, and damage is told
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/test_seed.h"
#include "wire/dump_decode.h"

enum { BLOCKS = 3000, EDGES_MOST = 5 };

static uint8_t file[1 << 20];
static size_t n_file;
static struct alqi_dump_encoder e;

/* A block as it was written. */
static struct written {
    uint64_t address, wosize, kind_plus_1, edges[EDGES_MOST];
    unsigned tag, n_edges;
} blocks[BLOCKS];

static bool
keep(void *arg, const uint8_t *bytes, size_t n)
{
    (void)arg;
    assert_true(n_file + n <= sizeof file);
    memcpy(file + n_file, bytes, n);
    n_file += n;
    return true;
}

static void
block_write(struct written *b, uint64_t header)
{
    b->address = header + 8;
    b->wosize = 1 + alqi_base_test_below(4) * alqi_base_test_below(40);
    b->tag = (unsigned)alqi_base_test_below(256);
    b->kind_plus_1 = alqi_base_test_below(2) * alqi_base_test_below(1000);
    b->n_edges = (unsigned)alqi_base_test_below(EDGES_MOST + 1);
    if (b->n_edges > b->wosize)
        b->n_edges = (unsigned)b->wosize;
    alqi_dump_block(&e, b->address, b->wosize, b->tag, b->kind_plus_1);
    for (unsigned i = 0; i < b->n_edges; i++) {
        b->edges[i] = alqi_base_test_below(4) == 0
                          ? alqi_base_test_below(UINT64_MAX / 8) * 8
                          : b->address + alqi_base_test_below(4096) * 8;
        alqi_dump_edge(&e, b->edges[i]);
    }
}

/* Blocks with gaps between them, small and large ones. */
static void
blocks_write(void)
{
    uint64_t header = 0x10000;

    for (unsigned i = 0; i < BLOCKS; i++) {
        block_write(&blocks[i], header);
        header = blocks[i].address + blocks[i].wosize * 8;
        header +=
            alqi_base_test_below(3) == 0 ? alqi_base_test_below(300) * 8 : 0;
        if (alqi_base_test_below(200) == 0)
            header += alqi_base_test_below(UINT32_MAX) * 8;
    }
}

static void
file_write(uint64_t seed)
{
    static const struct alqi_dump_frame frames[] = {{0x500, NULL, NULL, 0},
                                                    {0, "f", "a.scm", 7}};
    struct alqi_dump_module m = {
        0x400, 0x600, 0x100, "/p", (const uint8_t *)"id", 2};

    alqi_base_test_begin(seed);
    n_file = 0;
    alqi_dump_begin(&e, keep, NULL);
    alqi_dump_program(&e, 12, 34, "a\0b", 3);
    alqi_dump_module(&e, &m);
    alqi_dump_kind_name(&e, 3, "pair");
    alqi_dump_site(&e, 9, frames, 2);
    alqi_dump_root(&e, ALQI_DUMP_ROOT_GLOBAL, 2, 0x700, "g", 0x10008);
    blocks_write();
    alqi_dump_sample(&e, 0x10008, 9, 2, 0.25);
    alqi_dump_traced(&e, 0x10008, 3, 12345);
    assert_true(alqi_dump_end(&e, 77, true));
}

static void
text_is(const struct alqi_dump_text *text, const char *expected, size_t n)
{
    assert_int_equal(text->n, n);
    assert_memory_equal(text->bytes, expected, n);
}

static void
next_is(struct alqi_dump_decoder *d, struct alqi_dump_record *r,
        enum alqi_dump_kind kind)
{
    assert_int_equal(alqi_dump_next(d, r), 1);
    assert_int_equal(r->kind, kind);
}

static void
head_is(struct alqi_dump_decoder *d)
{
    struct alqi_dump_site_frame f;
    struct alqi_dump_record r;

    next_is(d, &r, ALQI_DUMP_PROGRAM);
    assert_true(r.numbers[0] == 12 && r.numbers[1] == 34);
    text_is(&r.texts[0], "a\0b", 3);
    next_is(d, &r, ALQI_DUMP_MODULE);
    assert_true(r.numbers[0] == 0x400 && r.numbers[2] == 0x100);
    text_is(&r.texts[0], "/p", 2);
    text_is(&r.texts[1], "id", 2);
    next_is(d, &r, ALQI_DUMP_KIND);
    assert_int_equal(r.numbers[0], 3);
    text_is(&r.texts[0], "pair", 4);
    next_is(d, &r, ALQI_DUMP_SITE);
    assert_true(r.numbers[0] == 9 && r.numbers[1] == 2);
    alqi_dump_next_frame(&r, &f);
    assert_true(f.address == 0x500 && f.function.n == 0);
    alqi_dump_next_frame(&r, &f);
    assert_true(f.address == 0 && f.line == 7);
    text_is(&f.file, "a.scm", 5);
    next_is(d, &r, ALQI_DUMP_ROOT);
    assert_int_equal(r.numbers[0], ALQI_DUMP_ROOT_GLOBAL);
    assert_true(r.numbers[2] == 0x700 && r.numbers[3] == 0x10008);
    text_is(&r.texts[0], "g", 1);
}

static void
block_is(struct alqi_dump_decoder *d, const struct alqi_dump_block_read *b,
         const struct written *w, bool has_edges)
{
    uint64_t target;

    assert_true(b->address == w->address && b->wosize == w->wosize);
    assert_true(b->tag == w->tag && b->kind_plus_1 == w->kind_plus_1);
    assert_int_equal(alqi_dump_has_edge(d), w->n_edges > 0);
    for (unsigned i = 0; has_edges && i < w->n_edges; i++) {
        assert_true(alqi_dump_next_edge(d, &target));
        assert_true(target == w->edges[i]);
    }
    assert_true(!has_edges || !alqi_dump_next_edge(d, &target));
}

/* The head, then every block, with its edges read or skipped. */
static void
all_comes_back(bool has_edges)
{
    struct alqi_dump_decoder d;
    struct alqi_dump_record r;
    struct alqi_dump_block_read b;
    unsigned i = 0;

    assert_true(alqi_dump_decode(&d, file, n_file));
    head_is(&d);
    while (alqi_dump_next(&d, &r) == 1 && r.kind == ALQI_DUMP_RUN)
        while (alqi_dump_next_block(&d, &b))
            block_is(&d, &b, &blocks[i++], has_edges);
    assert_int_equal(i, BLOCKS);
    assert_int_equal(r.kind, ALQI_DUMP_SAMPLE);
    assert_true(r.numbers[0] == 0x10008 && r.numbers[2] == 2);
    next_is(&d, &r, ALQI_DUMP_TRACED);
    assert_true(r.numbers[0] == 0x10008 && r.numbers[1] == 3 &&
                r.numbers[2] == 12345);
    next_is(&d, &r, ALQI_DUMP_END);
    assert_true(r.numbers[0] == BLOCKS && r.numbers[5] == 77);
    assert_int_equal(alqi_dump_next(&d, &r), 0);
    assert_null(d.error);
}

static void
written_comes_back(void **unused)
{
    (void)unused;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        file_write(seed);
        all_comes_back(true);
        all_comes_back(false);
    }
}

/* Reads everything; returns how many blocks there were. */
static unsigned
read_all(struct alqi_dump_decoder *d, size_t n)
{
    uint8_t *bytes = malloc(n + 1); /* an end of its own, for the sanitizer */
    struct alqi_dump_block_read b;
    struct alqi_dump_record r;
    uint64_t target;
    unsigned n_blocks = 0;

    assert_non_null(bytes);
    memcpy(bytes, file, n);
    if (alqi_dump_decode(d, bytes, n))
        while (alqi_dump_next(d, &r) == 1)
            while (alqi_dump_next_block(d, &b))
                for (n_blocks++; alqi_dump_next_edge(d, &target);)
                    ;
    free(bytes);
    return n_blocks;
}

/* Wherever a file was cut, that is told, and the blocks before it are there. */
static void
cut_files_are_told(void **unused)
{
    struct alqi_dump_decoder d;
    unsigned before = 0, n;

    (void)unused;
    file_write(99);
    for (size_t i = 0; i < n_file; i += 1 + i / 100) {
        n = read_all(&d, i);
        assert_non_null(d.error);
        assert_true(d.error_bytes <= i);
        assert_true(n >= before && n <= BLOCKS);
        before = n;
    }
    assert_int_equal(read_all(&d, n_file), BLOCKS);
    assert_null(d.error);
}

static void
fails(const char *bytes, size_t n, const char *error, uint64_t where)
{
    struct alqi_dump_decoder d;

    memcpy(file, ALQI_DUMP_MAGIC, 8);
    memcpy(file + 8, bytes, n);
    read_all(&d, 8 + n);
    assert_string_equal(d.error, error);
    assert_int_equal(d.error_bytes, where);
}

static void
damage_is_named(void **unused)
{
    struct alqi_dump_decoder d;

    (void)unused;
    memcpy(file, "ALQHEAP2", 8);
    read_all(&d, 8);
    assert_string_equal(d.error, "it is not a snapshot of a managed heap");
    fails("", 0, "the file has no end: it was cut", 8);
    fails("\x0a", 1, "a record is of no known kind", 8);
    fails("\x07\x01", 2, "blocks begin at no word's address", 10);
    fails("\x07\x08\x7f\x00\x00", 5, "a block has no words", 13);
    fails("\x05\x0b\0\0\0\0", 6, "a root is of no known kind", 14);
    fails("\x03\x01\x05"
          "abc",
          6, "the file ends within a text", 11);
    fails("\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 11,
          "a number has more than 64 bits", 19);
    fails("\x07\x08\x80\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00", 15,
          "a block lies beyond the last address", 23);
}

int
main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(written_comes_back),
        cmocka_unit_test(cut_files_are_told),
        cmocka_unit_test(damage_is_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
