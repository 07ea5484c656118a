#include "unwind_rule.h"

const struct unwind_machine unwind_machine_x86_64 = {
    .sp = 7, .fp = 6, .base = 3, .return_address = 16, .register_count = 16, .has_stub_expressions = true};
const struct unwind_machine unwind_machine_aarch64 = {
    .sp = 31, .fp = 29, .base = 19, .return_address = 30, .register_count = 32, .has_signed_returns = true};

const struct unwind_rule unwind_rule_unknown = {.cfa_kind = UNWIND_CFA_UNKNOWN};

const struct unwind_segment *unwind_image_segment(const struct unwind_image *image, uint64_t address, uint64_t count) {
    for (uint32_t i = 0; i < image->segment_count; i++) {
        const struct unwind_segment *segment = &image->segments[i];
        if (address >= segment->start && address < segment->end && count <= segment->end - address) return segment;
    }
    return NULL;
}
