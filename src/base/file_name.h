/* file_name.h -- the last part of a path */
#ifndef ALQI_BASE_FILE_NAME_H
#define ALQI_BASE_FILE_NAME_H

#include <string.h>

/* What stands behind the path's last slash; the whole path if nothing does. */
static inline const char *
alqi_base_file_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash != NULL && slash[1] != '\0' ? slash + 1 : path;
}

#endif
