#include "browser.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libconvert/base/text.h"

enum { WORDS_MAX = 16 };

/* Returns 0, or an error number. */
static int spawn(pid_t *pid, char *const *words) {
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t actions;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int error = posix_spawnattr_init(&attributes);
    if (error) return error;
    error = posix_spawn_file_actions_init(&actions);
    if (error) {
        posix_spawnattr_destroy(&attributes);
        return error;
    }
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    for (int descriptor = STDIN_FILENO; descriptor <= STDERR_FILENO; descriptor++)
        posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_RDWR, 0);
    error = posix_spawnp(pid, words[0], &actions, &attributes, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    return error;
}

/* Returns a copy of the word with "%s" replaced by the address. The caller frees it; NULL if memory ran out. */
static char *substitute_address(struct text word, const char *address, bool *has_address) {
    size_t before_bytes = text_find_part(word, TEXT("%s"));
    char *filled;
    if (before_bytes == word.bytes_count) return strndup(word.bytes, word.bytes_count);
    *has_address = true;
    struct text after = text_from(word, before_bytes + 2);
    int result = asprintf(&filled, "%.*s%s%.*s", (int)before_bytes, word.bytes, address, TEXT_ARGS(after));
    return result < 0 ? NULL : filled;
}

/* Returns 0, or an error number. */
static int start_command(struct browser *browser, struct text command, const char *address) {
    char *words[WORDS_MAX + 2];
    size_t count = 0;
    bool has_address = false, is_good = true;
    for (command = text_trim_start(command); command.bytes_count && count < WORDS_MAX && is_good;
         command = text_trim_start(command)) {
        size_t end = text_find(command, ' ');
        words[count] = substitute_address(text_slice(command, 0, end), address, &has_address);
        is_good = words[count] != NULL;
        if (is_good) count++;
        command = text_from(command, end);
    }
    bool is_too_long = is_good && command.bytes_count;
    if (is_good && count && !has_address) {
        words[count] = strdup(address);
        is_good = words[count] != NULL;
        if (is_good) count++;
    }
    words[count] = NULL;
    int error = !is_good ? ENOMEM : is_too_long ? E2BIG : count ? spawn(&browser->pid, words) : ENOENT;
    if (count) snprintf(browser->name, sizeof browser->name, "%s", words[0]);
    while (count) free(words[--count]);
    return error;
}

bool browser_open(struct browser *browser, const char *address) {
    const char *variable = getenv("BROWSER");
    struct text commands = text_of(variable && *variable ? variable : "xdg-open");
    int error = ENOENT;
    *browser = (struct browser){.pid = 0};
    while (commands.bytes_count && error) error = start_command(browser, text_take_until(&commands, ':'), address);
    errno = error;
    return !error;
}
