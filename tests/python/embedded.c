/* embedded.c -- opens an interpreter for itself, runs a text, closes it, twice
 *
 *     embedded LIBRARY ROUNDS TEXT
 *
 * After each round it allocates as C, when the interpreter may be gone. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCKS = 200, BLOCK_BYTES = 20000 };

static void *
symbol(void *library, const char *name)
{
    void *found = dlsym(library, name);

    if (found == NULL) {
        fprintf(stderr, "embedded: no %s\n", name);
        exit(2);
    }
    return found;
}

/* One life of the interpreter; false: the text failed. */
static int
python_run(const char *path, const char *text)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int status;

    if (library == NULL) {
        fprintf(stderr, "embedded: %s\n", dlerror());
        exit(2);
    }
    ((void (*)(int))symbol(library, "Py_InitializeEx"))(0);
    status =
        ((int (*)(const char *))symbol(library, "PyRun_SimpleString"))(text);
    ((int (*)(void))symbol(library, "Py_FinalizeEx"))();
    dlclose(library);
    return status == 0;
}

int
main(int argc, char **argv)
{
    void *volatile block;

    if (argc != 4)
        return 2;
    for (int n = atoi(argv[2]); n > 0; n--) {
        if (!python_run(argv[1], argv[3]))
            return 1;
        for (int i = 0; i < BLOCKS; i++) {
            block = malloc(BLOCK_BYTES);
            free(block);
        }
    }
    return 0;
}
