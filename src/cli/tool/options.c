/* options.c -- option tables: parsing, help, completion
 *
 * A table is the one source of an option: getopt's tables, `--help` and the
 * completion are made from it, and its types say how a value is read and where
 * it goes.  getopt knows a row by its letter, else by FIRST_ROW + its index, so
 * that a row needs no number of its own. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/tool/cli.h"
#include "cli/tool/page.h"
#include "cli/tool/rate.h"
#include "cli/tool/text.h"

enum { OPTIONS_MAX = 48, FIRST_ROW = 256 };

static const struct alqi_cli_option help_row = {
    .letter = 'h', .name = "help", .help = "print this help"};

/* What getopt_long wants, made from a table. */
struct tables {
    /* what steers getopt, then a letter and ':' for each row */
    char letters[2 * OPTIONS_MAX + 4];
    /* a row each, help's, and the end */
    struct option longs[OPTIONS_MAX + 2];
};

/* Whether the row's option takes a value, in getopt's words. */
static int
has_arg(const struct alqi_cli_option *row)
{
    if (row->value == NULL)
        return no_argument;
    return row->value[0] == '[' ? optional_argument : required_argument;
}

/* Appends a row to getopt's two tables; a row without a letter has an entry in
 * the long one only. */
static void
tables_add(struct tables *tables, size_t i, const struct alqi_cli_option *row)
{
    struct option *o = &tables->longs[i];
    size_t n = strlen(tables->letters);

    o->name = row->name;
    o->has_arg = has_arg(row);
    o->val = row->letter != 0 ? row->letter : FIRST_ROW + (int)i;
    if (row->letter == 0)
        return;
    tables->letters[n++] = row->letter;
    if (row->value != NULL)
        tables->letters[n++] = ':';
    tables->letters[n] = '\0';
}

/* The first letters steer getopt: ':' makes it return ':' for a missing value,
 * '+' makes it stop at the first operand. */
static void
tables_make(struct tables *tables, const struct alqi_cli_verb *verb)
{
    size_t i = 0;

    memset(tables, 0, sizeof *tables);
    strcpy(tables->letters, verb->stops_early ? "+:" : ":");
    for (; verb->options[i].name != NULL && i < OPTIONS_MAX; i++)
        tables_add(tables, i, &verb->options[i]);
    tables_add(tables, i, &help_row);
}

/* Position of value in choices "a b c", -1 when it is not there. A linear
 * search over the words of choices, which are separated by blanks. */
static int
choice_find(const char *choices, const char *value)
{
    size_t n = strlen(value);
    int i = 0;

    for (const char *c = choices; *c != '\0'; i++) {
        size_t word = strcspn(c, " ");

        if (word == n && memcmp(c, value, n) == 0)
            return i;
        c += word;
        c += strspn(c, " ");
    }
    return -1;
}

/* The row that getopt means; NULL: the help's, or none. */
static const struct alqi_cli_option *
row_find(const struct alqi_cli_verb *verb, int id)
{
    int i = 0;

    for (const struct alqi_cli_option *o = verb->options; o->name != NULL;
         o++, i++)
        if (id == FIRST_ROW + i || (o->letter != 0 && id == o->letter))
            return o;
    return NULL;
}

/* Says why getopt refused an option, and returns the status to exit with.
 * `code` is ':' for a missing value, else '?'. */
static int
refuse(const struct alqi_cli_verb *verb, int code, char **argv)
{
    const struct alqi_cli_option *row = row_find(verb, optopt);

    if (code == ':' && row != NULL)
        return alqi_cli_usage(verb->name, "%s: --%s needs a value: %s",
                              verb->name, row->name, row->value);
    if (row != NULL && row->value == NULL)
        return alqi_cli_usage(verb->name, "%s: --%s takes no value", verb->name,
                              row->name);
    if (optopt > 0 && optopt < 128)
        return alqi_cli_usage(verb->name, "%s: there is no option '-%c'",
                              verb->name, optopt);
    return alqi_cli_usage(verb->name, "%s: there is no option '%s'", verb->name,
                          argv[optind - 1]);
}

/* Returns the status to exit with; -1: the row takes the value. */
static int
choice_check(const char *verb, const struct alqi_cli_option *row,
             const char *value)
{
    size_t n;

    if (row->choices == NULL || choice_find(row->choices, value) >= 0)
        return -1;
    n = strlen(value);
    if (row->former != NULL && strncmp(row->former, value, n) == 0 &&
        row->former[n] == ' ')
        return alqi_cli_usage(verb, "%s: --%s=%s: %s", verb, row->name, value,
                              row->former + n + 1);
    return alqi_cli_usage(verb, "%s: --%s=%s: choose one of: %s", verb,
                          row->name, value, row->choices);
}

/* ---- values ------------------------------------------------------------- */

/* A row whose `most` is 0 has no upper bound. */
static bool
is_within(const struct alqi_cli_option *row, double x)
{
    return x >= row->least && (row->most == 0 || x <= row->most);
}

