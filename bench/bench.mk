# Benchmarks: see bench/README.md. Other recorders that cannot be installed are reported and skipped.

.PHONY: bench bench-markers bench-merge bench-recorder bench-processes bench-programs bench-trials

# Other inputs of make bench, besides what it records itself.
BENCH_INPUTS ?=
bench: $(BUILD)/gecko-convert
	tests/support/install_packages.sh build test
	bench/record.sh $(BUILD)/bench
	GECKO_CONVERT=$< bench/convert.py $(BUILD)/bench/varied.txt $(BUILD)/bench/varied.data $(BENCH_INPUTS)

bench-recorder: all
	-tests/support/install_packages.sh build test bench
	CC='$(CC)' CFLAGS='$(CFLAGS)' bench/recorder.py --build $(BUILD)
	CC='$(CC)' bench/sampler.py --build $(BUILD)

.PHONY: bench-record
bench-record: $(BUILD)/gecko-convert
	$(CC) -O1 -g bench/record_work.c -lpthread -o $(BUILD)/record-work
	bench/record_command.py $(BUILD)

# Records in one process, and then in many, for BENCH_SECONDS each.
BENCH_SECONDS ?= 10
bench-processes: $(static_recorder)
	$(CC) -std=gnu11 -D_GNU_SOURCE $(warnings) $(CFLAGS) -Irecorder $(with_sampler) bench/recorder/processes.c $^ \
	    -lpthread -o $(BUILD)/bench-of-processes
	for count in 1 64; do $(BUILD)/bench-of-processes $$count $(BENCH_SECONDS) $(BUILD)/bench-processes.trace; done

bench-markers: $(BUILD)/gecko-convert $(BUILD)/libgecko_recorder.a
	$(CC) -std=gnu11 -D_GNU_SOURCE $(warnings) $(CFLAGS) -Irecorder bench/recorder/marker_trace.c \
	    $(BUILD)/libgecko_recorder.a -lpthread -o $(BUILD)/marker-trace
	$(BUILD)/marker-trace 5000000 $(BUILD)/markers.trace
	GECKO_CONVERT=$< bench/convert.py $(BUILD)/markers.trace

bench-merge: $(BUILD)/gecko-convert $(static_recorder)
	$(CC) -std=gnu11 -D_GNU_SOURCE $(warnings) $(CFLAGS) -Irecorder $(with_sampler) bench/recorder/large_trace.c \
	    $(static_recorder) -lpthread -o $(BUILD)/large-trace
	GECKO_CONVERT=$< bench/merge.py $(BUILD)/large-trace

bench-programs: all
	-tests/support/install_packages.sh programs bench
	bench/programs.py --build $(BUILD)

bench-trials: $(BUILD)/gecko-convert
	$(CC) -std=gnu11 $(warnings) -O2 -fno-omit-frame-pointer bench/trials/work.c -o $(BUILD)/trials-work
	GECKO_CONVERT=$< bench/trials.py $(BUILD)/trials-work
