/* name.c -- what the files of a run are called
 *
 * [name.h] The output's name is a pattern; its directories are not. So the
 * percent signs of directories are doubled, as are those of MEMTRACE, and the
 * whole is a pattern. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file_name.h"
#include "base/pattern.h"
#include "cli/record/name.h"
#include "cli/tool/cli.h"
#include "cli/tool/pack.h"

bool
alqi_cli_record_is_recording(const char *name)
{
    size_t n = strlen(name), k = strlen(ALQI_CLI_RECORDING_SUFFIX);

    return n > k && strcmp(name + n - k, ALQI_CLI_RECORDING_SUFFIX) == 0;
}

/* The letter stands for something in the pattern. */
static bool
has_letter(const char *pattern, const char *others)
{
    return alqi_base_pattern_stray(pattern, others) != NULL;
}

/* Whether a trace can take the output's place: it is written beside it, and
 * opened when the program has ended. False: the reason has been said. */
static bool
place_check(const struct alqi_cli_record_run *r)
{
    char path[PATH_MAX];
    struct stat st;

    if (strchr(r->pattern, '/') == NULL && getcwd(path, sizeof path) == NULL)
        return alqi_cli_refuse("record: the current directory is gone (%s): "
                               "change to another, or name the trace by a "
                               "whole path",
                               strerror(errno));
    alqi_cli_record_name(r, "", 0, path, sizeof path);
    if (r->output == NULL || r->is_late || stat(path, &st) != 0 ||
        (!S_ISFIFO(st.st_mode) && !S_ISSOCK(st.st_mode)))
        return true;
    return alqi_cli_refuse("record: %s is a pipe or a socket, and a trace is "
                           "written when the program has ended, beside its "
                           "name: name a file; 'aliquot snapshot' and 'serve' "
                           "give what is recorded before",
                           path);
}

bool
alqi_cli_record_name_set(struct alqi_cli_record_run *r)
{
    const char *output = r->output != NULL ? r->output : "aliquot";
    const char *slash = strrchr(output, '/'), *stray = NULL;
    const char *name = slash != NULL ? slash + 1 : output;
    size_t n;

    if (strlen(output) >= PATH_MAX)
        return alqi_cli_refuse("record: %s: the name is too long", output);
    if (r->is_memtrace)
        name += strlen(name);
    else
        stray = alqi_base_pattern_stray(name, "ehp");
    if (stray != NULL)
        return alqi_cli_refuse(
            "record: --output %s: '%.2s' stands for nothing; there are %%e, "
            "%%h, %%p and %%%%",
            output, stray);
    strcpy(alqi_base_pattern_quote(r->pattern, output, (size_t)(name - output)),
           name);
    r->is_late = has_letter(r->pattern, "h");
    r->is_each = has_letter(r->pattern, "eh");
    strcpy(r->base, r->pattern);
    n = alqi_cli_pack_stem(r->base);
    r->suffix = r->base[n] == '\0' ? ".ctf" : ".ctf.zst";
    r->base[n] = '\0';
    if (n > 4 && strcmp(r->base + n - 4, ".ctf") == 0)
        r->base[n -= 4] = '\0';
    if (r->is_each)
        r->suffix = r->pattern + n;
    return place_check(r);
}

/* The executable's, which may be unknown. */
static const char *
file_name(const char *executable)
{
    return executable[0] != '\0' ? alqi_base_file_name(executable) : "program";
}

/* Expands a pattern for a process. */
static void
expand(const char *pattern, const char *executable, uint32_t pid, char *path,
       size_t capacity)
{
    char number[24], host[65] = "";
    const struct alqi_base_pattern_part parts[] = {
        {'e', file_name(executable)}, {'h', host}, {'p', number}};

    snprintf(number, sizeof number, "%u", (unsigned)pid);
    (void)gethostname(host, sizeof host - 1);
    if (!alqi_base_pattern_expand_sigsafe(path, capacity, pattern, parts,
                                          ALQI_COUNT_OF(parts)))
        path[0] = '\0';
}

void
alqi_cli_record_name(const struct alqi_cli_record_run *r,
                     const char *executable, uint32_t pid, char *path,
                     size_t capacity)
{
    expand(r->pattern, executable, pid, path, capacity);
}

void
alqi_cli_record_name_stem(const struct alqi_cli_record_run *r,
                          const char *executable, uint32_t pid, bool is_named,
                          char *stem, size_t capacity)
{
    size_t n;

    expand(r->base, executable, pid, stem, capacity);
    n = strlen(stem);
    if (!is_named && !r->is_each)
        snprintf(stem + n, capacity - n, ".%s.%u", file_name(executable),
                 (unsigned)pid);
}
