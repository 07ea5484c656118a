# gecko-convert: see `make help`.
#
# All output goes to $(BUILD), and to one such folder per sanitizer. Objects depend on $(BUILD)/flags, which holds the
# compiler and its flags, so a change of CC or CFLAGS rebuilds what it must.

BUILD      ?= build
PREFIX     ?= /usr/local
DESTDIR    ?=
CC         ?= cc
CFLAGS     ?= -O2 -g
PKG_CONFIG ?= pkg-config
OBJCOPY    ?= objcopy
JOBS       ?= $(shell nproc)
# The version is told there. `make version-test` checks what cannot have it from there.
VERSION    := $(shell sed -n 's/^.define GECKO_CONVERT_VERSION "\(.*\)"/\1/p' libconvert/gecko_convert.h)

# Increase this if programs that were linked with the previous version would no longer run.
CONVERT_ABI  := 1
RECORDER_ABI := $(shell sed -n 's/^.define GREC_ABI "\(.*\)"/\1/p' recorder/session/sampler_file.h)

packages         := libarchive libdeflate libdw libelf liblzma libtraceevent libxxhash libzstd zlib
# Only the command `view` uses these packages, which it loads when it starts.
view_packages    := libmicrohttpd capstone
all_packages     := $(packages) $(view_packages)
test_packages    := cmocka

# libiberty has no pkg-config file.
demangler := -liberty

# ---- Flags. ----

warnings := -Wall -Wextra -Wconversion -Wshadow
# With -Og and -g1, sanitized code compiles in a fraction of the time, and the sanitizers find as much. gcc cannot force
# the functions of xxhash inline with -Og.
sanitize := $(if $(SANITIZE),-Og -g1 -DXXH_NO_INLINE_HINTS -fsanitize=$(SANITIZE) -fno-omit-frame-pointer \
    -fno-sanitize-recover=all)
# For what is built without sanitizers too. gcc warns of correct code if that is sanitized.
warned_elsewhere := $(if $(SANITIZE),-w)

# Run-time checks. They come before CFLAGS, so that the user's flags can override them. _FORTIFY_SOURCE needs an
# optimizing compiler. Sanitizers check the plain functions more thoroughly.
optimizes := $(filter-out -O0,$(lastword $(filter -O%,$(CPPFLAGS) $(CFLAGS))))
fortify   := $(if $(SANITIZE)$(findstring _FORTIFY_SOURCE,$(CPPFLAGS) $(CFLAGS)),,$(if $(optimizes),\
    -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3))
harden    := -fstack-protector-strong $(fortify)

# All code is position-independent, because programs and libraries, static and shared, use the same objects.
compile_flags := -std=gnu11 -D_GNU_SOURCE -D_FILE_OFFSET_BITS=64 -I. -fPIC -fvisibility=hidden $(warnings) $(harden) \
    $(CPPFLAGS) $(CFLAGS) $(sanitize)
# A target adds flags of its own by setting `target_flags`.
compile       = $(CC) $(compile_flags) $(target_flags)
link_flags    := -Wl,-z,relro -Wl,-z,now $(CFLAGS) $(sanitize) $(LDFLAGS)
link          := $(CC) $(link_flags)
link_program  := $(CC) -pie $(link_flags)

# These variables are recursive, so that pkg-config runs only if something is compiled or linked, and then once for each
# question: else it would run 3000 times for all tests.
package_flags = $(call answer,$(subst $() ,,packages$(1)$(2)),$(PKG_CONFIG) $(1) $(2) 2>/dev/null)
answer        = $(if $(filter undefined,$(origin $(1))),$(eval $(1) := $$(shell $(2))))$($(1))
library_libs  = $(call package_flags,--libs,$(packages)) $(demangler)
program_libs  = $(library_libs) -lm

quiet = $(if $(V),,@echo '  $(1) $(2)';)

# ---- Sources and objects. ----

