# The recorder is three libraries. In each, the files with large arrays come last, so that the linker puts the small
# variables of the others on few pages. A forked child copies each page that it writes.

# What programs link with.
recorder_sources := \
    recorder/session/commands.c recorder/session/environment.c recorder/session/fork.c recorder/session/join.c \
    recorder/session/location.c recorder/session/sampler_control.c recorder/session/save.c \
    recorder/session/session_state.c recorder/session/settings.c recorder/session/start.c recorder/session/stop.c \
    recorder/pool/chunk_pool.c recorder/pool/pool_copy.c recorder/pool/pool_open.c recorder/pool/pool_pages.c \
    recorder/pool/pool_path.c recorder/state/clock.c recorder/state/hash.c recorder/state/own_code.c recorder/state/process.c \
    recorder/state/recording_state.c recorder/state/signal_mask.c \
    recorder/state/silent_process.c recorder/state/text_file.c recorder/write/backtrace.c recorder/write/counters.c recorder/write/definitions.c \
    recorder/write/exported.c recorder/write/labels.c recorder/write/markers.c recorder/write/memory_sum.c recorder/write/packed_stack.c recorder/write/payload.c recorder/write/stack.c \
    recorder/write/thread_handle.c recorder/write/thread_registry.c recorder/write/writer.c \
    recorder/session/machine_facts.c recorder/pool/pool_file.c recorder/state/scratch.c

# Only the shared library has this: see its header.
sampler_file_source := recorder/session/sampler_file.c

# The sampler, which the first library loads when it is asked for.
sampler_sources := \
    recorder/pool/pool_helper.c recorder/sampler/cpu_share.c recorder/sampler/hooks.c recorder/sampler/label_copy.c \
    recorder/sampler/last_mapping.c recorder/sampler/libc_thread.c recorder/sampler/merged_stack.c \
    recorder/sampler/on_demand.c recorder/state/own_files.c recorder/sampler/own_memory.c \
    recorder/sampler/own_signal.c recorder/sampler/own_stack.c recorder/sampler/own_thread.c \
    recorder/sampler/sample_ring.c recorder/sampler/sampled_thread.c recorder/sampler/sampler.c \
    recorder/sampler/task_file.c recorder/sampler/task_wait.c recorder/sampler/thread_clocks.c \
    recorder/sampler/thread_signal.c recorder/sampler/told_time.c recorder/sampler/unsampled.c recorder/sampler/work_alarm.c recorder/unwind/stack_walk.c \
    recorder/unwind/thread_stack.c recorder/unwind/unwind_cfi.c recorder/unwind/unwind_none.c \
    recorder/unwind/unwind_object.c recorder/unwind/unwind_program.c recorder/unwind/unwind_rule.c recorder/unwind/unwind_table.c \
    recorder/sampler/libraries.c recorder/sampler/process_counters.c recorder/sampler/task_list.c \
    recorder/sampler/thread_observer.c recorder/sampler/waiting_stack.c recorder/unwind/frame_depth.c \
    recorder/unwind/mappings.c recorder/sampler/allocations.c

# Functions that replace those of the C library, for programs that preload this library, which needs both others.
preload_sources := \
    recorder/preload/call_filter.c recorder/preload/signal_preload.c recorder/preload/single_thread.c \
    recorder/session/unknowing.c

# The only source of the memory library.
memory_preload_source := recorder/preload/memory_preload.c