/* A whole number, or words with a unit; false: it is none, or out of bounds. */
static bool
whole_read(const struct alqi_cli_option *row, const char *value, uint64_t *to)
{
    bool is_number = row->type == ALQI_CLI_OPTION_WORDS
                         ? alqi_cli_parse_words(value, to)
                         : alqi_cli_parse_count(value, to);

    return is_number && is_within(row, (double)*to);
}

/* Reads a value that is no whole number. NULL is the value of an option that
 * may stand without one. */
static bool
real_read(const struct alqi_cli_option *row, const char *value, double *to)
{
    char *end;

    *to = 0;
    if (value == NULL)
        return true;
    if (row->type == ALQI_CLI_OPTION_BYTES)
        return alqi_cli_bytes_parse(value, to) && is_within(row, *to);
    if (row->type == ALQI_CLI_OPTION_DURATION)
        return alqi_cli_parse_duration(value, to) && is_within(row, *to);
    *to = strtod(value, &end);
    return end != value && *end == '\0' && is_within(row, *to);
}

/* Says what the row wants instead; the form of the message is the verb's. */
static void
number_refuse(const struct alqi_cli_verb *verb,
              const struct alqi_cli_option *row, const char *value)
{
    const char *wants = row->wants;

    if (wants == NULL)
        wants = row->type == ALQI_CLI_OPTION_DURATION
                    ? "write a number and a unit: ns us ms s m h"
                    : "write a whole number below 2^64";
    switch (verb->refusal) {
    case ALQI_CLI_REFUSES_JOINED:
        alqi_cli_usage(verb->name, "%s: --%s=%s: %s", verb->name, row->name,
                       value, wants);
        break;
    case ALQI_CLI_REFUSES_APART:
        alqi_cli_usage(verb->name, "%s: --%s %s: %s", verb->name, row->name,
                       value, wants);
        break;
    case ALQI_CLI_REFUSES_ALONE:
        alqi_cli_say("%s: --%s %s: %s", verb->name, row->name, value, wants);
        break;
    }
}

/* False: the value is refused, and that was said. */
static bool
value_take(const struct alqi_cli_verb *verb, const struct alqi_cli_option *row,
           const char *value, char *into)
{
    void *to = into + row->to;
    bool is_taken = true;

    if (row->also != 0)
        *(bool *)(into + row->also - 1) = true;
    switch (row->type) {
    case ALQI_CLI_OPTION_FLAG:
        *(bool *)to = true;
        break;
    case ALQI_CLI_OPTION_FIXED:
        *(int *)to = row->number;
        break;
    case ALQI_CLI_OPTION_CHOICE:
        *(int *)to = row->number + choice_find(row->choices, value);
        break;
    case ALQI_CLI_OPTION_TEXT:
        *(const char **)to = value;
        break;
    case ALQI_CLI_OPTION_COUNT:
    case ALQI_CLI_OPTION_WORDS:
        is_taken = whole_read(row, value, to);
        break;
    case ALQI_CLI_OPTION_NUMBER:
    case ALQI_CLI_OPTION_BYTES:
    case ALQI_CLI_OPTION_DURATION:
        is_taken = real_read(row, value, to);
        break;
    case ALQI_CLI_OPTION_TAKEN:
        return row->take(to, verb->name, value);
    }
    if (!is_taken)
        number_refuse(verb, row, value);
    return is_taken;
}

/* Of rows that exclude each other the first has been given: says so when the
 * row is another one. `given` has a place for each such text. */
static bool
is_alone(const char *verb, const struct alqi_cli_option *row,
         const struct alqi_cli_option **given)
{
    if (row->one_of == NULL)
        return true;
    for (; *given != NULL; given++)
        if (strcmp((*given)->one_of, row->one_of) == 0)
            break;
    if (*given == NULL)
        *given = row;
    if (*given == row)
        return true;
    alqi_cli_usage(verb,
                   "%s: --%s and --%s exclude each other: give one of "
                   "them",
                   verb, (*given)->name, row->name);
    return false;
}

/* optind 0 makes GNU getopt start anew, as one process may parse twice. Only
 * the row of --help is not found in the verb's table. */
int
alqi_cli_parse(const char *name, int argc, char **argv, void *into, int *first)
{
    const struct alqi_cli_verb *verb = alqi_cli_verb_find(name);
    const struct alqi_cli_option *given[OPTIONS_MAX + 1] = {NULL};
    struct tables tables;
    int id;

    tables_make(&tables, verb);
    optind = 0;
    opterr = 0;
    while ((id = getopt_long(argc, argv, tables.letters, tables.longs, NULL)) !=
           -1) {
        const struct alqi_cli_option *row = row_find(verb, id);
        int rc;

        if (id == '?' || id == ':')
            return refuse(verb, id, argv);
        if (row == NULL) {
            alqi_cli_help_verb(verb);
            return ALQI_CLI_OK;
        }
        rc = choice_check(name, row, optarg);
        if (rc >= 0)
            return rc;
        if (!is_alone(name, row, given) || !value_take(verb, row, optarg, into))
            return ALQI_CLI_USAGE;
    }
    *first = optind;
    return -1;
}

