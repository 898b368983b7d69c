// A program for symbol_peer_test: namespaces, templates, lambdas, members.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace outer
{
namespace
{
template <typename T> struct adder {
    T sum{};
    adder &
    operator+=(const T &x)
    {
        sum += x;
        return *this;
    }
};
} // namespace

class shape
{
  public:
    explicit shape(int sides) : sides_(sides)
    {
    }
    virtual ~shape() = default;
    virtual int
    area(int x) const
    {
        return x * sides_;
    }

  protected:
    int sides_;
};

class square final : public shape
{
  public:
    square() : shape(4)
    {
    }
    ~square() override
    {
        std::puts("square");
    }
    int
    area(int x) const override
    {
        return shape::area(x) + x * x;
    }
};

template <typename T, int N>
__attribute__((noinline)) T
fold(const std::vector<T> &list)
{
    adder<T> a;

    for (const T &x : list)
        a += x * N;
    return a.sum;
}
} // namespace outer

int
main(int argc, char **argv)
{
    std::vector<int> list;
    std::map<std::string, int> names;

    for (int i = 0; i < argc + 20; i++)
        list.push_back(i ^ 5);
    std::sort(list.begin(), list.end(), [argc](int a, int b) {
        auto key = [argc](int x) { return x * argc % 7; };
        return key(a) < key(b);
    });
    for (int x : list)
        names[std::string(argv[0]) + std::to_string(x)] += x;
    std::unique_ptr<outer::shape> s = std::make_unique<outer::square>();
    std::printf("%d %d %d %zu\n", outer::fold<int, 3>(list),
                (int)outer::fold<long, 5>({1, 2, 3}), s->area(argc),
                names.size());
    return 0;
}
