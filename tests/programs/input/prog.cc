#include <algorithm>
#include <iostream>
#include <map>
#include <string>
#include <vector>

template <class T> struct counter {
    std::map<T, int> counts;
    void add(const T &t) { ++counts[t]; }
    std::vector<std::pair<int, T>> most(unsigned n) const
    {
        std::vector<std::pair<int, T>> all;
        for (const auto &c : counts)
            all.emplace_back(-c.second, c.first);
        std::sort(all.begin(), all.end());
        if (all.size() > n)
            all.resize(n);
        return all;
    }
};

int main()
{
    counter<std::string> words;
    std::string w;
    while (std::cin >> w)
        words.add(w);
    for (const auto &p : words.most(5))
        std::cout << p.second << ' ' << -p.first << '\n';
}
