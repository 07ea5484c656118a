/* Tests which source files are found and embedded in a profile. */
#include <stdlib.h>
#include <string.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libconvert/embed_sources.h"
#include "tests/support/profile_fixture.h"
#include "tests/support/temp_folder.h"
#include "tests/support/unit_test.h"

static struct thread *thread;
static struct temp_folder folder;

static int set_up(void **state) {
    begin_profile(state);
    thread = add_only_thread();
    return temp_folder_init(&folder) ? 0 : -1;
}

static int tear_down(void **state) {
    /* temp_folder_fini removes no folders. */
    static const char *const inner[] = {"src/a/x.c", "src/y.c",  "src/a",       "src",    "new/x.c",
                                        "new",       "folder.c", ".hidden/x.c", ".hidden"};
    for (size_t i = 0; i < sizeof inner / sizeof *inner; i++) remove(temp_folder_file(&folder, inner[i]));
    temp_folder_fini(&folder);
    return end_profile(state);
}

/* Returns the path of a file in the folder, which the caller frees. */
static char *path_of(const char *name) { return strdup(temp_folder_file(&folder, name)); }

static void write_text(const char *name, const char *content) {
    assert_true(file_write(temp_folder_file(&folder, name), text_of(content)));
}

/* Adds samples of a function in that file, which only the trace names. Library `lib` contains it; NULL: none. */
static void add_samples_of_trace(const char *file, unsigned count, const char *lib) {
    struct func func = {.name = profile_string(&profile, TEXT("run")),
                        .resource = resource_none(),
                        .source = profile_source(&profile, text_of(file))};
    struct frame frame = {.func = profile_func(&profile, &func),
                          .address = lib ? 16 : ADDRESS_NONE,
                          .lib = lib ? libs_intern(&profile.libs, text_of(lib), TEXT("")) : lib_none(),
                          .native_symbol = native_symbol_none()};
    stack_id stack = profile_stack(&profile, stack_none(), profile_frame(&profile, &frame));
    for (unsigned i = 0; i < count; i++) thread_add_sample(thread, 1, stack, 1);
}

/* As above, but debug information names the file. */
static void add_samples(const char *file, unsigned count, const char *lib) {
    add_samples_of_trace(file, count, lib);
    *(source_id *)column_push(&profile.looked_up_sources) = profile_source(&profile, text_of(file));
}

static void embed(const struct source_search *search, uint64_t max_bytes) {
    profile_finish(&profile);
    profile_embed_sources(&profile, search, NULL, max_bytes);
    assert_false(failure_is_set(&failure));
}

/* Asserts what was embedded of the source of that number; NULL: nothing. */
static void assert_content(uint32_t source, const char *content) {
    struct text text = *(struct text *)column_at(&profile.source_contents, source);
    if (content)
        assert_true(text_equal(text, text_of(content)));
    else
        assert_null(text.bytes);
}

static void assert_noted(const char *cause, uint64_t count) {
    for (size_t i = 0; i < profile.ledger.entries.count; i++) {
        const struct ledger_entry *entry = ledger_at(&profile.ledger, i);
        if (!text_equal(entry->cause, text_of(cause))) continue;
        assert_int_equal(entry->count, count);
        assert_int_equal(entry->fate, LEDGER_NOTED);
        return;
    }
    if (count) fail_msg("not noted: %s", cause);
}

static const struct source_search nowhere = {0};

TEST(files_at_their_paths_are_embedded, set_up, tear_down) {
    write_text("a.c", "int a;\n");
    char *a = path_of("a.c"), *missing = path_of("missing.c"), url[PATH_MAX + 8];
    snprintf(url, sizeof url, "file://%s", a);
    add_samples(a, 1, NULL);
    add_samples(missing, 1, NULL);
    add_samples("a.c", 1, NULL);
    add_samples(url, 1, NULL);
    add_samples("node:internal/a", 1, NULL);
    embed(&nowhere, 100);
    assert_content(0, "int a;\n");
    assert_content(1, NULL);
    assert_content(2, NULL);
    assert_content(3, "int a;\n");
    assert_content(4, NULL);
    assert_noted("source file embedded", 2);
    assert_noted("source file not found", 3);
    const struct extra_entry *shown = column_at(&profile.meta.extra, profile.meta.extra.count - 1);
    assert_true(text_equal(shown->label, TEXT("Note: source file not found")));
    free(a);
    free(missing);
}

