/* marshal_again.c -- reads each message DIR/NAME.ocaml, writes DIR/NAME.alq
 *
 *   marshal_again DIR
 *
 * The bytes must be the same: the format leaves a writer no choice.  A name
 * says what is expected: nosharing..., compat... are written with that flag,
 * bad... are refused.  Prints a line for each. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <aliquot/aliquot.h>

static unsigned n_files, n_failed;

static enum alq_status
read_from(void *arg, void *bytes, size_t n)
{
    return fread(bytes, 1, n, arg) == n ? ALQ_OK : ALQ_EIO;
}

static enum alq_status
write_to(void *arg, const void *bytes, size_t n)
{
    return fwrite(bytes, 1, n, arg) == n ? ALQ_OK : ALQ_EIO;
}

static int
is_same(const char *a, const char *b)
{
    FILE *x = fopen(a, "rb"), *y = fopen(b, "rb");
    int c = EOF, e = EOF;

    while (x != NULL && y != NULL) {
        c = getc(x);
        e = getc(y);
        if (c != e || c == EOF)
            break;
    }
    if (x == NULL || y == NULL)
        return 0;
    fclose(x);
    fclose(y);
    return c == e;
}

static unsigned
flags_of(const char *name)
{
    if (strncmp(name, "nosharing", 9) == 0)
        return ALQ_MARSHAL_NO_SHARING;
    return strncmp(name, "compat", 6) == 0 ? ALQ_MARSHAL_COMPAT_32 : 0;
}

static void
say(const char *name, const char *what, const char *more, int is_right)
{
    printf("%-16s %s%s%s\n", name, what, more[0] != 0 ? ": " : "", more);
    n_failed += !is_right;
}

static void
again(struct alq_domain *d, const char *name, const char *from, const char *to)
{
    struct alq_marshal_fault fault = {"", 0};
    const struct alq_unmarshal_options in = {.fault = &fault};
    const struct alq_marshal_options out = {.flags = flags_of(name),
                                            .fault = &fault};
    int is_bad = strncmp(name, "bad-", 4) == 0;
    FILE *file = fopen(from, "rb");
    enum alq_status status;
    ALQ_FRAME(d, f, v);

    n_files++;
    if (file == NULL) {
        say(name, "cannot be opened", "", 0);
        return;
    }
    status = alq_unmarshal_read(d, read_from, file, &in, &f.v);
    fclose(file);
    if (is_bad || status != ALQ_OK) {
        say(name, alq_status_text(status), fault.text,
            is_bad && status == ALQ_ENOTSUP);
        return;
    }
    file = fopen(to, "wb");
    status = file != NULL ? alq_marshal_write(d, f.v, &out, write_to, file)
                          : ALQ_EIO;
    if (file != NULL && fclose(file) != 0)
        status = ALQ_EIO;
    if (status != ALQ_OK)
        say(name, alq_status_text(status), fault.text, 0);
    else
        say(name, is_same(from, to) ? "same bytes" : "OTHER BYTES", "",
            is_same(from, to));
}

int
main(int argc, char **argv)
{
    DIR *dir = argc == 2 ? opendir(argv[1]) : NULL;
    struct alq_domain *d;
    struct dirent *entry;
    char name[256], from[4096], to[4096];

    if (dir == NULL || alq_domain_new(NULL, &d) != ALQ_OK) {
        fprintf(stderr, "usage: marshal_again DIR, which has NAME.ocaml\n");
        return 2;
    }
    while ((entry = readdir(dir)) != NULL) {
        char *dot = strrchr(entry->d_name, '.');

        if (dot == NULL || strcmp(dot, ".ocaml") != 0)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)(dot - entry->d_name),
                 entry->d_name);
        snprintf(from, sizeof from, "%s/%s.ocaml", argv[1], name);
        snprintf(to, sizeof to, "%s/%s.alq", argv[1], name);
        again(d, name, from, to);
    }
    closedir(dir);
    alq_domain_drop(d);
    printf("%u files, %u failed\n", n_files, n_failed);
    return n_failed != 0 || n_files == 0;
}
