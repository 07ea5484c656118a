/* Forked processes that call the recorder when the test tells them to. They answer each order, so no test depends on
 * time. */
#pragma once

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "recorder/gecko_recorder.h"
#include "tests/support/wait_for_child.h"

enum { ORDER_TEXT_BYTES = GREC_LOCATION_BYTES };

struct order {
    int (*run)(const char *text); /* the same address in the forked process */
    char text[ORDER_TEXT_BYTES];
};

struct member {
    pid_t pid;
    int socket;
};

static inline void member_obey(int socket) {
    struct order order;
    while (recv(socket, &order, sizeof order, MSG_WAITALL) == (ssize_t)sizeof order) {
        int result = order.run(order.text);
        if (send(socket, &result, sizeof result, MSG_NOSIGNAL) != (ssize_t)sizeof result) break;
    }
    _exit(0);
}

/* Forks a process that waits for orders. */
static inline struct member member_fork(void) {
    int sockets[2];
    struct member member = {.pid = -1};
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return member;
    member.pid = fork();
    member.socket = sockets[0];
    if (member.pid) {
        close(sockets[1]);
        return member;
    }
    close(sockets[0]);
    member_obey(sockets[1]);
    return member;
}

/* Returns what the function returned in the process; -1000 if the process has ended. */
static inline int member_run(const struct member *member, int (*run)(const char *text), const char *text) {
    struct order order = {.run = run};
    int result = -1000;
    for (size_t i = 0; text && text[i] && i < sizeof order.text - 1; i++) order.text[i] = text[i];
    if (send(member->socket, &order, sizeof order, MSG_NOSIGNAL) != (ssize_t)sizeof order) return -1000;
    return recv(member->socket, &result, sizeof result, MSG_WAITALL) == (ssize_t)sizeof result ? result : -1000;
}

/* Lets the process end by _exit. Returns its exit status. */
static inline int member_end(const struct member *member) {
    shutdown(member->socket, SHUT_RDWR); /* members that were forked later have the socket too */
    close(member->socket);
    return wait_for_child(member->pid);
}

static inline int member_kill(const struct member *member) {
    kill(member->pid, SIGKILL);
    return member_end(member);
}

/* ---- Orders. ---- */

static inline int order_mark(const char *name) {
    grec_text_marker(name, NULL, "");
    return 0;
}
static inline int order_join(const char *location) { return (int)grec_join(*location ? location : NULL); }
static inline int order_tell_recording(const char *unused) {
    (void)unused;
    return grec_is_recording();
}
static inline int order_start(const char *path) { return (int)grec_start(&(struct grec_options){.path = path}); }
static inline int order_stop(const char *unused) {
    (void)unused;
    grec_stop();
    return 0;
}
static inline int order_pause(const char *unused) {
    (void)unused;
    grec_pause();
    return grec_is_recording();
}
static inline int order_resume(const char *unused) {
    (void)unused;
    grec_resume();
    return grec_is_recording();
}
static inline int order_stop_all(const char *unused) {
    (void)unused;
    grec_control(GREC_STOP, GREC_GROUP);
    return grec_is_recording();
}
static inline int order_pause_all(const char *unused) {
    (void)unused;
    grec_control(GREC_PAUSE, GREC_GROUP);
    return grec_is_recording();
}
static inline int order_resume_all(const char *unused) {
    (void)unused;
    grec_control(GREC_RESUME, GREC_GROUP);
    return grec_is_recording();
}
