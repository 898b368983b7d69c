/* suppressed.c -- finds the rule of each site, and takes its leaks away
 *
 * [analysis.h] The bytes of a site that has a rule go from LIVE to the rule.
 *
 * A rule of Valgrind's is matched from the innermost frame on:
 * its lines up to a gap stand for as many frames, one behind the other, and
 * those behind a gap are found at the first place where they match, which is
 * the best one since a rule may end anywhere in the stack. In Valgrind a stack
 * begins in malloc, in a trace with malloc's caller: a first line that means
 * malloc may be left out. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/file_name.h"
#include "cli/analysis/analysis.h"
#include "cli/tool/cli.h"
#include "view/cxxname.h"

/* What a site's rule may be (analysis.h). */
enum { UNKNOWN, NONE, FIRST };

/* A stack to be matched. */
struct stack {
    struct alqi_cli_analysis *a;
    /* outermost first */
    const struct alqi_cli_frame *frames;
    uint32_t n;
};

static bool
is_like(const char *glob, const char *text)
{
    return fnmatch(glob, text, 0) == 0;
}

/* ---- one frame ----------------------------------------------------------- */

/* The whole path of a module, or its name where no path is known. */
static const char *
module_path(struct alqi_cli_analysis *a, uint32_t name)
{
    struct alqi_cli_suppress *s = a->options.suppress;
    const char *text = alqi_cli_names_text(a->names, name);

    if (name >= s->n_path_of)
        s->path_of =
            alqi_cli_widen(s->path_of, &s->n_path_of, name, sizeof *s->path_of);
    for (uint32_t i = 0; s->path_of[name] == 0 && i < a->notes.n_modules; i++) {
        uint32_t path = a->notes.modules[i].path;

        if (strcmp(alqi_base_file_name(alqi_cli_names_text(a->names, path)),
                   text) == 0)
            s->path_of[name] = path;
    }
    if (s->path_of[name] == 0)
        s->path_of[name] = name;
    return alqi_cli_names_text(a->names, s->path_of[name]);
}

static bool
is_new(const char *function)
{
    return strncmp(function, "operator new", strlen("operator new")) == 0;
}

/* The name as it is, or without its parameters. libstdc++'s new[] leaves its
 * frame to new. */
static bool
function_matches(const struct stack *s, const char *glob,
                 const struct alqi_cli_frame *f)
{
    const char *name = alqi_cli_names_text(s->a->names, f->function);
    char shorter[2048];

    if (is_like(glob, name) ||
        (is_new(name) && is_like(glob, "operator new[]")))
        return true;
    alqi_view_cxxname_bare(shorter, sizeof shorter, name);
    return is_like(glob, shorter);
}

/* The path as it is, or its last part. */
static bool
source_matches(const struct stack *s, const struct alqi_cli_suppress_line *line,
               const struct alqi_cli_frame *f)
{
    const char *path = alqi_cli_names_text(s->a->names, f->file);

    return f->file != ALQI_CLI_NO_NAME &&
           (line->line == 0 || line->line == f->line) &&
           (is_like(line->glob, path) ||
            is_like(line->glob, alqi_base_file_name(path)));
}

static bool
frame_matches(const struct stack *s, const struct alqi_cli_suppress_line *line,
              const struct alqi_cli_frame *f)
{
    bool is_some = line->kind == ALQI_CLI_SUPPRESS_SOME;

    if ((is_some || line->kind == ALQI_CLI_SUPPRESS_FUN) &&
        function_matches(s, line->glob, f))
        return true;
    if ((is_some || line->kind == ALQI_CLI_SUPPRESS_OBJ) &&
        f->module != ALQI_CLI_NO_NAME &&
        is_like(line->glob, module_path(s->a, f->module)))
        return true;
    return (is_some || line->kind == ALQI_CLI_SUPPRESS_SRC) &&
           source_matches(s, line, f);
}

/* ---- a stack ------------------------------------------------------------- */

