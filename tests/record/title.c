/* Forks a process that writes a title over its arguments, as servers do, and works until its parent has ended. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argument_count, char **arguments) {
    const char *last = arguments[argument_count - 1];
    size_t room_bytes = (size_t)(last + strlen(last) - arguments[0]);
    pid_t parent = getpid();
    if (fork()) return pause();
    memset(arguments[0], 0, room_bytes);
    snprintf(arguments[0], room_bytes, "%s", "title: walwriter");
    while (getppid() == parent) continue;
    return 0;
}
