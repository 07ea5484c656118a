/* Tests demangling. */
#include <stdio.h>
#include <stdlib.h>

#include "libconvert/symbols/symbol_names.h"
#include "tests/support/unit_test.h"

static char out[SYMBOL_NAME_BYTES_MAX];

static void assert_demangled(const char *name, const char *expected) {
    struct text result = symbol_name_demangle(text_of(name), true, out);
    char *terminated = strndup(result.bytes, result.bytes_count);
    assert_non_null(terminated);
    assert_string_equal(terminated, expected);
    free(terminated);
}

TEST(names_of_cpp) {
    assert_demangled("_ZN4demo7counter3addEi", "demo::counter::add(int)");
    assert_demangled("_ZNSt6vectorIiSaIiEE9push_backERKi",
                     "std::vector<int, std::allocator<int> >::push_back(int const&)");
    assert_demangled("_ZN3fooC4Ev", "foo::foo()");
    assert_demangled("_ZN12_GLOBAL__N_14workEv", "(anonymous namespace)::work()");
    assert_demangled("_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()(int) const");
    assert_demangled("_Z4workIiET_S0_", "work<int>(int)");
    assert_demangled("_ZN4demo3runEv.part.0", "demo::run()");
}

TEST(names_of_rust) {
    assert_demangled("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad");
    assert_demangled("_ZN66_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..drop..Drop$GT$4drop17h0123456789abcdefE",
                     "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop");
    assert_demangled("_RNvCs1234_7mycrate3foo", "mycrate::foo");
    assert_demangled("_RNvMs0_NtCs1_4core3fmtNtB5_9Formatter3pad", "<core::fmt::Formatter>::pad");
    assert_demangled("_RINvCs1_1a3mapjEB2_", "a::map::<usize>");
    assert_demangled("_RNvCs1_1au8gdel_5qa",
                     "a::g\xc3\xb6"
                     "del");
}

TEST(names_of_d) {
    assert_demangled("_D3std4file12rmdirRecurseFNfMAxaZv", "std.file.rmdirRecurse(scope const(char)[])");
    assert_demangled("_D3std8encoding__T6encodeTEQzQx9AsciiCharZQyFNaNbNiNfwAQBdZm",
                     "std.encoding.encode!(std.encoding.AsciiChar).encode(dchar, std.encoding.AsciiChar[])");
    assert_demangled("__D3app4workFZv@plt", "app.work()@plt");
    assert_demangled("_D3appnot_a_name", "_D3appnot_a_name");
    assert_demangled("_DYNAMIC", "_DYNAMIC");
    assert_demangled("_D1aQ", "_D1aQ");
    assert_demangled("_D1a1bFQzZv", "_D1a1bFQzZv");
}

/* Each letter after an identifier, and each length after S, makes the demangler begin anew. */
TEST(names_of_d_that_would_take_years) {
    static const char *const parts[] = {"FC1b", "MFS1b", "__T1aS11", "__T1aS1__T1a"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        char name[2000] = "_D1a";
        while (strlen(name) < 1000) strcat(name, parts[i]);
        assert_demangled(name, name);
    }
}

/* As perf writes them. */
TEST(names_of_ocaml) {
    assert_demangled("camlStdlib__List__map_236", "Stdlib.List.map_236");
    assert_demangled("camlStdlib.List.map_236", "Stdlib.List.map_236");
    assert_demangled("camlStdlib__anon_fn$5bstdlib$2eml$3a334$2c0$2d$2d54$5d_1453",
                     "Stdlib.anon_fn[stdlib.ml:334,0--54]_1453");
    assert_demangled("camlStdlib__bytes__$2b$2b_2205", "Stdlib.bytes.++_2205");
    assert_demangled("camlA__$0a$2", "A.$0a$2");
    assert_demangled("camlA__f_1@plt", "A.f_1@plt");
    assert_demangled("caml_alloc__small", "caml_alloc__small");
    assert_demangled("camlCase", "camlCase");
    assert_demangled("caml", "caml");
}

