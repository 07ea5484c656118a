# gecko-convert: see `make help`.
#
# Everything is built below $(BUILD); the sanitizer build has a folder of its own. Objects depend on the compiler and
# its flags (through $(BUILD)/flags), so changing CC or CFLAGS rebuilds what it must.

BUILD      ?= build
PREFIX     ?= /usr/local
DESTDIR    ?=
CC         ?= cc
CFLAGS     ?= -O2 -g
PKG_CONFIG ?= pkg-config
OBJCOPY    ?= objcopy
JOBS       ?= $(shell nproc)
VERSION    := $(shell sed -n 's/^.define GECKO_CONVERT_VERSION "\(.*\)"/\1/p' cli/gecko_convert.h)
RECORDER_VERSION := $(shell sed -n 's/^.define GREC_VERSION "\(.*\)"/\1/p' recorder/gecko_recorder.h)

# They change when a program that was linked before would not run any more.
CONVERT_ABI  := 0
RECORDER_ABI := 0

packages      := libdw libelf liblzma libxxhash zlib
# Loaded when it is needed (libconvert/libarchive.h); what is linked statically links this too.
late_packages := libarchive
# The program's alone: what embeds the library does not need them.
program_packages := yajl
all_packages  := $(packages) $(late_packages) $(program_packages)
test_packages := cmocka

# It has no description for pkg-config.
demangler := -liberty

# Code for any address throughout: programs, static libraries, which may go into shared ones, and shared libraries are
# made of the same objects.
warnings := -Wall -Wextra -Wconversion -Wshadow
# Sanitized code is optimised less: it compiles in half the time, and the sanitizers see as much. Other builds show the
# warnings.
sanitize := $(if $(SANITIZE),-O1 -w -fsanitize=$(SANITIZE) -fno-omit-frame-pointer -fno-sanitize-recover=all)

# Checks at run time and read-only tables of the linker. They stand before the flags of whoever builds, which may take them
# back. _FORTIFY_SOURCE needs an optimizing compiler, and sanitizers check the plain functions more thoroughly.
optimizes := $(filter-out -O0,$(lastword $(filter -O%,$(CPPFLAGS) $(CFLAGS))))
fortify   := $(if $(SANITIZE)$(findstring _FORTIFY_SOURCE,$(CPPFLAGS) $(CFLAGS)),,$(if $(optimizes),\
    -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3))
harden    := -fstack-protector-strong $(fortify)

compile_flags := -std=gnu11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -I. -fPIC -fvisibility=hidden $(warnings) $(harden) \
    $(CPPFLAGS) $(CFLAGS) $(sanitize)
compile       := $(CC) $(compile_flags)
link_flags    := -Wl,-z,relro -Wl,-z,now $(CFLAGS) $(sanitize) $(LDFLAGS)
link          := $(CC) $(link_flags)
link_program  := $(CC) -pie $(link_flags)

quiet = $(if $(V),,@echo '  $(1) $(2)';)

# ---- Sources. ----

