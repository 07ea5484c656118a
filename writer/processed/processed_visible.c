/* Chooses the threads that the viewer shows at first.
 *
 * By itself, the front-end shows the threads with the most processor time (computeDefaultVisibleThreads in
 * src/profile-logic/tracks.ts). That choice is not always good, so the profile lists the threads to show if
 *  - the front-end would hide a thread with markers because it sleeps most of the time: the list adds such threads;
 *  - there are tracks of events, which have no processor time: the list leaves them out;
 *  - there are tracks of processors, which exist only if they were asked for: the list has them;
 *  - threads share tracks;
 *  - the choice below differs from that of the front-end, which does not know the weight of a thread's first sample if
 *    weights are processor time. That sample may be all that a short thread has.
 *
 * Beside one busy thread, the front-end hides many threads that together have a tenth of the activity. The list has the
 * fewest threads that have nearly all activity, but none so small that its graph is empty. If threads share tracks, the
 * list has small threads too, and threads with hardly less activity than the last of these, such as equal clients of a
 * server. */
#include "libconvert/base/memory.h"
#include "processed_writer.h"

/* The front-end shows at most this many threads, and only those with this fraction of the highest activity. */
enum { CHOSEN_MAX = 15, ACTIVITY_DIVISOR = 20 };

/* The share of all activity to show, and the share that a thread needs in order to count towards it. If threads share
 * tracks, a thread is also shown if it has PEER_ACTIVITY of the activity of the last thread that is needed. */
static const double SHOWN_ACTIVITY = 0.95, NEEDED_ACTIVITY = 0.01, PEER_ACTIVITY = 0.75;

/* At most this many threads are added because of their markers. */
enum { ADDED_MAX = 15 };

struct candidate {
    uint32_t place;  /* the place of the thread among those to write */
    double activity; /* processor time or, where that is unknown, the time of samples that are not idle */
    double unknown;  /* the part of the activity that the front-end does not know */
    double rank;     /* the activity, or more: decides which threads are the first CHOSEN_MAX */
    size_t marker_count;
    bool is_visible;
    bool is_shown; /* by the front-end, if it chooses */
};

/* ---- What the front-end shows. ---- */

static double weight_of(const struct profile *profile, const struct sample *sample) {
    double weight = decimal_to_double(profile_weight_decode(profile, sample->weight));
    return weight > 0 ? weight : 0;
}

static double activity_of_sample(const struct processed_writer *writer, const struct samples *samples, uint32_t row) {
    const struct profile *profile = writer->profile;
    const struct sample *sample = samples_at(samples, row);
    bool is_idle = profile_is_idle(writer->idle_stacks, sample->stack);
    if (profile_are_weights_cpu(profile)) return is_idle ? 0 : weight_of(profile, sample);
    if (!samples_have_cpu(samples))
        return is_idle || stack_is_none(sample->stack) ? 0 : (double)profile->meta.interval_ns;
    int64_t cpu_ns = samples_cpu_ns(samples, row);
    return cpu_ns == TIME_NONE ? 0 : (double)cpu_ns;
}

static void measure(const struct processed_writer *writer, struct candidate *candidate) {
    const struct samples *samples = &profile_ordered_thread(writer->profile, candidate->place)->samples;
    for (uint32_t i = 0; i < samples_count(samples); i++) {
        double activity = activity_of_sample(writer, samples, i);
        candidate->activity += activity;
        if (!i && profile_are_weights_cpu(writer->profile)) candidate->unknown = activity;
    }
}

/* Recognises threads of Firefox that play media, as the front-end does. */
static bool is_media_thread(const struct profile *profile, const struct thread *thread) {
    static const struct text starts[] = {TEXT("Audio"), TEXT("Media"), TEXT("GraphRunner"), TEXT("WebrtcWorker")};
    struct text name = thread->is_main ? profile_process_at(profile, thread->process)->title : thread->name;
    return TEXT_STARTS_IN(name, starts);
}

static int compare_ranks(const void *left, const void *right) {
    const struct candidate *a = left, *b = right;
    return ORDER(b->rank, a->rank) ?: ORDER(a->place, b->place);
}

static double activity_of(const struct candidate *candidate, bool is_known) {
    return candidate->activity - (is_known ? candidate->unknown : 0);
}

