/* leaks.cpp -- loses blocks of known number and size
 *
 * Of keep_rows 10 of 100 bytes, of Pool::grow 5 of 200 by calloc, of
 * make_names 3 of 50 by new[], of keep_texts 4 of 30 by strdup, in libc. */
#include <cstdlib>
#include <cstring>

static void *volatile lost;

extern "C" __attribute__((noinline)) void
keep_rows(void)
{
    for (int i = 0; i < 10; i++)
        lost = std::malloc(100);
}

struct Pool {
    __attribute__((noinline)) void grow(int n)
    {
        for (int i = 0; i < n; i++)
            lost = std::calloc(1, 200);
    }
};

static __attribute__((noinline)) void
make_names(void)
{
    for (int i = 0; i < 3; i++)
        lost = new char[50];
}

static __attribute__((noinline)) void
keep_texts(void)
{
    for (int i = 0; i < 4; i++)
        lost = strdup("a text of twenty-nine letters");
}

int
main()
{
    Pool pool;

    keep_rows();
    pool.grow(5);
    make_names();
    keep_texts();
    lost = nullptr;
}
