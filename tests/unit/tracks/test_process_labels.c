/* Tests labels: what tells processes of one name apart. */
#include "libconvert/tracks/process_labels.h"

#include "tests/support/assert_text.h"
#include "tests/support/profile_fixture.h"
#include "tests/support/unit_test.h"

static struct process *at(process_id id) { return profile_process_at(&profile, id); }

static process_id add(const char *name, struct text arguments) {
    process_id id = profile_add_process(&profile, profile.processes.count + 1, 0);
    at(id)->name = text_of(name);
    at(id)->command_line = profile_allocate(&profile, sizeof *at(id)->command_line);
    at(id)->command_line->arguments = arguments;
    return id;
}

static void label_with(unsigned character_count_max) {
    profile_label_processes(&profile, character_count_max);
    assert_string_equal(failure.message, "");
}

static void label(void) { label_with(PROCESS_LABEL_CHARACTERS); }

TEST(the_only_process_of_a_name_has_all_arguments, begin_profile, end_profile) {
    process_id id = add("python3", TEXT("/usr/bin/python3\0-m\0http.server\0"
                                        "80\0"));
    label();
    assert_text(process_label(at(id)), "python3 -m http.server 80");
    assert_text(process_command(at(id)), "/usr/bin/python3 -m http.server 80");
}

TEST(what_all_processes_of_a_name_have_tells_nothing, begin_profile, end_profile) {
    process_id first = add("cc1", TEXT("/lib/cc1\0-quiet\0a.c\0-dumpbase\0a.c\0-o\0/tmp/ccX.s\0"));
    process_id second = add("cc1", TEXT("/lib/cc1\0-quiet\0b.c\0-dumpbase\0b.c\0-o\0/tmp/ccY.s\0"));
    process_id other = add("as", TEXT("as\0-quiet\0"));
    label();
    assert_text(process_label(at(first)), "cc1 a.c");
    assert_text(process_label(at(second)), "cc1 b.c");
    assert_text(process_label(at(other)), "as -quiet");
}

/* Both have the word 4. */
TEST(values_of_what_is_shown_are_shown, begin_profile, end_profile) {
    process_id server = add("python3", TEXT("python3\0-m\0web\0-w\0"
                                            "4\0-b\0:80\0"));
    process_id load = add("python3", TEXT("python3\0load.py\0"
                                          "80\0"
                                          "4\0"
                                          "200\0"));
    label();
    assert_text(process_label(at(server)), "python3 -m web -w 4 -b :80");
    assert_text(process_label(at(load)), "python3 load.py 80 4 200");
}

TEST(options_that_do_not_fit_are_left_out, begin_profile, end_profile) {
    process_id compiler = add("cc1plus", TEXT("cc1plus\0-quiet\0-imultiarch\0riscv64-linux-gnu\0-D_GNU_SOURCE\0in.cc\0"
                                              "-dumpbase\0in.cc\0-o\0/tmp/ccX.s\0"));
    process_id values = add("bench", TEXT("bench\0-p\0"
                                          "17001\0-n\0"
                                          "20000\0-t\0set,get,lpush,lpop,lrange_100\0"));
    process_id options = add("app", TEXT("app\0--first-long-option\0--second-long-option\0"));
    process_id preprocessor = add("cc1", TEXT("cc1\0-E\0-quiet\0-imultiarch\0riscv64-linux-gnu\0y.c\0-o\0y.i\0"
                                              "-mtune=generic\0-dumpbase\0y.c\0-dumpbase-ext\0.c\0"));
    process_id piped = add("cc1", TEXT("cc1\0-quiet\0-imultiarch\0riscv64-linux-gnu\0-\0-quiet\0-dumpdir\0/tmp/\0"
                                       "-dumpbase\0out\0-o\0/tmp/ccA.s\0"));
    process_id cmake =
        add("cc1plus", TEXT("cc1plus\0-MD\0x.dir/a.cc.d\0-MT\0x.dir/a.cc.o\0/tmp/src/a.cc\0-quiet\0-dumpdir\0"
                            "x.dir/\0-dumpbase\0a.cc.cc\0-o\0/tmp/ccY.s\0"));
    label();
    assert_text(process_label(at(preprocessor)), "cc1 y.c");
    assert_text(process_label(at(piped)), "cc1 -");
    assert_text(process_label(at(cmake)), "cc1plus a.cc");
    assert_text(process_label(at(compiler)), "cc1plus in.cc");
    assert_text(process_label(at(values)), "bench set,get,lpush,lpop,lrange_100");
    assert_text(process_label(at(options)), "app --first-long-option --second-long-o…");
}