/* Ranks the threads. A thread that plays media matters as soon as it runs. With `is_known`, only the activity that the
 * front-end knows counts. Returns the activity of all threads. */
static double rank_candidates(const struct profile *profile, struct candidate *candidates, size_t count,
                              bool is_known) {
    enum { MEDIA_FACTOR = 40 };
    double all = 0;
    for (size_t i = 0; i < count; i++) {
        struct candidate *candidate = &candidates[i];
        const struct thread *thread = profile_ordered_thread(profile, candidate->place);
        double activity = activity_of(candidate, is_known);
        candidate->rank = activity * (is_media_thread(profile, thread) ? MEDIA_FACTOR : 1);
        all += activity;
    }
    memory_sort(profile->failure, candidates, count, sizeof *candidates, compare_ranks);
    return all;
}

/* Returns the activity that a thread needs to be visible. `least` is the activity of the last thread that is needed. */
static double visible_limit(double highest, double all, double least, bool is_shared) {
    if (is_shared) return least * PEER_ACTIVITY;
    double needed = least > all * NEEDED_ACTIVITY ? least : all * NEEDED_ACTIVITY, limit = highest / ACTIVITY_DIVISOR;
    return needed < limit ? needed : limit;
}

/* Marks the threads that are to be visible or, with `is_known`, those that the front-end would show. */
static void choose_active(const struct profile *profile, struct candidate *candidates, size_t count, bool is_shared,
                          bool is_known) {
    double all = rank_candidates(profile, candidates, count, is_known), highest = 0, shown = 0, least = 0;
    for (size_t i = 0; i < count; i++) {
        double activity = activity_of(&candidates[i], is_known);
        if (activity > highest) highest = activity;
    }
    for (size_t i = 0; i < count && i < CHOSEN_MAX; i++) {
        struct candidate *candidate = &candidates[i];
        double activity = activity_of(candidate, is_known);
        if (!i || shown < all * SHOWN_ACTIVITY) least = activity;
        double limit = is_known ? highest / ACTIVITY_DIVISOR : visible_limit(highest, all, least, is_shared);
        *(is_known ? &candidate->is_shown : &candidate->is_visible) |= activity >= limit || candidate->rank > activity;
        shown += activity;
    }
}

/* Chooses the threads with the most activity. Returns whether the front-end would choose others. */
static bool choose_visible(const struct processed_writer *writer, struct candidate *candidates, size_t count,
                           bool is_shared) {
    const struct profile *profile = writer->profile;
    bool differs = false;
    for (size_t i = 0; i < count; i++) measure(writer, &candidates[i]);
    choose_active(profile, candidates, count, is_shared, true);
    choose_active(profile, candidates, count, is_shared, false);
    for (size_t i = 0; i < count; i++) differs |= candidates[i].is_shown != candidates[i].is_visible;
    return differs;
}

/* Makes the parents of processes that share tracks visible, however little they run: their marker charts show when each
 * child ran and how it ended. Leaves out parents that share tracks themselves, such as the shells that start compilers.
 */
static void add_parents(const struct profile *profile, struct candidate *candidates, size_t count) {
    bool *are_parents = memory_allocate_zeroed(profile->failure, profile->processes.count, sizeof *are_parents);
    size_t visible_count = 0;
    COLUMN_EACH(const struct process, process, &profile->processes)
        if (are_parents && process->merged_count && !process_is_none(process->parent))
            are_parents[process->parent.index] = true;
    for (size_t i = 0; i < count; i++) visible_count += candidates[i].is_visible;
    for (size_t i = 0; are_parents && i < count && visible_count < CHOSEN_MAX; i++) {
        const struct thread *thread = profile_ordered_thread(profile, candidates[i].place);
        bool is_parent = thread->is_main && are_parents[thread->process.index] && !thread->merged_count;
        if (candidates[i].is_visible || !is_parent) continue;
        candidates[i].is_visible = true;
        visible_count++;
    }
    memory_free(are_parents);
}

/* ---- What has markers. ---- */

/* Returns how many markers say something specific about this thread. */
static size_t count_markers(const struct thread *thread) {
    size_t marker_count = 0;
    COLUMN_EACH(const struct marker, marker, &thread->markers) marker_count += !marker->is_routine;
    return marker_count;
}

