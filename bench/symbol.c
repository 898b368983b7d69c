/* symbol.c -- seconds and memory to symbolise random addresses of a program
 *
 *   symbol [--tsv] [--rounds N] [--addresses N] PROGRAM
 *
 * Each round runs this reader and each peer that is installed (addr2line,
 * llvm-symbolizer) in a process of its own, in turn, on the same addresses of
 * .text with their inlined calls; medians are shown.  "warm" is ours with a
 * cache of symbols that has all of them.  Ours opens the module,
 * resolves and touches every frame; the peers also format text, which is
 * less than a tenth of their time.  The first round fills the page cache and
 * is not counted. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "stack/symbol.h"
#include "stack/symbol_elf.h"

enum { ROUNDS_MAX = 99, RUNNERS = 4 };

struct run {
    double seconds, cpu_seconds, mib;
};

struct runner {
    const char *name;
    const char *argv[8]; /* none: this reader */
    bool is_warm;        /* this reader, with a cache */
    struct run runs[ROUNDS_MAX];
    bool is_there;
};

struct options {
    bool is_tsv;
    unsigned rounds, addresses;
    const char *program;
    char list[64]; /* file with one address a line */
    char cache[72];
};

static double
now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void
resolve_all(const struct options *o, bool is_warm)
{
    struct alqi_symbol_table *table = alqi_symbol_table_new(is_warm);
    struct alqi_symbol_module *m =
        alqi_symbol_module_open(table, o->program, NULL, 0);
    const struct alqi_symbol_frame *f;
    const char *note = alqi_symbol_module_note(m);
    unsigned long frames = 0, lines = 0, count = 0;
    uint64_t address;
    FILE *list = fopen(o->list, "r");
    size_t n, i;

    while (list != NULL && fscanf(list, "%" SCNx64, &address) == 1) {
        n = alqi_symbol_resolve(m, address, &f);
        for (i = 0; i < n; i++)
            lines += f[i].line > 0 && f[i].function[0] != '\0';
        frames += n;
        count++;
    }
    fprintf(stderr, "%lu addresses, %lu frames, %lu of them with a line; %s\n",
            count, frames, lines, note != NULL ? note : "nothing is missing");
    alqi_symbol_table_drop(table);
    _exit(0);
}

