/* The sampler's functions that the recorder calls: see recorder/state/sampler_hooks.h. */
#include "recorder/state/sampler_hooks.h"

#include "allocations.h"
#include "last_mapping.h"
#include "libraries.h"
#include "on_demand.h"
#include "own_signal.h"
#include "own_stack.h"
#include "own_thread.h"
#include "recorder/state/own_code.h"
#include "recorder/state/own_files.h"
#include "sampler.h"
#include "unsampled.h"

static void init(void) {
    own_code_register();
    own_thread_init();
}

static void mark_unsampled(uint64_t start_ns, grec_time end, bool is_confined) {
    if (!is_confined) sampler_write_unsampled();
    unsampled_mark(start_ns, end);
}

static bool is_signal_name(const char *text) {
    int number;
    return own_signal_parse(text, &number);
}

const struct sampler_hooks grec_sampler_hooks_ = {
    .version = GREC_VERSION,
    .init = init,
    .start = sampler_start,
    .is_started = sampler_is_started,
    .has_begun = sampler_has_begun,
    .change = sampler_change,
    .stop = sampler_stop,
    .finish = sampler_finish,
    .forget = sampler_forget,
    .thread_count = own_thread_count,
    .samples_threads = sampler_samples_threads,
    .has_trace_file = sampler_has_trace_file,
    .mark_unsampled = mark_unsampled,
    .end_of_thread = own_thread_end_of_another,
    .is_signal_name = is_signal_name,
    .forbid_signal = own_signal_forbid,
    .prepare_fork = libraries_prepare_fork,
    .finish_fork = libraries_finish_fork,
    .await_begin = sampler_await_begin,
    .leave_parent = sampler_leave_parent,
    .enter_child = last_mapping_enter_child,
    .pack_stack = own_stack_pack,
    .last_mapping_id = own_stack_last_mapping_id,
    .add_allocation = allocations_add,
    .remove_allocation = allocations_remove,
    .forget_allocations = allocations_forget,
    .resume_allocations = allocations_resume,
    .sample_thread = on_demand_sample_thread,
    .wait_for_rounds = on_demand_wait,
    .report = own_files_report,
};