/* The lines match the frames from `at` on, counted from the innermost. */
static bool
run_matches(const struct stack *s, const struct alqi_cli_suppress_line *lines,
            uint32_t n, uint32_t at)
{
    for (uint32_t i = 0; i < n; i++)
        if (at + i >= s->n ||
            !frame_matches(s, &lines[i], &s->frames[s->n - 1 - at - i]))
            return false;
    return true;
}

static bool
lines_match(const struct stack *s, const struct alqi_cli_suppress_line *lines,
            uint32_t n)
{
    bool is_after_gap = false;
    uint32_t at = 0;

    for (uint32_t i = 0, n_run; i < n; i += n_run + 1) {
        for (n_run = 0; i + n_run < n; n_run++)
            if (lines[i + n_run].kind == ALQI_CLI_SUPPRESS_GAP)
                break;
        while (!run_matches(s, lines + i, n_run, at))
            if (!is_after_gap || at++ >= s->n)
                return false;
        at += n_run;
        is_after_gap = true;
    }
    return true;
}

/* The line means a function of malloc's family, and the stack does not begin
 * in C++'s. */
static bool
is_of_malloc(const struct stack *s, const struct alqi_cli_suppress_line *line)
{
    static const char *const names[] = {
        "malloc",   "calloc",         "realloc",       "reallocarray",
        "memalign", "posix_memalign", "aligned_alloc", "valloc"};

    if (line->kind != ALQI_CLI_SUPPRESS_FUN ||
        (s->n > 0 && is_new(alqi_cli_names_text(s->a->names,
                                                s->frames[s->n - 1].function))))
        return false;
    for (size_t i = 0; i < ALQI_COUNT_OF(names); i++)
        if (is_like(line->glob, names[i]))
            return true;
    return false;
}

static bool
rule_matches(const struct stack *s, const struct alqi_cli_suppress_rule *rule)
{
    const struct alqi_cli_suppress_line *lines = rule->lines;

    if (lines[0].kind == ALQI_CLI_SUPPRESS_SOME) {
        for (uint32_t i = 0; i < s->n; i++)
            if (frame_matches(s, &lines[0], &s->frames[i]))
                return true;
        return false;
    }
    return lines_match(s, lines, rule->n_lines) ||
           (is_of_malloc(s, &lines[0]) &&
            lines_match(s, lines + 1, rule->n_lines - 1));
}

/* What rule of the site is. */
static uint32_t
rule_find(struct alqi_cli_analysis *a, uint32_t node)
{
    const struct alqi_cli_suppress *s = a->options.suppress;
    struct alqi_cli_frame *frames = NULL;
    uint32_t capacity = 0, rule = NONE;
    struct stack stack = {.a = a};

    stack.n = alqi_cli_stack_frames(a, node, &frames, &capacity);
    stack.frames = frames;
    for (uint32_t i = 0; rule == NONE && i < s->n_rules; i++)
        if (rule_matches(&stack, &s->rules[i]))
            rule = FIRST + i;
    free(frames);
    return rule;
}

struct alqi_cli_suppress_rule *
alqi_cli_suppress_of(struct alqi_cli_analysis *a, struct alqi_cli_site *site)
{
    if (a->options.suppress == NULL)
        return NULL;
    if (site->rule == UNKNOWN)
        site->rule = rule_find(a, site->node);
    return site->rule == NONE ? NULL
                              : &a->options.suppress->rules[site->rule - FIRST];
}

void
alqi_cli_suppress_sites(struct alqi_cli_analysis *a)
{
    for (uint32_t i = 0; a->options.suppress != NULL && i < a->n_sites; i++) {
        struct alqi_cli_sum *live = &a->sites[i].sums[ALQI_CLI_LIVE];
        struct alqi_cli_suppress_rule *rule =
            live->n_blocks > 0 ? alqi_cli_suppress_of(a, &a->sites[i]) : NULL;

        if (rule == NULL)
            continue;
        alqi_cli_sum_join(&rule->sum, live);
        memset(live, 0, sizeof *live);
    }
}
