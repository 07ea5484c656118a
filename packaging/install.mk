# Installing, Debian packages, the static program, and their tests.

# Folders for installed files. Each may be set. DESTDIR is put before all of them.
BINDIR       ?= $(PREFIX)/bin
LIBDIR       ?= $(PREFIX)/lib
INCLUDEDIR   ?= $(PREFIX)/include
DATADIR      ?= $(PREFIX)/share
MANDIR       ?= $(DATADIR)/man
PKGCONFIGDIR ?= $(LIBDIR)/pkgconfig
CMAKEDIR     ?= $(LIBDIR)/cmake/gecko_recorder
BASHCOMPDIR  ?= $(DATADIR)/bash-completion/completions
ZSHCOMPDIR   ?= $(DATADIR)/zsh/site-functions
FISHCOMPDIR  ?= $(DATADIR)/fish/vendor_completions.d

described := $(BUILD)/install

# Each line is "MODE FILE DESTINATION" or "link TARGET DESTINATION". A destination may contain blanks.
define installed_files
755 $(BUILD)/gecko-convert $(BINDIR)/gecko-convert
644 libconvert/gecko_convert.h $(INCLUDEDIR)/gecko_convert.h
644 $(BUILD)/libgecko_convert.a $(LIBDIR)/libgecko_convert.a
644 $(BUILD)/libgecko_convert.so $(LIBDIR)/libgecko_convert.so.$(CONVERT_ABI)
link libgecko_convert.so.$(CONVERT_ABI) $(LIBDIR)/libgecko_convert.so
644 $(described)/gecko-convert.pc $(PKGCONFIGDIR)/gecko-convert.pc
644 recorder/gecko_recorder.h $(INCLUDEDIR)/gecko_recorder.h
644 $(BUILD)/libgecko_recorder.a $(LIBDIR)/libgecko_recorder.a
644 $(BUILD)/libgecko_recorder.so $(LIBDIR)/libgecko_recorder.so.$(RECORDER_ABI)
link libgecko_recorder.so.$(RECORDER_ABI) $(LIBDIR)/libgecko_recorder.so
644 $(BUILD)/libgecko_sampler.a $(LIBDIR)/libgecko_sampler.a
644 $(BUILD)/libgecko_sampler.so $(LIBDIR)/libgecko_sampler.so.$(RECORDER_ABI)
link libgecko_sampler.so.$(RECORDER_ABI) $(LIBDIR)/libgecko_sampler.so
644 $(BUILD)/libgecko_preload.so $(LIBDIR)/libgecko_preload.so.$(RECORDER_ABI)
link libgecko_preload.so.$(RECORDER_ABI) $(LIBDIR)/libgecko_preload.so
644 $(BUILD)/libgecko_recorder_memory.so $(LIBDIR)/libgecko_recorder_memory.so.$(RECORDER_ABI)
link libgecko_recorder_memory.so.$(RECORDER_ABI) $(LIBDIR)/libgecko_recorder_memory.so
644 $(described)/gecko-recorder.pc $(PKGCONFIGDIR)/gecko-recorder.pc
644 $(described)/gecko-sampler.pc $(PKGCONFIGDIR)/gecko-sampler.pc
644 $(described)/gecko_recorderConfig.cmake $(CMAKEDIR)/gecko_recorderConfig.cmake
644 $(described)/gecko_recorderConfigVersion.cmake $(CMAKEDIR)/gecko_recorderConfigVersion.cmake
644 docs/man/gecko-convert.1 $(MANDIR)/man1/gecko-convert.1
644 docs/man/gecko_convert.3 $(MANDIR)/man3/gecko_convert.3
644 docs/man/gecko_recorder.3 $(MANDIR)/man3/gecko_recorder.3
644 docs/man/gecko-trace.5 $(MANDIR)/man5/gecko-trace.5
644 packaging/completions/gecko-convert.bash $(BASHCOMPDIR)/gecko-convert
644 packaging/completions/gecko-convert.zsh $(ZSHCOMPDIR)/_gecko-convert
644 packaging/completions/gecko-convert.fish $(FISHCOMPDIR)/gecko-convert.fish
endef

# ---- Files for pkg-config and CMake. ----

# pkg-config files name folders relative to their own prefix, if they are below it.
below_prefix = $(patsubst $(PREFIX)/%,$${prefix}/%,$(1))
from_cmake   = $(shell realpath -ms --relative-to='$(CMAKEDIR)' '$(1)')

fill_in = sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@PC_LIBDIR@|$(call below_prefix,$(LIBDIR))|' \
    -e 's|@PC_INCLUDEDIR@|$(call below_prefix,$(INCLUDEDIR))|' -e 's|@CMAKE_TO_LIBDIR@|$(call from_cmake,$(LIBDIR))|' \
    -e 's|@CMAKE_TO_INCLUDEDIR@|$(call from_cmake,$(INCLUDEDIR))|' -e 's|@RECORDER_ABI@|$(RECORDER_ABI)|' \
    -e 's|@VERSION@|$(VERSION)|' -e 's|@VERSION_MAJOR@|$(firstword $(subst ., ,$(VERSION)))|' $< > $@

# These are made every time, because make does not notice changed folders.
$(described)/%.pc: packaging/pkgconfig/%.pc.in force
	@mkdir -p $(@D)
	@$(fill_in)

$(described)/%.cmake: packaging/cmake/%.cmake.in force
	@mkdir -p $(@D)
	@$(fill_in)

descriptions := $(addprefix $(described)/,gecko-convert.pc gecko-recorder.pc gecko-sampler.pc gecko_recorderConfig.cmake \
    gecko_recorderConfigVersion.cmake)

# ---- Installing. ----

.PHONY: install uninstall
install uninstall: export INSTALLED_FILES = $(installed_files)
install uninstall: export DESTDIR := $(DESTDIR)

install: all $(descriptions)
	@packaging/install.sh install

uninstall:
	@packaging/install.sh uninstall
	@rmdir '$(DESTDIR)$(CMAKEDIR)' 2>/dev/null || true

# ---- One program that needs nothing: tests/support/install_packages.sh build static has what it is made of. ----

.PHONY: static
static: $(BUILD)/static/gecko-convert

# libarchive's tar writer refers to all of its formats. xar, which is not used, would add libxml2 and 30 MB of ICU.
without_xar := -Wl,--defsym=archive_write_set_format_xar=abort

$(BUILD)/static/gecko-convert: $(main_object) $(viewless_objects) $(library_objects)
	@mkdir -p $(@D)
	$(call quiet,LINK,$@)$(link) -static-pie $(without_xar) $(inputs) $(call package_flags,--static --libs,$(packages)) $(demangler) -lm -o $@

# ---- Debian packages. ----

.PHONY: deb
deb:
	packaging/deb.sh $(BUILD)/deb

# ---- Tests. ----

.PHONY: install-test packages-test
install-test: all static
	tests/install/run.sh $(BUILD)

# The packages are built from a copy of the sources.
packages-test:
	tests/install/packages.sh $(BUILD)
