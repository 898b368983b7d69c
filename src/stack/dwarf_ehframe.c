/* dwarf_ehframe.c -- .eh_frame_hdr, CIE and FDE
 *
 * Layout: LSB core, chapter "Exception Frames".  From an address: the header's
 * table (binary search), or a scan; the FDE there; its CIE; the instructions
 * of both, run up to the address.
 *
 * Keeps .inv.extent: every byte is read through a cursor that ends with its
 * entry, and an entry must lie in its segment.  An entry of extended length
 * keeps a 4-byte CIE pointer, as the LSB says. */
#include <string.h>

#include "base/base.h"
#include "stack/arch.h"
#include "stack/dwarf_ehframe.h"
#include "stack/dwarf_encoded.h"

enum {
    HDR_VERSION = 1,
    EXTENDED_LENGTH = -1,
    AUGMENTATION_MAX = 8,
    EH_POINTER_BYTES = 8
};

/* One CIE or FDE. */
struct entry {
    struct alqi_stack_bytes body; /* its bytes after the length */
    const uint8_t *next;          /* where the next entry begins */
};

/* What a CIE says of its FDEs. */
struct cie {
    struct alqi_stack_cfi cfi;
    struct alqi_stack_bytes code; /* instructions run before the FDE's */
    bool has_lengths; /* 'z': augmentation data begin with their length */
    bool is_signal;   /* 'S' */
};

/* Whether [p, p + n) lies in the segment. */
static bool
extent_has(const struct alqi_stack_extent *e, const uint8_t *p, size_t n)
{
    return p >= e->lo && p <= e->hi && (size_t)(e->hi - p) >= n;
}

/* The segment that p lies in, or NULL. */
static const struct alqi_stack_extent *
extent_of(const struct alqi_stack_extent *segments, size_t n, const uint8_t *p)
{
    for (size_t i = 0; i < n; i++)
        if (extent_has(&segments[i], p, 1))
            return &segments[i];
    return NULL;
}

/* An encoded pointer, followed once more when it is indirect. */
static uintptr_t
pointer(const struct alqi_stack_sections *s, struct alqi_stack_bytes *b,
        uint8_t encoding)
{
    uintptr_t base = (uintptr_t)s->hdr_at;
    uintptr_t v;

    if (encoding == ALQI_STACK_ENC_OMIT ||
        (encoding & ALQI_STACK_ENC_INDIRECT) == 0)
        return alqi_stack_encoded(b, encoding, base);
    v = alqi_stack_encoded(b, encoding & ~ALQI_STACK_ENC_INDIRECT, base);
    if (!extent_has(&s->frames, (const uint8_t *)v, sizeof v) &&
        !extent_has(&s->hdr, (const uint8_t *)v, sizeof v)) {
        b->is_bad = true;
        return 0;
    }
    memcpy(&v, (const uint8_t *)v, sizeof v);
    return v;
}

/* Finds the search table behind the header's fields; true without one that can
 * be used: .eh_frame is scanned. */
static bool
table_read(struct alqi_stack_sections *s, struct alqi_stack_bytes *b,
           uint8_t count_encoding)
{
    unsigned half = alqi_stack_encoded_bytes(s->table_encoding);

    s->table = NULL;
    s->n_table = 0;
    if (count_encoding == ALQI_STACK_ENC_OMIT ||
        s->table_encoding == ALQI_STACK_ENC_OMIT || half == 0 ||
        (s->table_encoding & ALQI_STACK_ENC_INDIRECT) != 0)
        return true; /* to be scanned */
    s->n_table = pointer(s, b, count_encoding);
    if (b->is_bad || s->n_table > alqi_stack_bytes_left(b) / (2 * half))
        return false;
    if (s->n_table > 0)
        s->table = b->at;
    return true;
}

bool
alqi_stack_sections_read(const uint8_t *hdr,
                         const struct alqi_stack_extent *segments,
                         size_t n_segments, struct alqi_stack_sections *out)
{
    const struct alqi_stack_extent *e = extent_of(segments, n_segments, hdr);
    struct alqi_stack_bytes b;
    uint8_t frames_encoding, count_encoding;

    if (e == NULL)
        return false;
    out->hdr = *e;
    out->frames = *e; /* until it is known */
    out->hdr_at = hdr;
    b = (struct alqi_stack_bytes){hdr, e->hi, false};
    if (alqi_stack_bytes_u8(&b) != HDR_VERSION)
        return false;
    frames_encoding = alqi_stack_bytes_u8(&b);
    count_encoding = alqi_stack_bytes_u8(&b);
    out->table_encoding = alqi_stack_bytes_u8(&b);
    if (frames_encoding == ALQI_STACK_ENC_OMIT)
        return false;
    out->frames_at = (const uint8_t *)pointer(out, &b, frames_encoding);
    e = extent_of(segments, n_segments, out->frames_at);
    if (b.is_bad || e == NULL)
        return false;
    out->frames = *e;
    return table_read(out, &b, count_encoding);
}