static int compare_hidden(const void *left, const void *right) {
    const struct candidate *a = left, *b = right;
    return ORDER(a->is_visible, b->is_visible) ?: ORDER(b->marker_count, a->marker_count) ?: ORDER(a->place, b->place);
}

/* Makes the hidden threads with the most markers visible. Returns whether there are any. */
static bool add_marked(struct candidate *candidates, size_t count, struct failure *failure) {
    memory_sort(failure, candidates, count, sizeof *candidates, compare_hidden);
    size_t added_count = 0;
    while (added_count < count && added_count < ADDED_MAX && !candidates[added_count].is_visible &&
           candidates[added_count].marker_count)
        candidates[added_count++].is_visible = true;
    return added_count > 0;
}

/* ---- All. ---- */

static bool is_event_track(const struct profile *profile, const struct thread *thread) {
    return thread_is_track(thread) && !profile_is_processor(profile, thread);
}

static bool has_processors(const struct profile *profile) {
    for (size_t i = 0; i < profile->thread_order.count; i++)
        if (profile_is_processor(profile, profile_ordered_thread(profile, i))) return true;
    return false;
}

/* Returns whether there are tracks of events beside other threads with samples: the tracks are then hidden at first. */
static bool hides_tracks(const struct profile *profile) {
    bool has_tracks = false, has_others = false;
    for (size_t i = 0; i < profile->thread_order.count; i++) {
        const struct thread *thread = profile_ordered_thread(profile, i);
        has_tracks |= is_event_track(profile, thread);
        has_others |= !is_event_track(profile, thread) && samples_count(&thread->samples);
    }
    return has_tracks && has_others;
}

static bool has_shared_tracks(const struct profile *profile) {
    for (size_t i = 0; i < profile->thread_order.count; i++)
        if (profile_ordered_thread(profile, i)->merged_count) return true;
    return false;
}

/* Returns the number of candidates. */
static size_t list_threads(const struct profile *profile, struct candidate *candidates, bool has_tracks) {
    size_t count = 0;
    for (uint32_t i = 0; i < profile->thread_order.count; i++) {
        const struct thread *thread = profile_ordered_thread(profile, i);
        if (is_event_track(profile, thread) && !has_tracks) continue;
        candidates[count++] = (struct candidate){
            .place = i, .marker_count = count_markers(thread), .is_visible = profile_is_processor(profile, thread)};
    }
    return count;
}

static int compare_places(const void *a, const void *b) { return ORDER_BY(struct candidate, place, a, b); }

static void write_places(struct json *json, const struct candidate *candidates, size_t count) {
    json_key_array_begin(json, "initialVisibleThreads");
    for (size_t i = 0; i < count; i++)
        if (candidates[i].is_visible) json_int(json, candidates[i].place);
    json_array_end(json);
}

/* Writes the threads that the profile which was read shows at first; nothing if it leaves the choice to the
 * front-end. */
static void write_saved_choice(struct processed_writer *writer) {
    bool is_any = false;
    for (size_t i = 0; i < writer->profile->thread_order.count; i++) {
        if (!profile_ordered_thread(writer->profile, i)->is_visible) continue;
        if (!is_any) json_key_array_begin(&writer->json, "initialVisibleThreads");
        is_any = true;
        json_int(&writer->json, (int64_t)i);
    }
    if (is_any) json_array_end(&writer->json);
}

void processed_visible_threads_write(struct processed_writer *writer) {
    const struct profile *profile = writer->profile;
    if (profile->meta.was_profile) {
        write_saved_choice(writer);
        return;
    }
    bool hides_events = hides_tracks(profile), is_shared = has_shared_tracks(profile),
         is_listed = hides_events || is_shared || has_processors(profile);
    struct candidate *candidates = memory_allocate(profile->failure, profile->thread_order.count * sizeof *candidates);
    size_t count = candidates ? list_threads(profile, candidates, !hides_events) : 0;
    if (is_listed || count > 1) {
        is_listed |= choose_visible(writer, candidates, count, is_shared);
        if (is_shared) add_parents(profile, candidates, count);
        is_listed |= add_marked(candidates, count, profile->failure);
        if (is_listed) {
            memory_sort(profile->failure, candidates, count, sizeof *candidates, compare_places);
            write_places(&writer->json, candidates, count);
        }
    }
    memory_free(candidates);
}
