/* Forks processes that write titles over their arguments, as servers do, and work until their parent has ended: one at
 * once, and one later, after it has also changed its name. */
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

int main(int argument_count, char **arguments) {
    const char *last = arguments[argument_count - 1];
    size_t room_bytes = (size_t)(last + strlen(last) - arguments[0]);
    pid_t parent = getpid();
    int is_first = fork() == 0;
    if (!is_first && fork()) return pause();
    if (!is_first) {
        usleep(300000);
        prctl(PR_SET_NAME, "browser");
    }
    memset(arguments[0], 0, room_bytes);
    snprintf(arguments[0], room_bytes, "%s", is_first ? "title: walwriter" : "/x/browser --type=page");
    while (getppid() == parent) continue;
    return 0;
}
