/* cli.h -- verbs of the aliquot command, their options, how they fail
 *
 * A verb is one row of the table in verbs.c and one file that defines its
 * function and its option table.  The table drives dispatch, getopt_long,
 * `--help` and the shell completion, so that they cannot disagree. */
#ifndef ALQI_CLI_TOOL_CLI_H
#define ALQI_CLI_TOOL_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum alqi_cli_exit {
    ALQI_CLI_OK = 0,
    ALQI_CLI_FINDING = 1,
    ALQI_CLI_USAGE = 2,
    ALQI_CLI_UNREADABLE = 3
};

/* An option table ends with a row whose name is NULL.  An id below 128 is the
 * option's letter too. */
struct alqi_cli_option {
    int id;
    const char *name;    /* long name without dashes                      */
    const char *value;   /* what stands after it in the help; NULL: none;
                          * "[=N]": it may be left out, and is NULL then  */
    const char *choices; /* "a b c" when only these are legal, else NULL  */
    const char *help;
    const char *former; /* "NAME ADVICE": a choice that is no more, and what
                         * to say of it; NULL: there is none */
};

struct alqi_cli_verb {
    const char *name;
    const char *summary;
    const char *operands;
    int (*run)(int argc, char **argv); /* argv[0] is the verb's name */
    const struct alqi_cli_option *options;
    bool stops_early; /* options end at the first operand */
};

extern const struct alqi_cli_verb alqi_cli_verbs[];
extern const size_t alqi_cli_n_verbs;

/* NULL when there is no such verb. */
const struct alqi_cli_verb *alqi_cli_verb_find(const char *name);

int alqi_cli_check(int argc, char **argv);
int alqi_cli_diff(int argc, char **argv);
int alqi_cli_export(int argc, char **argv);
int alqi_cli_gc_trace(int argc, char **argv);
int alqi_cli_help(int argc, char **argv);
int alqi_cli_info(int argc, char **argv);
int alqi_cli_limits(int argc, char **argv);
int alqi_cli_merge(int argc, char **argv);
int alqi_cli_push(int argc, char **argv);
int alqi_cli_record(int argc, char **argv);
int alqi_cli_report(int argc, char **argv);
int alqi_cli_script(int argc, char **argv);
int alqi_cli_serve(int argc, char **argv);
int alqi_cli_status(int argc, char **argv);
int alqi_cli_snapshot(int argc, char **argv);
int alqi_cli_rate(int argc, char **argv);
int alqi_cli_stop(int argc, char **argv);
int alqi_cli_start(int argc, char **argv);
int alqi_cli_view(int argc, char **argv);
int alqi_cli_top(int argc, char **argv);

extern const struct alqi_cli_option alqi_cli_check_options[];
extern const struct alqi_cli_option alqi_cli_diff_options[];
extern const struct alqi_cli_option alqi_cli_export_options[];
extern const struct alqi_cli_option alqi_cli_gc_trace_options[];
extern const struct alqi_cli_option alqi_cli_help_options[];
extern const struct alqi_cli_option alqi_cli_info_options[];
extern const struct alqi_cli_option alqi_cli_limits_options[];
extern const struct alqi_cli_option alqi_cli_merge_options[];
extern const struct alqi_cli_option alqi_cli_push_options[];
extern const struct alqi_cli_option alqi_cli_record_options[];
extern const struct alqi_cli_option alqi_cli_report_options[];
extern const struct alqi_cli_option alqi_cli_script_options[];
extern const struct alqi_cli_option alqi_cli_serve_options[];
extern const struct alqi_cli_option alqi_cli_status_options[];
extern const struct alqi_cli_option alqi_cli_snapshot_options[];
extern const struct alqi_cli_option alqi_cli_rate_options[];
extern const struct alqi_cli_option alqi_cli_stop_options[];
extern const struct alqi_cli_option alqi_cli_start_options[];
extern const struct alqi_cli_option alqi_cli_view_options[];
extern const struct alqi_cli_option alqi_cli_top_options[];

/* ---- options.c ------------------------------------------------------- */

/* Takes one option; false when its value is refused (and that was said). */
typedef bool alqi_cli_option_fn(void *arg, int id, const char *value);

/* Parses argv by the verb's table.  Returns -1 to go on, with *first the
 * index of the first operand, or the status to exit with (help was printed,
 * or the mistake was said).  A choice is checked before set() sees it; set()
 * is never called for --help. */
int alqi_cli_parse(const char *verb, int argc, char **argv,
                   alqi_cli_option_fn *set, void *arg, int *first);

/* Exactly one operand, or the status to exit with; -1 to go on. */
int alqi_cli_one_operand(const char *verb, int argc, char **argv, int first,
                         const char **out);

/* Position of value in choices "a b c", -1 when it is not there. */
int alqi_cli_choice(const char *choices, const char *value);

void alqi_cli_help_verb(const struct alqi_cli_verb *verb);
void alqi_cli_help_all(void);
void alqi_cli_complete_bash(void);

/* ---- say.c ----------------------------------------------------------- */

/* "aliquot: " and the line, on stderr. */
void alqi_cli_say(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* From now on text has what is said last, without "aliquot: ", and stderr
 * nothing; NULL: as before. */
void alqi_cli_say_into(char *text, size_t n_text);

/* As say, then where help is; returns ALQI_CLI_USAGE. */
int alqi_cli_usage(const char *verb, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* realloc that ends the command with a message when there is no memory. */
void *alqi_cli_realloc(void *block, size_t n, size_t each_bytes);
/* The same for an array that holds n and gets one more: doubles at powers of
 * two. */
void *alqi_cli_grow(void *array, uint32_t n, size_t each_bytes);
/* alqi_base_intern that ends the command the same way. */
struct alqi_base_intern;
uint32_t alqi_cli_intern(struct alqi_base_intern *table, const uint32_t *row);

#endif