TEST(only_text_of_regular_files_is_embedded, set_up, tear_down) {
    static const char *const names[] = {"binary.c", "pipe.c", "folder.c", "link.c"};
    assert_true(file_write(temp_folder_file(&folder, "binary.c"), TEXT("a\0b")));
    assert_int_equal(mkfifo(temp_folder_file(&folder, "pipe.c"), 0600), 0);
    assert_int_equal(mkdir(temp_folder_file(&folder, "folder.c"), 0700), 0);
    assert_int_equal(symlink("link.c", temp_folder_file(&folder, "link.c")), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) add_samples(temp_folder_file(&folder, names[i]), 1, NULL);
    add_samples("/dev/zero", 1, NULL);
    embed(&nowhere, 100);
    for (uint32_t i = 0; i < 5; i++) assert_content(i, NULL);
    assert_noted("source file not text", 1);
    assert_noted("source file not readable", 4);
    assert_noted("source file embedded", 0);
}

TEST(files_with_the_most_samples_come_first, set_up, tear_down) {
    static const struct {
        const char *name, *content;
        unsigned samples;
        bool is_embedded;
    } files[] = {
        {"0.c", "12345", 1, false}, {"1.c", "12", 3, true},   {"2.c", "1234567890", 2, false},
        {"3.c", "1", 0, true},      {"4.c", "1234", 5, true}, {"5.c", "1", 0, true},
    };
    for (uint32_t i = 0; i < 6; i++) {
        write_text(files[i].name, files[i].content);
        add_samples(temp_folder_file(&folder, files[i].name), files[i].samples, NULL);
    }
    embed(&nowhere, 8);
    for (uint32_t i = 0; i < 6; i++) assert_content(i, files[i].is_embedded ? files[i].content : NULL);
    assert_noted("source file beyond the size limit", 2);
}

TEST(a_sample_counts_for_its_innermost_known_source, set_up, tear_down) {
    write_text("caller.c", "1234");
    write_text("other.c", "1234");
    add_samples(temp_folder_file(&folder, "other.c"), 1, NULL);
    add_samples(temp_folder_file(&folder, "caller.c"), 0, NULL);
    frame_id frame = profile_named_frame(&profile, TEXT("memcpy"), (struct category_pair){0});
    stack_id stack = profile_stack(&profile, (stack_id){1}, frame);
    for (int i = 0; i < 2; i++) thread_add_sample(thread, 1, stack, 1);
    embed(&nowhere, 4);
    assert_content(0, NULL);
    assert_content(1, "1234");
}

TEST(files_changed_after_their_library_are_noted, set_up, tear_down) {
    static const char *const names[] = {"old.c", "lib.so", "new.c"};
    for (int i = 0; i < 3; i++) {
        write_text(names[i], "int a;\n");
        const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1000 + i}};
        assert_int_equal(utimensat(AT_FDCWD, temp_folder_file(&folder, names[i]), times, 0), 0);
    }
    char *lib = path_of("lib.so");
    add_samples(temp_folder_file(&folder, "old.c"), 1, lib);
    add_samples(temp_folder_file(&folder, "new.c"), 1, lib);
    embed(&nowhere, 100);
    assert_noted("source file embedded", 2);
    assert_noted("source file newer than the library built from it", 1);
    free(lib);
}

/* ---- What is no source code, or none of the user's business. ---- */

/* Embeds the files of that name, each named by debug information, and asserts that they are left out for that cause. */
static void assert_left_out(const char *const *names, size_t count, const char *cause) {
    for (size_t i = 0; i < count; i++) add_samples(temp_folder_file(&folder, names[i]), 1, NULL);
    embed(&nowhere, 1000);
    for (uint32_t i = 0; i < count; i++) assert_content(i, NULL);
    assert_noted("source file embedded", 0);
    assert_noted(cause, count);
}

TEST(only_names_of_source_code_are_embedded, set_up, tear_down) {
    static const char *const names[] = {"shadow", "id_rsa", "x.json", "x.sql", ".c", "x.c.bak", "x.", "c", "x.cookies"};
    enum { COUNT = sizeof names / sizeof *names };
    for (size_t i = 0; i < COUNT; i++) write_text(names[i], "secret");
    assert_left_out(names, COUNT, "source file not source code by its name");
}

