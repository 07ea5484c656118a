/* The file of the sampler's library. Only the shared library has this: a program that is linked statically links the
 * sampler as well, or has none. */
#pragma once

/* The number in the names of the recorder's shared libraries. Increase it if programs that were linked with the
 * previous version would no longer run. The Makefile reads it here. */
#define GREC_ABI "0"

struct sampler_hooks;

/* Loads libgecko_sampler from the folder of this library, or else from where the dynamic linker finds it. Returns NULL
 * if it is not there. */
const struct sampler_hooks *sampler_file_open(void) __attribute__((weak));
