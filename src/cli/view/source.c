/* source.c -- lines of source files for the viewer
 *
 * The file that was read last is kept as text, and lines point into it until
 * the next call. Each call reads the file anew, as it may have been edited
 * meanwhile. The path comes from a trace, so only regular files that are text
 * are given out, cleaned. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/tool/cli.h"
#include "cli/tool/text.h"
#include "cli/view/source.h"

enum { FILE_BYTES_MAX = 16 << 20, LINE_BYTES_MAX = 2000 };

/* The whole file, with a zero byte at its end; NULL when it is no text. */
static char *
read_whole(int fd, size_t n)
{
    char *text = alqi_cli_realloc(NULL, n + 1, 1);
    size_t used = 0;
    ssize_t got = 1;

    while (used < n && got > 0) {
        got = read(fd, text + used, n - used);
        used += got > 0 ? (size_t)got : 0;
    }
    text[used] = '\0';
    if (used == n && memchr(text, '\0', n) == NULL)
        return text;
    free(text);
    return NULL;
}

/* Replaces the kept text by the file's. False: it cannot be read, or is no
 * text. O_NONBLOCK: a pipe of that name must not hold the server. */
static bool
load(struct alqi_cli_view_source *s, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;

    free(s->text);
    s->text = NULL;
    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
        st.st_size <= FILE_BYTES_MAX) {
        s->n_bytes = (size_t)st.st_size;
        s->text = read_whole(fd, s->n_bytes);
    }
    close(fd);
    return s->text != NULL;
}

/* Cuts the line and replaces what is no text by '?', byte by byte, in place;
 * tabs stay. */
static void
clean(char *line, size_t n)
{
    char out[LINE_BYTES_MAX];

    if (n > 0 && line[n - 1] == '\r')
        n--;
    line[n < sizeof out ? n : sizeof out - 1] = '\0';
    n = alqi_cli_clean(out, sizeof out, line);
    for (size_t i = 0; i < n; i++)
        line[i] = line[i] == '\t' ? '\t' : out[i];
    line[n] = '\0';
}

/* Lines are cut in place; those before `from` stay as they are and are not
 * counted. */
int
alqi_cli_view_lines(void *arg, const char *path, uint64_t from,
                    const char **lines, int n)
{
    struct alqi_cli_view_source *s = arg;
    uint64_t number = 1;
    int found = 0;
    char *at, *end;

    if (!load(s, path))
        return -1;
    for (at = s->text; at < s->text + s->n_bytes && found < n; at = end + 1) {
        end = strchrnul(at, '\n');
        if (number++ < from)
            continue;
        clean(at, (size_t)(end - at));
        lines[found++] = at;
    }
    return found;
}
