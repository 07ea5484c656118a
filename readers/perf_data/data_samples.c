/* Parses samples: their stacks, and the events that they count for. */
#include "data_parser.h"
#include "libconvert/base/memory.h"

/* ---- Stacks, from the innermost frame out. ---- */

/* Running out of memory is latched. */
static void push(struct data_parser *parser, uint64_t address, uint32_t flags) {
    if (memory_reserve(parser->failure, &parser->places, &parser->place_capacity, parser->place_count + 1,
                       sizeof *parser->places))
        parser->places[parser->place_count++] = (struct perf_place){address, flags};
}

/* Markers in a callchain. Each gives the mode of the addresses that follow it (PERF_CONTEXT_…). */
static const struct context {
    int64_t word;
    uint32_t flags;
} contexts[] = {
    {-32, ADDRESS_IS_GUEST | ADDRESS_IS_KERNEL}, /* hypervisor: the kernel's mappings are not its own either */
    {-128, ADDRESS_IS_KERNEL},
    {CONTEXT_USER, 0},
    {-2048, ADDRESS_IS_GUEST}, /* guest */
    {-2176, ADDRESS_IS_GUEST | ADDRESS_IS_KERNEL},
    {-2560, ADDRESS_IS_GUEST},
};

/* A marker followed by a cookie. A later record with the user part of the stack repeats the cookie. */
static const int64_t CONTEXT_DEFERRED = -640;
static const int64_t CONTEXT_LOWEST = -4095;

/* Returns NULL if the word is not a marker. */
static const struct context *find_context(int64_t word) {
    for (size_t i = 0; i < sizeof contexts / sizeof *contexts; i++)
        if (contexts[i].word == word) return &contexts[i];
    return NULL;
}

static uint32_t mode_flags(const struct data_record *record) {
    switch (data_record_mode(record)) {
        case MODE_KERNEL: return ADDRESS_IS_KERNEL;
        case MODE_HYPERVISOR:
        case MODE_GUEST_KERNEL: return ADDRESS_IS_GUEST | ADDRESS_IS_KERNEL;
        case MODE_GUEST_USER: return ADDRESS_IS_GUEST;
        default: return 0;
    }
}

static bool has_user_part(struct text chain) {
    for (size_t i = 0; i < chain.bytes_count / 8; i++)
        if ((int64_t)perf_word_at(chain, i) == CONTEXT_USER) return true;
    return false;
}

/* Returns whether the sample has a call stack from the processor's record of recent branches. Such a stack covers user
 * code and replaces the user part of the callchain. As in perf, a callchain without that part stays as it is. */
static bool has_branch_calls(const struct data_sample *sample) {
    return sample->attr->branch_type & BRANCH_CALL_STACK && sample->branches.bytes_count &&
           has_user_part(sample->callchain);
}

/* Pushes a callchain, or only what comes before its user part. After that part, the kernel sometimes goes on along the
 * frame pointers of the user code, after a marker of another mode, which is wrong. A word that is neither an address
 * nor a marker makes the rest of the chain garbage. perf then drops the whole chain, but this function keeps the words
 * before the garbage. */
static void push_callchain(struct data_parser *parser, const struct data_record *record, struct text chain,
                           bool is_without_user, struct perf_record *out) {
    uint32_t flags = mode_flags(record);
    bool is_exact = true, has_user_code = false;
    size_t count = chain.bytes_count / 8;
    if (!memory_reserve(parser->failure, &parser->places, &parser->place_capacity, parser->place_count + count,
                        sizeof *parser->places))
        return;
    for (size_t i = 0; i < count; i++) {
        uint64_t word = perf_word_at(chain, i);
        if ((int64_t)word == CONTEXT_DEFERRED && i + 1 < count) {
            out->sample.cookie = perf_word_at(chain, i + 1);
            return;
        }
        if ((int64_t)word < 0 && (int64_t)word >= CONTEXT_LOWEST) {
            const struct context *context = find_context((int64_t)word);
            if (!context) {
                data_tally(parser, TALLY_BAD_CHAIN, 1, record->offset);
                return;
            }
            if (has_user_code) continue;
            flags = context->flags;
            has_user_code = !flags;
            is_exact = true;
            if (is_without_user && has_user_code) return;
            continue;
        }
        parser->places[parser->place_count++] =
            (struct perf_place){word, flags | (is_exact ? 0 : (uint32_t)ADDRESS_IS_RETURN)};
        is_exact = false;
    }
}

/* Pushes a call stack of branches. The newest branch led to the function in which the sample was taken. Each branch is
 * a call within the function that the next branch called. */
static void push_branch_calls(struct data_parser *parser, const struct data_sample *sample) {
    enum { BRANCH_WORDS = 3, FROM = 0, TO = 1 };
    push(parser, perf_word_at(sample->branches, TO), 0);
    for (size_t i = 0; i < sample->branches.bytes_count / (8 * BRANCH_WORDS); i++)
        push(parser, perf_word_at(sample->branches, i * BRANCH_WORDS + FROM), 0);
}

