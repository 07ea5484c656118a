/* Where this machine has the source files of packages, and of Rust's standard library. The folders are those that the
 * variables of cargo, rustup and Go name, or that they use by default. */
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "libconvert/base/text.h"

enum source_package_folder {
    PACKAGES_CARGO,     /* crates: REGISTRY/CRATE-VERSION/… */
    PACKAGES_CARGO_GIT, /* checkouts of repositories */
    PACKAGES_RUSTUP,    /* toolchains of Rust: NAME/lib/rustlib/src/rust/library/… */
    PACKAGES_GO,        /* modules: HOST/NAME@VERSION/… */
    PACKAGE_FOLDER_COUNT
};

/* Writes the path of the folder, which need not exist. Returns false if nobody knows it. */
bool source_package_folder(enum source_package_folder folder, char path[PATH_MAX]);

/* Writes the folder of the source code of the toolchain that was built from that commit, 40 hexadecimal digits. Returns
 * false if no toolchain of this machine was. */
bool source_package_toolchain(struct text commit, char path[PATH_MAX]);