include libconvert/sources.mk readers/sources.mk writer/sources.mk cli/sources.mk recorder/sources.mk

library_sources := $(libconvert_sources) $(readers_sources) $(writer_sources)
program_sources := $(archive_writer_sources) $(json_reader_sources) $(compare_sources) $(cli_sources)

objects_of        = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))
library_objects  := $(call objects_of,$(library_sources))
program_objects  := $(call objects_of,$(program_sources))
main_object      := $(call objects_of,$(main_source))
view_objects     := $(call objects_of,$(view_sources))
viewless_objects := $(filter-out $(view_objects),$(program_objects)) $(call objects_of,$(view_absent_source))
recorder_objects := $(call objects_of,$(recorder_sources))
sampler_file_object := $(call objects_of,$(sampler_file_source))
sampler_objects  := $(call objects_of,$(sampler_sources))
preload_objects  := $(call objects_of,$(preload_sources))
memory_preload_object := $(call objects_of,$(memory_preload_source))

.PHONY: all recorder
all: $(BUILD)/gecko-convert $(BUILD)/libgecko_convert.a $(BUILD)/libgecko_convert.so recorder
recorder: $(foreach name,recorder sampler,$(BUILD)/libgecko_$(name).a $(BUILD)/libgecko_$(name).so) \
    $(BUILD)/libgecko_preload.so $(BUILD)/libgecko_recorder_memory.so

$(BUILD)/flags: force
	@mkdir -p $(@D)
	@echo '$(CC) $(compile_flags) $(link_program)' | cmp -s - $@ || echo '$(CC) $(compile_flags) $(link_program)' > $@

# Fails with an explanation before the compiler fails with a missing header.
$(BUILD)/packages: force
	@$(PKG_CONFIG) --exists $(all_packages) || \
	    { echo "gecko-convert needs $(all_packages): run 'make deps'" >&2; exit 1; }
	@mkdir -p $(@D)
	@[ -e $@ ] || touch $@

$(BUILD)/obj/%.o: %.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call quiet,CC,$<)$(compile) $(warned_elsewhere) -MMD -MP -c $< -o $@
	$(after_compile)

# The converter shares some objects with the recorder, which needs no packages.
converter_objects := $(filter-out $(recorder_objects) $(sampler_objects),$(library_objects) $(program_objects) $(main_object))
$(converter_objects): private target_flags = $(call package_flags,--cflags,$(all_packages))
$(converter_objects): | $(BUILD)/packages
# Without -fno-plt, a call in a signal handler may be the one that the dynamic linker binds, which takes kilobytes of the stack.
in_signals := -ftls-model=initial-exec -fno-plt
$(recorder_objects) $(sampler_file_object): private target_flags = $(in_signals) -DGREC_HAS_SHARED_DATA
$(sampler_objects) $(preload_objects): private target_flags = $(in_signals) $(unthreaded)
# These only read the program and call back with what they found. The thread sanitizer would make them slow for nothing.
$(filter %/unwind_cfi.o %/unwind_program.o,$(sampler_objects)): \
    private unthreaded = $(if $(filter thread,$(SANITIZE)),-fno-sanitize=thread)
# By this section, the recorder knows its own code: see recorder/state/own_code.h.
$(recorder_objects) $(sampler_file_object) $(sampler_objects) $(preload_objects) $(memory_preload_object): \
    private after_compile = @$(OBJCOPY) $(foreach part,.text .text.unlikely .text.startup .text.hot,\
        --rename-section $(part)=grec_text) $@
# Without -fno-builtin, the compiler may turn a malloc-like function of this library into a call of malloc, which calls it again.
$(memory_preload_object): private target_flags = -fno-builtin -fno-plt

-include $(wildcard $(patsubst %.o,%.d,$(library_objects) $(program_objects) $(main_object) $(recorder_objects) \
    $(sampler_file_object) $(sampler_objects) $(preload_objects) $(memory_preload_object)))

