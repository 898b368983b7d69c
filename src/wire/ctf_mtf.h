/* ctf_mtf.h -- the move-to-front tables of a stream's names [spec memtrace 6]
 *
 * A table of 31 file names, most recently used first; each file has a table of
 * 31 function names of its own, likewise.  Index 31 means "not in the table":
 * the name is spelt out, enters at the front, and the last one falls off.
 * Reader and writer run the same steps and so hold the same tables; `find` of
 * a writer may return any index of a name.  Names are pointers; the tables
 * never look into them.
 *
 * .inv.front   The name of the last step is at index 0.
 *
 * Keeps .quirk.v1. */
#ifndef ALQI_WIRE_CTF_MTF_H
#define ALQI_WIRE_CTF_MTF_H

#include <stdbool.h>
#include <stdint.h>

enum { ALQI_MTF_SIZE = 31, ALQI_MTF_NEW = 31 };

struct alqi_mtf_file {
    const char *name;
    uint32_t n_functions;
    const char *functions[ALQI_MTF_SIZE]; /* most recently used first */
};

struct alqi_mtf {
    uint32_t n_files;
    struct alqi_mtf_file *order[ALQI_MTF_SIZE]; /* of `files`; likewise */
    struct alqi_mtf_file files[ALQI_MTF_SIZE];
};

void alqi_mtf_init(struct alqi_mtf *mtf);

/* Index of the file, or ALQI_MTF_NEW. */
uint32_t alqi_mtf_file_find(const struct alqi_mtf *mtf, const char *name);
/* Moves entry index to the front; NULL if there is no such entry. */
struct alqi_mtf_file *alqi_mtf_file_use(struct alqi_mtf *mtf, uint32_t index);
/* Enters a new file at the front. */
struct alqi_mtf_file *alqi_mtf_file_new(struct alqi_mtf *mtf, const char *name,
                                        bool is_v1);

uint32_t alqi_mtf_function_find(const struct alqi_mtf_file *file,
                                const char *name);
const char *alqi_mtf_function_use(struct alqi_mtf_file *file, uint32_t index);
void alqi_mtf_function_new(struct alqi_mtf_file *file, const char *name);

#endif
