#include "source_names.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "libconvert/base/path.h"
#include "libconvert/profile/profile.h"

/* ---- Texts. ---- */

/* Returns what follows the folder in the path; nothing if the path does not have it. */
static struct text after_folder(struct text path, const char *folder) {
    return text_from(path, text_find_part(path, text_of(folder)) + strlen(folder));
}

/* Returns whether the text can be a part of a name on the web: colons separate the parts, and none may contain "..". */
static bool is_good_part(struct text part) {
    return part.bytes_count && text_find(part, ':') == part.bytes_count && !path_leads_up(part);
}

__attribute__((format(printf, 2, 3))) static struct text print(char bytes[SOURCE_NAME_BYTES], const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int bytes_count = vsnprintf(bytes, SOURCE_NAME_BYTES, format, arguments);
    va_end(arguments);
    return bytes_count > 0 && bytes_count < SOURCE_NAME_BYTES ? (struct text){bytes, (size_t)bytes_count}
                                                              : (struct text){0};
}

/* ---- Rust. ---- */

static const struct text rust_start = TEXT("git:github.com/rust-lang/rust:"), cargo_start = TEXT("cargo:");

enum { COMMIT_DIGITS = 40 };

static bool is_commit(struct text text) {
    return text.bytes_count == COMMIT_DIGITS && text_has_only(text, "0123456789abcdef");
}

/* "/rustc/COMMIT/library/core/src/option.rs" */
static struct text name_rustc(struct text path, char bytes[SOURCE_NAME_BYTES]) {
    if (!text_starts_with(path, TEXT("/rustc/"))) return (struct text){0};
    struct text rest = text_from(path, sizeof "/rustc/" - 1), commit = text_take_until(&rest, '/');
    if (!is_commit(commit) || !is_good_part(rest)) return (struct text){0};
    return print(bytes, "%.*s%.*s:%.*s", TEXT_ARGS(rust_start), TEXT_ARGS(rest), TEXT_ARGS(commit));
}

/* The viewer knows crates whose versions are three numbers. */
static bool is_crate(struct text crate) {
    size_t dash = text_find_last(crate, '-');
    struct text version = text_from(crate, dash + 1);
    unsigned number_count = 0;
    while (version.bytes_count) {
        size_t end = text_find(version, '.');
        if (!end || !text_has_only(text_slice(version, 0, end), "0123456789")) return false;
        if (end + 1 == version.bytes_count) return false;
        version = text_from(version, end + 1);
        number_count++;
    }
    return dash && dash < crate.bytes_count && number_count == 3;
}

static struct text name_crate(struct text registry, struct text path, char bytes[SOURCE_NAME_BYTES]) {
    struct text crate = text_take_until(&path, '/');
    if (!is_good_part(registry) || !is_good_part(crate) || !is_crate(crate) || !is_good_part(path))
        return (struct text){0};
    return print(bytes, "%.*s%.*s:%.*s:%.*s", TEXT_ARGS(cargo_start), TEXT_ARGS(registry), TEXT_ARGS(crate),
                 TEXT_ARGS(path));
}

/* "/home/u/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/serde-1.0.1/src/lib.rs". Packages of other registries
 * than crates.io are not on the web, or only share the name. */
static struct text name_cargo(struct text path, char bytes[SOURCE_NAME_BYTES]) {
    struct text rest = after_folder(path, "/registry/src/"), registry = text_take_until(&rest, '/');
    bool is_public = text_starts_with(registry, TEXT("index.crates.io-")) ||
                     text_starts_with(registry, TEXT("github.com-1ecc6299db9ec823")) ||
                     text_starts_with(registry, TEXT("github.com-1285ae84e5963aae"));
    return is_public ? name_crate(registry, rest, bytes) : (struct text){0};
}

/* "/rust/deps/hashbrown-0.15.2/src/raw/mod.rs": what the standard library depends on. */
static struct text name_rust_dependency(struct text path, char bytes[SOURCE_NAME_BYTES]) {
    if (!text_starts_with(path, TEXT("/rust/deps/"))) return (struct text){0};
    return name_crate(TEXT("index.crates.io"), text_from(path, sizeof "/rust/deps/" - 1), bytes);
}

/* ---- Go. ---- */

/* The path of a module in Go's cache of modules, decoded: "!b" stands for "B". */
struct go_module {
    char name[PATH_MAX];
    struct text version;
    struct text file; /* below the module's folder */
};

