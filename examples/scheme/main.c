/* main.c -- scheme: runs a file, or reads, evaluates and prints
 *
 * Exit status: 0, what (exit n) says, 1 for an error in a program, 2 for one in
 * the command. */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "scheme.h"

enum { DOMAINS_MAX = 100 };

extern const char prelude[];

static const char usage[] =
    "usage: scheme [-d DOMAINS] [-m MIB] [FILE [ARGUMENT ...]]\n"
    "  -d DOMAINS  so many run the file at the same time, each with variables\n"
    "              of its own (default 1)\n"
    "  -m MIB      the heap may have that many (default 1024)\n"
    "Without FILE: a session, which reads from standard input and prints each\n"
    "value.  A form that fills seven eighths of the heap ends alone, and it "
    "is\n"
    "told where it allocated.\n";

struct options {
    struct alq_domain_config config;
    size_t domains;
    char **args; /* file first, then NULL */
};

/* ---- for the prelude ---------------------------------------------------- */

/* (%put text to): 1 standard output, 2 errors. */
PRIM(put, "%put", "si")
{
    FILE *out = alq_is_same(args[1], from_fixnum(1)) ? stdout : stderr;

    if (out == stderr)
        fflush(stdout);
    fwrite(alq_string_chars(args[0]), 1, alq_string_bytes(args[0]), out);
    return UNSPECIFIED;
}

/* (%argument i): of the command; #f: there are no more. */
PRIM(argument, "%argument", "i")
{
    int64_t i = 0;

    while (i < to_fixnum(args[0]) && s->args[i] != NULL)
        i++;
    return s->args[i] != NULL ? text(s, s->args[i]) : FALSE;
}

PRIM(leave, "exit", "I")
{
    exit(n == 1 ? (int)to_fixnum(args[0]) : 0);
}

PRIM(collect, "collect-garbage", "")
{
    if (alq_gc_compact(s->d) != ALQ_OK)
        fail_status(s);
    return UNSPECIFIED;
}

VALUE_PRIM(next_form, "%read", "", read_form(s))

/* (%load): all the forms there are. */
PRIM(load, "%load", "")
{
    alq_value form;

    while (form = read_form(s), !alq_is_same(form, END_OF_FILE))
        apply(s, compile(s, form), NIL);
    return TRUE;
}

/* ---- the command -------------------------------------------------------- */

/* Calls a procedure that reads from a file. */
static bool
run_with(struct scheme *s, FILE *file, const char *name, const char *procedure)
{
    alq_value v = *GLOBAL(s, procedure);

    if (file == NULL) {
        fprintf(stderr, "scheme: %s: %s\n", name, strerror(errno));
        return false;
    }
    s->reader = (struct reader){.file = file, .line = 1};
    s->file = immediate_of(symbol(s, name));
    if (!run_above(s, v, NIL, 0, &v)) {
        fprintf(stderr, "scheme: too little memory for %s\n", procedure);
        v = FALSE;
    }
    if (ferror(file)) { /* it looked like the end */
        fprintf(stderr, "scheme: %s: cannot be read\n", name);
        v = FALSE;
    }
    free(s->reader.text);
    fclose(file);
    return alq_is_same(v, TRUE);
}

/* What a domain does, the first one and each that is spawned. */
static alq_value
run(struct alq_domain *d, alq_value arg, void *data)
{
    const struct options *o = data;
    struct scheme *s = scheme_new(d, o->args);
    const char *name = o->args[0];
    struct alq_profile *profile;
    bool is_good;

    if (s == NULL)
        return FALSE;
    profile_thread(s);
    *GLOBAL(s, "%mib") = from_fixnum(o->config.limit_bytes >> 20);
    s->prelude = immediate_of(symbol(s, "prelude.scm"));
    is_good = run_with(s, fmemopen((char *)prelude, strlen(prelude), "r"),
                       "prelude.scm", "%load");
    if (is_good && name != NULL) {
        is_good = run_with(s, fopen(name, "r"), name, "%script");
    } else if (is_good) {
        profile = sites_start(d);
        is_good = run_with(s, stdin, "input", "%session");
        sites_stop(profile);
    }
    profile_thread(NULL);
    if (o->domains == 1) /* a trace, if there is one, tells who holds what */
        (void)alq_trace_stop(NULL);
    scheme_drop(s);
    return from_bool(is_good);
}

static size_t
number(const char *text, size_t max)
{
    char *end;
    unsigned long long n = strtoull(text, &end, 10);

    if (!isdigit((unsigned char)*text) || *end != '\0' || n == 0 || n > max) {
        fprintf(stderr, "scheme: %s: not a number from 1 to %zu\n", text, max);
        exit(2);
    }
    return (size_t)n;
}

static struct options
options_read(int argc, char **argv)
{
    static const struct option help[] = {{"help", no_argument, NULL, 'h'},
                                         {NULL, 0, NULL, 0}};
    struct options o = {.config = {.limit_bytes = (size_t)1024 << 20},
                        .domains = 1};
    int c;

    while ((c = getopt_long(argc, argv, "+d:hm:", help, NULL)) != -1) {
        if (c == 'd') {
            o.domains = number(optarg, DOMAINS_MAX);
        } else if (c == 'm') {
            o.config.limit_bytes = number(optarg, (size_t)1 << 24) << 20;
        } else {
            fputs(usage, c == 'h' ? stdout : stderr);
            exit(c == 'h' ? 0 : 2);
        }
    }
    o.args = argv + optind;
    if (o.domains > 1 && o.args[0] == NULL) {
        fputs("scheme: -d needs a file: a session has one domain\n", stderr);
        exit(2);
    }
    return o;
}

/* For a census, and for what aliquot(1) heap shows of a snapshot. */
static void
tags_name(void)
{
    static const char *const names[] = {
        [TAG_VECTOR] = "vector",   [TAG_PAIR] = "pair",
        [TAG_CLOSURE] = "closure", [TAG_CODE] = "code",
        [TAG_CELL] = "cell",       [TAG_EXIT] = "exit",
        [TAG_MACRO] = "macro",     [TAG_CONDITION] = "condition",
    };

    for (unsigned tag = 0; tag < sizeof names / sizeof names[0]; tag++)
        alq_tag_name_set(tag, names[tag]);
}

int
main(int argc, char **argv)
{
    struct options o = options_read(argc, argv);
    struct alq_child *children[DOMAINS_MAX];
    struct alq_domain *d;
    size_t n = 0;
    alq_value is_good = FALSE, other;

    if (alq_domain_new(&o.config, &d) != ALQ_OK) {
        fputs("scheme: no heap: too little memory\n", stderr);
        return 2;
    }
    tags_name();
    if (!profile_start(d))
        fputs("scheme: no profiler will see Scheme code\n", stderr);
    while (n + 1 < o.domains &&
           alq_domain_spawn(d, run, ALQ_UNIT, &o, &o.config, &children[n]) ==
               ALQ_OK)
        n++;
    if (n + 1 == o.domains)
        is_good = run(d, ALQ_UNIT, &o);
    while (n-- > 0) {
        alq_domain_join(d, children[n], &other);
        alq_child_drop(children[n]);
        is_good = alq_is_same(other, TRUE) ? is_good : FALSE;
    }
    alq_domain_drop(d);
    return alq_is_same(is_good, TRUE) ? 0 : 1;
}
