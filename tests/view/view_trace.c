/* view_trace.c -- makes up a trace of any size for the viewer
 *
 *   view_trace OUT [KEY=N]...
 *
 *   events=N     allocations, promotions and frees together (10000)
 *   seed=N       everything follows from it (1)
 *   stacks=N     different call stacks (1000)
 *   functions=N  names of them (500)
 *   sites=1      each stack ends in another function (0)
 *   depth=N      frames of a stack, at most (24)
 *   sizes=N      words or bytes of a block, at most (4096)
 *   heap=1       OCaml's: minor and major, promotions (0: malloc's)
 *   threads=N    of a malloc trace (1); domains=N: of a heap's (1), format 3
 *   namesakes=1  all threads have one name (0)
 *   moved=N      so many of a thousand allocations are by realloc (0)
 *   never=N      so many of a thousand blocks are never freed (5)
 *   rates=N      that the sampling changes among (1)
 *   rss=N        looks at resident memory (0)
 *   ns=N         between events, on average (300)
 *   odd=1        a name of 4,000 bytes, names with markup, quotes, and others
 *   exact=1      every block was recorded
 *   phase=1      a phase from the beginning to the end (0)
 *   reach=1      classes of what was never freed, a tenth of it without (0);
 *                2: looked at before the very end
 *   holders=N    beside classes: steps of ways that hold them, half of them
 * roots (0)
 *
 * Lives are short mostly: of 100 blocks 90 live for some 100 events, 9 for some
 * 10,000, and the rest until half of the trace has passed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/map.h"
#include "wire/ctf.h"
#include "wire/reach.h"
#include "wire/side.h"

enum {
    START = 1700000000,
    MODULE = 0x400000,
    CODE_BYTES = 16,
    NAME_BYTES = 5000,
    LONG_NAME_BYTES = 4000, /* what a writer of ours takes */
    LINES = 4,              /* of a function that call others */
    LIVES = 1 << 20
};

static struct settings {
    const char *key;
    uint64_t value;
} settings[] = {
    {"events", 10000}, {"seed", 1},      {"stacks", 1000}, {"functions", 500},
    {"depth", 24},     {"sizes", 4096},  {"heap", 0},      {"threads", 1},
    {"domains", 1},    {"moved", 0},     {"never", 5},     {"rates", 1},
    {"rss", 0},        {"ns", 300},      {"odd", 0},       {"exact", 0},
    {"sites", 0},      {"namesakes", 0}, {"reach", 0},     {"phase", 0},
    {"holders", 0},
};

static uint64_t
get(const char *key)
{
    for (size_t i = 0; i < ALQI_COUNT_OF(settings); i++)
        if (strcmp(settings[i].key, key) == 0)
            return settings[i].value;
    abort();
}

static bool
set(const char *text)
{
    size_t n = strcspn(text, "=");

    for (size_t i = 0; text[n] == '=' && i < ALQI_COUNT_OF(settings); i++)
        if (strlen(settings[i].key) == n &&
            memcmp(settings[i].key, text, n) == 0) {
            settings[i].value = strtoull(text + n + 1, NULL, 10);
            return true;
        }
    return false;
}

static uint64_t random_state;

static uint64_t
draw(uint64_t below)
{
    random_state = alqi_base_mix(random_state + 0x9E3779B97F4A7C15u);
    return below > 0 ? random_state % below : 0;
}

static double
draw_unit(void)
{
    return ((double)(draw(UINT64_MAX) >> 12) + 0.5) * 0x1p-52;
}

/* ---- stacks -------------------------------------------------------------- */

static uint64_t *codes; /* [stacks][depth] */
static uint32_t *depths;

/* Functions call a few others each, so that stacks share their beginnings. */
static void
stacks_make(void)
{
    uint64_t n = get("stacks"), depth = get("depth");
    uint64_t functions = get("functions");

    codes = calloc(n * depth + 1, sizeof *codes);
    depths = calloc(n + 1, sizeof *depths);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t *stack = codes + i * depth;
        uint64_t same = i == 0 ? 0 : draw(depths[i - 1] + 1);

        depths[i] = (uint32_t)(depth < 4 ? depth : 4 + draw(depth - 3));
        if (same >= depths[i])
            same = depths[i] / 2;
        if (same > 0)
            memcpy(stack, stack - depth, same * sizeof *stack);
        for (uint64_t k = same; k < depths[i]; k++) {
            uint64_t function =
                alqi_base_mix(k * 1000003 + draw(1 + k * k)) % functions;

            if (get("sites") != 0 && k + 1 == depths[i])
                function = i % functions;
            stack[k] = MODULE + (function * LINES + draw(LINES)) * CODE_BYTES;
        }
    }
}

