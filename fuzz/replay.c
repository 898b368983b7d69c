/* replay.c -- the corpus of a fuzz target as an ordinary test
 *
 *   NAME_replay FOLDER...
 *
 * Hands each file of the folders to the target: whole, cut short at up to
 * `variants` lengths, and with one byte changed at up to `variants` places.
 * Any failure is a crash or a sanitizer's finding; an empty corpus is one too,
 * so that a wrong path cannot pass. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { variants = 200, file_max_bytes = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned long n_runs;

/* The input lies in a block of exactly its size: one byte beyond is caught. */
static void
run(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size > 0 ? size : 1);

    if (copy == NULL)
        abort();
    memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
    n_runs++;
}

static void
run_variants(uint8_t *data, size_t size)
{
    size_t step = size / variants + 1;

    run(data, size);
    for (size_t at = 0; at < size; at += step) {
        uint8_t saved = data[at];

        run(data, at);
        data[at] ^= (uint8_t)(1u << (at % 8));
        run(data, size);
        data[at] = (uint8_t)~saved;
        run(data, size);
        data[at] = saved;
    }
}

static int
replay_file(const char *path)
{
    static uint8_t data[file_max_bytes];
    FILE *file = fopen(path, "rb");
    size_t size;

    if (file == NULL) {
        perror(path);
        return 1;
    }
    size = fread(data, 1, sizeof data, file);
    fclose(file);
    printf("%s\n", path); /* the last line names the culprit of a crash */
    fflush(stdout);
    run_variants(data, size);
    return 0;
}

static int
replay_folder(const char *folder)
{
    DIR *dir = opendir(folder);
    struct dirent *entry;
    int failed = 0;

    if (dir == NULL) {
        perror(folder);
        return 1;
    }
    while ((entry = readdir(dir)) != NULL) {
        char path[4096];

        if (entry->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        failed |= replay_file(path);
    }
    closedir(dir);
    return failed;
}

int
main(int argc, char **argv)
{
    int failed = 0;

    for (int i = 1; i < argc; i++)
        failed |= replay_folder(argv[i]);
    printf("%lu runs\n", n_runs);
    return failed != 0 || n_runs == 0;
}