TEST(source_code_of_many_languages_is_embedded, set_up, tear_down) {
    static const char *const names[] = {"a.adb", "a.C",  "a.c++", "a.cpp",   "a.h",  "a.HPP",
                                        "a.py",  "a.rs", "a.S",   "a.swift", "a.zig"};
    enum { COUNT = sizeof names / sizeof *names };
    for (size_t i = 0; i < COUNT; i++) {
        write_text(names[i], "code");
        add_samples(temp_folder_file(&folder, names[i]), 1, NULL);
    }
    embed(&nowhere, 1000);
    assert_noted("source file embedded", COUNT);
}

TEST(hidden_files_are_not_embedded, set_up, tear_down) {
    static const char *const names[] = {".x.c", ".hidden/x.c"};
    assert_int_equal(mkdir(temp_folder_file(&folder, ".hidden"), 0700), 0);
    for (size_t i = 0; i < 2; i++) write_text(names[i], "secret");
    assert_left_out(names, 2, "source file hidden, or in a hidden folder");
}

TEST(a_hidden_folder_that_the_user_names_is_searched, set_up, tear_down) {
    assert_int_equal(mkdir(temp_folder_file(&folder, ".hidden"), 0700), 0);
    write_text(".hidden/x.c", "code");
    write_text(".hidden/.y.c", "secret");
    char *hidden = path_of(".hidden");
    const struct source_search search = {.folders = (const char *const[]){hidden}, .folder_count = 1};
    add_samples_of_trace(temp_folder_file(&folder, ".hidden/x.c"), 1, NULL);
    add_samples_of_trace(temp_folder_file(&folder, ".hidden/.y.c"), 1, NULL);
    embed(&search, 1000);
    assert_content(0, "code");
    assert_content(1, NULL);
    remove(temp_folder_file(&folder, ".hidden/.y.c"));
    free(hidden);
}

TEST(links_are_resolved_before_a_file_is_judged, set_up, tear_down) {
    static const char *const links[][2] = {{"id_rsa", "to_no_code.c"}, {".hidden/x.c", "to_hidden.c"}};
    assert_int_equal(mkdir(temp_folder_file(&folder, ".hidden"), 0700), 0);
    for (size_t i = 0; i < 2; i++) {
        write_text(links[i][0], "secret");
        assert_int_equal(symlink(links[i][0], temp_folder_file(&folder, links[i][1])), 0);
        add_samples(temp_folder_file(&folder, links[i][1]), 1, NULL);
    }
    embed(&nowhere, 1000);
    assert_content(0, NULL);
    assert_content(1, NULL);
    assert_noted("source file not source code by its name", 1);
    assert_noted("source file hidden, or in a hidden folder", 1);
}

TEST(a_path_of_the_trace_alone_must_be_below_a_folder_of_the_user, set_up, tear_down) {
    assert_int_equal(mkdir(temp_folder_file(&folder, "src"), 0700), 0);
    assert_int_equal(mkdir(temp_folder_file(&folder, "new"), 0700), 0);
    write_text("out.c", "secret");
    write_text("src/y.c", "code");
    write_text("new/x.c", "mapped");
    assert_int_equal(symlink("../out.c", temp_folder_file(&folder, "src/link.c")), 0);
    char *src = path_of("src"), map[2 * PATH_MAX];
    snprintf(map, sizeof map, "/old=%s", temp_folder_file(&folder, "new"));
    const struct source_search search = {.folders = (const char *const[]){src},
                                         .folder_count = 1,
                                         .maps = (const char *const[]){map},
                                         .map_count = 1,
                                         .sysroot = "/"};
    static const char *const names[] = {"out.c", "src/link.c", "src/y.c", "new/x.c"};
    for (size_t i = 0; i < 4; i++) add_samples_of_trace(temp_folder_file(&folder, names[i]), 1, NULL);
    add_samples_of_trace("/old/x.c", 1, NULL);
    embed(&search, 1000);
    assert_content(0, NULL);
    assert_content(1, NULL);
    assert_content(2, "code");
    assert_content(3, "mapped");
    assert_content(4, "mapped");
    assert_noted("source file named by the input alone, not below a --source-dir", 2);
    remove(temp_folder_file(&folder, "src/link.c"));
    free(src);
}

/* ---- The search. ---- */