/* A few of them are most of it. */
static uint64_t
stack_draw(void)
{
    double u = draw_unit();

    return (uint64_t)(u * u * u * (double)get("stacks"));
}

static const char *
odd_name(uint64_t function)
{
    static char name[NAME_BYTES];

    switch (function % 8) {
    case 0:
        return "<img src=x onerror=alert(1)>";
    case 1:
        return "a\"b\\c'd&amp;</script><!--";
    case 2:
        memset(name, 'x', LONG_NAME_BYTES);
        name[LONG_NAME_BYTES] = '\0';
        memcpy(name, "long_", 5);
        return name;
    case 3:
        return "std::vector<int, A<B>>::operator+=(T&&) const";
    case 4:
        return "\xD0\x96\xE2\x88\x80\xF0\x9F\x90\xAB";
    case 5:
        return "two\nlines\ttab\x01 100%=&#+";
    case 6:
        return "\xFF\xFE broken";
    default:
        return "malloc";
    }
}

static void
look_up(void *arg, uint64_t code, struct alqi_ctf_location *out)
{
    static char name[NAME_BYTES], inner[64], file[64];
    static struct alqi_ctf_entry entries[2];
    uint64_t number = (code - MODULE) / CODE_BYTES, function = number / LINES;

    (void)arg;
    snprintf(name, sizeof name, "%s",
             get("odd") != 0 && function < 16 ? odd_name(function) : "");
    if (name[0] == '\0')
        snprintf(name, sizeof name, "f%llu", (unsigned long long)function);
    snprintf(file, sizeof file, "dir/file%llu.c",
             (unsigned long long)function % 50);
    entries[0] = (struct alqi_ctf_entry){file, name,
                                         (int32_t)(10 + number % LINES), 1, 2};
    out->n_entries = 1;
    if (function % 7 == 3) { /* with a call that was inlined */
        snprintf(inner, sizeof inner, "inline%llu",
                 (unsigned long long)function % 20);
        entries[1] = (struct alqi_ctf_entry){"inline.h", inner, 5, 1, 2};
        out->n_entries = 2;
    }
    out->entries = entries;
}

/* ---- blocks that live ---------------------------------------------------- */

struct life {
    uint64_t due; /* event at which it is freed, or promoted */
    uint64_t id;
    uint64_t rest; /* events that it lives on after its promotion; 0: none */
    uint32_t stream;
};

/* A heap, the one that is due first in front. */
static struct life *lives;
static size_t n_lives, lives_capacity;

static void
life_push(struct life life)
{
    size_t i = n_lives++;

    if (n_lives > lives_capacity) {
        lives_capacity = lives_capacity == 0 ? 1024 : 2 * lives_capacity;
        lives = realloc(lives, lives_capacity * sizeof *lives);
        if (lives == NULL)
            abort();
    }
    for (; i > 0 && lives[(i - 1) / 2].due > life.due; i = (i - 1) / 2)
        lives[i] = lives[(i - 1) / 2];
    lives[i] = life;
}

static struct life
life_pop(void)
{
    struct life first = lives[0], last = lives[--n_lives];
    size_t i = 0, child;

    while ((child = 2 * i + 1) < n_lives) {
        if (child + 1 < n_lives && lives[child + 1].due < lives[child].due)
            child++;
        if (last.due <= lives[child].due)
            break;
        lives[i] = lives[child];
        i = child;
    }
    lives[i] = last;
    return first;
}

/* Events from now on; 0: to the end. */
static uint64_t
life_draw(void)
{
    uint64_t r = draw(100);
    double mean = r < 90 ? 100 : r < 99 ? 10000 : (double)get("events") / 2;

    if (draw(1000) < get("never"))
        return 0;
    return 1 + (uint64_t)(-log(draw_unit()) * mean);
}

/* ---- writing ------------------------------------------------------------- */

static FILE *out;
static struct alqi_ctf_writer **writers;
static uint64_t n_events, now_ns, n_texts;
static uint32_t thread_now, rate_now;

static void
must(enum alq_status st)
{
    if (st == ALQ_OK)
        return;
    fprintf(stderr, "view_trace: %s\n", alq_status_text(st));
    exit(1);
}

static bool
put_packet(void *arg, const void *bytes, size_t n)
{
    return fwrite(bytes, 1, n, arg) == n;
}

static uint64_t
now_us(void)
{
    return (uint64_t)START * 1000000 + now_ns / 1000;
}

