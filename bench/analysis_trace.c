/* analysis_trace.c -- heaptrack's raw data as a trace of every allocation
 *
 *   zstdcat PROGRAM.raw.zst | analysis_trace OUT [MEAN STEP]
 *
 * So that two analysers can be timed on the very same events: what heaptrack
 * recorded of a program becomes a trace at rate 1, stacks, sizes, frees and
 * names of functions included.
 *
 * heaptrack notes the time each 10 ms or so.  Without MEAN the events between
 * two notes are spread over that time; with it, MEAN ns pass between events
 * on average.  STEP us is how coarse the clock of the trace is (default 1).
 * Prints "events frees-of-unknown-blocks us". */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/map.h"
#include "cli/convert/codes.h"

enum { LINE_BYTES = 8192, FRAMES_MAX = 1024, NOTE_US = 10000 };
#define START_US UINT64_C(1700000000000000)

struct node {
    uint64_t code;
    uint32_t parent;
};

struct maker {
    struct alqi_ctf_writer *writer;
    struct alqi_cli_codes *codes;
    struct alqi_base_map live; /* address -> object */
    struct node *nodes;
    uint32_t n_nodes;
    char executable[LINE_BYTES];
    double mean_us; /* between events; follows the notes unless is_fixed */
    bool is_fixed;
    uint64_t step_us;
    double now_us;
    uint64_t n_events, n_since_note, n_unknown, noted_us;
};

static bool
put_packet(void *arg, const void *bytes, size_t n)
{
    return fwrite(bytes, 1, n, arg) == n;
}

static uint64_t
event_time(struct maker *m)
{
    double u = (double)(alqi_base_mix(m->n_events++) >> 11) * 0x1p-53;

    m->n_since_note++;
    m->now_us -= m->mean_us * log1p(-u);
    return START_US + (uint64_t)m->now_us / m->step_us * m->step_us;
}

/* "c TIME" in milliseconds: the pace of the last interval is taken for the
 * next one. */
static void
take_note(struct maker *m, const char *line)
{
    uint64_t us = strtoull(line, NULL, 16) * 1000;

    if (!m->is_fixed) {
        if (m->n_since_note > 0 && us > m->noted_us)
            m->mean_us = (double)(us - m->noted_us) / (double)m->n_since_note;
        if (m->now_us < (double)us)
            m->now_us = (double)us;
    }
    m->noted_us = us;
    m->n_since_note = 0;
}

/* "m LENGTH PATH BASE (OFFSET BYTES)..."; "m 1 -" begins a new list. */
static bool
take_module(struct maker *m, char *line)
{
    static struct alqi_raw_event e;
    const struct alqi_cli_module *module;
    const char *name;
    char *path, *at;
    size_t n = strtoull(line, &path, 16);

    path++;
    if (n >= strlen(path))
        return true;
    at = path + n;
    *at++ = '\0';
    memset(&e, 0, sizeof e);
    name = strcmp(path, "x") == 0 ? m->executable : path;
    if (strlen(name) >= sizeof e.path)
        return false;
    strcpy(e.path, name);
    e.kind = ALQI_RAW_MODULE;
    e.bias = strtoull(at, &at, 16);
    e.start = UINT64_MAX;
    while (*at == ' ') {
        uint64_t start = e.bias + strtoull(at, &at, 16);
        uint64_t end = start + strtoull(at, &at, 16);

        e.start = start < e.start ? start : e.start;
        e.end = end > e.end ? end : e.end;
    }
    return e.start >= e.end || alqi_cli_codes_module(m->codes, &e, &module);
}

static bool
take_node(struct maker *m, char *line)
{
    uint64_t ip = strtoull(line, &line, 16);
    uint32_t parent = (uint32_t)strtoull(line, NULL, 16);

    if ((m->n_nodes & (m->n_nodes - 1)) == 0)
        m->nodes = realloc(m->nodes, 2 * (m->n_nodes + 1) * sizeof *m->nodes);
    if (m->nodes == NULL || parent > m->n_nodes)
        return false;
    m->nodes[m->n_nodes].code = alqi_cli_codes_from(m->codes, ip, 0);
    m->nodes[m->n_nodes++].parent = parent;
    return true;
}

