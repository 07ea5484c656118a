#!/bin/sh
# Builds the fixtures of tests/unit/unwind/test_unwinder_aarch64.c. Needs Debian's gcc-aarch64-linux-gnu and qemu-user.
set -eu
cd "$(dirname "$0")"
aarch64-linux-gnu-gcc -std=gnu11 -O2 -fomit-frame-pointer -mbranch-protection=standard -fno-stack-protector \
    -fno-tree-loop-distribute-patterns -static -nostdlib -s -Wl,-e,start,--build-id=none \
    -Wl,-z,noseparate-code,-z,max-page-size=4096,-z,norelro aarch64_program.c -o aarch64_program
qemu-aarch64 -cpu max ./aarch64_program >aarch64_samples