static void
side(uint64_t code, const char *line)
{
    struct alqi_ctf_entry entry = {"", line, 0, 0, 0};
    struct alqi_ctf_location location = {ALQI_SIDE_PREFIX | code, line != NULL,
                                         &entry};

    must(alqi_ctf_write_side(writers[0], now_us(), &location));
}

static void
text(const char *line)
{
    side(ALQI_SIDE_TEXT | n_texts++, line);
}

/* Blocks that were allocated and not freed, if they are asked for. */
static struct alqi_base_map alive;

/* Each step that is no root is behind one of those before it. */
static void
holders_write(const struct alqi_side_writer *w)
{
    uint64_t n = get("holders");
    char name[64];

    for (uint64_t i = 1; i <= n; i++) {
        struct alqi_side_holder holder = {.id = i, .name = name};

        holder.in = i > (n + 1) / 2 ? 1 + draw(i - 1) : 0;
        holder.most = holder.in != 0 ? 1 + draw(9) : 1;
        snprintf(name, sizeof name, "%s %llu", holder.in != 0 ? "kind" : "root",
                 (unsigned long long)i);
        must(alqi_side_holder_put(w, &holder));
    }
}

/* A tenth of what lives has no class; what is lost has no holder, nor has some
 * of the rest. */
static void
reach_write(void)
{
    static const char *const classes[] = {"lost", "indirect", "possible",
                                          "held"};
    struct alqi_side_writer w = {writers[0], &n_texts, now_us()};
    uint64_t n_holders = get("holders"), id, none;
    size_t n = ALQI_COUNT_OF(classes) * (n_holders + 1), at = 0, i;
    struct alqi_side_reach *lines = calloc(n, sizeof *lines);

    if (lines == NULL)
        abort();
    must(alqi_side_write_line(&w, get("reach") == 1 ? "reach at=end"
                                                    : "reach at=exit"));
    holders_write(&w);
    for (i = 0; i < n; i++) {
        lines[i].class = classes[i % ALQI_COUNT_OF(classes)];
        lines[i].holder = i / ALQI_COUNT_OF(classes);
    }
    while (alqi_base_map_next(&alive, &at, &id, &none)) {
        size_t class_ = draw(ALQI_COUNT_OF(classes));
        size_t holder = class_ > 0 && n_holders > 0 ? draw(n_holders + 1) : 0;

        if (draw(10) != 0)
            must(alqi_side_reach_put(
                &lines[holder * ALQI_COUNT_OF(classes) + class_], &w, id));
    }
    for (i = 0; i < n; i++)
        must(alqi_side_reach_end(&lines[i], &w));
    free(lines);
}

static void
collect(uint32_t stream, uint64_t id)
{
    uint64_t none;

    must(alqi_ctf_write_collect(writers[stream], now_us(), id));
    if (get("reach") != 0)
        alqi_base_map_take(&alive, id, &none);
}

static void
heads_write(void)
{
    char line[128];

    for (uint64_t i = 0; i < get("threads") && get("threads") > 1; i++) {
        snprintf(line, sizeof line, "thread index=%llu tid=%llu name=t%llu",
                 (unsigned long long)i, (unsigned long long)(100 + i),
                 get("namesakes") != 0 ? 0 : (unsigned long long)i);
        text(line);
    }
    for (uint64_t i = 0; i < get("rates") && get("rates") > 1; i++) {
        snprintf(line, sizeof line, "rate index=%llu per_word=%.9g",
                 (unsigned long long)i, 1e-3 / (double)(1 + i));
        text(line);
    }
    if (get("phase") != 0)
        must(alqi_side_write_phase(
            &(struct alqi_side_writer){writers[0], &n_texts, now_us()}, "all"));
}

static void
turn_take(void)
{
    uint64_t threads = get("threads"), rates = get("rates");

    if (threads > 1 && draw(20) == 0) {
        thread_now = (uint32_t)draw(threads);
        side(ALQI_SIDE_THREAD | thread_now, NULL);
    }
    if (rates > 1 && draw(500) == 0) {
        rate_now = (uint32_t)draw(rates);
        side(ALQI_SIDE_RATE | rate_now, NULL);
    }
    if (get("rss") > 0 && draw(get("events") / get("rss") + 1) == 0) {
        char line[64];

        snprintf(line, sizeof line, "rss bytes=%llu",
                 (unsigned long long)(n_lives * 4096 + 1000000));
        text(line);
    }
}