/* Returns the first byte of the file that is found, or 0. */
static char found(const struct source_search *search, const char *path) {
    struct stat status;
    char first = 0;
    enum source_outcome outcome;
    int file = source_search_open(search, text_of(path), true, &status, &outcome);
    if (file < 0) return 0;
    assert_int_equal(read(file, &first, 1), 1);
    close(file);
    return first;
}

TEST(folders_have_files_by_the_end_of_their_path, set_up, tear_down) {
    assert_int_equal(mkdir(temp_folder_file(&folder, "src"), 0700), 0);
    assert_int_equal(mkdir(temp_folder_file(&folder, "src/a"), 0700), 0);
    write_text("out.c", "o");
    write_text("src/a/x.c", "x");
    write_text("src/y.c", "y");
    char *src = path_of("src");
    const struct source_search search = {.folders = (const char *const[]){"/nonexistent", src}, .folder_count = 2};
    assert_int_equal(found(&search, "a/x.c"), 'x');
    assert_int_equal(found(&search, "/build/app/a/x.c"), 'x');
    assert_int_equal(found(&search, "/build/y.c"), 'y');
    assert_int_equal(found(&search, "y.c"), 'y');
    assert_int_equal(found(&search, "x.c"), 0);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(found(&search, "../out.c"), 0);
    assert_int_equal(found(&search, "/b/../../out.c"), 0);
    assert_int_equal(found(&search, "/build/a"), 0);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(found(&search, ""), 0);
    char deep[2 * PATH_MAX];
    memset(deep, '/', sizeof deep);
    memcpy(deep + sizeof deep - 4, "y.c", 4);
    assert_int_equal(found(&search, deep), 'y');
    for (size_t i = 0; i + 4 < sizeof deep; i += 2) deep[i] = 'd';
    assert_int_equal(found(&search, deep), 0);
    assert_int_equal(errno, ENOENT);
    free(src);
}

TEST(a_sysroot_comes_before_the_path_itself, set_up, tear_down) {
    char *out = path_of("out.c"), *src = path_of("src");
    const struct source_search search = {.sysroot = src};
    assert_int_equal(mkdir(src, 0700), 0);
    assert_int_equal(mkdir(temp_folder_file(&folder, "src/a"), 0700), 0);
    write_text("out.c", "o");
    write_text("src/a/x.c", "x");
    /* Links are resolved as in the other file system, and do not lead out of it. */
    assert_int_equal(symlink("/a/x.c", temp_folder_file(&folder, "src/y.c")), 0);
    assert_int_equal(found(&search, "/a/x.c"), 'x');
    assert_int_equal(found(&search, "/y.c"), 'x');
    assert_int_equal(found(&search, "/../../a/x.c"), 'x');
    assert_int_equal(found(&search, "/../out.c"), 0);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(found(&search, out), 'o');
    assert_int_equal(found(&search, "/a"), 0);
    assert_int_equal(errno, EINVAL);
    assert_int_equal(found(&search, "a/x.c"), 0);
    free(out);
    free(src);
}

TEST(maps_lead_from_one_folder_to_another, set_up, tear_down) {
    assert_int_equal(mkdir(temp_folder_file(&folder, "new"), 0700), 0);
    write_text("new/x.c", "x");
    write_text("out.c", "o");
    char first[2 * PATH_MAX], second[2 * PATH_MAX];
    char *to = path_of("new");
    snprintf(first, sizeof first, "/old/app=%s", to);
    snprintf(second, sizeof second, "src/=%s", to);
    const struct source_search search = {.maps = (const char *const[]){first, second}, .map_count = 2};
    assert_int_equal(found(&search, "/old/app/x.c"), 'x');
    assert_int_equal(found(&search, "src/x.c"), 'x');
    assert_int_equal(found(&search, "/old/app2/x.c"), 0);
    assert_int_equal(found(&search, "/old/app/../out.c"), 0);
    char *out = path_of("out.c");
    assert_int_equal(found(&search, out), 'o');
    static const char *const bad[] = {"", "=", "a", "a=", "=b"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) assert_false(source_map_is_valid(bad[i]));
    assert_true(source_map_is_valid("a=b=c"));
    free(to);
    free(out);
}

/* ---- Packages. ---- */

#define COMMIT_START "59807616e"
#define COMMIT       COMMIT_START "1fa2540724bfbac14d7976d7e4a3860"

