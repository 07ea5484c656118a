/* A JIT compiler in miniature: runs two functions one after the other at the same address, and then one without a frame
 * pointer, and describes them in a jitdump, the last one with its call frame information.
 * usage: jit_program MILLISECONDS [NAME NAME]. x86-64. */
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

/* The same without a frame pointer: sub rsp, 24; dec rdi; jnz -5; add rsp, 24; ret */
static const unsigned char frameless[] = {0x48, 0x83, 0xec, 0x18, 0x48, 0xff, 0xcf,
                                          0x75, 0xfb, 0x48, 0x83, 0xc4, 0x18, 0xc3};

/* Its .eh_frame: a CIE (the CFA is rsp + 8, with the return address below it), an FDE (of the code 48 bytes before the
 * number that says so; after 4 bytes of code, the CFA is rsp + 32; after 9 more, rsp + 8), and the end. Then
 * .eh_frame_hdr with the distances to these. */
static const unsigned char unwinding[] = {
    20,
    0,
    0,
    0,
    0,
    0,
    0,
    0,
    1,
    'z',
    'R',
    0,
    1,
    0x78,
    16,
    1,
    0x1b,
    0x0c,
    7,
    8,
    0x90,
    1,
    0,
    0,
    20,
    0,
    0,
    0,
    28,
    0,
    0,
    0,
    0xd0,
    0xff,
    0xff,
    0xff,
    sizeof frameless,
    0,
    0,
    0,
    0,
    0x44,
    0x0e,
    32,
    0x49,
    0x0e,
    8,
    0,
    0,
    0,
    0,
    0,
    1,
    0x1b,
    3,
    0x3b,
    0xc8,
    0xff,
    0xff,
    0xff,
    1,
    0,
    0,
    0,
    0xbc,
    0xff,
    0xff,
    0xff,
    0xe4,
    0xff,
    0xff,
    0xff,
};
enum { HEADER_BYTES = 20 };

static void put(int dump, const void *bytes, size_t bytes_count) {
    if (write(dump, bytes, bytes_count) != (ssize_t)bytes_count) exit(1);
}

static void describe_unwinding(int dump) {
    uint32_t head[2] = {4, 40 + sizeof unwinding};
    uint64_t rest[4] = {now_ns(), sizeof unwinding, HEADER_BYTES, (sizeof unwinding + 15) / 16 * 16};
    put(dump, head, sizeof head);
    put(dump, rest, sizeof rest);
    put(dump, unwinding, sizeof unwinding);
}

static void describe(int dump, const void *function, size_t code_bytes, const char *page, const char *name,
                     uint64_t index) {
    uint32_t head[2] = {0, (uint32_t)(56 + strlen(name) + 1 + code_bytes)},
             ids[2] = {(uint32_t)getpid(), (uint32_t)getpid()};
    uint64_t address = (uint64_t)(uintptr_t)page, time_ns = now_ns(), place[4] = {address, address, code_bytes, index};
    put(dump, head, sizeof head);
    put(dump, &time_ns, 8);
    put(dump, ids, sizeof ids);
    put(dump, place, sizeof place);
    put(dump, name, strlen(name) + 1);
    put(dump, function, code_bytes);
}

static void run(const char *page, uint64_t run_ns) {
    void (*function)(uint64_t);
    memcpy(&function, &page, sizeof function);
    for (uint64_t end_ns = now_ns() + run_ns; now_ns() < end_ns;) function(100000);
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
    const char *names[] = {count > 3 ? words[2] : "spin_one", count > 3 ? words[3] : "spin_two"};
    for (uint64_t i = 0; i < 2; i++) {
        describe(dump, code, sizeof code, page, names[i], i);
        run(page, run_ns);
    }
    memcpy(page + 1024, frameless, sizeof frameless);
    describe_unwinding(dump);
    describe(dump, frameless, sizeof frameless, page + 1024, "spin_frameless", 2);
    run(page + 1024, run_ns);
    return 0;
}