static bool decode_module(struct text encoded, char name[PATH_MAX]) {
    size_t count = 0;
    if (encoded.bytes_count >= PATH_MAX) return false;
    for (size_t i = 0; i < encoded.bytes_count; i++) {
        bool is_capital = encoded.bytes[i] == '!' && i + 1 < encoded.bytes_count;
        char c = encoded.bytes[is_capital ? ++i : i];
        name[count++] = is_capital && c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
    }
    name[count] = '\0';
    return true;
}

/* Reads "…/pkg/mod/github.com/owner/repository/sub@v1.2.3/file.go" or, as `go build -trimpath` writes it, without what
 * is before the module. */
static bool read_module(struct text path, struct go_module *module) {
    struct text rest = after_folder(path, "/pkg/mod/");
    if (!rest.bytes_count) rest = path;
    size_t at = text_find(rest, '@');
    if (text_starts_with(rest, TEXT("/")) || at == rest.bytes_count) return false;
    module->file = text_from(rest, at + 1);
    module->version = text_take_until(&module->file, '/');
    return text_starts_with(module->version, TEXT("v")) && is_good_part(module->version) &&
           is_good_part(module->file) && decode_module(text_slice(rest, 0, at), module->name) &&
           is_good_part(text_of(module->name));
}

/* Returns the revision that the version stands for: the end of "v0.0.0-20210101120000-0123456789ab" is a commit. */
static struct text revision_of(struct text version, bool *is_commit) {
    enum { DATE_DIGITS = 14, DIGITS = 12 };
    if (text_ends_with(version, TEXT("+incompatible"))) version.bytes_count -= sizeof "+incompatible" - 1;
    size_t dash = text_find_last(version, '-');
    struct text commit = text_from(version, dash + 1), before = text_slice(version, 0, dash);
    struct text date = text_from(before, before.bytes_count < DATE_DIGITS ? 0 : before.bytes_count - DATE_DIGITS);
    *is_commit = commit.bytes_count == DIGITS && text_has_only(commit, "0123456789abcdef") &&
                 date.bytes_count == DATE_DIGITS && text_has_only(date, "0123456789");
    return *is_commit ? commit : version;
}

/* A module ends in "/v2" from its second major version on, which is rarely a folder of the repository. */
static struct text without_major_version(struct text folder) {
    size_t slash = text_find_last(folder, '/');
    struct text last = slash == folder.bytes_count ? folder : text_from(folder, slash + 1);
    bool is_version = last.bytes_count > 1 && last.bytes[0] == 'v' && text_has_only(text_from(last, 1), "0123456789");
    if (!is_version) return folder;
    return text_slice(folder, 0, slash == folder.bytes_count ? 0 : slash);
}

/* Modules in a folder of their repository have tags that begin with the folder. */
static struct text name_go(struct text path, char bytes[SOURCE_NAME_BYTES]) {
    struct go_module module;
    bool is_commit;
    if (!read_module(path, &module)) return (struct text){0};
    struct text rest = text_of(module.name), host = text_take_until(&rest, '/'), owner = text_take_until(&rest, '/');
    bool is_mirrored = text_equal(host, TEXT("golang.org")) && text_equal(owner, TEXT("x"));
    if (!is_mirrored && !text_equal(host, TEXT("github.com"))) return (struct text){0};
    if (is_mirrored) owner = TEXT("golang");
    struct text repository = text_take_until(&rest, '/'), folder = without_major_version(rest);
    struct text revision = revision_of(module.version, &is_commit);
    if (!owner.bytes_count || !repository.bytes_count) return (struct text){0};
    const char *slash = folder.bytes_count ? "/" : "";
    struct text tag_folder = is_commit ? (struct text){"", 0} : folder;
    return print(bytes, "git:github.com/%.*s/%.*s:%.*s%s%.*s:%.*s%s%.*s", TEXT_ARGS(owner), TEXT_ARGS(repository),
                 TEXT_ARGS(folder), slash, TEXT_ARGS(module.file), TEXT_ARGS(tag_folder),
                 tag_folder.bytes_count ? "/" : "", TEXT_ARGS(revision));
}

/* ---- The user's folders. ---- */

struct source_url {
    struct text folder;
    struct text repository; /* "github.com/OWNER/REPOSITORY" */
    struct text revision;
    struct text below; /* folder of the repository; may be empty */
};

static struct text without_slashes(struct text path) {
    while (path.bytes_count && text_ends_with(path, TEXT("/"))) path.bytes_count--;
    return path;
}