library_sources := \
    libconvert/arena.c libconvert/categories.c libconvert/child_process.c libconvert/column.c libconvert/counters.c libconvert/cursor.c \
    libconvert/debug_data.c libconvert/debug_file.c libconvert/debug_file_search.c libconvert/decimal.c \
    libconvert/failure.c libconvert/file_stamp.c libconvert/index_set.c libconvert/ledger.c libconvert/libarchive.c \
    libconvert/library_symbols.c libconvert/libs.c libconvert/machine_memory.c libconvert/markers.c libconvert/memory.c libconvert/printable.c \
    libconvert/profile.c \
    libconvert/profile_allocations.c libconvert/profile_finish.c libconvert/profile_markers.c libconvert/progress.c \
    libconvert/reserved_types.c libconvert/row_table.c libconvert/stack_path.c libconvert/strings.c libconvert/sweep.c libconvert/symbol_lines.c \
    libconvert/symbol_names.c libconvert/symbol_stubs.c libconvert/symbol_table.c libconvert/symbol_worker.c libconvert/symbolize.c \
    libconvert/threads.c libconvert/utf8.c libconvert/utf8_locale.c readers/collapsed.c readers/collapsed_line.c \
    readers/collapsed_stacks.c readers/foreign.c readers/input.c readers/input_archive.c readers/input_gzip.c readers/input_lzma.c \
    readers/input_members.c readers/native_chunks.c readers/native_clock.c readers/native_code.c \
    readers/native_counters.c readers/native_cursor.c readers/native_definitions.c readers/native_events.c \
    readers/native_jit.c readers/native_jitdump.c readers/native_ledger.c readers/native_log.c \
    readers/native_mappings.c readers/native_marker_type.c readers/native_payload.c readers/native_sampled.c \
    readers/native_stack.c readers/native_tasks.c readers/native_times.c readers/native_trace.c \
    readers/perf_event_line.c readers/perf_events.c readers/perf_frame_line.c readers/perf_header.c \
    readers/perf_maps.c readers/perf_records.c readers/perf_samples.c readers/perf_script.c \
    readers/perf_script_names.c readers/perf_stack.c readers/perf_symbols.c readers/perf_tasks.c readers/registry.c \
    readers/scan.c writer/chunk_list.c writer/counter_json.c writer/emitters.c writer/gecko.c writer/gecko_location.c \
    writer/gecko_losses.c writer/gecko_process.c writer/gecko_tables.c writer/gecko_thread.c writer/gecko_weights.c \
    writer/json.c writer/log_json.c writer/marker_json.c writer/meta_json.c writer/numbering.c writer/overhead_json.c \
    writer/processed.c writer/processed_counters.c writer/processed_tables.c writer/processed_thread.c writer/sink.c \
    writer/table_of_columns.c writer/table_of_rows.c writer/thread_json.c cli/convert.c cli/file_identity.c \
    cli/report.c

program_sources := \
    writer/archive_file.c cli/arguments.c cli/batch/batch.c cli/batch/batch_convert.c cli/batch/batch_entry.c \
    cli/batch/batch_find.c cli/batch/batch_look.c cli/batch/batch_plan.c cli/batch/batch_table.c cli/batch/crew.c \
    cli/batch/file_digest.c cli/batch/junit.c cli/batch/manifest.c cli/batch/manifest_parts.c \
    cli/batch/manifest_records.c cli/batch/member_path.c cli/batch/workspace.c cli/bus_guard.c cli/check/check.c \
    cli/check/check_command.c cli/check/check_common.c cli/check/check_gecko.c cli/check/check_markers.c \
    cli/check/check_processed.c cli/check/check_rules.c cli/check/gzip_end.c cli/check/offences.c cli/command.c \
    cli/console.c cli/document.c cli/exit_guard.c cli/info/info.c cli/info/info_command.c cli/info/info_document.c \
    cli/info/info_json.c cli/info/info_profile.c cli/info/info_text.c cli/info/totals.c cli/options.c \
    cli/output_name.c cli/progress_tty.c cli/style.c

recorder_sources := \
    recorder/allocations.c recorder/backtrace.c recorder/chunk_pool.c recorder/clock.c recorder/counters.c \
    recorder/cpu_balance.c recorder/cpu_turns.c recorder/definitions.c recorder/environment.c recorder/frame_depth.c \
    recorder/hash.c recorder/label_copy.c recorder/libc_thread.c recorder/libraries.c recorder/mappings.c \
    recorder/markers.c recorder/merged_stack.c recorder/own_files.c recorder/own_memory.c recorder/own_signal.c \
    recorder/own_stack.c recorder/own_thread.c recorder/payload.c recorder/process.c recorder/process_counters.c \
    recorder/sample_slot.c recorder/sampled_thread.c recorder/sampler.c recorder/session.c recorder/stack.c \
    recorder/stack_walk.c recorder/task_file.c recorder/task_list.c recorder/task_wait.c recorder/thread_handle.c \
    recorder/thread_registry.c recorder/thread_stack.c recorder/unwind_cfi.c recorder/unwind_none.c \
    recorder/unwind_program.c recorder/unwind_table.c recorder/waiting_stack.c recorder/work_alarm.c \
    recorder/writer.c

