# Fuzzing of everything that reads foreign bytes.

fuzz_targets    := fuzz_perf_data fuzz_perf_script fuzz_collapsed fuzz_trace fuzz_trace_packed fuzz_jit fuzz_symbols \
    fuzz_symbol_name fuzz_merge fuzz_unwind fuzz_input fuzz_batch fuzz_manifest fuzz_profile fuzz_saved fuzz_options fuzz_view
fuzz_support    := $(patsubst %,$(BUILD)/obj/tests/fuzz/%.o,checked_conversion source_file)
fuzz_objects    := $(fuzz_support) $(patsubst %,$(BUILD)/obj/tests/fuzz/%.o,replay $(fuzz_targets))
replay_programs := $(fuzz_targets:%=$(BUILD)/replay/%)
fuzz_programs   := $(fuzz_targets:%=$(BUILD)/%)
FUZZ_SECONDS    ?= 60

$(fuzz_objects): private target_flags = $(call package_flags,--cflags,$(all_packages))

# Programs that run a fuzz target over files, without a fuzzer.
$(BUILD)/replay/%: $(BUILD)/obj/tests/fuzz/%.o $(fuzz_support) $(BUILD)/obj/tests/fuzz/replay.o $(program_objects) \
    $(library_objects)
	@mkdir -p $(@D)
	$(call quiet,LINK,$@)$(link) $^ $(test_linker) $(program_libs) -o $@

$(BUILD)/fuzz_%: $(BUILD)/obj/tests/fuzz/fuzz_%.o $(fuzz_support) $(program_objects) $(library_objects)
	$(call quiet,LINK,$@)$(link) -fsanitize=fuzzer $^ $(program_libs) -o $@

.SECONDARY: $(fuzz_objects)
-include $(wildcard $(fuzz_objects:.o=.d))

.PHONY: fuzz fuzz-programs fuzz-replay
fuzz-replay: $(replay_programs)
	$(call run_test,tests/fuzz/replay.sh $^)

fuzz:
	tests/support/install_packages.sh build fuzz
	$(MAKE) -j$(JOBS) all
	$(MAKE) -j$(JOBS) BUILD=build/fuzz CC=clang SANITIZE=fuzzer-no-link,address,undefined fuzz-programs
	tests/fuzz/run.sh $(BUILD)/gecko-convert build/fuzz $(FUZZ_SECONDS) $(JOBS) $(fuzz_targets:%=build/fuzz/%)

fuzz-programs: $(fuzz_programs)
