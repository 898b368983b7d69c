/* main.c -- scheme: runs a file, or reads, evaluates and prints
 *
 *   scheme [-m MIB] [-n WORDS] [-s] [FILE [ARGUMENT ...]]
 *
 * Exit status: 0, what (exit n) says, 1 for an error in a program, 2 for one in
 * the command. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "scheme.h"

extern const char scheme_prelude[];

struct options {
    struct scheme_config config;
    bool is_asked_for_counts;
};

static void
usage(FILE *out)
{
    fputs("usage: scheme [-m MIB] [-n WORDS] [-s] [FILE [ARGUMENT ...]]\n"
          "  -m MIB    the heap may have that many (default 1024)\n"
          "  -n WORDS  of the minor heap, 4096 to 4194304 (default 262144)\n"
          "  -s        what the collector did, on standard error, at the end\n"
          "Without FILE: reads from standard input, and prints each value.\n",
          out);
}

static size_t
number_of(const char *text, size_t max)
{
    char *end;
    unsigned long long n = strtoull(text, &end, 10);

    if (*text == '\0' || *end != '\0' || n == 0 || n > max) {
        fprintf(stderr, "scheme: %s: not a number from 1 to %zu\n", text, max);
        exit(2);
    }
    return (size_t)n;
}

static void
print_counts(const struct scheme *s)
{
    struct alq_gc_counts c;

    if (alq_gc_counters(s->d, &c) != ALQ_OK)
        return;
    fprintf(stderr,
            "allocated %.1f MiB, promoted %.1f MiB; %llu minor collections, "
            "%llu major cycles; heap %.1f MiB\n",
            (double)(c.minor_words + c.direct_words) / (1 << 17),
            (double)c.promoted_words / (1 << 17),
            (unsigned long long)c.minor_collections,
            (unsigned long long)c.major_cycles,
            (double)c.heap_bytes / (1 << 20));
}

/* One form after the other.  In a session an error ends its form only. */
static bool
run_port(struct scheme *s, alq_value block, bool is_session)
{
    bool is_terminal = is_session && isatty(0);
    ALQ_FRAME(s->d, f, port, v);

    f.port = block;
    for (;;) {
        if (is_terminal) {
            fputs("> ", stdout);
            fflush(stdout);
        }
        f.v = scheme_read(s, to_port(f.port));
        if (f.v == END_OF_FILE)
            return true;
        if (f.v != ALQ_NULL)
            f.v = scheme_eval(s, f.v);
        if (f.v != ALQ_NULL) {
            if (is_session && f.v != UNSPECIFIED) {
                scheme_write(to_port(s->output.value), f.v, false);
                putchar('\n');
            }
            continue;
        }
        fflush(stdout);
        scheme_print_error(s, stderr);
        scheme_reset(s);
        if (!is_session)
            return false;
    }
}

static bool
run_prelude(struct scheme *s)
{
    alq_value port =
        scheme_port(s, NULL, scheme_prelude, strlen(scheme_prelude), true);

    if (port == ALQ_NULL)
        return false;
    to_port(port)->file_number = scheme_file_add(s, "prelude.scm");
    return run_port(s, port, false);
}

static bool
run_file(struct scheme *s, const char *name)
{
    FILE *file = strcmp(name, "-") == 0 ? stdin : fopen(name, "r");
    alq_value port;

    if (file == NULL) {
        fprintf(stderr, "scheme: %s: %s\n", name, strerror(errno));
        return false;
    }
    port = scheme_port(s, file, NULL, 0, true);
    if (port == ALQ_NULL)
        return false;
    to_port(port)->file_number = scheme_file_add(s, name);
    return run_port(s, port, false);
}

static bool
run_session(struct scheme *s)
{
    alq_value port = scheme_port(s, stdin, NULL, 0, true);

    if (port == ALQ_NULL)
        return false;
    to_port(port)->file_number = scheme_file_add(s, "input");
    return run_port(s, port, true);
}

/* (command-line) */
static bool
set_arguments(struct scheme *s, char **argv, int argc)
{
    ALQ_FRAME(s->d, f, list, string, name);

    f.list = NIL;
    while (argc-- > 0) {
        f.string = scheme_string(s, argv[argc], strlen(argv[argc]));
        if (f.string == ALQ_NULL)
            return false;
        f.list = scheme_cons(s, f.string, f.list);
        if (f.list == ALQ_NULL)
            return false;
    }
    f.name = scheme_intern(s, "%arguments", 10);
    if (f.name == ALQ_NULL)
        return false;
    s->names[2 * (size_t)symbol_number(f.name) + 1] = f.list;
    return true;
}

static struct options
options_read(int argc, char **argv)
{
    struct options o = {.config = {.limit_mib = 1024}};
    int c;

    while ((c = getopt(argc, argv, "+hm:n:s")) != -1) {
        if (c == 'm') {
            o.config.limit_mib = number_of(optarg, (size_t)1 << 24);
        } else if (c == 'n') {
            o.config.minor_words = number_of(optarg, 4194304);
        } else if (c == 's') {
            o.is_asked_for_counts = true;
        } else {
            usage(c == 'h' ? stdout : stderr);
            exit(c == 'h' ? 0 : 2);
        }
    }
    return o;
}

int
main(int argc, char **argv)
{
    struct options o = options_read(argc, argv);
    struct scheme *s = scheme_new(&o.config);
    bool is_good;

    if (s == NULL) {
        fputs("scheme: no heap: too little memory, or -n out of range\n",
              stderr);
        return 2;
    }
    if (!set_arguments(s, argv + optind, argc - optind) || !run_prelude(s)) {
        fputs("scheme: cannot start\n", stderr);
        scheme_drop(s);
        return 2;
    }
    is_good = optind < argc ? run_file(s, argv[optind]) : run_session(s);
    if (o.is_asked_for_counts)
        print_counts(s);
    scheme_drop(s);
    return is_good ? 0 : 1;
}
