// Sorts and sums with templates that the compiler inlines deeply.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <numeric>
#include <string>
#include <vector>
struct item {
    unsigned key;
    std::string text;
};
static std::vector<item> make(unsigned seed) {
    std::vector<item> items;
    for (unsigned i = 0; i < 20000; i++) {
        seed = seed * 1664525u + 1013904223u;
        items.push_back({seed, std::to_string(seed)});
    }
    return items;
}
__attribute__((noinline)) static unsigned long work(unsigned seed) {
    auto items = make(seed);
    std::sort(items.begin(), items.end(), [](const item &a, const item &b) { return a.key < b.key; });
    std::map<unsigned, unsigned long> groups;
    for (const auto &one : items) groups[one.key % 512] += one.text.size();
    return std::accumulate(groups.begin(), groups.end(), 0ul,
                           [](unsigned long sum, const auto &g) { return sum + g.second; });
}
int main() {
    unsigned long sum = 0;
    for (unsigned i = 0; i < 250; i++) sum += work(i);
    std::printf("%lu\n", sum);
}