static uint64_t
alloc_write(uint32_t stream, enum alqi_ctf_source source)
{
    uint64_t stack = stack_draw(), id;
    double u = draw_unit();
    uint64_t length = (uint64_t)(u * u * u * (double)get("sizes"));

    must(alqi_ctf_write_alloc(
        writers[stream], now_us(), length,
        get("exact") != 0 ? alqi_base_malloc_words(length) : 1 + draw(2),
        source, codes + stack * get("depth"), depths[stack], &id));
    if (get("reach") != 0 && !alqi_base_map_put(&alive, id, 1))
        abort();
    n_events++;
    return id;
}

/* Blocks of the minor heap are promoted when they have lived a while. */
static void
alloc(void)
{
    uint32_t stream = (uint32_t)draw(get("domains"));
    bool is_heap = get("heap") != 0;
    enum alqi_ctf_source source =
        !is_heap        ? draw(200) == 0 ? ALQI_CTF_MAJOR : ALQI_CTF_EXTERNAL
        : draw(10) == 0 ? ALQI_CTF_MAJOR
        : draw(20) == 0 ? ALQI_CTF_EXTERNAL
                        : ALQI_CTF_MINOR;
    uint64_t life = life_draw();
    uint64_t id = alloc_write(stream, source);
    uint64_t minor = 50 + draw(200);

    if (source == ALQI_CTF_MINOR && (life == 0 || life > minor))
        life_push((struct life){n_events + minor, id,
                                life == 0 ? UINT64_MAX : life - minor, stream});
    else if (life != 0)
        life_push((struct life){n_events + life, id, 0, stream});
}

/* realloc: the block goes, and the next one continues it. */
static void
move(struct life life)
{
    collect(0, life.id);
    n_events++;
    side(ALQI_SIDE_MOVED | life.id, NULL);
    life.id = alloc_write(0, ALQI_CTF_EXTERNAL);
    life.due = n_events + 1 + draw(200);
    life_push(life);
}

static void
end_of(struct life life)
{
    if (life.rest > 0) {
        must(alqi_ctf_write_promote(writers[life.stream], now_us(), life.id));
        if (life.rest != UINT64_MAX)
            life_push(
                (struct life){n_events + life.rest, life.id, 0, life.stream});
    } else if (draw(1000) < get("moved")) {
        move(life);
        return;
    } else {
        collect(life.stream, life.id);
    }
    n_events++;
}

static void
events_write(void)
{
    double mean_ns = (double)get("ns");

    while (n_events < get("events")) {
        now_ns += (uint64_t)(-log(draw_unit()) * mean_ns);
        turn_take();
        if (n_lives > 0 && lives[0].due <= n_events)
            end_of(life_pop());
        else
            alloc();
    }
}

static void
writers_open(uint64_t *next_id)
{
    uint64_t domains = get("domains");
    struct alqi_ctf_info info = {
        .version = domains > 1 ? 3 : 2,
        .word_bits = get("heap") != 0 ? 64 : 8,
        .rate = get("heap") != 0 ? 1e-3 : 1e-3 / 8,
        .start_us = (uint64_t)START * 1000000,
        .pid = 4711,
        .executable = "/usr/bin/made_up",
        .host = "host",
        .params = "",
        .context = "made up",
    };

    if (get("exact") != 0)
        info.rate = get("heap") != 0 ? 1 : 0.125;
    writers = calloc(domains, sizeof *writers);
    for (uint64_t i = 0; domains > 1 && i < domains; i++)
        must(alqi_ctf_writer_open_stream(&info, (uint16_t)i, next_id,
                                         put_packet, out, look_up, NULL,
                                         &writers[i]));
    if (domains == 1)
        must(alqi_ctf_writer_open(&info, put_packet, out, look_up, NULL,
                                  &writers[0]));
}

int
main(int argc, char **argv)
{
    uint64_t next_id = 0;

    for (int i = 2; i < argc; i++)
        if (!set(argv[i])) {
            fprintf(stderr, "view_trace: %s?\n", argv[i]);
            return 2;
        }
    out = argc > 1 ? fopen(argv[1], "wb") : NULL;
    if (out == NULL)
        return 2;
    random_state = get("seed");
    stacks_make();
    writers_open(&next_id);
    heads_write();
    events_write();
    if (get("reach") != 0)
        reach_write();
    for (uint64_t i = 0; i < get("domains"); i++)
        must(alqi_ctf_writer_close(writers[i]));
    free(writers);
    free(codes);
    free(depths);
    free(lives);
    alqi_base_map_clear(&alive);
    return fclose(out) == 0 ? 0 : 1;
}
