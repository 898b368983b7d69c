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

/* The status that the command ends with. */
enum alqi_cli_exit {
    ALQI_CLI_OK = 0,
    /* the command worked, and found what it was asked to look for */
    ALQI_CLI_FINDING = 1,
    /* an option or operand is wrong, or a file exists */
    ALQI_CLI_USAGE = 2,
    /* a file cannot be read or written, or there is no memory */
    ALQI_CLI_UNREADABLE = 3
};

/* What becomes of an option's value, and of which type its destination is. */
enum alqi_cli_option_type {
    ALQI_CLI_OPTION_FLAG,     /* bool: true                                  */
    ALQI_CLI_OPTION_FIXED,    /* int or an enum: the row's number            */
    ALQI_CLI_OPTION_CHOICE,   /* the same: number + the place in choices     */
    ALQI_CLI_OPTION_TEXT,     /* const char *: the argument itself           */
    ALQI_CLI_OPTION_COUNT,    /* uint64_t: a whole number                    */
    ALQI_CLI_OPTION_WORDS,    /* uint64_t: "20kw"                            */
    ALQI_CLI_OPTION_NUMBER,   /* double                                      */
    ALQI_CLI_OPTION_BYTES,    /* double: "64K"; 0 when it is left out        */
    ALQI_CLI_OPTION_DURATION, /* double, microseconds: "1.5s"                */
    ALQI_CLI_OPTION_TAKEN     /* the row's function writes the destination   */
};

/* Writes what value says to the destination; false, and said, when it is
 * refused. */
typedef bool alqi_cli_take_fn(void *to, const char *verb, const char *value);

/* An option table ends with a row whose name is NULL.  A destination is a place
 * in the struct that alqi_cli_parse() fills; the macros below make the columns
 * from `type` on. */
struct alqi_cli_option {
    char letter;         /* short name, or 0                              */
    const char *name;    /* long name without dashes                      */
    const char *value;   /* what stands after it in the help; NULL: none;
                          * "[=N]": it may be left out, and is NULL then  */
    const char *choices; /* "a b c" when only these are legal, else NULL  */
    const char *help;    /* one line, without a full stop */
    enum alqi_cli_option_type type;
    size_t to;              /* the destination's offset                     */
    size_t also;            /* offset + 1 of a bool that the option makes
                             * true, too; 0: there is none                  */
    int number;             /* of FIXED and CHOICE                          */
    double least, most;     /* of values that are numbers; most 0: no bound */
    const char *wants;      /* said of a refused number; NULL: by the type  */
    alqi_cli_take_fn *take; /* of TAKEN                                    */
    const char *one_of;     /* rows that have the same text here exclude each
                             * other; NULL: the row excludes none */
    const char *former;     /* "NAME ADVICE": a choice that is no more, and what
                             * to say of it; NULL: there is none */
};

/* The offset of a field that is of the type a destination has to be. */
#define ALQI_CLI_PLACE(in, field, is)                                          \
    (offsetof(in, field) +                                                     \
     0 * sizeof(char[__builtin_types_compatible_p(                             \
                         __typeof__(((in *)0)->field), is)                     \
                         ? 1                                                   \
                         : -1]))
#define ALQI_CLI_ENUM_PLACE(in, field)                                         \
    (offsetof(in, field) +                                                     \
     0 * sizeof(char[sizeof(((in *)0)->field) == sizeof(int) ? 1 : -1]))

#define ALQI_CLI_FLAG(in, field)                                               \
    .type = ALQI_CLI_OPTION_FLAG, .to = ALQI_CLI_PLACE(in, field, bool)
#define ALQI_CLI_FIXED(in, field, n)                                           \
    .type = ALQI_CLI_OPTION_FIXED, .to = ALQI_CLI_ENUM_PLACE(in, field),       \
    .number = (n)
#define ALQI_CLI_CHOICE(in, field)                                             \
    .type = ALQI_CLI_OPTION_CHOICE, .to = ALQI_CLI_ENUM_PLACE(in, field)