unit_tests := $(patsubst tests/unit/%.c,%,$(wildcard tests/unit/test_*.c))
# These replace the allocator or the dynamic linker, as the sanitizers do, or load the recorder into programs that were built without them.
unsanitized_unit_tests := test_allocation_failure test_libarchive test_sampler_preload
sanitized_unit_tests   := $(filter-out $(unsanitized_unit_tests),$(unit_tests))
# The thread sanitizer runs handlers late: what signals do to calls of the system is not for it.
# Those with a single thread have nothing for it.
threaded_unit_tests    := test_batch test_convert $(filter-out test_sampler_calls,\
    $(filter test_recorder_% test_sampler_% test_crash_%,$(sanitized_unit_tests)))

library_objects := $(library_sources:%.c=$(BUILD)/obj/%.o)
program_objects := $(program_sources:%.c=$(BUILD)/obj/%.o)
main_object     := $(BUILD)/obj/cli/main.o
# With libarchive linked, not loaded: of the static library, which only reads, and of the static program.
embedded_objects := $(library_objects:%/libarchive.o=%/libarchive_reader.o)
static_objects   := $(library_objects:%/libarchive.o=%/libarchive_writer.o)
recorder_objects := $(recorder_sources:%.c=$(BUILD)/obj/%.o)

# ---- What is built. ----

.PHONY: all
all: $(BUILD)/gecko-convert $(BUILD)/libgecko_convert.a $(BUILD)/libgecko_convert.so $(BUILD)/libgecko_recorder.a \
    $(BUILD)/libgecko_recorder.so $(BUILD)/libgecko_recorder_memory.so

# Asked for only when something is compiled, and told plainly when it is missing.
package_flags = $(shell $(PKG_CONFIG) $(1) $(2) 2>/dev/null)

$(BUILD)/flags: force
	@$(PKG_CONFIG) --exists $(all_packages) || \
	    { echo "gecko-convert needs $(all_packages): run 'make deps'" >&2; exit 1; }
	@mkdir -p $(@D)
	@echo '$(compile) $(link_program)' | cmp -s - $@ || echo '$(compile) $(link_program)' > $@

$(BUILD)/obj/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,CC,$<)$(compile) $(call package_flags,--cflags,$(all_packages)) -MMD -MP -c $< -o $@

$(BUILD)/obj/libconvert/libarchive_writer.o: private compile += -DGECKO_LINKS_LIBARCHIVE_WRITER

$(BUILD)/obj/libconvert/libarchive_reader.o $(BUILD)/obj/libconvert/libarchive_writer.o: libconvert/libarchive.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,CC,$@)$(compile) -DGECKO_LINKS_LIBARCHIVE $(call package_flags,--cflags,$(all_packages)) -MMD -MP -c $< -o $@

$(BUILD)/gecko-convert: $(main_object) $(program_objects) $(library_objects)
	$(call quiet,LINK,$@)$(link_program) $^ $(call package_flags,--libs,$(packages) $(program_packages)) $(demangler) -o $@

# One object in which only the public names are left.
$(BUILD)/libgecko_convert.a: $(embedded_objects)
	$(call quiet,AR,$@)$(CC) -nostdlib -r $^ -o $(BUILD)/gecko_convert.o
	@$(OBJCOPY) --localize-hidden $(BUILD)/gecko_convert.o
	@rm -f $@
	@$(AR) rcs $@ $(BUILD)/gecko_convert.o

# Nothing of the archives that go into it is seen from outside.
$(BUILD)/libgecko_convert.so: $(library_objects)
	$(call quiet,LINK,$@)$(link) -shared -Wl,-soname,libgecko_convert.so.$(CONVERT_ABI) -Wl,-z,defs -Wl,--as-needed \
	    -Wl,--exclude-libs,ALL $^ $(call package_flags,--libs,$(packages)) $(demangler) -o $@

$(recorder_objects): private compile += -ftls-model=initial-exec

$(BUILD)/libgecko_recorder.a: $(recorder_objects)
	$(call quiet,AR,$@)$(CC) -nostdlib -r $^ -o $(BUILD)/gecko_recorder.o
	@$(OBJCOPY) --localize-hidden $(BUILD)/gecko_recorder.o
	@rm -f $@
	@$(AR) rcs $@ $(BUILD)/gecko_recorder.o

