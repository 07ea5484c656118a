#include "product_name.h"

#include "libconvert/base/cursor.h"

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
    struct column counts;
    const struct process *busiest = NULL;
    uint64_t most = 0;
    column_init(&counts, sizeof(uint64_t), profile->failure);
    for (size_t i = 0; i < profile->processes.count; i++) {
        uint64_t *count = column_push(&counts);
        if (!count) break;
        *count = 0;
    }
    for (size_t i = 0; i < profile->thread_order.count && counts.count == profile->processes.count; i++) {
        const thread_id *id = column_at(&profile->thread_order, i);
        const struct thread *thread = profile_thread_at(profile, *id);
        const struct process *process = profile_process_at(profile, thread->process);
        uint64_t *count = column_at(&counts, thread->process.index);
        *count += 1 + samples_count(&thread->samples); /* some traces have no samples */
        if (!is_program(process) || *count <= most) continue;
        most = *count;
        busiest = process;
    }
    column_fini(&counts);
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
