/* suppress.c -- reads files of suppressions
 *
 * [suppress.h] A line "leak:TEMPLATE" is a rule of LeakSanitizer. One of
 * Valgrind begins with a line "{"; then come its name, "Memcheck:Leak",
 * perhaps "match-leak-kinds:", and frames, up to "}". What has another word
 * than Memcheck:Leak is skipped and counted. Kinds of leaks are checked and
 * then not looked at: whether something points to a block is not known.
 *
 * Both kinds of patterns become globs of fnmatch(3). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/analysis/suppress.h"
#include "cli/read/names.h"
#include "cli/tool/cli.h"
#include "view/cxxname.h"
#include "cli/tool/text.h"

/* Where the next line stands. */
enum place { OUTSIDE, NAME, TOOL, FRAMES, SKIPPED };

struct reader {
    struct alqi_cli_suppress *to;
    const char *verb, *path;
    /* of the line, and of the one with the brace; from 1 on */
    unsigned line, begin;
    enum place place;
};

/* False; says what is wrong with the text of a line. */
static bool
fail(const struct reader *r, unsigned line, const char *text, const char *wants)
{
    return alqi_cli_refuse("%s: %s:%u: '%s': %s", r->verb, r->path, line,
                           alqi_cli_shown(text).text, wants);
}

/* The rest of the text behind the word; NULL: it begins otherwise. */
static const char *
after(const char *text, const char *word)
{
    size_t n = strlen(word);

    return strncmp(text, word, n) == 0 ? text + n : NULL;
}

/* ---- patterns ------------------------------------------------------------ */

/* The glob of n bytes of a pattern in which only the `special` signs of *, ?
 * and [ are; head and tail stand before and behind it. */
static const char *
glob_make(struct reader *r, const char *text, size_t n, const char *special,
          const char *head, const char *tail)
{
    char *quoted = alqi_cli_realloc(NULL, 2 * n + 1, 1), *to = quoted;
    const char *glob;

    for (size_t i = 0; i < n; i++) {
        if (strchr("*?[\\", text[i]) != NULL &&
            strchr(special, text[i]) == NULL)
            *to++ = '\\';
        *to++ = text[i];
    }
    *to = '\0';
    glob = alqi_base_arena_printf(&r->to->arena, "%s%s%s", head, quoted, tail);
    free(quoted);
    if (glob == NULL)
        alqi_cli_die("out of memory for suppressions");
    return glob;
}

/* LeakSanitizer's template: ^ and $ hold it at an end of the name. */
static const char *
template_glob(struct reader *r, const char *text)
{
    size_t n = strlen(text);
    bool is_begun = text[0] == '^', is_ended = n > 0 && text[n - 1] == '$';

    return glob_make(r, text + is_begun,
                     n - is_begun - (is_ended && n > is_begun), "*",
                     is_begun ? "" : "*", is_ended ? "" : "*");
}

/* Valgrind's pattern of a function. A mangled name is that of the function as
 * traces have it, without parameters. */
static const char *
function_glob(struct reader *r, const char *text)
{
    char *clear = alqi_cli_names_demangled(text);
    char name[2048];
    const char *glob;

    if (clear == NULL)
        return glob_make(r, text, strlen(text), "*?", "", "");
    alqi_view_cxxname_bare(name, sizeof name, clear);
    glob = glob_make(r, name, strlen(name), "", "", "");
    free(clear);
    return glob;
}

/* ---- rules --------------------------------------------------------------- */

static struct alqi_cli_suppress_rule *
rule_last(const struct reader *r)
{
    return &r->to->rules[r->to->n_rules - 1];
}

static void
rule_add(struct reader *r, const char *name)
{
    struct alqi_cli_suppress *s = r->to;

    s->rules = alqi_cli_grow(s->rules, s->n_rules, sizeof *s->rules);
    s->rules[s->n_rules++] = (struct alqi_cli_suppress_rule){
        .name = glob_make(r, name, strlen(name), "*?[\\", "", ""),
        .file = r->path,
        .line = r->begin,
    };
}

/* The last rule is none. */
static void
rule_drop(struct reader *r)
{
    free(rule_last(r)->lines);
    r->to->n_rules--;
    r->to->n_skipped++;
}

static void
line_add(struct reader *r, enum alqi_cli_suppress_kind kind, const char *glob,
         int32_t line)
{
    struct alqi_cli_suppress_rule *rule = rule_last(r);

    rule->lines =
        alqi_cli_grow(rule->lines, rule->n_lines, sizeof *rule->lines);
    rule->lines[rule->n_lines++] =
        (struct alqi_cli_suppress_line){kind, glob, line};
}

/* "file.c", "file.c:12" or "file.c:*". */
static void
source_add(struct reader *r, const char *text)
{
    const char *colon = strrchr(text, ':');
    size_t n = strlen(text);
    uint64_t line = 0;

    if (colon != NULL &&
        (strcmp(colon, ":*") == 0 || alqi_cli_parse_count(colon + 1, &line)))
        n = (size_t)(colon - text);
    line_add(r, ALQI_CLI_SUPPRESS_SRC, glob_make(r, text, n, "*?", "", ""),
             (int32_t)line);
}

/* ---- lines --------------------------------------------------------------- */

