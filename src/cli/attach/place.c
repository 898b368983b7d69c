/* place.c -- where a process that is attached to makes its recording
 *
 * The process itself creates the file, so the directory must be where its user
 * may write, in its own tree of files. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file_name.h"
#include "cli/attach/attach.h"
#include "cli/tool/cli.h"

/* The descriptor of /tmp stays open: the files of a process cannot be named any
 * more when it has ended. */
bool
alqi_cli_attach_place_make(const char *verb,
                           const struct alqi_cli_attach_target *t,
                           struct alqi_cli_attach_place *place)
{
    char parent[PATH_MAX];
    int fd;

    snprintf(parent, sizeof parent, "%s/tmp", t->root);
    fd = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
    snprintf(place->here, sizeof place->here,
             "/proc/self/fd/%d/.aliquot-raw.XXXXXX", fd);
    if (fd < 0 || mkdtemp(place->here) == NULL ||
        chown(place->here, t->uid, t->gid) != 0)
        return alqi_cli_refuse("%s: cannot make a directory for process %d in "
                               "%s: %s",
                               verb, (int)t->pid, parent, strerror(errno));
    snprintf(place->there, sizeof place->there, "/tmp/%s",
             alqi_base_file_name(place->here));
    return true;
}
