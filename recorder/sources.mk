# The files with large arrays come last, so that the linker puts the small variables of the others on few pages. A forked
# child copies each page that it writes.
recorder_sources := \
    recorder/environment.c recorder/session.c recorder/settings.c \
    recorder/sample/call_filter.c recorder/sample/cpu_share.c recorder/sample/sample_ring.c recorder/sample/thread_clocks.c \
    recorder/sample/libc_thread.c recorder/sample/on_demand.c recorder/sample/own_memory.c recorder/sample/own_signal.c \
    recorder/sample/own_thread.c recorder/sample/sampler.c recorder/sample/task_file.c recorder/sample/task_wait.c \
    recorder/sample/thread_signal.c recorder/sample/work_alarm.c \
    recorder/pool/chunk_pool.c recorder/pool/pool_copy.c recorder/pool/pool_file.c \
    recorder/pool/pool_open.c recorder/pool/pool_path.c recorder/state/clock.c recorder/state/hash.c \
    recorder/state/own_files.c recorder/state/process.c recorder/state/recording_state.c recorder/state/signal_mask.c \
    recorder/unwind/stack_walk.c recorder/unwind/thread_stack.c recorder/unwind/unwind_cfi.c \
    recorder/unwind/unwind_none.c recorder/unwind/unwind_object.c recorder/unwind/unwind_program.c \
    recorder/unwind/unwind_table.c recorder/write/backtrace.c recorder/write/counters.c recorder/write/definitions.c \
    recorder/write/label_copy.c recorder/write/last_mapping.c recorder/write/markers.c recorder/write/merged_stack.c \
    recorder/write/own_stack.c recorder/write/payload.c recorder/write/sampled_thread.c \
    recorder/write/stack.c recorder/write/thread_handle.c recorder/write/thread_registry.c recorder/write/writer.c \
    recorder/sample/libraries.c recorder/location.c recorder/machine.c recorder/sample/task_list.c \
    recorder/sample/thread_observer.c recorder/sample/waiting_stack.c recorder/unwind/frame_depth.c \
    recorder/unwind/mappings.c recorder/write/allocations.c recorder/write/process_counters.c

# Functions that replace those of the C library. Only the shared library has them: the archive would put them into
# programs.
preload_sources := recorder/preload/signal_preload.c recorder/preload/single_thread.c

# The only source of the memory library.
memory_preload_source := recorder/preload/memory_preload.c
