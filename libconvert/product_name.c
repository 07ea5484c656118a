#include "product_name.h"

#include "libconvert/base/cursor.h"
#include "libconvert/base/memory.h"

/* Returns whether the process has a pid and a name of its own: threads without names are called "thread 12", and
 * processes without main threads "process 12". */
static bool is_program(const struct process *process) {
    static const struct text nameless = TEXT("thread "), mainless = TEXT("process ");
    if (process->pid <= 0 || !process->name.bytes_count) return false;
    if (text_starts_with(process->name, mainless) &&
        text_equal(text_from(process->name, mainless.bytes_count), process->pid_text))
        return false;
    return !text_starts_with(process->name, nameless) ||
           !cursor_is_digit(process->name.bytes[process->name.bytes_count - 1]);
}

/* Returns the process that has the most samples. NULL if none is a program. */
static const struct process *busiest_process(const struct profile *profile) {
    const struct process *busiest = NULL;
    uint64_t most = 0;
    uint64_t *counts = memory_allocate_zeroed(profile->failure, profile->processes.count, sizeof *counts);
    for (size_t i = 0; counts && i < profile->thread_order.count; i++) {
        const struct thread *thread = profile_ordered_thread(profile, i);
        const struct process *process = profile_process_at(profile, thread->process);
        uint64_t *count = &counts[thread->process.index];
        *count += 1 + samples_count(&thread->samples); /* some traces have no samples */
        if (!is_program(process) || *count <= most) continue;
        most = *count;
        busiest = process;
    }
    memory_free(counts);
    return busiest;
}

struct text profile_product_name(struct profile *profile, const char *given, const char *reader_title) {
    const struct profile_meta *meta = &profile->meta;
    if (given && *given) return profile_text(profile, text_of(given));
    if (meta->product.bytes_count) return meta->product;
    const struct process *process = busiest_process(profile);
    if (process) return process->name;
    if (meta->imported_from.bytes_count) return meta->imported_from;
    return text_of(reader_title);
}
