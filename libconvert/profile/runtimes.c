#include "runtimes.h"

#define NO_MAP "in no map of generated code: run "

static const struct runtime runtimes[] = {
    {TEXT("libjvm.so"), TEXT(""), NO_MAP "java with -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit",
     "java with -XX:+PreserveFramePointer"},
    {TEXT("libnode.so"), TEXT("node"), NO_MAP "node with --perf-basic-prof", NULL},
    {TEXT("libruby"), TEXT("ruby"), NO_MAP "ruby with --yjit-perf", NULL},
    {TEXT("libcoreclr.so"), TEXT(""), NO_MAP "dotnet with DOTNET_PerfMapEnabled=1", NULL},
    {TEXT(""), TEXT("beam.smp"), NO_MAP "erl with +JPperf true", NULL},
};

static bool is_of(const struct runtime *runtime, struct text name) {
    bool is_library = runtime->library.bytes_count && text_starts_with(name, runtime->library);
    return is_library || text_equal(name, runtime->program);
}

static const struct runtime *runtime_of_library(struct text name) {
    for (size_t i = 0; i < sizeof runtimes / sizeof *runtimes; i++)
        if (name.bytes_count && is_of(&runtimes[i], name)) return &runtimes[i];
    return NULL;
}

const struct runtime *runtime_of_profile(const struct profile *profile) {
    const struct runtime *found = NULL;
    for (uint32_t i = 0; i < libs_count(&profile->libs); i++) {
        const struct runtime *runtime = runtime_of_library(libs_at(&profile->libs, (lib_id){i})->name);
        if (runtime && found && runtime != found) return NULL;
        if (runtime) found = runtime;
    }
    return found;
}
