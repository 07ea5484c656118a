# The tests. Each suite prints lines like "NAME: N passed, N failed", which .ci/run adds up.

# More jobs than processors, because suites mostly wait for processes that they start.
TEST_JOBS ?= $(shell expr 2 '*' $$(nproc))

# -g1 leaves out the debug information of variables, which takes a sixth of the compiler's time.
test_cflags := $(CFLAGS) -g1 -Werror

.PHONY: test check
test:
	tests/support/install_packages.sh build static package test
	$(install_programs)
	$(MAKE) -j$(TEST_JOBS) --no-print-directory CFLAGS='$(test_cflags)' all
	$(MAKE) -j$(TEST_JOBS) --output-sync=target --no-print-directory CFLAGS='$(test_cflags)' \
	    UNIT_TESTS='$(optimized_unit_tests)' CONVERTER='$(BUILD)/static/gecko-convert' test-programs check lint asan tsan

# The slow suites come first, and the sanitizers, which have many short jobs, last. So all processors are busy until the
# end. The first `make` above builds what the slow suites run.
check: packages-test hosts-test accuracy-test record-test install-test client-test fleet-test runs-test batch-test cli-test headers-test \
    batch-kill-test debuginfod-test view-test viewer-test jobs-test profile-rules goldens perf-data-test readings include-test \
    version-test contributing-test unit-test

# Suites that start the converter hundreds of times run this one. `make test` sets it to the static program, which is made
# of the same objects, and starts in a tenth of the processor time. Other suites run the one with shared libraries.
CONVERTER ?= $(BUILD)/gecko-convert

# A test program that is built with sanitizers fails if any of its processes reports an error.
run_test = $(if $(SANITIZE),tests/support/run_sanitized.sh )$(1)

# Profiles do not depend on when files were written.
export SOURCE_DATE_EPOCH := 0

# ---- Unit tests. ----

