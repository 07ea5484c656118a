#include "stack_path.h"

#include "libconvert/base/memory.h"

struct stack_path_step {
    frame_id frame;
    stack_id stack;
};

void stack_path_fini(struct stack_path *path) {
    memory_free(path->steps);
    *path = (struct stack_path){0};
}

stack_id stack_path_go_on(struct stack_path *path, struct profile *profile, uint32_t kept_count, const frame_id *frames,
                          uint32_t count) {
    stack_id stack = kept_count ? path->steps[kept_count - 1].stack : stack_none();
    path->count = kept_count;
    if (!memory_reserve(profile->failure, &path->steps, &path->capacity, kept_count + count, sizeof *path->steps))
        return stack_none();
    for (uint32_t i = 0; i < count; i++) {
        stack = profile_stack(profile, stack, frames[i]);
        if (stack_is_none(stack)) return stack;
        path->steps[path->count++] = (struct stack_path_step){frames[i], stack};
    }
    return stack;
}

frame_id stack_path_frame(const struct stack_path *path, uint32_t count) {
    return count ? path->steps[count - 1].frame : frame_none();
}
