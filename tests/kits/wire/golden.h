/* golden.h -- for tests: files, their xz form, and SHA-256 */
#ifndef ALQI_KITS_WIRE_GOLDEN_H
#define ALQI_KITS_WIRE_GOLDEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/ctf.h"

/* The data of this repository; set by the build. */
#ifndef GOLDEN_DIR
#define GOLDEN_DIR "tests/golden"
#endif

struct golden_bytes {
    uint8_t *bytes;
    size_t n;
    size_t capacity;
};

/* Bytes that grow; aborts without memory. */
void golden_append(struct golden_bytes *b, const void *bytes, size_t n);

/* The file, decompressed by xz(1) if its name ends in .xz.  Fails the test
 * when it is not there.  Free .bytes. */
struct golden_bytes golden_load(const char *path);

/* A trace, compressed or not: "DIR/NAME.ctf" or "DIR/NAME.ctf.xz". */
struct golden_bytes golden_trace(const char *dir, const char *name);

/* For alqi_ctf_reader_open: reads the bytes, in uneven pieces. */
struct golden_source {
    struct golden_bytes data;
    size_t at;
};
ptrdiff_t golden_read(void *arg, void *bytes, size_t n);

struct golden_sha256 {
    uint32_t h[8];
    uint64_t n_bytes;
    uint8_t block[64];
};
void golden_sha256_init(struct golden_sha256 *s);
void golden_sha256_add(struct golden_sha256 *s, const void *bytes, size_t n);
/* 64 hex digits and NUL. */
void golden_sha256_end(struct golden_sha256 *s, char hex[65]);

#endif