/* heaptrack's trees grow from the outermost frame, too. */
static uint32_t
stack_fill(const struct maker *m, uint32_t node, uint64_t *codes)
{
    uint32_t n = 0, i = FRAMES_MAX;

    for (; node != 0 && i > 0; node = m->nodes[node - 1].parent)
        codes[--i] = m->nodes[node - 1].code;
    n = FRAMES_MAX - i;
    memmove(codes, codes + i, n * sizeof *codes);
    return n;
}

static bool
take_alloc(struct maker *m, char *line)
{
    uint64_t codes[FRAMES_MAX];
    uint64_t size = strtoull(line, &line, 16);
    uint32_t node = (uint32_t)strtoull(line, &line, 16);
    uint64_t address = strtoull(line, NULL, 16);
    uint64_t samples = alqi_base_malloc_words(size), id;

    if (node > m->n_nodes)
        return false;
    return alqi_ctf_write_alloc(m->writer, event_time(m), size, samples,
                                ALQI_CTF_EXTERNAL, codes,
                                stack_fill(m, node, codes), &id) == ALQ_OK &&
           alqi_base_map_put(&m->live, address, id);
}

static bool
take_free(struct maker *m, const char *line)
{
    uint64_t id;

    if (alqi_base_map_take(&m->live, strtoull(line, NULL, 16), &id))
        return alqi_ctf_write_collect(m->writer, event_time(m), id) == ALQ_OK;
    m->n_unknown++;
    return true;
}

static bool
take_line(struct maker *m, char *line)
{
    switch (line[0]) {
    case 'x':
        line = strrchr(line, ' ') + 1;
        strcpy(m->executable, line);
        m->executable[strcspn(line, "\n")] = '\0';
        return true;
    case 'm':
        return take_module(m, line + 2);
    case 'c':
        take_note(m, line + 2);
        return true;
    case 't':
        return take_node(m, line + 2);
    case '+':
        return take_alloc(m, line + 2);
    case '-':
        return take_free(m, line + 2);
    default:
        return true;
    }
}

static bool
take_all(struct maker *m)
{
    static char line[LINE_BYTES];

    while (fgets(line, sizeof line, stdin) != NULL)
        if (!take_line(m, line)) {
            fprintf(stderr, "analysis_trace: cannot use: %s", line);
            return false;
        }
    return true;
}

int
main(int argc, char **argv)
{
    static struct maker m = {.mean_us = 0.5, .step_us = 1};
    struct alqi_ctf_info info = {
        .version = 2,
        .word_bits = 8,
        .rate = 1.0 / ALQI_WORD_BYTES,
        .start_us = START_US,
        .pid = 1,
        .executable = "program",
        .host = "",
        .params = "",
        .context = "source=malloc header_words=1",
    };
    FILE *file;

    if (argc != 2 && argc != 4)
        return 2;
    if (argc == 4) {
        m.mean_us = strtod(argv[2], NULL) / 1000;
        m.is_fixed = m.mean_us > 0;
        m.step_us = strtoull(argv[3], NULL, 10);
    }
    file = fopen(argv[1], "wb");
    m.codes = alqi_cli_codes_new(alqi_symbol_table_new(false), m.executable);
    if (file == NULL || m.codes == NULL || m.step_us == 0 ||
        alqi_ctf_writer_open(&info, put_packet, file, alqi_cli_codes_lookup,
                             m.codes, &m.writer) != ALQ_OK)
        return 1;
    if (!take_all(&m) || alqi_ctf_writer_close(m.writer) != ALQ_OK ||
        fclose(file) != 0)
        return 1;
    printf("%llu %llu %.0f\n", (unsigned long long)m.n_events,
           (unsigned long long)m.n_unknown, m.now_us);
    return 0;
}