static void
child_run(const struct options *o, const struct runner *r, bool is_first)
{
    int null = open("/dev/null", O_RDWR), list = open(o->list, O_RDONLY);

    dup2(list, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    if (!is_first || r->argv[0] != NULL)
        dup2(null, STDERR_FILENO);
    setenv("ALIQUOT_CACHE", o->cache, 1);
    unsetenv("DEBUGINFOD_URLS");
    if (r->argv[0] == NULL)
        resolve_all(o, r->is_warm);
    execvp(r->argv[0], (char **)(uintptr_t)r->argv);
    _exit(127);
}

static bool
run_once(const struct options *o, const struct runner *r, bool is_first,
         struct run *run)
{
    struct rusage usage;
    double start_s = now_s();
    int status = 0;
    pid_t pid = fork();

    if (pid == 0)
        child_run(o, r, is_first);
    if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
        return false;
    run->seconds = now_s() - start_s;
    run->cpu_seconds =
        (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
        (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6;
    run->mib = (double)usage.ru_maxrss / 1024;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int
double_compare(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

static struct run
median(const struct runner *r, unsigned rounds)
{
    double s[ROUNDS_MAX], c[ROUNDS_MAX], m[ROUNDS_MAX];
    unsigned i;

    for (i = 0; i < rounds; i++) {
        s[i] = r->runs[i].seconds;
        c[i] = r->runs[i].cpu_seconds;
        m[i] = r->runs[i].mib;
    }
    qsort(s, rounds, sizeof s[0], double_compare);
    qsort(c, rounds, sizeof c[0], double_compare);
    qsort(m, rounds, sizeof m[0], double_compare);
    return (struct run){s[rounds / 2], c[rounds / 2], m[rounds / 2]};
}

/* Distinct addresses from a fixed seed; false when .text is too small. */
static bool
list_write(const struct options *o)
{
    struct alqi_symbol_elf *elf;
    const struct alqi_symbol_section *s;
    const char *wrong = alqi_symbol_elf_open(&elf, o->program);
    uint64_t i, k = 1, step;
    FILE *list;

    if (wrong != NULL || (s = alqi_symbol_elf_find(elf, ".text")) == NULL) {
        fprintf(stderr, "%s %s\n", o->program,
                wrong != NULL ? wrong : "has no .text");
        return false;
    }
    step = s->memory_bytes / o->addresses;
    list = fopen(o->list, "w");
    if (list == NULL || step == 0)
        return false;
    /* One at random in each of equal strata, in the order of a bijection. */
    for (i = 0; i < o->addresses; i++) {
        k = (i * 2654435761u) % o->addresses;
        fprintf(list, "0x%" PRIx64 "\n",
                s->address + k * step + alqi_base_mix(k + 1) % step);
    }
    alqi_symbol_elf_drop(elf);
    return fclose(list) == 0;
}

static void
print_row(const char *program, const char *metric, double ours,
          const char *peer, double theirs)
{
    printf("%s\t%s\t%.4f\t%s\t%.4f\t%.3f\n", program, metric, ours, peer,
           theirs, ours / theirs);
}

static void
print_rows(const struct options *o, const struct runner *runners)
{
    struct run ours = median(&runners[0], o->rounds), peer;
    const char *name;
    unsigned i;

    if (!o->is_tsv)
        printf("%s, %u addresses, medians of %u rounds; ratio: of CPU time\n"
               "%-16s %8s %8s %8s %8s\n",
               o->program, o->addresses, o->rounds, "", "seconds", "CPU s",
               "peak MiB", "ratio");
    for (i = 0; i < RUNNERS; i++) {
        if (!runners[i].is_there)
            continue;
        peer = median(&runners[i], o->rounds);
        name = runners[i].name;
        if (!o->is_tsv) {
            printf("%-16s %8.3f %8.3f %8.1f %8.2f\n", name, peer.seconds,
                   peer.cpu_seconds, peer.mib,
                   ours.cpu_seconds / peer.cpu_seconds);
        } else if (i > 0) {
            print_row(o->program, "symbol_seconds", ours.seconds, name,
                      peer.seconds);
            print_row(o->program, "symbol_cpu_seconds", ours.cpu_seconds, name,
                      peer.cpu_seconds);
            print_row(o->program, "symbol_peak_mib", ours.mib, name, peer.mib);
        }
    }
}

static bool
options_read(struct options *o, int argc, char **argv)
{
    int i;

    for (i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--tsv") == 0)
            o->is_tsv = true;
        else if (strcmp(argv[i], "--rounds") == 0 && i + 1 < argc)
            o->rounds = (unsigned)atoi(argv[++i]);
        else if (strcmp(argv[i], "--addresses") == 0 && i + 1 < argc)
            o->addresses = (unsigned)atoi(argv[++i]);
        else if (argv[i][0] != '-' && o->program == NULL)
            o->program = argv[i];
        else
            return false;
    }
    return o->program != NULL && o->rounds >= 1 && o->rounds <= ROUNDS_MAX &&
           o->addresses >= 1;
}

int
main(int argc, char **argv)
{
    static struct runner runners[RUNNERS] = {
        {.name = "aliquot"},
        {.name = "aliquot, warm", .is_warm = true},
        {.name = "addr2line", .argv = {"addr2line", "-f", "-i", "-e"}},
        {.name = "llvm-symbolizer",
         .argv = {"llvm-symbolizer", "--functions=linkage", "--obj"}},
    };
    struct options o = {.rounds = 5, .addresses = 5000};
    char obj[4096];
    unsigned i, k;
    struct run first;

    if (!options_read(&o, argc, argv)) {
        fprintf(stderr, "usage: symbol [--tsv] [--rounds N] [--addresses N] "
                        "PROGRAM\n");
        return 2;
    }
    snprintf(o.list, sizeof o.list, "/tmp/aliquot-symbol-%d", (int)getpid());
    snprintf(o.cache, sizeof o.cache, "%s.cache", o.list);
    snprintf(obj, sizeof obj, "--obj=%s", o.program);
    runners[2].argv[4] = o.program;
    runners[3].argv[2] = obj;
    if (!list_write(&o))
        return 1;
    for (k = 0; k < RUNNERS; k++)
        runners[k].is_there = run_once(&o, &runners[k], true, &first);
    for (i = 0; i < o.rounds; i++) {
        for (k = 0; k < RUNNERS; k++) {
            if (runners[k].is_there &&
                !run_once(&o, &runners[k], false, &runners[k].runs[i]))
                return 1;
        }
    }
    unlink(o.list);
    snprintf(obj, sizeof obj, "rm -r '%s'", o.cache);
    if (system(obj) != 0)
        return 1;
    if (!runners[0].is_there)
        return 1;
    print_rows(&o, runners);
    return 0;
}
