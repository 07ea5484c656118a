/* The sampler of this process: its library, its thread, and what follows from its absence. */
#include <string.h>

#include "recorder/state/process.h"
#include "recorder/state/recording_state.h"
#include "recorder/state/sampler_hooks.h"
#include "recorder/write/writer.h"
#include "sampler_file.h"
#include "session.h"
#include "session_state.h"

const struct sampler_hooks *sampler_hooks;

/* ---- The library. ---- */

/* A program may be linked with it, or have it preloaded. Then it is there for single allocations, too. */
static const struct sampler_hooks *find_table(bool is_needed) {
    if (&grec_sampler_hooks_) return &grec_sampler_hooks_;
    return is_needed && sampler_file_open ? sampler_file_open() : NULL;
}

bool session_load_sampler(uint32_t flags) {
    bool is_needed = flags & SETTINGS_THREAD_FLAGS;
    if (sampler_table()) return true;
    const struct sampler_hooks *table = find_table(is_needed);
    if (!table || strcmp(table->version, GREC_VERSION) != 0) return !is_needed;
    table->init();
    __atomic_store_n(&sampler_hooks, table, __ATOMIC_RELEASE);
    return true;
}

/* ---- Its thread. ---- */

static struct sampler_settings settings_of_sampler(void) {
    return (struct sampler_settings){.interval_us = session.settings.interval_us,
                                     .flags = session.settings.flags,
                                     .is_paused = session.is_sampling_paused,
                                     .past = session.has_begun ? session.past : PAST_IS_TOLD};
}

void session_mark_unsampled(grec_time end) {
    if (session.settings.flags & GREC_SAMPLER && sampler_table())
        sampler_table()->mark_unsampled(session_is_guest() ? process_self()->start_ns : 0, end, session.is_confined);
}

void session_start_sampler(void) {
    const struct sampler_settings settings = settings_of_sampler();
    bool begins_late = session_is_guest() && !session.is_sampler_missing;
    session.is_sampler_missing = session.has_begun = false;
    if (!(settings.flags & SETTINGS_THREAD_FLAGS) || session.is_confined) return;
    if (!session_load_sampler(settings.flags))
        recording_write_message(
            "the sampler's library (libgecko_sampler) was not found, or has another version: nothing is sampled");
    else if (!sampler_table()->start(&settings, begins_late))
        recording_write_message("the system cannot start the sampler's thread: nothing is sampled");
}

void session_start_missing_sampler(void) {
    bool is_on = session.phase == SESSION_RUNS || session.phase == SESSION_IS_PAUSED;
    if (is_on && session.is_sampler_missing) session_start_sampler();
}

void session_stop_sampler(bool is_process_ending) {
    if (sampler_table()) sampler_table()->stop(is_process_ending);
}

void session_change_sampler(void) {
    const struct sampler_settings settings = settings_of_sampler();
    if (sampler_table()) sampler_table()->change(&settings);
}

/* ---- Samples on demand. ---- */

/* The calling thread needs no sampler. */
enum grec_error grec_sample_thread(struct grec_thread thread) {
    if ((uint32_t)thread.tid == process_own_tid() && grec_thread_is_recorded(thread)) {
        grec_sample();
        return GREC_OK;
    }
    return sampler_table() ? sampler_table()->sample_thread(thread) : GREC_ERROR_STATE;
}

enum grec_error grec_wait_for_sampling(void) {
    return sampler_table() ? sampler_table()->wait_for_rounds() : GREC_ERROR_STATE;
}