#define ALQI_CLI_TEXT(in, field)                                               \
    .type = ALQI_CLI_OPTION_TEXT, .to = ALQI_CLI_PLACE(in, field, const char *)
#define ALQI_CLI_COUNT(in, field)                                              \
    .type = ALQI_CLI_OPTION_COUNT, .to = ALQI_CLI_PLACE(in, field, uint64_t)
#define ALQI_CLI_WORDS(in, field)                                              \
    .type = ALQI_CLI_OPTION_WORDS, .to = ALQI_CLI_PLACE(in, field, uint64_t)
#define ALQI_CLI_NUMBER(in, field)                                             \
    .type = ALQI_CLI_OPTION_NUMBER, .to = ALQI_CLI_PLACE(in, field, double)
#define ALQI_CLI_BYTES(in, field)                                              \
    .type = ALQI_CLI_OPTION_BYTES, .to = ALQI_CLI_PLACE(in, field, double)
#define ALQI_CLI_DURATION(in, field)                                           \
    .type = ALQI_CLI_OPTION_DURATION, .to = ALQI_CLI_PLACE(in, field, double)
#define ALQI_CLI_TAKEN(by, offset)                                             \
    .type = ALQI_CLI_OPTION_TAKEN, .take = (by), .to = (offset)
#define ALQI_CLI_ONE_OF(what) .one_of = (what)
#define ALQI_CLI_ALSO(in, field) .also = 1 + ALQI_CLI_PLACE(in, field, bool)

/* How a verb says that a number is refused. */
enum alqi_cli_refusal {
    ALQI_CLI_REFUSES_JOINED, /* "--top=x: ...", and where help is */
    ALQI_CLI_REFUSES_APART,  /* "--top x: ...", and where help is */
    ALQI_CLI_REFUSES_ALONE   /* "--top x: ..."                    */
};

struct alqi_cli_verb {
    const char *name;
    const char *summary;
    /* what stands behind the options in the help; "" without any */
    const char *operands;
    int (*run)(int argc, char **argv); /* argv[0] is the verb's name */
    const struct alqi_cli_option *options;
    bool stops_early; /* options end at the first operand */
    /* the form of messages on its numbers */
    enum alqi_cli_refusal refusal;
};

extern const struct alqi_cli_verb alqi_cli_verbs[];
extern const size_t alqi_cli_n_verbs;

/* NULL when there is no such verb. */
const struct alqi_cli_verb *alqi_cli_verb_find(const char *name);

int alqi_cli_check(int argc, char **argv);
/* start, stop, rate and status */
int alqi_cli_control(int argc, char **argv);
int alqi_cli_mark(int argc, char **argv);
int alqi_cli_diff(int argc, char **argv);
int alqi_cli_export(int argc, char **argv);
int alqi_cli_gc_trace(int argc, char **argv);
int alqi_cli_heap(int argc, char **argv);
int alqi_cli_help(int argc, char **argv);
int alqi_cli_info(int argc, char **argv);
int alqi_cli_leaks(int argc, char **argv);
/* As the verb, of a process that waits with its end (cli/attach/end.h); what it
 * finds is kept, too (cli/convert/reach.h). */
struct alqi_cli_reaches;
struct alqi_cli_end_watch;
int alqi_cli_leaks_at_end(int argc, char **argv,
                          struct alqi_cli_reaches *reaches,
                          const struct alqi_cli_end_watch *watch);
int alqi_cli_limits(int argc, char **argv);
int alqi_cli_merge(int argc, char **argv);
int alqi_cli_push(int argc, char **argv);
int alqi_cli_record(int argc, char **argv);
int alqi_cli_report(int argc, char **argv);
int alqi_cli_script(int argc, char **argv);
int alqi_cli_serve(int argc, char **argv);
int alqi_cli_snapshot(int argc, char **argv);
int alqi_cli_view(int argc, char **argv);
int alqi_cli_top(int argc, char **argv);

