/* Stands in for the C library's dl_iterate_phdr, by which the sampler finds libraries in each of its rounds. Makes the
 * next calls slow, so that the sampler is as late as on a busy machine or in a large program. */
#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <unistd.h>

typedef int visitor(struct dl_phdr_info *object, size_t bytes_count, void *context);

extern atomic_int late_call_count;
atomic_int late_call_count;

int dl_iterate_phdr(visitor *visit, void *context) {
    enum { DELAY_US = 200000 };
    int (*iterate)(visitor *, void *) = (int (*)(visitor *, void *))dlsym(RTLD_NEXT, "dl_iterate_phdr");
    if (atomic_load(&late_call_count) > 0) {
        atomic_fetch_sub(&late_call_count, 1);
        usleep(DELAY_US);
    }
    return iterate(visit, context);
}