static bool read_url(struct text text, struct source_url *url) {
    static const struct text start = TEXT("https://github.com/");
    size_t equals = text_find(text, '=');
    struct text address = text_from(text, equals + 1);
    *url = (struct source_url){.folder = without_slashes(text_slice(text, 0, equals))};
    if (!url->folder.bytes_count || !text_starts_with(address, start)) return false;
    struct text rest = text_from(address, start.bytes_count);
    struct text owner = text_take_until(&rest, '/'), repository = text_take_until(&rest, '/'),
                tree = text_take_until(&rest, '/');
    url->repository =
        text_slice(address, sizeof "https://" - 1, start.bytes_count + owner.bytes_count + 1 + repository.bytes_count);
    url->revision = text_take_until(&rest, '/');
    url->below = without_slashes(rest);
    return owner.bytes_count && repository.bytes_count && text_equal(tree, TEXT("tree")) &&
           is_good_part(url->repository) && is_good_part(url->revision) &&
           (!url->below.bytes_count || is_good_part(url->below));
}

bool source_url_is_valid(const char *url) {
    struct source_url read;
    return read_url(text_of(url), &read);
}

static struct text name_by_url(const struct source_urls *urls, struct text path, char bytes[SOURCE_NAME_BYTES]) {
    struct source_url url;
    for (size_t i = 0; urls && i < urls->count; i++) {
        if (!read_url(text_of(urls->values[i]), &url) || !text_starts_with(path, url.folder)) continue;
        struct text rest = text_from(path, url.folder.bytes_count);
        if (!text_starts_with(rest, TEXT("/")) || !is_good_part(text_from(rest, 1))) continue;
        return print(bytes, "git:%.*s:%.*s%s%.*s:%.*s", TEXT_ARGS(url.repository), TEXT_ARGS(url.below),
                     url.below.bytes_count ? "/" : "", TEXT_ARGS(text_from(rest, 1)), TEXT_ARGS(url.revision));
    }
    return (struct text){0};
}

/* ---- All of them. ---- */

struct text source_name_on_web(const struct source_urls *urls, struct text path, char bytes[SOURCE_NAME_BYTES]) {
    static struct text (*const rules[])(struct text, char[SOURCE_NAME_BYTES]) = {name_rustc, name_cargo,
                                                                                 name_rust_dependency, name_go};
    if (text_find(path, '\0') < path.bytes_count) return (struct text){0};
    struct text name = name_by_url(urls, path, bytes);
    for (size_t i = 0; i < sizeof rules / sizeof *rules && !name.bytes_count; i++) name = rules[i](path, bytes);
    return name;
}

static struct text local_rust(struct text name, char bytes[SOURCE_NAME_BYTES]) {
    struct text commit = name, file = text_take_until(&commit, ':');
    if (!is_good_part(file) || !is_commit(commit)) return (struct text){0};
    return print(bytes, "/rustc/%.*s/%.*s", TEXT_ARGS(commit), TEXT_ARGS(file));
}

static struct text local_crate(struct text name, char bytes[SOURCE_NAME_BYTES]) {
    struct text file = name, registry = text_take_until(&file, ':'), crate = text_take_until(&file, ':');
    if (!is_good_part(registry) || !is_good_part(crate) || !is_good_part(file)) return (struct text){0};
    return print(bytes, "/registry/src/%.*s/%.*s/%.*s", TEXT_ARGS(registry), TEXT_ARGS(crate), TEXT_ARGS(file));
}

struct text source_name_local(struct text name, char bytes[SOURCE_NAME_BYTES]) {
    if (text_find(name, '\0') < name.bytes_count) return (struct text){0};
    if (text_starts_with(name, rust_start)) return local_rust(text_from(name, rust_start.bytes_count), bytes);
    if (text_starts_with(name, cargo_start)) return local_crate(text_from(name, cargo_start.bytes_count), bytes);
    return (struct text){0};
}

void profile_name_sources(struct profile *profile, const struct source_urls *urls) {
    char bytes[SOURCE_NAME_BYTES];
    for (uint32_t i = 0; i < row_table_count(&profile->sources) && !failure_is_set(profile->failure); i++) {
        struct source *source = column_at(&profile->sources.rows, i);
        struct text path = strings_text(&profile->strings, source->filename);
        struct text name = source_name_on_web(urls, path, bytes);
        struct text *origin = name.bytes_count ? column_push(&profile->source_origins) : NULL;
        if (!origin) continue;
        *origin = profile_text(profile, path);
        source->filename = profile_string(profile, name);
        source->origin = (uint32_t)profile->source_origins.count;
    }
}