/* Words and files are shown, as they may be no values: those of "-c" of compilers are not. */
TEST(numbers_are_left_out_with_their_options, begin_profile, end_profile) {
    process_id load = add("ab", TEXT("ab\0-q\0-n\0"
                                     "2500\0-c\0"
                                     "8\0http://127.0.0.1:8171/\0"));
    process_id numbers = add("convert", TEXT("convert\0-resize\0"
                                             "50%\0-blur\0"
                                             "0x6\0-sharpen\0"
                                             "0x2\0-rotate\0"
                                             "12\0"));
    process_id pages = add("split", TEXT("split\0--numeric-suffixes\0--lines\0"
                                         "1000\0"
                                         "2026/a\0"
                                         "12\0"));
    process_id script = add("python", TEXT("python\0-u\0"
                                           "01_train.py\0--learning-rate\0"
                                           "0.001\0--epochs\0"
                                           "20\0"));
    label();
    assert_text(process_label(at(script)), "python 01_train.py");
    assert_text(process_label(at(load)), "ab http://127.0.0.1:8171/");
    assert_text(process_label(at(numbers)), "convert -resize 50% -blur 0x6 -sharpen …");
    assert_text(process_label(at(pages)), "split 2026/a 12");
}

TEST(what_is_written_is_better_than_values_of_options, begin_profile, end_profile) {
    process_id linker = add("ld", TEXT("ld\0-plugin\0/usr/lib/liblto_plugin.so\0-dynamic-linker\0/lib64/ld.so\0"
                                       "-o\0bin/app\0main.o\0-lc\0-lm\0"));
    process_id short_one = add("gcc", TEXT("gcc\0-o\0app\0main.c\0"));
    process_id shell = add("ssh", TEXT("ssh\0-o\0StrictHostKeyChecking=no\0host\0uname -a; uptime\0"));
    label();
    assert_text(process_label(at(linker)), "ld -o bin/app");
    assert_text(process_label(at(shell)), "ssh -o StrictHostKeyChecking=no host un…");
    assert_text(process_label(at(short_one)), "gcc -o app main.c");
}

TEST(what_is_thrown_away_or_written_by_others_is_no_label, begin_profile, end_profile) {
    process_id painter = add("gs", TEXT("gs\0-q\0-sDEVICE=png16m\0-r300\0-dBATCH\0-o\0/dev/null\0tiger.ps\0"));
    process_id timeout = add("timeout", TEXT("timeout\0"
                                             "100\0gcc\0-O2\0-Wall\0-Wextra\0-c\0-o\0main.o\0main.c\0"));
    label();
    assert_text(process_label(at(painter)), "gs tiger.ps");
    assert_text(process_label(at(timeout)), "timeout 100 gcc main.o main.c");
}

TEST(the_name_of_a_script_is_not_repeated, begin_profile, end_profile) {
    process_id server = add("gunicorn", TEXT("/usr/bin/python3\0/usr/bin/gunicorn\0-w\0"
                                             "3\0"));
    process_id alone = add("cloc", TEXT("perl\0/usr/bin/cloc\0"));
    process_id same = add("echo", TEXT("echo\0echo\0"));
    label();
    assert_text(process_label(at(server)), "gunicorn -w 3");
    assert_text(process_label(at(alone)), "");
    assert_text(process_label(at(same)), "echo echo");
}