/* Writes the file and the folders that it is in, below the hidden folder of the test. */
static void write_package(const char *name, const char *content) {
    char command[2 * PATH_MAX], path[PATH_MAX];
    snprintf(path, sizeof path, ".home/%s", name);
    snprintf(command, sizeof command, "mkdir -p $(dirname '%s')", temp_folder_file(&folder, path));
    assert_int_equal(system(command), 0);
    write_text(path, content);
}

static void forget_packages(void) {
    char command[2 * PATH_MAX];
    static const char *const variables[] = {"CARGO_HOME", "RUSTUP_HOME", "GOMODCACHE", "GOPATH"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) unsetenv(variables[i]);
    snprintf(command, sizeof command, "rm -rf '%s'", temp_folder_file(&folder, ".home"));
    assert_int_equal(system(command), 0);
}

static void use_packages(void) {
    char *home = path_of(".home");
    forget_packages();
    setenv("HOME", home, 1);
    free(home);
    write_package(".rustup/toolchains/beta/lib/rustlib/multirust-channel-manifest.toml",
                  "version = \"1.96.0 (f2d3ce0bd 2026-05-21)\"");
    write_package(".rustup/toolchains/x/lib/rustlib/multirust-channel-manifest.toml",
                  "version = \"1.95.0 (" COMMIT_START " 2026-04-14)\"");
    write_package(".rustup/toolchains/beta/lib/rustlib/src/rust/library/a.rs", "wrong");
    write_package(".rustup/toolchains/x/lib/rustlib/src/rust/library/a.rs", "rust");
    write_package(".cargo/registry/src/index.crates.io-1/b-1.0.0/src/b.rs", "crate");
    write_package("go/pkg/mod/github.com/!o/r@v1.0.0/c.go", "module");
    write_package("outside.rs", "secret");
}

static const char *const package_files[] = {
    "/rustc/" COMMIT "/library/a.rs",
    "/elsewhere/.cargo/registry/src/index.crates.io-1/b-1.0.0/src/b.rs",
    "cargo:index.crates.io-1:b-1.0.0:src/b.rs",
    "git:github.com/rust-lang/rust:library/a.rs:" COMMIT,
    "/root/elsewhere/pkg/mod/github.com/!o/r@v1.0.0/c.go",
    "github.com/!o/r@v1.0.0/c.go",
    /* These are nowhere. */
    "/rustc/59807616/library/a.rs",
    "/rustc/0123456789012345678901234567890123456789/library/a.rs",
    "cargo:..:b-1.0.0:outside.rs",
    "cargo:index.crates.io-1:b-1.0.0:../../../outside.rs",
    "git:github.com/rust-lang/rust:../../../../../../../outside.rs:" COMMIT,
};

TEST(packages_are_found_in_hidden_folders, set_up, tear_down) {
    static const char *const contents[] = {"rust", "crate", "crate", "rust", "module", "module"};
    use_packages();
    size_t count = sizeof package_files / sizeof *package_files;
    for (size_t i = 0; i < count; i++) add_samples(package_files[i], 1, NULL);
    embed(&nowhere, 1000);
    for (uint32_t i = 0; i < count; i++) assert_content(i, i < sizeof contents / sizeof *contents ? contents[i] : NULL);
    assert_noted("source file not found", 5);
    forget_packages();
}

TEST(packages_are_where_variables_say, set_up, tear_down) {
    use_packages();
    static const char *const variables[][2] = {
        {"CARGO_HOME", ".home/.cargo"}, {"RUSTUP_HOME", ".home/.rustup"}, {"GOPATH", ".home/go"}};
    setenv("HOME", "/nonexistent", 1);
    for (size_t i = 0; i < 3; i++) setenv(variables[i][0], temp_folder_file(&folder, variables[i][1]), 1);
    for (size_t i = 0; i < 6; i++) add_samples(package_files[i], 1, NULL);
    embed(&nowhere, 1000);
    assert_noted("source file embedded", 6);
    forget_packages();
}

TEST(packages_are_not_given_out_for_the_trace_alone, set_up, tear_down) {
    use_packages();
    for (size_t i = 0; i < 6; i++) add_samples_of_trace(package_files[i], 1, NULL);
    embed(&nowhere, 1000);
    assert_noted("source file named by the input alone, not below a --source-dir", 6);
    forget_packages();
}

int main(void) { return unit_tests_run(NULL, NULL); }
