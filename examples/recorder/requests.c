/* Makes requests of a server of its own, on this machine, and records each for the viewer's network chart.
 *
 *     GECKO_RECORDER=1 ./requests && gecko-convert requests-*.trace */
#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gecko_recorder.h>

static struct grec_category network = GREC_CATEGORY("Network", GREC_COLOR_LIGHTBLUE);

enum { REQUEST_COUNT = 5, BODY_BYTES = 100000 };

/* ---- The server. ---- */

/* Answers each connection with a status, which the request's path ends with, and a body. */
static void *serve(void *argument) {
    int listener = *(int *)argument;
    static char body[BODY_BYTES];
    for (int i = 0; i < REQUEST_COUNT; i++) {
        char request[512], head[128];
        int client = accept(listener, NULL, NULL);
        ssize_t length = client < 0 ? -1 : read(client, request, sizeof request - 1);
        if (length <= 0) break;
        request[length] = '\0';
        usleep(20000); /* thinks */
        int head_length = snprintf(head, sizeof head, "HTTP/1.0 %d x\r\n\r\n", strstr(request, "missing") ? 404 : 200);
        if (write(client, head, (size_t)head_length) > 0 && write(client, body, sizeof body) < 0) perror("write");
        close(client);
    }
    return NULL;
}

static int start_server(struct sockaddr_in *address, pthread_t *thread) {
    static int listener;
    socklen_t length = sizeof *address;
    *address = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    listener = socket(AF_INET, SOCK_STREAM, 0);
    return listener >= 0 && bind(listener, (struct sockaddr *)address, sizeof *address) == 0 &&
           listen(listener, REQUEST_COUNT) == 0 && getsockname(listener, (struct sockaddr *)address, &length) == 0 &&
           pthread_create(thread, NULL, serve, &listener) == 0;
}

/* ---- The client. ---- */

static void get(const struct sockaddr_in *address, const char *path) {
    char url[128], text[256], buffer[4096];
    snprintf(url, sizeof url, "http://127.0.0.1:%d/%s", ntohs(address->sin_port), path);
    struct grec_network_request request = {.url = url, .start = grec_now()};

    request.connect_start = grec_now();
    int server = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(server, (const struct sockaddr *)address, sizeof *address) != 0) perror(url);
    request.connect_end = request.request_start = grec_now();
    int text_length = snprintf(text, sizeof text, "GET /%s HTTP/1.0\r\n\r\n", path);
    if (write(server, text, (size_t)text_length) < 0) perror(url);

    for (ssize_t length; (length = read(server, buffer, sizeof buffer)) > 0;) {
        if (!request.response_start) {
            request.response_start = grec_now();
            sscanf(buffer, "HTTP/1.0 %u", &request.response_status);
        }
        request.transfer_bytes += (uint64_t)length;
    }
    request.response_end = grec_now();
    close(server);
    if (!request.response_status) request.how_ended = GREC_NETWORK_CANCEL;
    grec_network(&network, &request);
    printf("%s: %u, %llu bytes\n", url, request.response_status, (unsigned long long)request.transfer_bytes);
}

int main(void) {
    static const char *const paths[REQUEST_COUNT] = {"index.html", "style.css", "app.js", "missing.png", "last.html"};
    struct sockaddr_in address;
    pthread_t server;
    if (!start_server(&address, &server)) {
        perror("requests");
        return 1;
    }
    for (int i = 0; i < REQUEST_COUNT; i++) get(&address, paths[i]);
    pthread_join(server, NULL);
    return 0;
}
