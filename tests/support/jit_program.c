/* A JIT compiler in miniature: runs two functions one after the other at the same address, and describes them in a
 * jitdump. usage: jit_program MILLISECONDS [NAME NAME]. x86-64. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Counts rdi down to 0, with a frame pointer: push rbp; mov rbp, rsp; dec rdi; jnz -5; pop rbp; ret */
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0x5d, 0xc3};

static void put(int dump, const void *bytes, size_t bytes_count) {
    if (write(dump, bytes, bytes_count) != (ssize_t)bytes_count) exit(1);
}

static void describe(int dump, uint64_t address, const char *name, uint64_t index) {
    uint32_t head[2] = {0, (uint32_t)(56 + strlen(name) + 1 + sizeof code)},
             ids[2] = {(uint32_t)getpid(), (uint32_t)getpid()};
    uint64_t time_ns = now_ns(), place[4] = {address, address, sizeof code, index};
    put(dump, head, sizeof head);
    put(dump, &time_ns, 8);
    put(dump, ids, sizeof ids);
    put(dump, place, sizeof place);
    put(dump, name, strlen(name) + 1);
    put(dump, code, sizeof code);
}

int main(int count, char **words) {
    char path[64];
    uint64_t run_ns = (count > 1 ? strtoull(words[1], NULL, 10) : 300) * 1000000;
    snprintf(path, sizeof path, "jit-%d.dump", (int)getpid());
    int dump = open(path, O_CREAT | O_RDWR | O_TRUNC, 0644);
    uint32_t header[6] = {0x4a695444, 1, 40, 62, 0, (uint32_t)getpid()};
    uint64_t rest[2] = {now_ns(), 0};
    put(dump, header, sizeof header);
    put(dump, rest, sizeof rest);
    (void)mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, dump, 0);
    char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(page, code, sizeof code);
    void (*function)(uint64_t);
    memcpy(&function, &page, sizeof function);
    const char *names[] = {count > 3 ? words[2] : "spin_one", count > 3 ? words[3] : "spin_two"};
    for (uint64_t i = 0; i < 2; i++) {
        describe(dump, (uint64_t)(uintptr_t)page, names[i], i);
        for (uint64_t end_ns = now_ns() + run_ns; now_ns() < end_ns;) function(100000);
    }
    return 0;
}