/* False at the terminator, or when the entry leaves its segment. */
static bool
entry_open(const struct alqi_stack_sections *s, const uint8_t *at,
           struct entry *out)
{
    struct alqi_stack_bytes b = {at, s->frames.hi, false};
    uint64_t n;

    if (!extent_has(&s->frames, at, 4))
        return false;
    n = alqi_stack_bytes_uint(&b, 4);
    if (n == (uint32_t)EXTENDED_LENGTH)
        n = alqi_stack_bytes_uint(&b, 8);
    if (b.is_bad || n < 4 || n > alqi_stack_bytes_left(&b))
        return false;
    out->body = (struct alqi_stack_bytes){b.at, b.at + n, false};
    out->next = b.at + n;
    return true;
}

/* The augmentation data in the order of the string's letters. */
static bool
augmentation_read(const struct alqi_stack_sections *s, const char *letters,
                  struct alqi_stack_bytes *b, struct cie *cie)
{
    for (; *letters != '\0'; letters++) {
        switch (*letters) {
        case 'R':
            cie->cfi.pointer_encoding = alqi_stack_bytes_u8(b);
            break;
        case 'P': {
            uint8_t encoding = alqi_stack_bytes_u8(b);

            /* the routine itself is of no use here: never followed */
            if (encoding != ALQI_STACK_ENC_OMIT)
                encoding &= (uint8_t)~ALQI_STACK_ENC_INDIRECT;
            alqi_stack_encoded(b, encoding, (uintptr_t)s->hdr_at);
            break;
        }
        case 'L':
            alqi_stack_bytes_u8(b);
            break;
        case 'S':
            cie->is_signal = true;
            break;
        case 'B': /* return addresses are signed with key B */
        case 'G': /* the frame is memory-tagged */
            break;
        default:
            return false;
        }
    }
    return !b->is_bad;
}

/* Takes the augmentation string; NULL when it is unreasonable. */
static const char *
augmentation_letters(struct alqi_stack_bytes *b)
{
    const char *s = (const char *)b->at;

    for (unsigned i = 0; i < AUGMENTATION_MAX && !b->is_bad; i++)
        if (alqi_stack_bytes_u8(b) == 0)
            return b->is_bad ? NULL : s;
    return NULL;
}

/* Reads the augmentation data of a CIE with these letters; false: they change
 * what follows in a way we do not know. */
static bool
cie_augmented(const struct alqi_stack_sections *s, const char *letters,
              struct alqi_stack_bytes *b, struct cie *cie)
{
    struct alqi_stack_bytes data;
    const uint8_t *p;
    uint64_t n;

    if (letters[0] == '\0')
        return true;
    if (letters[0] != 'z')
        return false;
    cie->has_lengths = true;
    n = alqi_stack_bytes_uleb(b);
    p = alqi_stack_bytes_take(b, n);
    if (p == NULL)
        return false;
    data = (struct alqi_stack_bytes){p, p + n, false};
    return augmentation_read(s, letters + 1, &data, cie);
}

/* Reads the CIE at `at`; false: damaged, or of a version we do not know.  Out
 * of line, like all that is done before the code runs: the stack may be a small
 * one. */
static ALQI_NOINLINE bool
cie_read(const struct alqi_stack_sections *s, const uint8_t *at,
         uint8_t extra_reg, struct cie *cie)
{
    struct entry e;
    struct alqi_stack_bytes *b = &e.body;
    const char *letters;
    uint64_t ra, version;

    if (!entry_open(s, at, &e) || alqi_stack_bytes_uint(b, 4) != 0)
        return false;
    version = alqi_stack_bytes_u8(b);
    letters = augmentation_letters(b);
    if (letters == NULL || (version != 1 && version != 3 && version != 4))
        return false;
    if (version == 4 && alqi_stack_bytes_uint(b, 2) != 8)
        return false; /* 8-byte addresses, no segments */
    if (strcmp(letters, "eh") == 0) {
        alqi_stack_bytes_take(b, EH_POINTER_BYTES); /* gcc 2 */
        letters += 2;
    }
    cie->cfi.origin = s->frames.lo;
    cie->cfi.code_align = alqi_stack_bytes_uleb(b);
    cie->cfi.data_align = alqi_stack_bytes_sleb(b);
    ra = version == 1 ? alqi_stack_bytes_u8(b) : alqi_stack_bytes_uleb(b);
    cie->cfi.ra_reg = (uint8_t)ra;
    cie->cfi.extra_reg = extra_reg;
    cie->cfi.data_base = (uintptr_t)s->hdr_at;
    cie->cfi.pointer_encoding = ALQI_STACK_ENC_ABSPTR;
    cie->has_lengths = false;
    cie->is_signal = false;
    if (ra >= ALQI_STACK_NO_REG || !cie_augmented(s, letters, b, cie))
        return false;
    cie->code = *b;
    return !b->is_bad;
}

