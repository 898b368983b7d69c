/* view.c -- opens a trace for the viewer and times its answers
 *
 *   view TRACE [--only NAME]
 *
 * Prints rows "what wall-ms CPU-ms bytes-of-JSON": the index being made, the
 * first picture (info, timeline, tree, sites), the same pictures for filters
 * that were not asked for before, each other answer to a filter that was; then
 * "peak-MiB", resident memory at most, and "index-MiB", the index's size. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/view/open.h"
#include "view/answer.h"

static const char *const pictures[] = {"timeline", "tree", "sites"};

/* MIDDLE and LAST are put in place of what depends on the trace. */
static const char *const filters[] = {
    "live=peak",           "live=end",       "live=MIDDLE",
    "alloc=MIDDLE..LAST",  "freed=..MIDDLE", "life=..999&freed=..",
    "life=1000..",         "size=100..1000", "in=f1",
    "notin=f2&in=f3",      "hide=f1",        "hide=f7&live=MIDDLE..",
    "thread=0&size=..512",
};

static const char *const others[] = {
    "functions",
    "function?id=5",
    "groups",
    "growth",
    "hot",
    "heat",
    "samples",
    "samples?order=size",
    "timeline?stack=function",
    "timeline?stack=thread",
    "timeline?draw=blocks&stack=module&size=100..1000",
    "timeline?draw=allocated&stack=function",
    "timeline?draw=temporary&stack=function&size=100..1000",
    "tree?dir=up",
    "tree?dir=up&live=peak",
    "tree?focus=5",
    "tree?recursion=keep",
    "tree?fold=f1&size=3..",
    "tree?threads=split&size=4..",
    "graph",
    "graph?focus=5",
    "graph?size=5..",
    "graph?size=6..&recursion=keep",
    "graph?size=7..&fold=f1&fold=file:~c$",
    "graph?size=8..&threads=split",
    "sites?group=line",
    "diff?live=peak&b.live=end",
    "difftree?live=peak&b.live=end",
    "difftree?live=peak&b.live=end&dir=up",
};

static struct alqi_view_set *set;
static struct alqi_view_json json;
static const char *only;

struct times {
    double wall_ms, cpu_ms;
};

static double
clock_ms(clockid_t clock)
{
    struct timespec t;

    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static struct times
now(void)
{
    return (struct times){clock_ms(CLOCK_MONOTONIC),
                          clock_ms(CLOCK_PROCESS_CPUTIME_ID)};
}

static double
peak_mib(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long kib = -1;

    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "VmHWM: %ld", &kib) == 1)
            break;
    if (file != NULL)
        fclose(file);
    return (double)kib / 1024;
}

static void
row(const char *what, struct times start, size_t bytes)
{
    struct times end = now();

    printf("%s %.1f %.1f %zu\n", what, end.wall_ms - start.wall_ms,
           end.cpu_ms - start.cpu_ms, bytes);
    fflush(stdout);
}

/* Ends the program when the answer is an error. */
static size_t
ask(const char *path, const char *query)
{
    int status = alqi_view_answer(set, path, query, &json);

    if (status == 200)
        return json.n;
    fprintf(stderr, "view: %s?%s: %d %.*s\n", path, query, status, (int)json.n,
            json.text);
    exit(1);
}

static void
pictures_time(const char *what, const char *filter)
{
    struct times start = now();
    size_t bytes = 0;

    for (size_t i = 0; i < ALQI_COUNT_OF(pictures); i++)
        bytes += ask(pictures[i], filter);
    row(what, start, bytes);
}

static void
filter_time(const char *form, unsigned long long end_us)
{
    char filter[256];
    size_t n = 0;

    while (*form != '\0') {
        bool is_middle = strncmp(form, "MIDDLE", 6) == 0;
        bool is_last = strncmp(form, "LAST", 4) == 0;

        if (is_middle || is_last) {
            n += (size_t)snprintf(filter + n, sizeof filter - n, "%llu",
                                  is_middle ? end_us / 2 : end_us * 3 / 4);
            form += is_middle ? 6 : 4;
        } else {
            filter[n++] = *form++;
        }
    }
    filter[n] = '\0';
    if (only == NULL || strstr(filter, only) != NULL)
        pictures_time(filter, filter);
}

static void
other_time(const char *text)
{
    char path[64];
    const char *query = strchr(text, '?');
    size_t n = strcspn(text, "?");
    struct times start;
    size_t bytes;

    if (only != NULL && strstr(text, only) == NULL)
        return;
    snprintf(path, sizeof path, "%.*s", (int)n, text);
    start = now();
    bytes = ask(path, query != NULL ? query + 1 : "");
    row(text, start, bytes);
}

static void
all_time(const struct alqi_cli_view_file *file)
{
    struct alqi_view_index index;
    unsigned long long end_us;
    struct times start = now();
    size_t bytes;

    if (alqi_view_set_add(set, file->bytes, file->n_bytes) != NULL ||
        alqi_view_index_open(&index, file->bytes, file->n_bytes) != NULL)
        exit(1);
    end_us = index.meta->end_us;
    alqi_view_index_close(&index);
    bytes = ask("info", "");
    row("info", start, bytes);
    pictures_time("first", "");
    for (size_t i = 0; i < ALQI_COUNT_OF(filters); i++)
        filter_time(filters[i], end_us);
    for (size_t i = 0; i < ALQI_COUNT_OF(others); i++)
        other_time(others[i]);
}

int
main(int argc, char **argv)
{
    struct alqi_cli_view_file file;
    struct times start = now();

    if (argc == 4 && strcmp(argv[2], "--only") == 0)
        only = argv[3];
    else if (argc != 2)
        return 2;
    set = alqi_view_set_new();
    if (set == NULL || alqi_cli_view_open(&file, argv[1], true, NULL) >= 0)
        return 1;
    row("index", start, file.n_bytes);
    all_time(&file);
    printf("peak-MiB %.1f\nindex-MiB %.1f\n", peak_mib(),
           (double)file.n_bytes / 1048576);
    alqi_view_set_drop(set);
    alqi_cli_view_close(&file);
    free(json.text);
    return 0;
}
