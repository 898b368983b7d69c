/* marshal.c -- times reading and writing the messages that bench/marshal.ml
 * made
 *
 *   marshal DIR ROUNDS     prints "NAME bytes write_s read_s" for
 * DIR/NAME.ocaml, processor seconds, the least of the rounds */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <aliquot/aliquot.h>

static double
cpu_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void
must(enum alq_status status, const char *what)
{
    if (status == ALQ_OK)
        return;
    fprintf(stderr, "marshal: %s: %s\n", what, alq_status_text(status));
    exit(1);
}

static char *
file_read(const char *path, size_t *n)
{
    FILE *file = fopen(path, "rb");
    char *bytes;

    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        perror(path);
        exit(1);
    }
    *n = (size_t)ftell(file);
    rewind(file);
    bytes = malloc(*n);
    if (bytes == NULL || fread(bytes, 1, *n, file) != *n) {
        fprintf(stderr, "marshal: %s cannot be read\n", path);
        exit(1);
    }
    fclose(file);
    return bytes;
}

static void
measure(struct alq_domain *d, const char *name, const char *path, int rounds)
{
    double write_s = 1e9, read_s = 1e9, start;
    ALQ_FRAME(d, f, v);
    size_t n, again;
    char *bytes = file_read(path, &n);
    void *memory;
    int i;

    for (i = 0; i < rounds; i++) {
        start = cpu_s();
        must(alq_unmarshal(d, bytes, n, NULL, NULL, &f.v), name);
        read_s = cpu_s() - start < read_s ? cpu_s() - start : read_s;
        start = cpu_s();
        must(alq_marshal_to_memory(d, f.v, NULL, &memory, &again), name);
        write_s = cpu_s() - start < write_s ? cpu_s() - start : write_s;
        free(memory);
    }
    free(bytes);
    printf("%s %zu %.6f %.6f\n", name, n, write_s, read_s);
}

int
main(int argc, char **argv)
{
    DIR *dir = argc == 3 ? opendir(argv[1]) : NULL;
    struct alq_domain *d;
    struct dirent *entry;
    char path[4096];
    char *dot;

    if (dir == NULL) {
        fprintf(stderr, "usage: marshal DIR ROUNDS\n");
        return 2;
    }
    must(alq_domain_new(NULL, &d), "a domain");
    while ((entry = readdir(dir)) != NULL) {
        dot = strrchr(entry->d_name, '.');
        if (dot == NULL || strcmp(dot, ".ocaml") != 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
        *dot = 0;
        measure(d, entry->d_name, path, atoi(argv[2]));
    }
    closedir(dir);
    alq_domain_drop(d);
    return 0;
}
