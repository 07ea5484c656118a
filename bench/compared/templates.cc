// Expressions, variants, ranges and a map, all of which are deep templates.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <ranges>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>
template <class L, class R, class F>
struct Bin {
    L l;
    R r;
    double operator()(double x) const { return F{}(l(x), r(x)); }
};
struct X {
    double operator()(double x) const { return x; }
};
struct K {
    double k;
    double operator()(double) const { return k; }
};
template <class L, class R>
auto operator+(L l, R r) -> Bin<L, R, std::plus<double>> {
    return {l, r};
}
template <class L, class R>
auto operator*(L l, R r) -> Bin<L, R, std::multiplies<double>> {
    return {l, r};
}
using Value = std::variant<int, double, std::string>;
struct Visitor {
    double operator()(int i) const { return i; }
    double operator()(double d) const { return d; }
    double operator()(const std::string &s) const { return s.size(); }
};
template <class F>
[[gnu::noinline]] double integrate(F f, int n) {
    double s = 0;
    for (int i = 0; i < n; i++) s += f(i / double(n));
    return s;
}
int main() {
    double sum = 0;
    auto e = (X{} + K{2}) * (X{} * X{} + K{3} * X{}) + K{1} * (X{} + X{} * X{} * X{});
    for (int round = 0; round < 300; round++) {
        sum += integrate(e, 300000);
        sum += integrate(std::function<double(double)>([&](double x) { return e(x) * 2; }), 200000);
        std::map<std::string, std::vector<Value>> m;
        for (int i = 0; i < 6000; i++) {
            auto &v = m["key" + std::to_string(i * 7919 % 1000)];
            v.emplace_back(i);
            v.emplace_back(i * .5);
            v.emplace_back(std::to_string(i));
        }
        for (auto &[k, v] : m) {
            for (auto &x : v) sum += std::visit(Visitor{}, x);
            std::ranges::sort(v, {}, [](const Value &x) { return std::visit(Visitor{}, x); });
        }
        for (auto y : m | std::views::values | std::views::transform([](auto &v) { return v.size(); }) |
                          std::views::filter([](auto n) { return n > 3; }))
            sum += y;
    }
    printf("%f\n", sum);
}
