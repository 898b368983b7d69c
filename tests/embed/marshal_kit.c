#include "base/map.h"
#include "marshal_kit.h"
#include "value_kit.h"

struct alq_domain *d;
static uint64_t seed;

int
setup(void **state)
{
    const struct alq_domain_config config = {.minor_words = 8192,
                                             .space_overhead = 60};

    (void)state;
    seed = 20260411;
    return alq_domain_new(&config, &d) != ALQ_OK;
}

int
teardown(void **state)
{
    (void)state;
    alq_domain_drop(d);
    return 0;
}

uint32_t
rnd(uint32_t n)
{
    seed += 0x9E3779B97F4A7C15u;
    return (uint32_t)(alqi_base_mix(seed) % n);
}

int64_t
rnd_any(void)
{
    rnd(1);
    return (int64_t)alqi_base_mix(seed);
}

void
number(struct hand *m, uint64_t n, unsigned bytes)
{
    while (bytes-- > 0)
        m->bytes[m->n++] = (unsigned char)(n >> (8 * bytes));
}

struct hand
hand(const void *data, size_t n, uint64_t objects, uint64_t words)
{
    struct hand m = {.n = 0};

    number(&m, 0x8495A6BE, 4);
    number(&m, n, 4);
    number(&m, objects, 4);
    number(&m, words, 4);
    number(&m, words, 4);
    memcpy(m.bytes + m.n, data, n);
    m.n += n;
    return m;
}

struct hand
hand_big(const void *data, size_t n, uint64_t objects, uint64_t words)
{
    struct hand m = {.n = 0};

    number(&m, 0x8495A6BF, 4);
    number(&m, 0, 4);
    number(&m, n, 8);
    number(&m, objects, 8);
    number(&m, words, 8);
    memcpy(m.bytes + m.n, data, n);
    m.n += n;
    return m;
}

void
bytes_are(alq_value v, unsigned flags, const void *data, size_t n,
          uint64_t objects, uint64_t words_64)
{
    const struct alq_marshal_options options = {.flags = flags};
    struct alq_marshal_header h;
    unsigned char buffer[HAND_MAX];
    uint64_t counted;
    size_t used;

    assert_int_equal(
        alq_marshal_to_buffer(d, v, &options, buffer, sizeof buffer, &used),
        ALQ_OK);
    assert_int_equal(alq_marshal_header_read(buffer, used, &h), ALQ_OK);
    assert_int_equal(h.header_bytes, 20);
    assert_int_equal(h.data_bytes, n);
    assert_int_equal(h.objects, objects);
    assert_int_equal(h.heap_words, words_64);
    assert_int_equal(used, 20 + n);
    assert_memory_equal(buffer + 20, data, n);
    assert_int_equal(alq_marshal_size(d, v, &options, &counted), ALQ_OK);
    assert_int_equal(counted, used);
}

/* ---- values ------------------------------------------------------------- */

alq_value
pair(alq_value a, alq_value b)
{
    ALQ_FRAME(d, f, a, b);
    alq_value v;

    f.a = a;
    f.b = b;
    v = alq_alloc(d, 2, 0);
    assert_true(!alq_is_null(v));
    alq_init(d, v, 0, f.a);
    alq_init(d, v, 1, f.b);
    return v;
}

alq_value
number_custom(const struct alq_custom_ops *ops, int64_t n)
{
    alq_value v =
        alq_alloc_custom(d, ops, ops == &alq_int32_ops ? 4 : sizeof n);

    assert_true(!alq_is_null(v));
    memcpy(alq_custom_data(v), &n, ops == &alq_int32_ops ? 4 : sizeof n);
    return v;
}

/* ---- custom blocks ------------------------------------------------------ */

/* Holds a count of bytes, and these; each 7 more than in the message. */
unsigned n_finalised;
bool refuse_box;

static void
box_end(alq_value block)
{
    (void)block;
    n_finalised++;
}

static enum alq_status
box_put(struct alq_marshal_out *out, alq_value block,
        struct alq_custom_size *size)
{
    const unsigned char *data = alq_custom_data(block);
    unsigned char byte;
    unsigned i;

    if (refuse_box)
        return ALQ_ENOTSUP;
    size->bytes_32 = size->bytes_64 = 1 + (size_t)data[0];
    alq_marshal_put_number(out, data[0], 1);
    for (i = 1; i <= data[0]; i++) {
        byte = (unsigned char)(data[i] - 7);
        alq_marshal_put(out, &byte, 1);
    }
    return ALQ_OK;
}

static enum alq_status
box_get(struct alq_marshal_in *in, void *to, size_t bytes)
{
    unsigned char *data = to;
    size_t i, n = alq_marshal_get_number(in, 1);

    if (refuse_box)
        return ALQ_EIO;
    if (n + 1 != bytes || n > alq_marshal_left(in))
        return ALQ_EFORMAT;
    data[0] = (unsigned char)n;
    for (i = 1; i <= n; i++)
        data[i] = (unsigned char)(alq_marshal_get_number(in, 1) + 7);
    return ALQ_OK;
}