TEST(temporary_files_are_better_than_nothing, begin_profile, end_profile) {
    process_id first = add("as", TEXT("as\0/tmp/ccX.s\0"));
    process_id second = add("as", TEXT("as\0/tmp/ccY.s\0"));
    process_id remover = add("rm", TEXT("rm\0-rf\0/tmp/data\0"));
    label();
    assert_text(process_label(at(remover)), "rm -rf data");
    assert_text(process_label(at(first)), "as ccX.s");
    assert_text(process_label(at(second)), "as ccY.s");
}

TEST(folders_of_absolute_paths_are_left_out, begin_profile, end_profile) {
    process_id id = add("cp", TEXT("cp\0/a/x\0src/y\0/b/x\0/c/\0"));
    label();
    assert_text(process_label(at(id)), "cp x src/y x /c/");
}

TEST(titles_in_place_of_arguments_are_shown, begin_profile, end_profile) {
    process_id writer = add("postgres", TEXT("postgres: walwriter \0"));
    process_id worker = add("postgres", TEXT("postgres: 15/main: alice shop [local] idle\0"));
    process_id main = add("postgres", TEXT("/usr/lib/postgres\0-D\0data\0"));
    process_id server = add("redis-server", TEXT("redis-server *:6379\0"));
    process_id pool = add("php-fpm8.2", TEXT("php-fpm: pool www\0"));
    process_id page = add("chromium", TEXT("/usr/lib/chromium/chromium --type=renderer\0"));
    process_id other = add("app", TEXT("app2: title\0"));
    process_id renamed = add("worker: 1", TEXT("worker: 1\0"));
    process_id cut = add("gunicorn: maste", TEXT("gunicorn: master [app]\0"));
    label();
    assert_text(process_label(at(writer)), "postgres: walwriter");
    assert_text(process_label(at(worker)), "postgres: 15/main: alice shop [local] i…");
    assert_text(process_label(at(main)), "postgres -D data");
    assert_text(process_label(at(server)), "redis-server *:6379");
    assert_text(process_label(at(pool)), "php-fpm8.2: pool www");
    assert_text(process_label(at(page)), "chromium --type=renderer");
    assert_text(process_label(at(other)), "");
    assert_text(process_label(at(renamed)), "");
    assert_text(process_label(at(cut)), "");
}

TEST(equal_processes_have_their_name, begin_profile, end_profile) {
    process_id first = add("worker", TEXT("worker\0-v\0")), second = add("worker", TEXT("worker\0-v\0"));
    process_id bare = add("worker", TEXT("worker\0")), unknown = add("worker", TEXT(""));
    label();
    assert_text(process_label(at(first)), "");
    assert_text(process_label(at(second)), "");
    assert_text(process_command(at(first)), "worker -v");
    assert_text(process_label(at(bare)), "");
    assert_text(process_command(at(unknown)), "");
}

TEST(labels_are_cut_between_characters, begin_profile, end_profile) {
    process_id id = add("cat", TEXT("cat\0éééé\0"));
    process_id long_name = add("a-very-long-name", TEXT("x\0y\0"));
    label_with(8);
    assert_text(process_label(at(id)), "cat éééé");
    label_with(7);
    assert_text(process_label(at(id)), "cat éé…");
    assert_text(process_label(at(long_name)), "");
    assert_text(process_command(at(id)), "cat éééé");
}

TEST(lines_of_scripts_are_one_line, begin_profile, end_profile) {
    process_id id = add("sh", TEXT("sh\0-c\0ls\n\tpwd\0"));
    label();
    assert_text(process_label(at(id)), "sh -c ls  pwd");
}

TEST(command_lines_can_be_left_out, begin_profile, end_profile) {
    process_id id = add("login", TEXT("login\0secret\0"));
    label_with(0);
    assert_text(process_label(at(id)), "");
    assert_text(process_command(at(id)), "");
}

/* The kernel cuts command lines anywhere, and programs write what they want. */
TEST(any_bytes_are_arguments, begin_profile, end_profile) {
    process_id cut = add("a", TEXT("a\0b")), empty = add("e", TEXT("e\0\0\0x\0"));
    label();
    assert_text(process_label(at(cut)), "a b");
    assert_text(process_label(at(empty)), "e x");
}

int main(void) { return unit_tests_run(NULL, NULL); }