/* Says what to write where there is none, and which one is too many. */
int
alqi_cli_one_operand(const char *verb, const char *what, int argc, char **argv,
                     int first, const char **out)
{
    if (first >= argc)
        return alqi_cli_usage(
            verb, "%s: which %s? Name a file, or '-' for standard input", verb,
            what);
    if (first + 1 < argc)
        return alqi_cli_usage(verb, "%s: one %s at a time; '%s' is too many",
                              verb, what, argv[first + 1]);
    *out = argv[first];
    return -1;
}

/* ---- help ------------------------------------------------------------ */

/* The left column of the help: letter, name, value. Returns its length. */
static size_t
left_text(char *out, size_t capacity, const struct alqi_cli_option *row)
{
    char letter[8] = "    ";
    int n;

    if (row->letter != 0)
        snprintf(letter, sizeof letter, "-%c, ", row->letter);
    n = snprintf(out, capacity, "  %s--%s%s%s", letter, row->name,
                 has_arg(row) == required_argument ? "=" : "",
                 row->value != NULL ? row->value : "");
    return (size_t)n;
}

/* A left column that is too wide takes a line of its own. */
static void
help_row_print(const struct alqi_cli_option *row, size_t column)
{
    char left[96];
    size_t n = left_text(left, sizeof left, row);

    if (n + 2 > column)
        printf("%s\n%*s%s\n", left, (int)column, "", row->help);
    else
        printf("%-*s%s\n", (int)column, left, row->help);
}

/* The table's rows, in its order, then --help. */
void
alqi_cli_help_verb(const struct alqi_cli_verb *verb)
{
    enum { HELP_COLUMN = 26 };

    printf("Usage: aliquot %s%s%s%s\n%s.\n\n", verb->name,
           verb->options[0].name != NULL ? " [OPTION]..." : "",
           verb->operands[0] != '\0' ? " " : "", verb->operands, verb->summary);
    for (const struct alqi_cli_option *o = verb->options; o->name != NULL; o++)
        help_row_print(o, HELP_COLUMN);
    help_row_print(&help_row, HELP_COLUMN);
    printf("\nMore: man aliquot-%s\n", verb->name);
}

/* One line a verb, in the table's order. */
void
alqi_cli_help_all(void)
{
    printf("Usage: aliquot COMMAND [OPTION]... [FILE]\n"
           "Show which functions of a program allocate memory, and what "
           "stays in use.\n\n");
    for (size_t i = 0; i < alqi_cli_n_verbs; i++)
        printf("  %-10s%s\n", alqi_cli_verbs[i].name,
               alqi_cli_verbs[i].summary);
    printf("\n  aliquot help COMMAND    options of one command\n"
           "  aliquot --version       version of aliquot\n"
           "\nTo begin:\n"
           "  aliquot record -o prog.ctf ./prog its arguments\n"
           "  aliquot report prog.ctf\n"
           "\nMore: man aliquot\n");
}

/* ---- completion ------------------------------------------------------ */

/* One case of the shell's `case` for each option that has choices. */
static void
complete_values(const struct alqi_cli_verb *verb)
{
    for (const struct alqi_cli_option *o = verb->options; o->name != NULL; o++)
        if (o->choices != NULL)
            printf("    %s:--%s) words=\"%s\" ;;\n", verb->name, o->name,
                   o->choices);
}

/* One case with all options of a verb; a name that takes a value ends with
 * "=". */
static void
complete_options(const struct alqi_cli_verb *verb)
{
    printf("    %s) words=\"", verb->name);
    for (const struct alqi_cli_option *o = verb->options; o->name != NULL; o++)
        printf("--%s%s ", o->name, has_arg(o) == required_argument ? "=" : "");
    printf("--help\" ;;\n");
}

/* Words that the shell takes one more word for. */
static void
complete_program(const struct alqi_cli_verb *verb)
{
    if (!verb->stops_early)
        return;
    printf("    %s) _aliquot_program \"", verb->name);
    for (const struct alqi_cli_option *o = verb->options; o->name != NULL; o++)
        if (has_arg(o) == required_argument) {
            printf("--%s ", o->name);
            if (o->letter != 0)
                printf("-%c ", o->letter);
        }
    printf("\" ;;\n");
}

/* A function of the shell with cases of each verb. */
static void
complete_cases(const char *name, void (*cases)(const struct alqi_cli_verb *))
{
    printf("_aliquot_%s()\n{\n    case $1 in\n", name);
    for (size_t i = 0; i < alqi_cli_n_verbs; i++)
        cases(&alqi_cli_verbs[i]);
    printf("    esac\n}\n");
}

/* What depends on the tables; then the text that does not. */
void
alqi_cli_complete_bash(void)
{
    printf("# bash completion for aliquot; made by `aliquot help "
           "--completion`\n_aliquot_verbs=\"");
    for (size_t i = 0; i < alqi_cli_n_verbs; i++)
        printf("%s ", alqi_cli_verbs[i].name);
    printf("\"\n");
    complete_cases("programs", complete_program);
    complete_cases("options", complete_options);
    complete_cases("values", complete_values);
    fputs(alqi_cli_page_completion, stdout);
}
