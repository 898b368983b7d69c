/* script.c -- aliquot script: one event a line
 *
 * The columns are documented in aliquot-script(1) and stay as they are; what is
 * new is said in the last one, as key=value. Events are printed as they are
 * read, so memory does not grow with the trace but for its names. Side records
 * go to the notes and are printed as notes if they say something; the thread of
 * an allocation comes from the notes. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/tool/cli.h"
#include "cli/analysis/estimate.h"
#include "cli/read/input.h"
#include "cli/read/names.h"
#include "cli/read/notes.h"
#include "cli/read/ending.h"
#include "cli/tool/text.h"
#include "cli/tool/memory.h"
#include "wire/ctf_dump.h"
#include "wire/side.h"

/* In the order of FORMAT_CHOICES. */
enum format { COLUMNS, MEMTRACE };

#define FORMAT_CHOICES "columns memtrace"

struct script {
    enum format format;
    bool has_no_stacks;
    struct alqi_cli_input *input;
    /* the input's */
    struct alqi_ctf_reader *reader;
    struct alqi_cli_names *names;
    /* thread and rate of the allocation that is printed */
    struct alqi_cli_notes notes;
    struct alqi_cli_estimator estimator;
    /* of the trace; times are printed from there */
    uint64_t start_us;
};

const struct alqi_cli_option alqi_cli_script_options[] = {
    {0, "format", "F", FORMAT_CHOICES,
     "columns (default) or memtrace, as its dump tool",
     ALQI_CLI_CHOICE(struct script, format)},
    {0, "no-stacks", NULL, NULL, "leave the column of stacks empty",
     ALQI_CLI_FLAG(struct script, has_no_stacks)},
    {0},
};

/* One frame of the column of stacks: function@file:line. */
static void
print_frame(const struct script *s, const struct alqi_cli_frame *f, bool is_1st)
{
    const char *file = alqi_cli_names_text(s->names, f->file);

    if (!is_1st)
        putchar(';');
    /* ';' separates frames; no function of a C-like language has one. */
    for (const char *c = alqi_cli_names_text(s->names, f->function); *c != '\0';
         c++)
        putchar(*c == ';' ? ':' : *c);
    if (file[0] != '\0')
        printf("@%s", file);
    if (f->line > 0)
        printf(":%d", f->line);
}

/* The frames of all locations, outermost first. A location may stand for
 * several frames, where functions were inlined. */
static void
print_stack(struct script *s, const struct alqi_ctf_event *e)
{
    bool is_1st = true;

    for (uint32_t i = 0; i < e->n_codes; i++) {
        uint32_t n;
        const struct alqi_cli_frame *f =
            alqi_cli_names_frames(s->names, s->reader, e->codes[i], &n);

        for (uint32_t k = 0; k < n; k++) {
            print_frame(s, &f[k], is_1st);
            is_1st = false;
        }
    }
}

/* The columns behind the time. has_moved and is_reborn belong to this
 * allocation alone and are cleared. */
static void
print_alloc(struct script *s, const struct alqi_ctf_event *e)
{
    static const char *const heap[] = {"minor", "major", "external"};
    static const char *const malloced[] = {"minor", "mmap", "external"};
    const char *const *sources = s->estimator.is_bytes ? malloced : heap;
    uint64_t length = e->length > 0 ? (uint64_t)e->length : 0;

    printf("alloc\t%" PRIu64 "\t%.0f\t%" PRId64 "\t%s\t%u\t", e->id,
           alqi_cli_block_bytes(&s->estimator, length), e->n_samples,
           sources[e->source], e->domain);
    if (s->notes.has_thread)
        printf("%" PRIu64, s->notes.thread);
    putchar('\t');
    if (!s->has_no_stacks)
        print_stack(s, e);
    putchar('\t');
    if (s->notes.has_moved)
        printf("moved_from=%" PRIu64, s->notes.moved_from);
    else if (s->notes.is_reborn)
        fputs("realloc=1", stdout);
    s->notes.has_moved = s->notes.is_reborn = false;
    putchar('\n');
}

/* The rate of the allocations below, where it changes. */
static void
print_rate(const struct script *s, const struct alqi_ctf_event *e)
{
    printf("%" PRIu64 "\tnote\t\t\t\t\t%u\t\tsampling per_word=%.17g\t\n",
           e->time_us - s->start_us, e->domain, s->notes.rate_per_word);
}

