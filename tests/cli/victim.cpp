/* victim.cpp -- a program whose memory is known, block by block
 *
 *   victim [wait]
 *
 * keep_rows() allocates 300 blocks of 1000 bytes that are never freed,
 * churn() 5000 blocks of 64 bytes that are freed at once, and fill() a map of
 * strings, whose insertion is inlined deeply.  With "wait" it then says
 * "ready" and waits for its input to end. */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

struct Row {
    std::string name;
    std::vector<int> values;
};

static std::map<std::string, std::vector<Row>> table;
static char *rows[300];

extern "C" __attribute__((noinline)) void
keep_rows(void)
{
    for (char *&row : rows)
        row = static_cast<char *>(std::malloc(1000));
}

extern "C" __attribute__((noinline)) void
churn(void)
{
    for (int i = 0; i < 5000; i++) {
        char *volatile block = new char[64];

        delete[] block;
    }
}

extern "C" __attribute__((noinline)) void
fill(void)
{
    for (int i = 0; i < 500; i++) {
        Row row;

        row.name = "a name that is too long to be kept inside " +
                   std::to_string(i);
        row.values.assign(20, i);
        table[row.name].push_back(row);
    }
}

int
main(int argc, char **)
{
    keep_rows();
    churn();
    fill();
    if (argc > 1) {
        std::puts("ready");
        std::fflush(stdout);
        while (std::getchar() != EOF)
            continue;
    }
    return 0;
}
