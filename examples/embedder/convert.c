/* Converts traces, and prints what each profile contains and what was lost. Ctrl-C cancels the conversion.
 *
 *     convert TRACE…        writes TRACE.profile.json for each */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include <gecko_convert.h>

static volatile sig_atomic_t is_interrupted;

static void interrupt(int signal_number) {
    (void)signal_number;
    is_interrupted = 1;
}

static bool continues(void *context, const struct gecko_convert_progress *progress) {
    (void)context;
    (void)progress;
    return !is_interrupted;
}

static void show_losses(const struct gecko_convert_result *result) {
    for (size_t i = 0; i < result->entry_count; i++) {
        const struct gecko_convert_entry *entry = &result->entries[i];
        if (entry->fate != GECKO_CONVERT_FATE_LOST) continue;
        printf("  lost %" PRIu64 " %s: %s\n", entry->count, gecko_convert_unit_name(entry->unit), entry->cause);
    }
}

static int convert(const char *trace) {
    char profile[4096];
    if ((size_t)snprintf(profile, sizeof profile, "%s.profile.json", trace) >= sizeof profile) {
        fprintf(stderr, "%s: this name is too long\n", trace);
        return GECKO_CONVERT_BAD_USAGE;
    }
    struct gecko_convert_options options = {
        .struct_bytes = sizeof options, .input_path = trace, .output_path = profile, .progress = continues};
    struct gecko_convert_result result = {.struct_bytes = sizeof result};
    enum gecko_convert_status status = gecko_convert(&options, &result);
    if (status == GECKO_CONVERT_GOOD) {
        printf("%s: %s, %" PRIu64 " samples and %" PRIu64 " markers in %" PRIu64 " threads\n", profile,
               result.output_title, result.counts.samples, result.counts.markers, result.counts.threads);
        show_losses(&result);
    } else {
        fprintf(stderr, "%s: %s\n", trace, result.message);
    }
    gecko_convert_result_fini(&result);
    return (int)status;
}

int main(int argument_count, char **arguments) {
    signal(SIGINT, interrupt);
    int worst = 0;
    for (int i = 1; i < argument_count && worst != GECKO_CONVERT_CANCELLED; i++) {
        int status = convert(arguments[i]);
        if (status > worst) worst = status;
    }
    return worst;
}