# ---- The converter. ----

# A change of sources.mk links again: a source may be gone, and the order of the objects is that of the variables in memory.
inputs = $(filter-out %.mk,$^)
$(BUILD)/gecko-convert $(BUILD)/static/gecko-convert $(BUILD)/tests/converter.a \
    $(foreach name,convert recorder sampler,$(BUILD)/libgecko_$(name).a) \
    $(foreach name,convert recorder sampler preload,$(BUILD)/libgecko_$(name).so): $(filter %/sources.mk,$(MAKEFILE_LIST))

$(BUILD)/gecko-convert: $(main_object) $(program_objects) $(library_objects)
	$(call quiet,LINK,$@)$(link_program) $(inputs) $(program_libs) -o $@

# Links all objects into one, hides all names but the public ones, and makes an archive of it.
define make_archive
$(call quiet,AR,$@)$(CC) -nostdlib -r $(inputs) -o $(@:.a=.o)
@$(OBJCOPY) --localize-hidden $(@:.a=.o)
@rm -f $@
@$(AR) rcs $@ $(@:.a=.o)
endef

$(BUILD)/libgecko_convert.a: $(library_objects)
	$(make_archive)

# Symbols of static libraries that are linked into this library are not exported.
$(BUILD)/libgecko_convert.so: $(library_objects)
	$(call quiet,LINK,$@)$(link) -shared -Wl,-soname,$(@F).$(CONVERT_ABI) -Wl,-z,defs -Wl,--as-needed \
	    -Wl,--exclude-libs,ALL $(inputs) $(library_libs) -o $@

# ---- The recorder. ----

$(BUILD)/libgecko_recorder.a: $(recorder_objects)
	$(make_archive)

$(BUILD)/libgecko_sampler.a: $(sampler_objects)
	$(make_archive)

# Threads call the recorder when they end, and the others are called by handlers. So the libraries must stay loaded
# (nodelete), even if a plugin loaded them. They look for each other in their own folder. Set RECORDER_RPATH to nothing if
# the dynamic linker finds them. Every program that a recorded one executes loads them: with fewer mappings, and fewer
# names to look up, a shell that starts short programs takes a tenth less of what the recorder adds.
RECORDER_RPATH ?= $$ORIGIN
link_recorder   = $(link) -shared -Wl,-z,nodelete -Wl,-z,defs -Wl,-z,start-stop-visibility=hidden \
    -Wl,-z,noseparate-code -Wl,-Bsymbolic-functions -Wl,-soname,$(@F).$(RECORDER_ABI)

# Links against the library by the name that it has when it is installed.
$(BUILD)/%.so.$(RECORDER_ABI): $(BUILD)/%.so
	@ln -sf $(<F) $@

$(BUILD)/libgecko_recorder.so: $(recorder_objects) $(sampler_file_object)
	$(call quiet,LINK,$@)$(link_recorder) $(inputs) -pthread -o $@

$(BUILD)/libgecko_sampler.so: $(sampler_objects) $(BUILD)/libgecko_recorder.so.$(RECORDER_ABI)
	$(call quiet,LINK,$@)$(link_recorder) $(RECORDER_RPATH:%='-Wl,-rpath,%') $(inputs) -pthread -o $@

$(BUILD)/libgecko_preload.so: $(preload_objects) $(BUILD)/libgecko_sampler.so.$(RECORDER_ABI) \
    $(BUILD)/libgecko_recorder.so.$(RECORDER_ABI)
	$(call quiet,LINK,$@)$(link_recorder) $(RECORDER_RPATH:%='-Wl,-rpath,%') $(inputs) -ldl -pthread -o $@