/* Programs without a demangler for Rust take its names for those of C++. */
TEST(names_of_rust_demangled_as_cpp) {
    assert_demangled("core::fmt::Formatter::pad::h0123456789abcdef", "core::fmt::Formatter::pad");
    assert_demangled("_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..drop..Drop$GT$::drop::h0123456789abcdef",
                     "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop");
    assert_demangled("std::panicking::try::_$u7b$$u7b$closure$u7d$$u7d$::h0123456789abcdef",
                     "std::panicking::try::{{closure}}");
    assert_demangled("<T as core::convert::Into<U>>::into::h0123456789abcdef", "<T as core::convert::Into<U>>::into");
    assert_demangled("_$LT$T$GT$::run::h0123456789abcdef (.llvm.123)", "<T>::run");
    assert_demangled("demo::h0123456789abcde", "demo::h0123456789abcde");
    assert_demangled("::h0123456789abcdef", "::h0123456789abcdef");
    static char name[4200];
    memset(name, 'x', sizeof name);
    memcpy(name + 4000, "::h0123456789abcdef", sizeof "::h0123456789abcdef");
    assert_int_equal(symbol_name_demangle(text_of(name), true, out).bytes_count, 4000);
}

TEST(printed_names_without_signs_stay) {
    static char name[SYMBOL_NAME_BYTES_MAX + 10];
    memset(name, 'x', sizeof name);
    struct text result = symbol_name_demangle_printed((struct text){name, sizeof name}, true, out);
    assert_ptr_equal(result.bytes, name);
    assert_int_equal(result.bytes_count, sizeof name);
    result = symbol_name_demangle_printed(TEXT("fn@app"), true, out);
    assert_int_equal(result.bytes_count, 6);
    result = symbol_name_demangle_printed(TEXT("a::h0123456789abcdef (.llvm.1)"), true, out);
    assert_int_equal(result.bytes_count, 1);
}

TEST(other_names_stay) {
    assert_demangled("main", "main");
    assert_demangled("runtime.mallocgc", "runtime.mallocgc");
    assert_demangled("_Znot_a_name", "_Znot_a_name");
    assert_demangled("_R", "_R");
    assert_demangled("_ZN", "_ZN");
    assert_demangled("", "");
}

TEST(what_the_linker_added_goes) {
    assert_demangled("memcpy@@GLIBC_2.14", "memcpy");
    assert_demangled("memcpy@GLIBC_2.2.5", "memcpy");
    assert_demangled("@", "@");
    assert_demangled("_ZN4demo3runEv.llvm.1234567890", "demo::run()");
    assert_demangled("helper.llvm.99", "helper");
    assert_demangled("helper.llvm.x", "helper.llvm.x");
    assert_demangled(".llvm.99", ".llvm.99");
    assert_demangled("helper.99", "helper.99");
}

TEST(versions_and_clones_go) {
    assert_demangled("camlStdlib.@_12", "Stdlib.@_12");
    assert_demangled("helper.part.0", "helper.part.0");
    assert_demangled("_ZN4demo3runEv.part.0.cold", "demo::run()");
    assert_demangled("runtime.goexit.abi0", "runtime.goexit");
    assert_demangled(".abi0", ".abi0");
    assert_demangled("odd]", "odd]");
    assert_demangled("f [clone .isra.0]", "f");
    assert_demangled(" [clone .isra.0]", " [clone .isra.0]");
}

TEST(stubs_keep_their_ending) {
    assert_demangled("puts@plt", "puts@plt");
    assert_demangled("_ZN4demo3runEv@plt", "demo::run()@plt");
    assert_demangled("memcpy@@GLIBC_2.14@plt", "memcpy@plt");
    assert_demangled("@plt", "@plt");
    static char name[SYMBOL_NAME_BYTES_MAX + 4];
    memset(name, 'x', sizeof name);
    memcpy(name + SYMBOL_NAME_BYTES_MAX - 4, "@plt", 4);
    struct text fits = symbol_name_demangle((struct text){name, SYMBOL_NAME_BYTES_MAX}, true, out);
    assert_int_equal(fits.bytes_count, SYMBOL_NAME_BYTES_MAX);
    assert_memory_equal(fits.bytes, name, SYMBOL_NAME_BYTES_MAX);
    memset(name, 'x', sizeof name);
    memcpy(name + SYMBOL_NAME_BYTES_MAX, "@plt", 4);
    struct text too_long = symbol_name_demangle((struct text){name, sizeof name}, true, out);
    assert_int_equal(too_long.bytes_count, SYMBOL_NAME_BYTES_MAX);
}