# Functions of the C library that the recorder stands before: not in the archive, which would put them into programs.
preload_sources := recorder/signal_preload.c recorder/single_thread.c
preload_objects := $(preload_sources:%.c=$(BUILD)/obj/%.o)

$(preload_objects): private compile += -ftls-model=initial-exec

# Threads call it when they end, so it stays when a plugin that brought it is unloaded.
$(BUILD)/libgecko_recorder.so: $(recorder_objects) $(preload_objects)
	$(call quiet,LINK,$@)$(link) -shared -Wl,-z,nodelete -Wl,-soname,libgecko_recorder.so.$(RECORDER_ABI) $^ -pthread -o $@

# The compiler's knowledge of malloc would make calls of this library out of its own functions.
$(BUILD)/obj/recorder/memory_preload.o: private compile += -fno-builtin

# It finds the recorder beside itself, wherever the two are installed. Empty where the dynamic linker finds both.
MEMORY_RPATH ?= $$ORIGIN

# The recorder comes before the C library too, as it does when it is preloaded itself: as what this library is auxiliary
# to, it is looked into first.
$(BUILD)/libgecko_recorder_memory.so: $(BUILD)/obj/recorder/memory_preload.o $(BUILD)/libgecko_recorder.so
	@ln -sf libgecko_recorder.so $(BUILD)/libgecko_recorder.so.$(RECORDER_ABI)
	$(call quiet,LINK,$@)$(link) -shared -Wl,-soname,$(@F).$(RECORDER_ABI) \
	    -Wl,-f,libgecko_recorder.so.$(RECORDER_ABI) $(MEMORY_RPATH:%='-Wl,-rpath,%') $^ -ldl -o $@

# Unit tests are linked with this archive, of which each takes what it uses, and with the whole recorder, part of which
# starts by itself.
$(BUILD)/tests/converter.a: $(program_objects) $(library_objects)
	@mkdir -p $(@D)
	@rm -f $@
	$(call quiet,AR,$@)$(AR) rcs $@ $^

$(BUILD)/tests/%: tests/unit/%.c $(BUILD)/tests/converter.a $(recorder_objects) $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,TEST,$@)$(compile) $(call package_flags,--cflags,$(all_packages) $(test_packages)) -MMD -MP $< \
	    $(recorder_objects) $(BUILD)/tests/converter.a $(LDFLAGS) \
	    $(call package_flags,--libs,$(packages) $(program_packages) $(test_packages)) $(demangler) -lpthread -o $@

# They make archives, and look into them.
$(BUILD)/tests/test_allocation_failure $(BUILD)/tests/test_input $(BUILD)/tests/test_sink: private test_packages += $(late_packages)

# What the test of stack walks loads at run time: calls of the C library are bound at their first use.
$(BUILD)/tests/test_stack_walk: | $(BUILD)/tests/walked_object.so

$(BUILD)/tests/walked_object.so: tests/recorder/walked_object.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,LINK,$@)$(CC) -std=gnu11 $(warnings) -O2 -fPIC -fomit-frame-pointer -shared -Wl,-z,lazy $< -o $@

$(BUILD)/tests/test_sampler_storms $(BUILD)/tests/test_sampler_stacks: | $(BUILD)/tests/walked_object.so

# What the test of preloading runs.
preloaded_programs := $(BUILD)/tests/allocating $(BUILD)/tests/alone $(BUILD)/tests/ending

$(BUILD)/tests/test_sampler_preload: | $(preloaded_programs) $(BUILD)/libgecko_recorder_memory.so

$(preloaded_programs): $(BUILD)/tests/%: tests/recorder/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,LINK,$@)$(CC) -std=gnu11 -D_GNU_SOURCE $(warnings) -O1 -g $< -lpthread -o $@

