#include "gecko_weights.h"

#include <inttypes.h>
#include <stdio.h>

enum { MS_DIGITS_OF_NS = 6 };

/* A mantissa has at most 19 digits and is multiplied by at most 10^18. The product has 37 digits; 128 bits hold 38. */
typedef unsigned __int128 scaled_weight;

static scaled_weight rescale(struct decimal weight, uint32_t scale) {
    scaled_weight scaled = (scaled_weight)weight.mantissa;
    for (uint32_t at = weight.scale; at < scale; at++) scaled *= 10;
    return scaled;
}

static scaled_weight greatest_common_divisor(scaled_weight a, scaled_weight b) {
    while (b) {
        scaled_weight rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

typedef void weight_visitor(struct gecko_weights *weights, struct decimal weight);

static void visit_weights(struct gecko_weights *weights, weight_visitor *visit) {
    const struct profile *profile = weights->profile;
    for (size_t i = 0; i < profile->thread_order.count; i++) {
        const struct samples *samples = &profile_ordered_thread(profile, i)->samples;
        for (uint32_t j = 0; j < samples_count(samples); j++)
            visit(weights, profile_weight_decode(profile, samples_at(samples, j)->weight));
    }
}

static void find_scale(struct gecko_weights *weights, struct decimal weight) {
    weights->sample_count++;
    if (weight.mantissa <= 0) weights->are_lost = true;
    if (weight.scale > weights->scale) weights->scale = weight.scale;
}

static void find_unit(struct gecko_weights *weights, struct decimal weight) {
    if (weights->scale == 0 && weights->unit == 1) return;
    weights->unit = greatest_common_divisor(rescale(weight, weights->scale), weights->unit);
}

static void count_rows(struct gecko_weights *weights, struct decimal weight) {
    scaled_weight rows = rescale(weight, weights->scale) / weights->unit;
    if (rows > 1) weights->are_repeated = true;
    bool fits = rows <= UINT64_MAX - weights->row_count;
    weights->row_count = fits ? weights->row_count + (uint64_t)rows : UINT64_MAX;
}

void gecko_weights_init(struct gecko_weights *weights, const struct profile *profile) {
    *weights = (struct gecko_weights){.profile = profile};
    visit_weights(weights, find_scale);
    if (profile->meta.weight_type == WEIGHT_ONE) weights->are_lost = false;
    weights->row_count = weights->sample_count;
    if (profile->meta.weight_type == WEIGHT_ONE || weights->are_lost || !weights->sample_count) return;
    visit_weights(weights, find_unit);
    weights->row_count = 0;
    visit_weights(weights, count_rows);
    if (weights->row_count <= GECKO_SAMPLE_ROWS_MAX) return;
    failure_set(profile->failure, FAILURE_INPUT,
                "the weights need %" PRIu64
                " repeated samples in the Gecko format, more than %d: use --format processed",
                weights->row_count, GECKO_SAMPLE_ROWS_MAX);
}

uint32_t gecko_weights_row_count(const struct gecko_weights *weights, uint32_t weight) {
    if (!weights->are_repeated) return 1;
    struct decimal decoded = profile_weight_decode(weights->profile, weight);
    return (uint32_t)(rescale(decoded, weights->scale) / weights->unit);
}

/* Returns what one written sample stands for. Samples must have been weighed, and no weight may be lost. The unit
 * divides the weight with the most digits after the point, so at that scale its mantissa fits. */
static struct decimal unit_of(const struct gecko_weights *weights) {
    return decimal_make((int64_t)weights->unit, weights->scale);
}

enum { NUMBER_BYTES = 48 };

static void format_decimal(struct decimal value, char out[NUMBER_BYTES]) {
    char digits[NUMBER_BYTES];
    int count = snprintf(digits, sizeof digits, "%0*" PRId64, (int)value.scale + 1, value.mantissa);
    int whole = count - (int)value.scale;
    snprintf(out, NUMBER_BYTES, "%.*s%s%s", whole, digits, value.scale ? "." : "", digits + whole);
}

static void enter_unit(const struct gecko_weights *weights, struct ledger *ledger) {
    const struct profile_meta *meta = &weights->profile->meta;
    struct decimal unit = unit_of(weights);
    struct text name = meta->weight_unit;
    if (meta->weight_type == WEIGHT_TRACING_MS) {
        unit = decimal_make(unit.mantissa, unit.scale + MS_DIGITS_OF_NS);
        name = TEXT("ms");
    } else if (meta->weight_type == WEIGHT_BYTES) {
        name = TEXT("bytes");
    }
    bool is_plain = unit.mantissa == 1 && unit.scale == 0 && !name.bytes_count;
    if (is_plain) return;
    if (!name.bytes_count) name = TEXT("samples");
    char number[NUMBER_BYTES], cause[256];
    format_decimal(unit, number);
    int bytes_count = snprintf(cause, sizeof cause, "weight of a sample: one sample stands for %s %.*s", number,
                               (int)(name.bytes_count < 128 ? name.bytes_count : 128), name.bytes);
    struct text text = {cause, (size_t)bytes_count};
    ledger_enter(ledger, LEDGER_VALUES, LEDGER_NOTED, text, weights->sample_count, NULL);
}

void gecko_weights_enter(const struct gecko_weights *weights, struct ledger *ledger) {
    if (weights->are_lost) {
        ledger_read(ledger, LEDGER_VALUES, weights->sample_count);
        ledger_enter(ledger, LEDGER_VALUES, LEDGER_LOST,
                     TEXT("weight of a sample: a difference cannot be repeated samples"), weights->sample_count, NULL);
    } else if (weights->unit) {
        enter_unit(weights, ledger);
    }
}