unit_test_sources := $(wildcard tests/unit/*/test_*.c)
unit_tests        := $(basename $(notdir $(unit_test_sources)))
vpath test_%.c $(sort $(dir $(unit_test_sources)))

# These tests replace the allocator, as sanitizers do, or preload the recorder into programs without sanitizers.
unsanitized_unit_tests := test_allocation_failure test_sampler_preload
sanitized_unit_tests   := $(filter-out $(unsanitized_unit_tests),$(unit_tests))
# The thread sanitizer is useful only for tests with several threads in one process. The sanitizer delays signal handlers, so
# it cannot run tests of system calls that are interrupted.
threaded_unit_tests    := test_batch test_convert test_estimate test_gzip_writer test_perf_script test_several_inputs \
    test_thread_pool \
    $(filter-out test_crash_bytes test_crash_calls test_crash_group test_recorder_joining test_sampler_files,\
    $(filter test_recorder_% test_sampler_% test_crash_%,$(sanitized_unit_tests)))

# Tests of the recorder are programs as users build them, since its header has inline functions. What these test is the same
# without the optimizer, and no sanitizer makes them leave something out or do less, so they need no build of their own.
unoptimized_tests := $(addprefix test_,call_filter cpu_share frame_depth hash unwind_table work_alarm crash_storage \
    $(addprefix recorder_,counters environment joining lifecycle markers memory pool))
recorder_tests := $(filter-out $(unoptimized_tests),$(notdir $(basename $(wildcard tests/unit/recorder/test_*.c))))
# If sanitized builds run all tests too, the optimized build runs only these, and those that leave something out under
# every sanitizer. Goldens and other suites run the optimized converter.
optimized_unit_tests = $(sort $(recorder_tests) $(unsanitized_unit_tests) \
    $(notdir $(basename $(shell grep -l IS_SANITIZED $(unit_test_sources)))))

UNIT_TESTS ?= $(unit_tests)

.PHONY: unit-test
unit-test: $(UNIT_TESTS:%=run-%)

$(unit_tests:%=run-%): run-%: $(BUILD)/tests/%
	@$(call run_test,tests/support/run_unit_test.sh $<)

# No test that runs under the thread sanitizer uses these commands.
unthreaded_commands := $(if $(filter thread,$(SANITIZE)),$(patsubst %,$(BUILD)/obj/cli/%/%,check diff info record split view))

# Each unit test links only what it uses of the converter, from this archive. It links the whole recorder, because parts
# of that start by themselves.
$(BUILD)/tests/converter.a: $(filter-out $(unthreaded_commands),$(program_objects)) $(library_objects)
	@mkdir -p $(@D)
	@rm -f $@
	$(call quiet,AR,$@)$(AR) rcs $@ $(inputs)

# The gold linker links a test in half of the time. Debian has it in binutils. Most tests need few of the libraries, and
# loading all takes longer than most tests and their children run. So does moving the addresses in what the sanitizers
# know of each variable and place, unless the program is for a fixed address.
test_linker := $(if $(shell ld.gold --version 2>/dev/null),-fuse-ld=gold) -Wl,--as-needed $(if $(SANITIZE),-no-pie)

# Compiling a test without the optimizer takes a quarter of the time, and half of that if undefined behaviour is not looked
# for in the test itself. Tests of the recorder compare stacks, in which the functions of its header are inlined. -O1 does
# that in two thirds of the time of -O2, but two of its warnings are wrong. With sanitizers, only two of these tests need
# inlining.
$(patsubst %,$(BUILD)/tests/%,$(filter-out $(recorder_tests),$(unit_tests))): \
    private target_flags = -O0 -U_FORTIFY_SOURCE -fno-sanitize=undefined
$(recorder_tests:%=$(BUILD)/tests/%): private target_flags = $(warned_elsewhere) \
    $(if $(SANITIZE),$(if $(filter %_stacks %_waits,$@),-O1,-O0),-O1 -Wno-format-truncation -Wno-maybe-uninitialized)
recorder_under_test := $(recorder_objects) $(sampler_objects) $(filter %/call_filter.o,$(preload_objects))
$(BUILD)/tests/test_%: test_%.c $(BUILD)/tests/converter.a $(recorder_under_test) $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,TEST,$@)$(compile) $(call package_flags,--cflags,$(all_packages) $(test_packages)) -MMD -MP -MT $@ -c $< -o $@.o
	$(if $(V),,@)$(CC) $(CFLAGS) $(sanitize) $@.o $(recorder_under_test) $(BUILD)/tests/converter.a $(test_linker) $(LDFLAGS) \
	    $(program_libs) $(call package_flags,--libs,$(test_packages)) -lpthread -o $@

-include $(wildcard $(BUILD)/tests/*.d)
# Files of dependencies may still name a test that has been moved.
tests/unit/%.c: ;

# A library that tests of stack walks load at run time. It binds symbols lazily, so walks also cross the dynamic linker.
$(BUILD)/tests/walked_object.so: tests/recorder/walked_object.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,LINK,$@)$(CC) -std=gnu11 $(warnings) -O2 -fPIC -fomit-frame-pointer -shared -Wl,-z,lazy $< -o $@

$(patsubst %,$(BUILD)/tests/test_%,stack_walk sampler_storms sampler_stacks): | $(BUILD)/tests/walked_object.so

# Libraries from two compilers that the test of the unwinder loads. They bind symbols lazily.
unwound_objects := $(BUILD)/tests/unwound_gcc.so $(BUILD)/tests/unwound_clang.so

$(BUILD)/tests/test_unwinder_real: | $(unwound_objects)

$(unwound_objects): $(BUILD)/tests/unwound_%.so: tests/unwind/unwound_object.c
	@mkdir -p $(@D)
	$(call quiet,LINK,$@)$* -std=gnu11 -D_GNU_SOURCE $(warnings) -O2 -fPIC -fomit-frame-pointer -shared -Wl,-z,lazy $< -o $@

# Programs that the test of preloading runs.
preloaded_programs := $(BUILD)/tests/allocating $(BUILD)/tests/alone $(BUILD)/tests/ending $(BUILD)/tests/relay \
    $(BUILD)/tests/own_allocator $(BUILD)/tests/brief

$(BUILD)/tests/test_sampler_preload: | $(preloaded_programs) $(BUILD)/libgecko_recorder_memory.so $(BUILD)/libgecko_preload.so

$(preloaded_programs): $(BUILD)/tests/%: tests/recorder/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,LINK,$@)$(CC) -std=gnu11 -D_GNU_SOURCE $(warnings) -O1 -g $< -lpthread -o $@

# ---- The programs and libraries as users run them. ----

.PHONY: perf-data-test readings debuginfod-test cli-test batch-test batch-kill-test view-test profile-rules goldens update-goldens \
    client-test headers-test
perf-data-test: $(CONVERTER)
	tests/support/check_perf_data.py $(abspath $<)
	tests/support/check_off_cpu.py $(abspath $<)
	tests/support/check_perf_names.py $(abspath $<)
	tests/support/check_perf_fields.py $(abspath $<)

readings: $(CONVERTER)
	tests/support/check_readings.py $(abspath $<)

# Some cases use the command view, which the static program does not have, or preload a library, which it ignores.
shared_cases = $(patsubst tests/cli/%/run,%,$(shell grep -lwE 'view|LD_PRELOAD' tests/cli/*/run))

