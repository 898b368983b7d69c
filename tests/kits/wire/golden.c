/* golden.c -- see golden.h */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <unistd.h>
#include <cmocka.h>

#include "kits/wire/golden.h"

void
golden_append(struct golden_bytes *b, const void *bytes, size_t n)
{
    if (n == 0)
        return; /* bytes may be NULL */
    if (n > b->capacity - b->n) {
        while (n > b->capacity - b->n)
            b->capacity = b->capacity == 0 ? 65536 : b->capacity * 2;
        b->bytes = realloc(b->bytes, b->capacity);
        if (b->bytes == NULL)
            abort();
    }
    memcpy(b->bytes + b->n, bytes, n);
    b->n += n;
}

static FILE *
open_any(const char *path, bool is_xz)
{
    char command[4096];

    if (!is_xz)
        return fopen(path, "rb");
    if (access(path, R_OK) != 0)
        return NULL;
    snprintf(command, sizeof command, "xz -dc '%s'", path);
    return popen(command, "r");
}

struct golden_bytes
golden_load(const char *path)
{
    struct golden_bytes b = {0};
    size_t length = strlen(path);
    bool is_xz = length > 3 && strcmp(path + length - 3, ".xz") == 0;
    FILE *f = open_any(path, is_xz);
    char piece[16384];
    size_t n;

    if (f == NULL)
        fail_msg("%s cannot be opened", path);
    golden_append(&b, "", 0);
    while ((n = fread(piece, 1, sizeof piece, f)) > 0)
        golden_append(&b, piece, n);
    if ((is_xz ? pclose(f) : fclose(f)) != 0)
        fail_msg("%s cannot be read (is xz installed?)", path);
    return b;
}

struct golden_bytes
golden_trace(const char *dir, const char *name)
{
    char path[4096];

    snprintf(path, sizeof path, "%s/%s.ctf", dir, name);
    if (access(path, R_OK) != 0)
        snprintf(path, sizeof path, "%s/%s.ctf.xz", dir, name);
    return golden_load(path);
}

ptrdiff_t
golden_read(void *arg, void *bytes, size_t n)
{
    struct golden_source *s = arg;
    size_t left = s->data.n - s->at;

    if (n > left)
        n = left;
    if (n > 1000)
        n = 1000; /* short reads happen to pipes */
    if (n > 0)
        memcpy(bytes, s->data.bytes + s->at, n);
    s->at += n;
    return (ptrdiff_t)n;
}

/* ---- SHA-256 (FIPS 180-4) -------------------------------------------- */

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static inline uint32_t
turned(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

/* One round; the caller turns the names instead of moving the values. */
#define ROUND(a, b, c, d, e, f, g, h, i)                                       \
    do {                                                                       \
        uint32_t t = (h) + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) +    \
                     (((e) & (f)) ^ (~(e) & (g))) + round_constants[i] + w[i]; \
                                                                               \
        (d) += t;                                                              \
        (h) = t + (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) +             \
              (((a) & (b)) ^ ((a) & (c)) ^ ((b) & (c)));                       \
    } while (0)

static void
block_expand(uint32_t w[64], const uint8_t *block)
{
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15];
        uint32_t b = w[i - 2];

        w[i] = w[i - 16] + w[i - 7] + (turned(a, 7) ^ turned(a, 18) ^ a >> 3) +
               (turned(b, 17) ^ turned(b, 19) ^ b >> 10);
    }
}

static void
block_mix(uint32_t sum[8], const uint8_t *block)
{
    uint32_t w[64];
    uint32_t a = sum[0], b = sum[1], c = sum[2], d = sum[3];
    uint32_t e = sum[4], f = sum[5], g = sum[6], h = sum[7];

    block_expand(w, block);
    for (int i = 0; i < 64; i += 8) {
        ROUND(a, b, c, d, e, f, g, h, i);
        ROUND(h, a, b, c, d, e, f, g, i + 1);
        ROUND(g, h, a, b, c, d, e, f, i + 2);
        ROUND(f, g, h, a, b, c, d, e, i + 3);
        ROUND(e, f, g, h, a, b, c, d, i + 4);
        ROUND(d, e, f, g, h, a, b, c, i + 5);
        ROUND(c, d, e, f, g, h, a, b, i + 6);
        ROUND(b, c, d, e, f, g, h, a, i + 7);
    }
    sum[0] += a;
    sum[1] += b;
    sum[2] += c;
    sum[3] += d;
    sum[4] += e;
    sum[5] += f;
    sum[6] += g;
    sum[7] += h;
}

void
golden_sha256_init(struct golden_sha256 *s)
{
    static const uint32_t h[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372,
                                  0xa54ff53a, 0x510e527f, 0x9b05688c,
                                  0x1f83d9ab, 0x5be0cd19};

    memset(s, 0, sizeof *s);
    memcpy(s->h, h, sizeof h);
}

void
golden_sha256_add(struct golden_sha256 *s, const void *bytes, size_t n)
{
    const uint8_t *at = bytes;

    while (n > 0) {
        size_t used = s->n_bytes % 64;
        size_t k = 64 - used < n ? 64 - used : n;

        if (k == 64) {
            block_mix(s->h, at);
        } else {
            memcpy(s->block + used, at, k);
            if (used + k == 64)
                block_mix(s->h, s->block);
        }
        s->n_bytes += k;
        at += k;
        n -= k;
    }
}

void
golden_sha256_end(struct golden_sha256 *s, char hex[65])
{
    uint64_t n_bits = s->n_bytes * 8;
    uint8_t length[8];

    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)(n_bits >> (56 - 8 * i));
    golden_sha256_add(s, "\x80", 1);
    while (s->n_bytes % 64 != 56)
        golden_sha256_add(s, "", 1);
    golden_sha256_add(s, length, sizeof length);
    for (int i = 0; i < 8; i++)
        snprintf(hex + 8 * i, 9, "%08x", (unsigned)s->h[i]);
}