# With -f, the dynamic linker looks symbols up in that library before the C library, as if it were preloaded too.
$(BUILD)/libgecko_recorder_memory.so: $(memory_preload_object) $(BUILD)/libgecko_preload.so.$(RECORDER_ABI) \
    $(BUILD)/libgecko_recorder.so.$(RECORDER_ABI)
	$(call quiet,LINK,$@)$(link_recorder) -Wl,-f,libgecko_preload.so.$(RECORDER_ABI) \
	    $(RECORDER_RPATH:%='-Wl,-rpath,%') $< $(BUILD)/libgecko_recorder.so.$(RECORDER_ABI) -ldl -o $@

include packaging/install.mk
# Debian packages are built from a copy of the sources without these files.
-include fixtures/demo.mk tests/tests.mk tests/fuzz/fuzz.mk bench/bench.mk

# ---- For people. ----

.PHONY: deps clean help viewer force
deps:
	tests/support/install_packages.sh build

# A front-end for `gecko-convert view --viewer`: see docs/offline.md.
viewer:
	packaging/viewer.sh $(BUILD)/viewer

# Takes the pictures of the documents again. Needs `make viewer`, Chromium and Node.js.
.PHONY: pictures
pictures: $(BUILD)/gecko-convert $(BUILD)/demo/pictures.trace
	tests/client/setup.sh build/client
	build/client/bin/node docs/images/take.mjs $< $(BUILD)/demo/pictures.trace $(demo_in_pictures) $(BUILD)/viewer docs/images

clean:
	rm -rf $(BUILD)

help:
	@echo 'make                 the converter and the recorder, as programs and libraries, in build/'
	@echo 'make recorder        the recorder alone, which needs only a compiler'
	@echo 'make demo            install what is missing, build, record and convert a demo, and explain how to view it'
	@echo 'make test            install what tests need, build, run all tests, with the real viewer client'
	@echo 'make check           the tests without installing packages, sanitizers, lint and real programs'
	@echo 'make test-programs   PostgreSQL, nginx, Chromium and others with the recorder preloaded'
	@echo 'make hosts-test      small programs that the recorder must not disturb, with and without it'
	@echo 'make accuracy-test   recorded programs whose shares of processor time are known'
	@echo 'make record-test     gecko-convert record, where the kernel allows it'
	@echo 'make asan            unit tests and goldens under the address and undefined-behaviour sanitizers'
	@echo 'make tsan            the recorder and concurrent conversions under the thread sanitizer'
	@echo 'make fuzz            fuzz everything that reads foreign bytes, FUZZ_SECONDS=60 each, JOBS at a time'
	@echo 'make lint            check the sources: clang-format, clang-tidy with the warnings of clang, shellcheck, ruff'
	@echo 'make bench           time and memory of a large conversion; see bench/README.md'
	@echo 'make bench-recorder  what events and samples cost, compared with other recorders'
	@echo 'make bench-merge     one profile of ten traces, compared with ten profiles'
	@echo 'make bench-processes what a marker costs if 64 processes record into one trace'
	@echo 'make bench-programs  what recording real programs costs, compared with perf'
	@echo 'make bench-record    what gecko-convert record costs a program, compared with perf'
	@echo 'make update-goldens  write the expected profiles again; read the diff'
	@echo 'make install         install programs, libraries, headers, pages, completions: PREFIX=/usr/local DESTDIR= LIBDIR= …'
	@echo 'make uninstall       remove what make install with the same variables installed'
	@echo 'make static          build/static/gecko-convert, which needs no shared library'
	@echo 'make deb             Debian packages, in build/deb/'
	@echo 'make install-test    test installing, the examples and the cookbook'
	@echo 'make packages-test   build the Debian packages, install them into a folder and use them'
	@echo 'make viewer          build/viewer/: the front-end, for gecko-convert view --viewer; see docs/offline.md'
	@echo 'make pictures        docs/images/: what the viewer shows, for the documents'
	@echo 'make deps            install the Debian packages that building needs'
	@echo 'make clean           remove build/'
	@echo 'Variables: CC CFLAGS CPPFLAGS LDFLAGS BUILD SANITIZE V=1'