/* Gives a side record to the notes; prints a new rate, and any other record of
 * a single text. */
static void
print_note(struct script *s, const struct alqi_ctf_event *e)
{
    if (!alqi_cli_notes_take(&s->notes, &e->location))
        return;
    if ((e->location.code & ALQI_SIDE_KIND_MASK) == ALQI_SIDE_RATE)
        print_rate(s, e);
    if (e->location.n_entries != 1)
        return;
    printf("%" PRIu64 "\tnote\t\t\t\t\t%u\t\t%s\t\n", e->time_us - s->start_us,
           e->domain,
           alqi_cli_names_text(s->names,
                               alqi_cli_names_intern(
                                   s->names, e->location.entries[0].function)));
}

/* Prints one event. Each domain has its own thread and rate, so the notes are
 * told when the domain changes. */
static void
print_event(struct script *s, const struct alqi_ctf_event *e)
{
    if (e->domain != s->notes.domain)
        alqi_cli_notes_stream(&s->notes, e->domain);
    if (e->kind == ALQI_CTF_LOCATION) {
        print_note(s, e);
        return;
    }
    printf("%" PRIu64 "\t", e->time_us - s->start_us);
    if (e->kind == ALQI_CTF_ALLOC)
        print_alloc(s, e);
    else
        printf("%s\t%" PRIu64 "\t\t\t\t%u\t\t\t\n",
               e->kind == ALQI_CTF_PROMOTE ? "promote" : "free", e->id,
               e->domain);
}

/* A reader such as head(1) may close the pipe: reading stops then, and nothing
 * is said of a missing end. */
static void
run_columns(struct script *s)
{
    const struct alqi_ctf_info *info = alqi_ctf_reader_info(s->reader);
    struct alqi_ctf_event event;

    s->start_us = info->start_us;
    s->names = alqi_cli_names_new();
    alqi_cli_notes_init(&s->notes, s->names);
    alqi_cli_estimator_init(&s->estimator, info);
    printf("#time_us\tevent\tid\tbytes\tsamples\tsource\tdomain\tthread\t"
           "stack\tmore\n");
    while (!ferror(stdout) && alqi_cli_input_next(s->input, &event))
        print_event(s, &event);
    if (!ferror(stdout)) /* else the rest was not read */
        alqi_cli_end_say(&s->notes, s->input);
    alqi_cli_notes_free(&s->notes);
    alqi_cli_estimator_free(&s->estimator);
    alqi_cli_names_drop(s->names);
}

/* The writer's function for memtrace's format. */
static bool
put(void *arg, const char *text, size_t n)
{
    return fwrite(text, 1, n, arg) == n;
}

/* As the dump tool writes it, byte by byte. To a terminal each event goes
 * through a buffer, to be cleaned. */
static void
run_memtrace(struct script *s)
{
    bool is_terminal = isatty(STDOUT_FILENO) == 1;
    struct alqi_ctf_event event;

    while (alqi_cli_input_next(s->input, &event)) {
        char *text = NULL;
        size_t n;
        FILE *line = is_terminal ? alqi_cli_memory_open(&text, &n) : NULL;
        bool ok = alqi_ctf_dump_event(s->reader, &event, put,
                                      line != NULL ? line : stdout);

        if (line != NULL) {
            alqi_cli_memory_close(line, "a line");
            alqi_cli_put_clean(stdout, text);
        }
        free(text);
        if (!ok)
            break;
    }
}

/* Standard output is the pipe of other tools: nothing but events goes there. */
int
alqi_cli_script(int argc, char **argv)
{
    struct script s = {0};
    const char *path;
    int first;
    int rc = alqi_cli_parse("script", argc, argv, &s, &first);

    if (rc < 0)
        rc = alqi_cli_one_operand("script", "trace", argc, argv, first, &path);
    if (rc < 0)
        rc = alqi_cli_input_open(path, NULL, NULL, &s.input);
    if (rc >= 0)
        return rc;
    s.reader = alqi_cli_input_reader(s.input);
    if (s.format == MEMTRACE)
        run_memtrace(&s);
    else
        run_columns(&s);
    rc = alqi_cli_input_finish(s.input);
    alqi_cli_input_drop(s.input);
    return rc;
}
