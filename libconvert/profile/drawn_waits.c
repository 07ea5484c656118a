#include "drawn_waits.h"

#include "weighed_sample.h"

static const double NS_PER_MS = 1e6;

struct drawing {
    const struct profile *profile; /* borrowed */
    struct weighing weighing;
    double cpu_per_ms; /* processor time per millisecond of a thread that runs all the time */
    stack_id idle;
};

static int64_t time_before(const struct samples *samples, uint32_t row) {
    return samples_at(samples, row)->time_ns - samples_at(samples, row - 1)->time_ns;
}

static bool is_cpu_known(const struct drawing *drawing, const struct samples *samples, uint32_t row) {
    return profile_are_weights_cpu(drawing->profile) || samples_cpu_ns(samples, row) != TIME_NONE;
}

static double cpu_of(const struct drawing *drawing, const struct samples *samples, uint32_t row) {
    return weighing_weigh(&drawing->weighing, samples, row).cpu_since_last;
}

/* The rate of a processor's cycles is unknown, so the front-end takes the highest rate that it finds. */
static double most_cpu_per_ms(const struct drawing *drawing) {
    double most = 0;
    for (size_t i = 0; i < drawing->profile->threads.count; i++) {
        const struct samples *samples = &((const struct thread *)column_at(&drawing->profile->threads, i))->samples;
        for (uint32_t row = 1; row < samples_count(samples); row++) {
            int64_t length_ns = time_before(samples, row);
            double cpu_per_ms = length_ns ? cpu_of(drawing, samples, row) * NS_PER_MS / (double)length_ns : 0;
            if (cpu_per_ms > most) most = cpu_per_ms;
        }
    }
    return most;
}

static bool is_idle(const struct drawing *drawing, const struct sample *sample) {
    return profile_is_idle(drawing->weighing.idle_stacks, sample->stack);
}

/* Returns the share of the time since the previous row in which the thread ran; all of it, as in the front-end, if the
 * processor time is unknown. Damaged profiles have processor times below 0. */
static double share_of(const struct drawing *drawing, const struct samples *samples, uint32_t row) {
    double whole = (double)time_before(samples, row) * drawing->cpu_per_ms;
    if (!(whole > 0) || !is_cpu_known(drawing, samples, row)) return 1;
    double share = cpu_of(drawing, samples, row) * NS_PER_MS / whole;
    return share > 0 ? share : 0;
}

/* Adds samples between two others if the thread has not run all the time. The front-end draws a sample half-way to its
 * neighbours. */
static void add_between(const struct drawing *drawing, const struct samples *samples, uint32_t row,
                        struct samples *out) {
    const struct sample *before = samples_at(samples, row - 1), *after = samples_at(samples, row);
    int64_t length_ns = time_before(samples, row);
    double share = share_of(drawing, samples, row);
    /* The front-end rounds to percent. */
    if (share >= 0.995 || (is_idle(drawing, before) && is_idle(drawing, after))) return;
    int64_t running_ns = (int64_t)(share * (double)length_ns);
    int64_t first_ns = before->time_ns, last_ns = after->time_ns, extra_ns = running_ns - length_ns / 2;
    if (extra_ns <= 0) {
        samples_add(out, first_ns + running_ns, drawing->idle, 0);
        samples_add(out, last_ns - running_ns, drawing->idle, 0);
        return;
    }
    samples_add(out, first_ns + extra_ns, before->stack, 0);
    samples_add(out, first_ns + length_ns / 2, drawing->idle, 0);
    samples_add(out, last_ns - extra_ns, after->stack, 0);
}

/* The front-end draws the first and the last sample as long as the interval, also where nothing ran. */
static void draw_thread(const struct drawing *drawing, struct samples *samples) {
    struct samples out;
    uint32_t count = samples_count(samples);
    samples_init(&out, samples->rows.failure);
    samples_add(&out, samples_at(samples, 0)->time_ns, drawing->idle, 0);
    for (uint32_t row = 0; row < count; row++) {
        const struct sample *sample = samples_at(samples, row);
        if (row) add_between(drawing, samples, row, &out);
        samples_add(&out, sample->time_ns, sample->stack, sample->weight);
        samples_set_details(&out, samples_cpu_ns(samples, row), samples_delay_ns(samples, row));
    }
    samples_add(&out, samples_at(samples, count - 1)->time_ns, drawing->idle, 0);
    samples_fini(samples);
    *samples = out;
}

void profile_draw_waits(struct profile *profile) {
    struct category_pair idle = categories_intern_code(&profile->categories, CODE_IDLE, TEXT(""));
    struct drawing drawing = {.profile = profile, .cpu_per_ms = 1};
    drawing.idle = profile_stack(profile, stack_none(), profile_named_frame(profile, TEXT("(not running)"), idle));
    profile_give_weights(profile);
    weighing_init(&drawing.weighing, profile);
    if (profile->meta.cpu_delta_unit == CPU_DELTA_CYCLES) drawing.cpu_per_ms = most_cpu_per_ms(&drawing);
    for (size_t i = 0; i < profile->threads.count && !failure_is_set(profile->failure); i++) {
        struct thread *thread = column_at(&profile->threads, i);
        bool has_cpu = samples_have_cpu(&thread->samples) || profile_are_weights_cpu(profile);
        uint32_t count = samples_count(&thread->samples);
        if (!has_cpu || !count || thread_is_track(thread)) continue;
        draw_thread(&drawing, &thread->samples);
        if (!profile_is_processor(profile, thread))
            profile->drawn_sample_count += samples_count(&thread->samples) - count;
    }
    weighing_fini(&drawing.weighing);
}