/* The FDE's range and code; false when `key` lies outside. */
static bool
fde_covers(const struct alqi_stack_sections *s, const struct cie *cie,
           struct alqi_stack_bytes *b, uintptr_t key, uintptr_t *start)
{
    uint8_t encoding = cie->cfi.pointer_encoding;
    uintptr_t n;

    *start = pointer(s, b, encoding);
    n = alqi_stack_encoded(b, encoding & ALQI_STACK_ENC_FORMAT, 0);
    if (b->is_bad || key - *start >= n)
        return false;
    if (cie->has_lengths)
        alqi_stack_bytes_take(b, alqi_stack_bytes_uleb(b));
    return !b->is_bad;
}

/* Runs the CIE's code, then the FDE's, up to `key`. */
static bool
state_at(const struct cie *cie, const struct alqi_stack_bytes *fde,
         uintptr_t start, uintptr_t key, struct alqi_stack_unwind *out)
{
    struct alqi_stack_cfi_state initial;
    uintptr_t loc = 0;

    memset(&initial, 0, sizeof initial);
    initial.cfa.how = ALQI_STACK_UNDEFINED;
    initial.cfa_reg = ALQI_STACK_NO_REG;
    if (!alqi_stack_cfi_run(&cie->cfi, &cie->code, &loc, UINTPTR_MAX, NULL,
                            &initial))
        return false;
    out->state = initial;
    out->origin = cie->cfi.origin;
    out->is_signal = cie->is_signal;
    out->start = start;
    loc = start;
    return alqi_stack_cfi_run(&cie->cfi, fde, &loc, key, &initial,
                              &out->state) &&
           out->state.cfa.how != ALQI_STACK_UNDEFINED;
}

/* False when the entry at `at` is no FDE, or not one for `key`. */
static bool
fde_try(const struct alqi_stack_sections *s, const uint8_t *at, uintptr_t key,
        uint8_t extra_reg, struct alqi_stack_unwind *out)
{
    struct entry e;
    struct cie cie;
    const uint8_t *id_at;
    uint64_t id;
    uintptr_t start;

    if (!entry_open(s, at, &e))
        return false;
    id_at = e.body.at;
    id = alqi_stack_bytes_uint(&e.body, 4);
    if (id == 0 || id > (size_t)(id_at - s->frames.lo))
        return false;
    return cie_read(s, id_at - id, extra_reg, &cie) &&
           fde_covers(s, &cie, &e.body, key, &start) &&
           state_at(&cie, &e.body, start, key, out);
}

/* Word i of the table: addresses and FDEs by turns, each `half` bytes. */
static uintptr_t
table_word(const struct alqi_stack_sections *s, uint64_t i, unsigned half)
{
    struct alqi_stack_bytes b;

    b.at = s->table + i * half;
    b.end = b.at + half;
    b.is_bad = false;
    return alqi_stack_encoded(&b, s->table_encoding, (uintptr_t)s->hdr_at);
}

/* The FDE of the last entry that begins at or before `key`. */
static ALQI_NOINLINE const uint8_t *
table_find(const struct alqi_stack_sections *s, uintptr_t key)
{
    unsigned half = alqi_stack_encoded_bytes(s->table_encoding);
    uint64_t lo = 0, hi = s->n_table;

    while (lo < hi) {
        uint64_t mid = lo + (hi - lo) / 2;

        if (table_word(s, 2 * mid, half) <= key)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == 0)
        return NULL;
    return (const uint8_t *)table_word(s, 2 * lo - 1, half);
}

bool
alqi_stack_ehframe_find(const struct alqi_stack_sections *s, uintptr_t key,
                        uint8_t extra_reg, struct alqi_stack_unwind *out)
{
    const uint8_t *at;
    struct entry e;

    if (s->table != NULL) {
        at = table_find(s, key);
        return at != NULL && fde_try(s, at, key, extra_reg, out);
    }
    for (at = s->frames_at; entry_open(s, at, &e); at = e.next)
        if (fde_try(s, at, key, extra_reg, out))
            return true;
    return false;
}