extern const struct alqi_cli_option alqi_cli_check_options[];
extern const struct alqi_cli_option alqi_cli_diff_options[];
extern const struct alqi_cli_option alqi_cli_export_options[];
extern const struct alqi_cli_option alqi_cli_gc_trace_options[];
extern const struct alqi_cli_option alqi_cli_heap_options[];
extern const struct alqi_cli_option alqi_cli_help_options[];
extern const struct alqi_cli_option alqi_cli_info_options[];
extern const struct alqi_cli_option alqi_cli_leaks_options[];
extern const struct alqi_cli_option alqi_cli_limits_options[];
extern const struct alqi_cli_option alqi_cli_merge_options[];
extern const struct alqi_cli_option alqi_cli_push_options[];
extern const struct alqi_cli_option alqi_cli_record_options[];
extern const struct alqi_cli_option alqi_cli_report_options[];
extern const struct alqi_cli_option alqi_cli_script_options[];
extern const struct alqi_cli_option alqi_cli_serve_options[];
extern const struct alqi_cli_option alqi_cli_status_options[];
extern const struct alqi_cli_option alqi_cli_mark_options[];
extern const struct alqi_cli_option alqi_cli_snapshot_options[];
extern const struct alqi_cli_option alqi_cli_rate_options[];
extern const struct alqi_cli_option alqi_cli_stop_options[];
extern const struct alqi_cli_option alqi_cli_start_options[];
extern const struct alqi_cli_option alqi_cli_view_options[];
extern const struct alqi_cli_option alqi_cli_top_options[];

/* ---- options.c ------------------------------------------------------- */

/* Parses argv by the verb's table and fills the struct that its rows are of.
 * Returns -1 to go on, with *first the index of the first operand, or the
 * status to exit with (help was printed, or the mistake was said). */
int alqi_cli_parse(const char *verb, int argc, char **argv, void *into,
                   int *first);

/* Exactly one operand, or the status to exit with; -1 to go on.  `what` it is
 * stands in messages: "trace". */
int alqi_cli_one_operand(const char *verb, const char *what, int argc,
                         char **argv, int first, const char **out);

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

/* As say, and return ALQI_CLI_UNREADABLE, ALQI_CLI_FINDING, false; or end the
 * command as UNREADABLE. */
int alqi_cli_unreadable(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
int alqi_cli_finding(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
bool alqi_cli_refuse(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
_Noreturn void alqi_cli_die(const char *format, ...)
    __attribute__((format(printf, 1, 2)));

/* As say, then where help is; returns ALQI_CLI_USAGE. */
int alqi_cli_usage(const char *verb, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* realloc that ends the command with a message when there is no memory. */
void *alqi_cli_realloc(void *block, size_t n, size_t each_bytes);
/* The same for an array that holds n and gets one more: doubles at powers of
 * two. */
void *alqi_cli_grow(void *array, uint32_t n, size_t each_bytes);
/* The same for a table by number, of *n places, that gets a place for `index`:
 * new places are zero, and *n is more than twice the index. */
void *alqi_cli_widen(void *table, uint32_t *n, uint32_t index,
                     size_t each_bytes);
/* The same for a new block, which is all zeros. */
void *alqi_cli_zeros(size_t n, size_t each_bytes);
/* The same of another array's bytes; none are read of an empty one. */
void *alqi_cli_duplicate(const void *array, size_t n, size_t each_bytes);
/* strdup that ends the command the same way. */
char *alqi_cli_copy(const char *text);
/* alqi_base_intern that ends the command the same way. */
struct alqi_base_intern;
uint32_t alqi_cli_intern(struct alqi_base_intern *table, const uint32_t *row);
/* alqi_base_map_at and _put that do. */
struct alqi_base_map;
uint64_t *alqi_cli_map_at(struct alqi_base_map *map, uint64_t key,
                          bool *is_new);
void alqi_cli_map_put(struct alqi_base_map *map, uint64_t key, uint64_t value);

#endif
