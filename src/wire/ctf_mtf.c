/* ctf_mtf.c -- the move-to-front tables
 *
 * Files do not move; their order does.  A new file takes the entry of the one
 * that falls off.  Keeps .inv.front and .quirk.v1. */
#include <string.h>

#include "wire/ctf_mtf.h"

void
alqi_mtf_init(struct alqi_mtf *mtf)
{
    memset(mtf, 0, sizeof *mtf);
    for (uint32_t i = 0; i < ALQI_MTF_SIZE; i++)
        mtf->order[i] = &mtf->files[i];
}

uint32_t
alqi_mtf_file_find(const struct alqi_mtf *mtf, const char *name)
{
    for (uint32_t i = 0; i < mtf->n_files; i++)
        if (mtf->order[i]->name == name)
            return i;
    return ALQI_MTF_NEW;
}

static struct alqi_mtf_file *
file_to_front(struct alqi_mtf *mtf, uint32_t index)
{
    struct alqi_mtf_file *file = mtf->order[index];

    memmove(mtf->order + 1, mtf->order, index * sizeof mtf->order[0]);
    mtf->order[0] = file;
    return file;
}

struct alqi_mtf_file *
alqi_mtf_file_use(struct alqi_mtf *mtf, uint32_t index)
{
    if (index >= mtf->n_files)
        return NULL;
    return file_to_front(mtf, index);
}

struct alqi_mtf_file *
alqi_mtf_file_new(struct alqi_mtf *mtf, const char *name, bool is_v1)
{
    bool is_full = mtf->n_files == ALQI_MTF_SIZE;
    uint32_t last = is_full ? ALQI_MTF_SIZE - 1u : mtf->n_files++;
    struct alqi_mtf_file *file = file_to_front(mtf, last);

    file->name = name;
    if (!(is_full && is_v1))
        file->n_functions = 0;
    return file;
}

uint32_t
alqi_mtf_function_find(const struct alqi_mtf_file *file, const char *name)
{
    for (uint32_t i = 0; i < file->n_functions; i++)
        if (file->functions[i] == name)
            return i;
    return ALQI_MTF_NEW;
}

const char *
alqi_mtf_function_use(struct alqi_mtf_file *file, uint32_t index)
{
    const char *name;

    if (index >= file->n_functions)
        return NULL;
    name = file->functions[index];
    memmove(file->functions + 1, file->functions,
            index * sizeof file->functions[0]);
    file->functions[0] = name;
    return name;
}

void
alqi_mtf_function_new(struct alqi_mtf_file *file, const char *name)
{
    if (file->n_functions < ALQI_MTF_SIZE)
        file->n_functions++;
    memmove(file->functions + 1, file->functions,
            (file->n_functions - 1) * sizeof file->functions[0]);
    file->functions[0] = name;
}