static void assert_cut(struct text result) {
    assert_int_equal(result.bytes_count, SYMBOL_NAME_BYTES_MAX);
    assert_memory_equal(result.bytes + SYMBOL_NAME_BYTES_MAX - 19, "...", 3);
}

TEST(long_names_are_cut) {
    static char name[10000];
    memset(name, 'x', sizeof name);
    assert_cut(symbol_name_demangle((struct text){name, sizeof name}, true, out));
    char other[SYMBOL_NAME_BYTES_MAX];
    name[sizeof name - 1] = 'y';
    assert_cut(symbol_name_demangle((struct text){name, sizeof name}, true, other));
    assert_memory_equal(out, other, SYMBOL_NAME_BYTES_MAX - 16);
    assert_memory_not_equal(out, other, SYMBOL_NAME_BYTES_MAX);
    struct text whole = symbol_name_demangle((struct text){name, SYMBOL_NAME_BYTES_MAX}, true, out);
    assert_int_equal(whole.bytes_count, SYMBOL_NAME_BYTES_MAX);
    assert_ptr_equal(whole.bytes, name);
    memcpy(name, "_Z", 2);
    assert_cut(symbol_name_demangle((struct text){name, sizeof name}, true, out));
}

/* pair<A, A>, then pairs of the previous pair: each step doubles the length of the name. */
TEST(names_that_unfold_are_cut) {
    char name[2048];
    int used = snprintf(name, sizeof name, "_Z1f1pIiiE");
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    assert_true(used > 0);
    size_t end = (size_t)used;
    for (size_t i = 0; i < 30; i++)
        end += (size_t)snprintf(name + end, sizeof name - end, "S_IS%.1s_S%.1s_E", i ? digits + i : "0",
                                i ? digits + i : "0");
    assert_cut(symbol_name_demangle((struct text){name, end}, true, out));
    assert_memory_equal(out, "f(p<int, int>, p<p<int, int>, p<int, int> >", 43);
}

/* A pointer to a function whose parameters are two pointers to such functions, and so on. */
TEST(names_of_d_that_unfold_are_cut_or_stay) {
    char name[512] = "_D1a1bFiPFQdQfZv";
    for (size_t i = 0; i < 5; i++) memcpy(name + strlen(name), "PFQkQmZv", sizeof "PFQkQmZv");
    size_t bytes_count = strlen(name);
    memcpy(name + bytes_count, "Zv", sizeof "Zv");
    assert_true(symbol_name_demangle(text_of(name), true, out).bytes_count > 1000);
    for (size_t i = 0; i < 30; i++) memcpy(name + bytes_count + i * 8, "PFQkQmZv", sizeof "PFQkQmZv");
    memcpy(name + strlen(name), "Zv", sizeof "Zv");
    assert_ptr_equal(symbol_name_demangle(text_of(name), true, out).bytes, name);
}

/* The deepest nesting that a name of the greatest length can have. */
TEST(deep_names_do_no_harm) {
    static char name[4096];
    for (const char *letters = "PRKFATIXSGHDx"; *letters; letters++) {
        memset(name, *letters, sizeof name);
        memcpy(name, "_Z1f", 4);
        assert_true(symbol_name_demangle((struct text){name, sizeof name - 1}, true, out).bytes_count > 0);
        memcpy(name, "_RNv", 4);
        assert_true(symbol_name_demangle((struct text){name, sizeof name - 1}, true, out).bytes_count > 0);
        memcpy(name, "_D1aF", 5);
        assert_true(symbol_name_demangle((struct text){name, sizeof name - 1}, true, out).bytes_count > 0);
    }
}

int main(void) { return unit_tests_run(NULL, NULL); }