-include $(wildcard $(patsubst %.o,%.d,$(sort $(recorder_objects) $(library_objects) $(embedded_objects) $(static_objects) \
    $(program_objects) $(main_object))) $(BUILD)/tests/*.d)

# Programs that the recorder must not harm: see tests/hosts/run.py.
host_programs := $(patsubst tests/hosts/%.c,$(BUILD)/hosts/%,$(wildcard tests/hosts/*.c))

$(host_programs): $(BUILD)/hosts/%: tests/hosts/%.c tests/hosts/host.h $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,LINK,$@)$(CC) -std=gnu11 -D_GNU_SOURCE $(warnings) -O1 -g $< -lpthread -ldl -o $@

# ---- The demo application. ----

demo_parts   := darkroom logger packer picture queue recipe store telemetry worker
demo_objects := $(demo_parts:%=$(BUILD)/obj/fixtures/demo/%.o)
framed_demo_objects := $(demo_parts:%=$(BUILD)/obj/fixtures/demo-frame-pointers/%.o)

# It includes the recorder's header as users do. Lines of its source are for the call tree.
compile_demo = $(call quiet,CC,$<)$(compile) -g $(1) -Irecorder -MMD -MP -c $< -o $@

$(BUILD)/obj/fixtures/demo/%.o: fixtures/demo/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call compile_demo,-fomit-frame-pointer)

$(BUILD)/demo/darkroom: $(demo_objects) $(BUILD)/libgecko_recorder.a
	@mkdir -p $(@D)
	$(call quiet,LINK,$@)$(link) $^ -lpthread -o $@

# The same program, in whose functions the other way of finding callers works too.
$(BUILD)/obj/fixtures/demo-frame-pointers/%.o: fixtures/demo/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call compile_demo,-fno-omit-frame-pointer)

$(BUILD)/demo/frame-pointers/darkroom: $(framed_demo_objects) $(BUILD)/libgecko_recorder.a
	@mkdir -p $(@D)
	$(call quiet,LINK,$@)$(link) $^ -lpthread -o $@

# What they record, and the profiles of that, for tests.
$(BUILD)/demo/plain.trace: $(BUILD)/demo/darkroom fixtures/demo/darkroom.recipe
	$< fixtures/demo/darkroom.recipe $@

$(BUILD)/demo/frame-pointers.trace: $(BUILD)/demo/frame-pointers/darkroom fixtures/demo/darkroom.recipe
	$< fixtures/demo/darkroom.recipe $@

$(BUILD)/demo/processed.%.json: $(BUILD)/demo/%.trace $(BUILD)/gecko-convert
	$(BUILD)/gecko-convert --quiet --format processed $< -o $@

$(BUILD)/demo/gecko.%.json: $(BUILD)/demo/%.trace $(BUILD)/gecko-convert
	$(BUILD)/gecko-convert --quiet --format gecko $< -o $@

demo_profiles := $(foreach format,processed gecko,$(foreach build,plain frame-pointers,\
    $(BUILD)/demo/$(format).$(build).json))

# Kept for a look at what a test did not like.
.SECONDARY: $(BUILD)/demo/plain.trace $(BUILD)/demo/frame-pointers.trace

-include $(wildcard $(demo_objects:.o=.d) $(framed_demo_objects:.o=.d))

# ---- Tests. ----

# Each suite prints lines like "NAME: N passed, N failed", which .ci/run adds up. The slow ones come first, so that the
# quick ones fill the gaps. Suites mostly wait, for processes that they start: there are more jobs than processors.
TEST_JOBS ?= $(shell expr 2 '*' $$(nproc))

# A test program built with sanitizers fails if any of its processes reports something.
run_test = $(if $(SANITIZE),tests/support/run_sanitized.sh )$(1)

.PHONY: test check unit-test include-test readings cli-test batch-test profile-rules goldens update-goldens client-test \
    headers-test asan sanitized-check tsan threads-check warnings bench
test:
	tests/support/install_packages.sh build static package test
	$(MAKE) -j$(TEST_JOBS) --output-sync=target --no-print-directory CFLAGS='$(CFLAGS) -Werror' check asan tsan warnings
	$(MAKE) CFLAGS='$(CFLAGS) -Werror' test-programs

check: hosts-test install-test client-test unit-test batch-test cli-test headers-test profile-rules goldens readings fuzz-replay \
    include-test

include-test:
	tests/support/check_includes.sh

# Programs whose packages cannot be installed are left out, and said.
.PHONY: test-programs
test-programs: all
	tests/support/install_packages.sh programs || echo 'real programs: NOT ALL PACKAGES CAN BE INSTALLED'
	tests/programs/run.py $(BUILD)

unit-test: $(unit_tests:%=run-%)

$(unit_tests:%=run-%): run-%: $(BUILD)/tests/%
	@$(call run_test,tests/support/run_unit_test.sh $<)

.PHONY: hosts-test
hosts-test: $(host_programs) $(BUILD)/gecko-convert $(BUILD)/libgecko_recorder.so
	tests/hosts/run.py $(BUILD)

readings: $(BUILD)/gecko-convert
	tests/support/check_readings.py $(abspath $<)

cli-test: $(BUILD)/gecko-convert
	GECKO_CONVERT=$(abspath $<) tests/cli/run.sh

batch-test: $(BUILD)/gecko-convert
	tests/support/check_batches.py $<

profile-rules: $(BUILD)/gecko-convert $(demo_profiles)
	tests/check/rules.py $(abspath $<)
	tests/check/info.py $(abspath $<) $(BUILD)/demo/plain.trace $(BUILD)/demo/processed.plain.json \
	    $(BUILD)/demo/gecko.plain.json

goldens: $(BUILD)/gecko-convert
	GECKO_CONVERT=$(abspath $<) $(call run_test,tests/support/goldens.sh check)

update-goldens: $(BUILD)/gecko-convert
	GECKO_CONVERT=$(abspath $<) tests/support/goldens.sh update

client-test: $(BUILD)/gecko-convert $(demo_profiles)
	tests/client/setup.sh build/client
	tests/client/run.sh build/client
	build/client/bin/node tests/client/check_demo.mjs build/client $(demo_profiles)

headers-test: all
	tests/recorder/headers.sh $(BUILD)

asan:
	$(MAKE) BUILD=build/asan SANITIZE=address,undefined sanitized-check

# Conversions side by side in threads, and the recorder, under the thread sanitizer.
tsan:
	$(MAKE) BUILD=build/tsan SANITIZE=thread threads-check

# The warnings of the other compiler: those of the first one are errors wherever the tests build something.
warned_sources := $(library_sources) $(program_sources) $(recorder_sources) recorder/memory_preload.c recorder/single_thread.c cli/main.c \
    $(wildcard tests/unit/*.c tests/fuzz/*.c fixtures/demo/*.c)
warnings:
	@printf '%s\n' $(warned_sources) | xargs -n 8 -P $(JOBS) clang $(compile_flags) -Irecorder -Werror -fsyntax-only
	@echo 'warnings of clang: $(words $(warned_sources)) passed, 0 failed'

sanitized-check: $(sanitized_unit_tests:%=run-%) fuzz-replay goldens

threads-check: $(threaded_unit_tests:%=run-%)

# ---- Fuzzing. ----

fuzz_targets    := fuzz_perf_script fuzz_collapsed fuzz_native_trace fuzz_native_packed fuzz_jit fuzz_symbols \
    fuzz_symbol_name fuzz_input fuzz_batch fuzz_manifest fuzz_profile fuzz_options
fuzz_support    := $(patsubst %,$(BUILD)/obj/tests/fuzz/%.o,conversion source_file)
fuzz_objects    := $(fuzz_support) $(patsubst %,$(BUILD)/obj/tests/fuzz/%.o,replay $(fuzz_targets))
replay_programs := $(fuzz_targets:%=$(BUILD)/replay/%)
fuzz_programs   := $(fuzz_targets:%=$(BUILD)/%)
FUZZ_SECONDS    ?= 60

# The targets over files, without a fuzzer.
$(BUILD)/replay/%: $(BUILD)/obj/tests/fuzz/%.o $(fuzz_support) $(BUILD)/obj/tests/fuzz/replay.o $(program_objects) \
    $(library_objects)
	@mkdir -p $(@D)
	$(call quiet,LINK,$@)$(link) $^ $(call package_flags,--libs,$(packages) $(program_packages)) $(demangler) -o $@

$(BUILD)/fuzz_%: $(BUILD)/obj/tests/fuzz/fuzz_%.o $(fuzz_support) $(program_objects) $(library_objects)
	$(call quiet,LINK,$@)$(link) -fsanitize=fuzzer $^ $(call package_flags,--libs,$(packages) $(program_packages)) \
	    $(demangler) -o $@

.SECONDARY: $(fuzz_objects)
-include $(wildcard $(fuzz_objects:.o=.d))

.PHONY: fuzz fuzz-programs fuzz-replay
fuzz-replay: $(replay_programs)
	$(call run_test,tests/fuzz/replay.sh $^)

fuzz:
	tests/support/install_packages.sh build fuzz
	$(MAKE) -j$(JOBS) BUILD=build/fuzz CC=clang SANITIZE=fuzzer-no-link,address,undefined fuzz-programs
	tests/fuzz/run.sh build/fuzz $(FUZZ_SECONDS) $(JOBS) $(fuzz_targets:%=build/fuzz/%)

fuzz-programs: $(fuzz_programs)

include packaging/install.mk

# ---- For people. ----

.PHONY: deps demo clean help force
deps:
	tests/support/install_packages.sh build

demo:
	tests/support/install_packages.sh build
	$(MAKE) all $(BUILD)/demo/darkroom
	fixtures/demo.sh $(BUILD)/gecko-convert $(BUILD)/demo/darkroom $(BUILD)/demo

# BENCH_MIB: size of the input.
BENCH_MIB ?= 256
bench: $(BUILD)/gecko-convert
	tests/support/install_packages.sh build test
	xz -dc fixtures/recordings/system-wide.txt.xz > $(BUILD)/bench-recording.txt
	bench/repeat_perf_script.py $(BUILD)/bench-recording.txt $(BENCH_MIB) > $(BUILD)/bench-input.txt
	GECKO_CONVERT=$< bench/convert.sh $(BUILD)/bench-input.txt

# Peers whose packages cannot be installed are left out, and said.
.PHONY: bench-recorder
bench-recorder: all
	-tests/support/install_packages.sh build test bench
	CC='$(CC)' CFLAGS='$(CFLAGS)' bench/recorder.py --build $(BUILD)
	CC='$(CC)' bench/sampler.py --build $(BUILD)

.PHONY: bench-programs
bench-programs: all
	-tests/support/install_packages.sh programs bench
	bench/programs.py --build $(BUILD)

clean:
	rm -rf $(BUILD)

help:
	@echo 'make                 the converter and the recorder, as programs and libraries, in build/'
	@echo 'make demo            install what is missing, build, record and convert a demo, say how to look at it'
	@echo 'make test            install what tests need, build, run all tests, the real client included'
	@echo 'make check           the tests without installing packages and without the sanitizers'
	@echo 'make test-programs   PostgreSQL, nginx, chromium and others with the recorder preloaded'
	@echo 'make hosts-test      programs that the recorder must not harm, with and without it'
	@echo 'make asan            unit tests and goldens under the address and undefined-behaviour sanitizers'
	@echo 'make tsan            conversions in threads and the recorder under the thread sanitizer'
	@echo 'make fuzz            fuzz everything that reads foreign bytes, FUZZ_SECONDS=60 each, JOBS at a time'
	@echo 'make warnings        what clang warns of, in all sources; warnings are errors'
	@echo 'make bench           time and memory of a large conversion; see bench/README.md'
	@echo 'make bench-recorder  what events and samples cost, beside others; see bench/README.md'
	@echo 'make bench-programs  what recording real programs costs, beside perf; see bench/README.md'
	@echo 'make update-goldens  write the golden outputs anew; read the diff'
	@echo 'make install         programs, libraries, headers, pages, completions: PREFIX=/usr/local DESTDIR= LIBDIR= …'
	@echo 'make uninstall       remove what make install with the same variables has installed'
	@echo 'make static          build/static/gecko-convert, which needs no library'
	@echo 'make deb             Debian packages, in build/deb/'
	@echo 'make install-test    installs, packages, the examples and the cookbook'
	@echo 'make deps            install the Debian packages that building needs'
	@echo 'make clean           remove build/'
	@echo 'Variables: CC CFLAGS CPPFLAGS LDFLAGS BUILD SANITIZE V=1'