static bool
outside_take(struct reader *r, const char *text)
{
    const char *pattern = after(text, "leak:");

    r->begin = r->line;
    if (strcmp(text, "{") == 0) {
        r->place = NAME;
        return true;
    }
    if (pattern == NULL)
        return fail(r, r->line, text,
                    "neither leak:TEMPLATE nor { of Valgrind's suppressions");
    if (*pattern == '\0')
        return fail(r, r->line, text, "write a name or a part behind leak:");
    rule_add(r, pattern);
    line_add(r, ALQI_CLI_SUPPRESS_SOME, template_glob(r, pattern), 0);
    return true;
}

/* "Memcheck:Leak", and other tools before or behind the first. */
static bool
tool_take(struct reader *r, const char *text)
{
    const char *colon = strchr(text, ':'), *tool = strstr(text, "Memcheck");

    if (colon == NULL)
        return fail(r, r->line, text, "write TOOL:KIND, as Memcheck:Leak");
    r->place = FRAMES;
    if (tool == NULL || tool > colon || strcmp(colon, ":Leak") != 0) {
        r->place = SKIPPED;
        rule_drop(r);
    }
    return true;
}

/* A list of kinds, behind match-leak-kinds. */
static bool
kinds_take(struct reader *r, const char *text, const char *kinds)
{
    static const char *const names[] = {"definite",  "indirect", "possible",
                                        "reachable", "all",      "none"};
    size_t n, i;

    for (kinds += strspn(kinds, " \t"); *kinds != '\0';
         kinds += n + strspn(kinds + n, ", \t")) {
        n = strcspn(kinds, ", \t");
        for (i = 0; i < ALQI_COUNT_OF(names); i++)
            if (strlen(names[i]) == n && memcmp(names[i], kinds, n) == 0)
                break;
        if (i == ALQI_COUNT_OF(names))
            return fail(r, r->line, text,
                        "a list of definite, indirect, possible, reachable, "
                        "all, none");
        if (names[i][0] == 'n') {
            r->place = SKIPPED;
            rule_drop(r);
            return true;
        }
    }
    return true;
}

static bool
frames_take(struct reader *r, const char *text)
{
    const char *rest;

    if (strcmp(text, "}") == 0) {
        r->place = OUTSIDE;
        return rule_last(r)->n_lines > 0 ||
               fail(r, r->begin, rule_last(r)->name, "it has no frames");
    }
    if ((rest = after(text, "match-leak-kinds:")) != NULL &&
        rule_last(r)->n_lines == 0)
        return kinds_take(r, text, rest);
    if ((rest = after(text, "fun:")) != NULL)
        line_add(r, ALQI_CLI_SUPPRESS_FUN, function_glob(r, rest), 0);
    else if ((rest = after(text, "obj:")) != NULL)
        line_add(r, ALQI_CLI_SUPPRESS_OBJ,
                 glob_make(r, rest, strlen(rest), "*?", "", ""), 0);
    else if ((rest = after(text, "src:")) != NULL)
        source_add(r, rest);
    else if (strcmp(text, "...") == 0)
        line_add(r, ALQI_CLI_SUPPRESS_GAP, "", 0);
    else
        return fail(r, r->line, text, "write fun:, obj:, src:, ... or }");
    return true;
}

static bool
line_take(struct reader *r, const char *text)
{
    switch (r->place) {
    case OUTSIDE:
        return outside_take(r, text);
    case NAME:
        rule_add(r, text);
        r->place = TOOL;
        return true;
    case TOOL:
        return tool_take(r, text);
    case FRAMES:
        return frames_take(r, text);
    default:
        if (strcmp(text, "}") == 0)
            r->place = OUTSIDE;
        return true;
    }
}

/* The line without blanks at its ends and without a comment. */
static const char *
line_trim(char *line)
{
    size_t n = strlen(line);

    while (n > 0 && strchr(" \t\r\n", line[n - 1]) != NULL)
        line[--n] = '\0';
    line += strspn(line, " \t");
    return line[0] == '#' ? "" : line;
}

static bool
file_read(struct reader *r, FILE *file)
{
    char *line = NULL;
    size_t capacity = 0;
    bool is_right = true;

    while (is_right && getline(&line, &capacity, file) >= 0) {
        const char *text = line_trim(line);

        r->line++;
        is_right = *text == '\0' || line_take(r, text);
    }
    free(line);
    if (is_right && ferror(file))
        return alqi_cli_refuse("%s: %s: %s", r->verb, r->path, strerror(errno));
    return is_right && (r->place == OUTSIDE ||
                        fail(r, r->begin, "{", "there is no } that ends it"));
}

bool
alqi_cli_suppress_take(void *to, const char *verb, const char *path)
{
    struct reader r = {.to = to, .verb = verb, .path = path};
    FILE *file = fopen(path, "re");
    bool is_right;

    if (file == NULL)
        return alqi_cli_refuse("%s: %s: %s", verb, path, strerror(errno));
    is_right = file_read(&r, file);
    fclose(file);
    r.to->is_given = true;
    return is_right;
}

void
alqi_cli_suppress_forget(struct alqi_cli_suppress *s)
{
    for (uint32_t i = 0; i < s->n_rules; i++)
        memset(&s->rules[i].sum, 0, sizeof s->rules[i].sum);
    free(s->path_of);
    s->path_of = NULL;
    s->n_path_of = 0;
}

void
alqi_cli_suppress_free(struct alqi_cli_suppress *s)
{
    for (uint32_t i = 0; i < s->n_rules; i++)
        free(s->rules[i].lines);
    free(s->rules);
    free(s->path_of);
    alqi_base_arena_drop(&s->arena);
}
