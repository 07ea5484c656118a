#include "thread_memory.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Distance from pthread_self() to the word of a thread that the kernel clears when the thread ends. 0: unknown. */
static uintptr_t tid_distance;

void thread_memory_init(void) {
    uint32_t *tid = NULL;
    if (tid_distance || syscall(SYS_gettid) != getpid()) return;
    if (prctl(PR_GET_TID_ADDRESS, &tid, 0, 0, 0) == 0 && tid && *tid == (uint32_t)getpid())
        tid_distance = (uintptr_t)tid - (uintptr_t)pthread_self();
}

uint32_t *thread_memory_tid(pthread_t thread) {
    return tid_distance ? (uint32_t *)((uintptr_t)thread + tid_distance) : NULL;
}

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define IS_SANITIZED 1
#endif
#endif

#if defined(__GLIBC__) && (defined(__x86_64__) || defined(__aarch64__)) && !defined(IS_SANITIZED)

/* From the lowest address: what must not be accessible, the stack of clones, and the stack, thread-local storage and
 * control block of the thread that the C library makes. */
enum {
    GUARD_BYTES = 64 * 1024, /* the largest page */
    CLONE_BYTES = 256 * 1024,
    CREATED_BYTES = 512 * 1024,
    MAPPED_BYTES = GUARD_BYTES + CLONE_BYTES + CREATED_BYTES,
};

void thread_memory_map(struct thread_memory *memory) {
    if (memory->bytes || !tid_distance) return;
    void *bytes = mmap(NULL, MAPPED_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (bytes == MAP_FAILED) return;
    if (mprotect((unsigned char *)bytes + GUARD_BYTES, MAPPED_BYTES - GUARD_BYTES, PROT_READ | PROT_WRITE) == 0)
        memory->bytes = bytes;
    else
        munmap(bytes, MAPPED_BYTES);
}

bool thread_memory_create(struct thread_memory *memory, void *(*run)(void *context), void *context) {
    pthread_attr_t attributes;
    if (!memory->bytes || pthread_attr_init(&attributes) != 0) return false;
    unsigned char *created = memory->bytes + GUARD_BYTES + CLONE_BYTES;
    memory->has_block = pthread_attr_setstack(&attributes, created, CREATED_BYTES) == 0 &&
                        pthread_create(&memory->handle, &attributes, run, context) == 0;
    pthread_attr_destroy(&attributes);
    return memory->has_block;
}

/* On x86-64, the thread pointer is the address of the control block; on ARM64, that of its end. */
static void *thread_pointer(pthread_t thread) {
    uintptr_t distance = 0;
#if defined(__aarch64__)
    distance = (uintptr_t)__builtin_thread_pointer() - (uintptr_t)pthread_self();
#endif
    return (void *)((uintptr_t)thread + distance);
}

bool thread_memory_clone(const struct thread_memory *memory, int (*run)(void *context), void *context) {
    const int flags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |
                      CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;
    uint32_t *tid = thread_memory_tid(memory->handle);
    return clone(run, memory->bytes + GUARD_BYTES + CLONE_BYTES, flags, context, tid, thread_pointer(memory->handle),
                 tid) > 0;
}

/* The kernel wakes those who wait for the word as if other processes could wait for it too. */
void thread_memory_join_clone(const struct thread_memory *memory) {
    const uint32_t *word = thread_memory_tid(memory->handle);
    uint32_t tid;
    while ((tid = __atomic_load_n(word, __ATOMIC_ACQUIRE)) != 0)
        syscall(SYS_futex, word, FUTEX_WAIT, tid, NULL, NULL, 0);
}

#else

/* The sanitizers do not know clones. */
void thread_memory_map(struct thread_memory *memory) { (void)memory; }

bool thread_memory_create(struct thread_memory *memory, void *(*run)(void *context), void *context) {
    (void)memory, (void)run, (void)context;
    return false;
}

bool thread_memory_clone(const struct thread_memory *memory, int (*run)(void *context), void *context) {
    (void)memory, (void)run, (void)context;
    return false;
}

void thread_memory_join_clone(const struct thread_memory *memory) { (void)memory; }

#endif