cli-test: $(CONVERTER) $(BUILD)/gecko-convert
	GECKO_CONVERT=$(abspath $<) tests/cli/run.py $(filter-out $(shared_cases),$(patsubst tests/cli/%/run,%,$(wildcard tests/cli/*/run)))
	GECKO_CONVERT=$(abspath $(BUILD)/gecko-convert) tests/cli/run.py $(shared_cases)

batch-test: $(CONVERTER)
	tests/support/check_batches.py $< whole

batch-kill-test: $(CONVERTER)
	tests/support/check_batches.py $< ended

# What holds for all recordings in fixtures: merges, trees of merges, differences.
.PHONY: runs-test
runs-test: $(CONVERTER)
	tests/support/check_runs.py $<

# Loud where Slurm, GNU parallel or the schema of Kubernetes is missing.
.PHONY: fleet-test
fleet-test: $(BUILD)/gecko-convert
	tests/fleet/run.py $<

# TRACES=… are compared too.
.PHONY: jobs-test
jobs-test: $(CONVERTER)
	tests/support/check_jobs.py $< $(TRACES)

debuginfod-test: $(BUILD)/gecko-convert
	tests/support/check_debuginfod.py $<

view-test: $(BUILD)/gecko-convert $(BUILD)/demo/processed.plain.json
	tests/view/server.py $< $(BUILD)/demo/plain.trace $(BUILD)/demo/processed.plain.json

# Loud when it is skipped: it needs a front-end that `make viewer` has built, and Chromium.
.PHONY: viewer-test
viewer-test: $(BUILD)/gecko-convert $(BUILD)/demo/plain.trace $(BUILD)/demo/pictures.trace $(BUILD)/demo/requests.trace
	@if [ -e build/viewer/index.html ] && command -v chromium >/dev/null; then \
	    tests/client/setup.sh build/client && \
	    build/client/bin/node tests/view/browser.mjs $< $(BUILD)/demo/plain.trace $(BUILD)/demo/requests.trace build/viewer $(BUILD)/view-pictures && \
	    build/client/bin/node docs/images/take.mjs $< $(BUILD)/demo/pictures.trace $(demo_in_pictures) build/viewer \
	        $(BUILD)/view-pictures; \
	else \
	    echo 'viewer in chromium: NOT TESTED: run make viewer, and install chromium'; \
	    echo 'viewer in chromium: 0 passed, 0 failed, 1 skipped'; \
	fi

profile-rules: $(BUILD)/gecko-convert $(demo_profiles)
	tests/check/rules.py $(abspath $<)
	! $< check $(demo_profiles) | grep -v ': good$$'
	tests/check/info.py $(abspath $<) $(BUILD)/demo/plain.trace $(BUILD)/demo/processed.plain.json \
	    $(BUILD)/demo/gecko.plain.json

goldens: $(CONVERTER)
	GECKO_CONVERT=$(abspath $<) $(call run_test,tests/support/goldens.py check$(if $(SANITIZE),-sanitized))

update-goldens: $(BUILD)/gecko-convert
	GECKO_CONVERT=$(abspath $<) tests/support/goldens.py update

client-test: $(CONVERTER) $(demo_profiles)
	tests/client/setup.sh build/client
	build/client/bin/node tests/client/check_reserved_types.mjs build/client
	tests/client/run.sh build/client $<
	build/client/bin/node tests/client/check_demo.mjs build/client $(demo_profiles)

headers-test: all
	tests/recorder/headers.sh $(BUILD)

# ---- Other programs with the recorder preloaded. ----

# Small programs that the recorder must not disturb: see tests/hosts/run.py. They bind symbols at once, because the dynamic
# linker, which a handler's first call of a function enters, needs more stack than a small alternate stack has left when
# the sampler's signal arrives (docs/programs.md).
host_programs := $(patsubst tests/hosts/%.c,$(BUILD)/hosts/%,$(wildcard tests/hosts/*.c))

$(host_programs): $(BUILD)/hosts/%: tests/hosts/%.c tests/hosts/host.h $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,LINK,$@)$(CC) -std=gnu11 -D_GNU_SOURCE $(warnings) -O1 -g -Wl,-z,now $< $(host_libraries) -lpthread -ldl -o $@

$(BUILD)/hosts/lib%.so: tests/hosts/libraries/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,LINK,$@)$(CC) -std=gnu11 -D_GNU_SOURCE $(warnings) -O1 -g -fPIC -shared -Wl,-soname,$(@F) $< -o $@

$(BUILD)/hosts/transfers: host_libraries := $(BUILD)/hosts/liballocation.so -Wl,-rpath,'$$ORIGIN'
$(BUILD)/hosts/transfers: $(BUILD)/hosts/liballocation.so
$(BUILD)/hosts/signals: host_libraries := $(BUILD)/hosts/liblate_rounds.so -Wl,-rpath,'$$ORIGIN'
$(BUILD)/hosts/signals: $(BUILD)/hosts/liblate_rounds.so

.PHONY: hosts-test test-programs
hosts-test: $(host_programs) $(CONVERTER) recorder
	GECKO_CONVERT=$(abspath $(CONVERTER)) tests/hosts/run.py $(BUILD)

# Small programs that measure where their processor time goes: see tests/accuracy/run.py.
accuracy_programs := $(patsubst tests/accuracy/%.c,$(BUILD)/accuracy/%,$(wildcard tests/accuracy/*.c))

$(accuracy_programs): $(BUILD)/accuracy/%: tests/accuracy/%.c $(wildcard tests/accuracy/*.h) $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,LINK,$@)$(CC) -std=gnu11 -D_GNU_SOURCE $(warnings) -O1 -g $< -lpthread -o $@

.PHONY: accuracy-test
accuracy-test: $(accuracy_programs) $(BUILD)/gecko-convert recorder
	tests/accuracy/run.py $(BUILD)

# Loud when it is skipped, where the kernel refuses to record.
.PHONY: record-test
record-test: $(BUILD)/accuracy/mix $(BUILD)/gecko-convert recorder $(host_programs)
	tests/record/run.py $(BUILD)

# Programs whose packages cannot be installed are reported and left out.
install_programs = tests/support/install_packages.sh programs || echo 'real programs: NOT ALL PACKAGES CAN BE INSTALLED'

test-programs: all
	$(install_programs)
	tests/programs/run.py $(BUILD)
	tests/programs/shares.py $(BUILD)

# ---- Sanitizers. ----

.PHONY: asan sanitized-check tsan threads-check
asan:
	$(MAKE) BUILD=build/asan SANITIZE=address,undefined CONVERTER=build/asan/tests/gecko-convert sanitized-check

# The command view has libraries that take longer to load than most conversions.
$(BUILD)/tests/gecko-convert: $(main_object) $(viewless_objects) $(library_objects)
	@mkdir -p $(@D)
	$(call quiet,LINK,$@)$(link) $^ $(test_linker) $(program_libs) -o $@

# The slow suites come first.
sanitized-check: fuzz-replay goldens $(sanitized_unit_tests:%=run-%)

# The recorder, and several conversions at a time.
tsan:
	$(MAKE) BUILD=build/tsan SANITIZE=thread threads-check

threads-check: $(threaded_unit_tests:%=run-%)

# ---- Checks of the sources. ----

.PHONY: include-test inferno-test version-test contributing-test lint
include-test:
	tests/support/check_includes.sh

version-test:
	tests/support/check_version.sh

# Not part of `make test`: needs inferno-collapse-perf, which Debian does not have.
inferno-test: $(BUILD)/gecko-convert
	GECKO_CONVERT=$< tests/support/compare_inferno.py

contributing-test: $(BUILD)/tests/converter.a
	tests/support/check_contributing.sh $(BUILD) \
	    '$(compile) -O0 -U_FORTIFY_SOURCE $(call package_flags,--cflags,$(all_packages) $(test_packages)) -Werror' \
	    '$< $(test_linker) $(program_libs) $(call package_flags,--libs,$(test_packages)) -lpthread'

# This includes clang's warnings. gcc's warnings are errors in all builds of the tests.
lint:
	@tests/support/lint.sh $(BUILD) $(JOBS) $(compile_flags) $(call package_flags,--cflags,$(all_packages)) \
	    -Ilibconvert -Irecorder
