/* token.c -- see token.h
 *
 *   no file --write aside, link--> file --read--> token
 *   a file that others may read --unlink--> no file
 *
 * .inv.named  The file's name appears with all of its bytes behind it, so that
 *             of two servers that begin at once both have the same word.
 * .inv.secret A word is used only from a plain file of the user that nobody
 *             else can have read. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/tool/output.h"
#include "cli/tool/token.h"

enum { N_DIGITS = 2 * ALQI_CLI_TOKEN_BYTES };

bool
alqi_cli_token_new(alqi_cli_token token)
{
    unsigned char random[ALQI_CLI_TOKEN_BYTES];

    if (getrandom(random, sizeof random, 0) != sizeof random)
        return false;
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(token + 2 * i, 3, "%02x", random[i]);
    return true;
}

/* False: there is no place for it. */
static bool
path_find(char path[PATH_MAX])
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    bool has_state = state != NULL && state[0] == '/';
    int n;

    if (!has_state && (home == NULL || home[0] != '/'))
        return false;
    n = snprintf(path, PATH_MAX, "%s%s/aliquot/token", has_state ? state : home,
                 has_state ? "" : "/.local/state");
    return n < PATH_MAX;
}

/* Keeps .inv.secret; *is_there: some file has the name. */
static bool
token_read(const char *path, alqi_cli_token token, bool *is_there)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    char text[N_DIGITS + 2];
    struct stat st;
    bool ok = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
              st.st_uid == geteuid() && (st.st_mode & 077) == 0 &&
              read(fd, text, sizeof text) == N_DIGITS + 1 &&
              text[N_DIGITS] == '\n' &&
              strspn(text, "0123456789abcdef") == N_DIGITS;

    *is_there = fd >= 0 || errno != ENOENT;
    if (fd >= 0)
        close(fd);
    if (ok)
        snprintf(token, sizeof(alqi_cli_token), "%.*s", N_DIGITS, text);
    return ok;
}

/* Writes the word to a file beside the path, and gives it that name unless
 * another has it by now (.inv.named). */
static void
token_keep(const char *path, const alqi_cli_token token)
{
    char aside[PATH_MAX + 8];
    int fd;

    snprintf(aside, sizeof aside, "%s.XXXXXX", path);
    fd = mkostemp(aside, O_CLOEXEC); /* with mode 0600 */
    if (fd < 0)
        return;
    if (dprintf(fd, "%s\n", token) == N_DIGITS + 1)
        (void)!link(aside, path);
    close(fd);
    unlink(aside);
}

bool
alqi_cli_token_of_user(alqi_cli_token token)
{
    char path[PATH_MAX];
    bool is_there;

    if (!path_find(path))
        return alqi_cli_token_new(token);
    if (token_read(path, token, &is_there))
        return true;
    if (!alqi_cli_token_new(token))
        return false;
    alqi_cli_folders_make(path);
    if (is_there)
        unlink(path);
    token_keep(path, token);
    /* of another server, if it was first */
    (void)token_read(path, token, &is_there);
    return true;
}
