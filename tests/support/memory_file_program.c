/* Runs generated code in a memory file, as .NET does, and describes it in a perf map. x86-64. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { PAGE_BYTES = 4096, CODE_OFFSET = 256, RUN_S = 1 };

/* Counts rdi down to 0, with a frame pointer: push rbp; mov rbp, rsp; dec rdi; jnz -5; pop rbp; ret */
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0x48, 0xff, 0xcf, 0x75, 0xfb, 0x5d, 0xc3};

int main(void) {
    char path[64];
    int file = memfd_create("doublemapper", 0);
    if (file < 0 || ftruncate(file, PAGE_BYTES) != 0) return 1;
    char *writable = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    char *executable = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
    memcpy(writable + CODE_OFFSET, code, sizeof code);
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)getpid());
    FILE *map = fopen(path, "w");
    if (!map) return 1;
    fprintf(map, "%llx %zx void [App] App.Service::Spin(int64)[OptimizedTier1]\n",
            (unsigned long long)(uintptr_t)executable + CODE_OFFSET, sizeof code);
    fclose(map);
    puts(path);
    char *start = executable + CODE_OFFSET;
    void (*function)(uint64_t);
    memcpy(&function, &start, sizeof function);
    for (time_t end = time(NULL) + RUN_S; time(NULL) <= end;) function(100000);
    return 0;
}
