/* forms.cpp -- one block or more of each form that a program can ask for, whose
 * count and bytes another tool knows as well; its argument is a path to read */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <new>
#include <stdexcept>
#include <string>

static void *volatile sink;

static void
keep(void *block)
{
    sink = block;
}

static void
of_c()
{
    void *block = std::malloc(0);

    keep(std::realloc(block, 10));
    keep(std::realloc(sink, 100000)); /* moved, grown, shrunk, freed */
    keep(std::realloc(sink, 7));
    keep(std::realloc(sink, 0));
    keep(std::realloc(nullptr, 33));
    keep(reallocarray(sink, 11, 13));
    keep(std::calloc(17, 19));
    keep(memalign(256, 77));
    keep(aligned_alloc(64, 640));
    keep(valloc(5001));
    if (posix_memalign(&block, 4096, 321) == 0)
        keep(block);
    keep(strdup("a copy"));
    keep(std::malloc(SIZE_MAX / 4)); /* fails: no block */
}

static void
of_cxx()
{
    keep(operator new(0));
    keep(new char[123]);
    keep(new (std::nothrow) int);
    keep(operator new(100, std::align_val_t(64)));
    try {
        throw std::runtime_error(std::string(100, 'x'));
    } catch (const std::exception &e) {
        keep(strdup(e.what()));
    }
}

int
main(int argc, char **argv)
{
    FILE *file = std::fopen(argv[argc - 1], "r");
    std::size_t capacity = 0;
    char *line = nullptr;

    of_c();
    of_cxx();
    if (file == nullptr)
        return 1;
    keep(getline(&line, &capacity, file) > 0 ? line : nullptr);
    return std::fclose(file);
}