/* MAX_STACKS in tools/perf/util/bpf_skel/off_cpu.bpf.c. */
enum { WAIT_PLACES_MAX = 32 };

/* Parses the stack of a sample, but for what is further out in the copied stack. */
static struct perf_address_stack parse_stack(struct data_parser *parser, const struct data_record *record,
                                             const struct data_sample *sample, struct perf_record *out) {
    parser->place_count = 0;
    push_callchain(parser, record, sample->callchain, has_branch_calls(sample), out);
    /* A longer chain comes from a kernel with another limit, which is not recorded. */
    bool is_at_limit = parser->place_count == (sample->is_wait ? WAIT_PLACES_MAX : sample->attr->stack_places_max);
    if (is_at_limit && !has_branch_calls(sample) && !(sample->attr->sample_type & SAMPLE_STACK_USER)) {
        push(parser, 0, ADDRESS_IS_CUT);
        data_tally(parser, TALLY_DEEP_STACK, 1, record->offset);
    }
    if (has_branch_calls(sample))
        push_branch_calls(parser, sample);
    else if (sample->branches.bytes_count)
        data_tally(parser, TALLY_BRANCHES, 1, record->offset);
    out->sample.is_interrupted = out->sample.cookie && !parser->place_count;
    return (struct perf_address_stack){.places = parser->places,
                                       .place_count = parser->place_count,
                                       .is_in_kernel = mode_flags(record) & ADDRESS_IS_KERNEL};
}

/* ---- Events. ---- */

/* Emits the sample for each event whose counter has changed since the previous sample. */
static void emit_counted(struct data_parser *parser, const struct data_sample *sample, struct perf_record *out) {
    out->sample.event = ID_NONE;
    perf_emit(parser->sink, out);
    out->sample.is_repeated = out->sample.has_period = true;
    for (size_t i = 0; i < data_sample_read_count(sample); i++) {
        struct data_read read = data_sample_read(sample, i);
        const struct data_attr *attr;
        bool has_id = sample->attr->read_format & READ_ID;
        out->sample.period = data_attrs_count(&parser->attrs, has_id ? read.id : sample->id, read.value, &attr);
        if (!attr)
            data_tally(parser, TALLY_UNKNOWN_EVENT, 1, out->position.offset);
        else if (out->sample.period) {
            out->sample.event = attr->event;
            perf_emit(parser->sink, out);
        }
    }
}

void data_samples_use(struct data_parser *parser, const struct data_record *record, struct perf_record *out) {
    const struct data_attr *attr = data_attrs_of_record(&parser->attrs, record->bytes, true);
    struct data_sample sample;
    if (!attr || !data_sample_parse(record, attr, &sample)) {
        data_tally(parser, attr ? TALLY_BAD_SAMPLE : TALLY_UNKNOWN_EVENT, 1, record->offset);
        return;
    }
    sample.is_wait |= sample.time_ns >= DATA_TIME_OF_SUMS_NS && data_attr_may_be_off_cpu_time(attr);
    if (sample.is_wait && !attr->has_name) data_records_name_event(parser, attr, TEXT("offcpu-time"));
    uint64_t fields = attr->sample_type;
    const struct perf_place only = {sample.ip, mode_flags(record)};
    const struct perf_stack_copy copy = {sample.registers_abi, attr->registers_user, sample.registers, sample.stack};
    out->type = PERF_SAMPLE;
    out->pid = sample.pid;
    out->tid = sample.tid;
    out->text = sample.raw;
    out->sample = (struct perf_sample){.event = attr->event,
                                       .processor = data_sample_processor(&sample),
                                       .has_period = fields & SAMPLE_PERIOD || attr->fixed_period || sample.is_wait,
                                       .period = sample.period,
                                       .is_raw = true,
                                       .has_stack = fields & SAMPLE_CALLCHAIN || sample.is_wait,
                                       .cgroup = sample.cgroup,
                                       .address = sample.address,
                                       .has_address = fields & SAMPLE_ADDR};
    data_tally(parser, TALLY_ADDRESS, !sample.address && sample.has_memory, record->offset);
    struct perf_address_stack stack = parse_stack(parser, record, &sample, out);
    if (fields & SAMPLE_STACK_USER) stack.copy = &copy;
    if (fields & SAMPLE_IP) stack.only = &only;
    out->sample.addresses = &stack;
    if (fields & SAMPLE_READ && (attr->read_format & READ_ID || sample.id))
        emit_counted(parser, &sample, out);
    else
        perf_emit(parser->sink, out);
}

void data_samples_use_user_stack(struct data_parser *parser, const struct data_record *record, struct text chain,
                                 struct perf_record *out) {
    uint64_t cookie = out->sample.cookie;
    parser->place_count = 0;
    push_callchain(parser, record, chain, false, out);
    out->type = PERF_USER_STACK;
    out->sample.cookie = cookie;
    const struct perf_address_stack stack = {.places = parser->places, .place_count = parser->place_count};
    out->sample.addresses = &stack;
    perf_emit(parser->sink, out);
}