static const struct alq_custom_ops box_ops = {.name = "test.box",
                                              .finalise = box_end,
                                              .serialise = box_put,
                                              .deserialise = box_get};
const struct alq_custom_ops dumb_ops = {.name = "test.dumb"};
const struct alq_custom_ops *const kinds[] = {&dumb_ops, &box_ops, NULL};

alq_value
box(const char *text)
{
    alq_value v = alq_alloc_custom(d, &box_ops, 1 + strlen(text));
    unsigned char *data;

    assert_true(!alq_is_null(v));
    data = alq_custom_data(v);
    data[0] = (unsigned char)strlen(text);
    memcpy(data + 1, text, strlen(text));
    return v;
}

/* ---- graphs at random --------------------------------------------------- */

/* Written once: what of a is where in b. */
struct twins {
    struct alqi_base_map of;
    alq_value *todo;
    size_t n;
};

static void
twin(struct twins *t, alq_value a, alq_value b)
{
    bool is_new;
    uint64_t *at;

    if (!alq_is_block(a) || alq_wosize(a) == 0) {
        if (alq_is_block(a))
            assert_int_equal(alq_wosize(b), 0);
        else
            assert_same(a, b);
        return;
    }
    assert_true(alq_is_block(b));
    at = alqi_base_map_at(&t->of, alq_bits(a), &is_new);
    assert_non_null(at);
    if (!is_new) {
        assert_int_equal(*at, alq_bits(b));
        return;
    }
    *at = alq_bits(b);
    t->todo = realloc(t->todo, (t->n + 2) * sizeof *t->todo);
    assert_non_null(t->todo);
    t->todo[t->n++] = a;
    t->todo[t->n++] = b;
}

void
is_twin(alq_value a, alq_value b)
{
    struct twins t = {.n = 0};
    uintptr_t i, n, from;

    twin(&t, a, b);
    while (t.n > 0) {
        b = t.todo[--t.n];
        a = t.todo[--t.n];
        n = alq_wosize(a);
        assert_int_equal(alq_tag(a), alq_tag(b));
        assert_int_equal(n, alq_wosize(b));
        from = alq_tag(a) == ALQ_TAG_CUSTOM;
        if (from)
            assert_ptr_equal(alq_custom_ops_of(a), alq_custom_ops_of(b));
        if (alq_tag(a) >= ALQ_TAG_NO_SCAN)
            assert_memory_equal(alq_fields(a) + from, alq_fields(b) + from,
                                8 * (n - from));
        else
            for (i = 0; i < n; i++)
                twin(&t, alq_field(a, i), alq_field(b, i));
    }
    alqi_base_map_clear(&t.of);
    free(t.todo);
}

static alq_value
leaf(void)
{
    static const struct alq_custom_ops *const own[] = {
        &alq_int32_ops, &alq_int64_ops, &alq_nativeint_ops};
    alq_value v;
    uint32_t n;

    switch (rnd(5)) {
    case 0:
        return alq_alloc_double(d, rnd(1000) / 8.0);
    case 1:
        n = rnd(20) == 0 ? 1 + rnd(3000) : 1 + rnd(9);
        v = alq_alloc_double_array(d, n);
        assert_true(!alq_is_null(v));
        alq_double_set(v, n - 1, n);
        return v;
    case 2:
        return number_custom(own[rnd(3)], rnd_any() >> rnd(50));
    default:
        n = rnd(20) == 0 ? rnd(5000) : rnd(40);
        v = alq_alloc_string(d, n);
        assert_true(!alq_is_null(v));
        memset(alq_string_chars(v), (int)('a' + n % 26), n);
        return v;
    }
}

alq_value
graph(uint32_t n)
{
    ALQ_FRAME(d, f, all, v);
    uint32_t i, k, fields;

    f.all = alq_alloc(d, n, 0);
    assert_true(!alq_is_null(f.all));
    for (i = 0; i < n; i++) {
        fields = rnd(50) == 0 ? 1 + rnd(600) : 1 + rnd(8);
        f.v = rnd(3) == 0 ? leaf() : alq_alloc(d, fields, rnd(246));
        assert_true(!alq_is_null(f.v));
        alq_store(d, f.all, i, f.v);
    }
    for (i = 0; i < n; i++) {
        f.v = alq_field(f.all, i);
        for (k = 0; alq_tag(f.v) < 246 && k < alq_wosize(f.v); k++)
            alq_store(d, f.v, k,
                      rnd(3) == 0 ? alq_from_int(rnd_any() >> rnd(60))
                                  : alq_field(f.all, rnd(n)));
    }
    return f.all;
}
