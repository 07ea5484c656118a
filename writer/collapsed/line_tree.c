#include "line_tree.h"

#include "libconvert/base/byte_buffer.h"
#include "libconvert/base/id_column.h"

struct line_weight {
    bool is_line; /* some sample has this stack; the row is not only a caller */
    struct decimal sum;
};

void line_tree_init(struct line_tree *tree, const struct strings *texts, struct failure *failure) {
    *tree = (struct line_tree){.texts = texts};
    stack_table_init(&tree->rows, failure);
    column_init(&tree->weights, sizeof(struct line_weight), failure);
}

void line_tree_fini(struct line_tree *tree) {
    stack_table_fini(&tree->rows);
    column_fini(&tree->weights);
}

/* The reader of collapsed stacks accepts counts of up to 18 digits. */
static const int64_t SUM_LIMIT = 1000000000000000000;

static bool is_integer(struct decimal value) { return !value.scale && !value.exponent; }

static bool is_small(int64_t mantissa) { return mantissa < SUM_LIMIT / 2 && mantissa > -SUM_LIMIT / 2; }

static struct decimal without_last_digit(struct decimal value) {
    int64_t rest = value.mantissa % 10;
    return decimal_make(value.mantissa / 10 + (rest >= 5) - (rest <= -5), value.scale - 1);
}

/* Stores a + b, after rounding away as many digits of the fraction as needed. Returns false if even the integer part is
 * too large. */
static bool add_rounded(struct decimal a, struct decimal b, struct decimal *out, bool *is_rounded) {
    struct decimal sum;
    while (!decimal_add(a, b, &sum) || sum.mantissa >= SUM_LIMIT || sum.mantissa <= -SUM_LIMIT) {
        struct decimal *finer = a.scale > b.scale ? &a : &b;
        if (!finer->scale) return false;
        *finer = without_last_digit(*finer);
        *is_rounded = true;
    }
    *out = sum;
    return true;
}

bool line_tree_add(struct line_tree *tree, stack_id row, struct decimal weight) {
    if (stack_is_none(row)) return true;
    struct line_weight *line = id_column_at(&tree->weights, row.index);
    if (!line) return true;
    line->is_line = true;
    /* Most weights are small integers. */
    if (is_integer(line->sum) && is_integer(weight) && is_small(line->sum.mantissa) && is_small(weight.mantissa)) {
        line->sum.mantissa += weight.mantissa;
        return true;
    }
    bool is_rounded = false;
    bool is_added = add_rounded(line->sum, weight, &line->sum, &is_rounded);
    tree->rounded_count += is_added && is_rounded;
    return is_added;
}

/* ---- The order of lines. ----
 *
 * A row is listed twice among the callees of its caller: as the end of a line, and before a semicolon and its own
 * callees. The two have different places: "a" comes before "a::b", which comes before "a;b", because a colon is less
 * than a semicolon. */

struct listed_text {
    struct text text;
    uint32_t number;
    bool has_callees; /* a semicolon follows */
};

/* What follows the text: a semicolon, or the end, which comes before all bytes. Texts have no semicolons. */
static int byte_after(const struct listed_text *listed, size_t at) {
    if (at < listed->text.bytes_count) return (unsigned char)listed->text.bytes[at];
    return listed->has_callees ? ';' : -1;
}

static int compare_listed(const void *left, const void *right) {
    const struct listed_text *a = left, *b = right;
    size_t a_bytes = a->text.bytes_count, b_bytes = b->text.bytes_count, common = a_bytes < b_bytes ? a_bytes : b_bytes;
    int order = common ? memcmp(a->text.bytes, b->text.bytes, common) : 0;
    return order ? order : byte_after(a, common) - byte_after(b, common);
}

#define PLACE_NONE UINT32_MAX

/* Lists of callees in their order. Place 2 * n is row n as the end of a line, and 2 * n + 1 is row n with callees. */
struct line_order {
    const struct line_tree *tree;
    uint32_t *first_rows; /* for each text: the first of its rows */
    uint32_t *next_rows;  /* for each row: the next one with its text */
    uint32_t *firsts;     /* for each row: the place of its first callee; after the last row, that of the first root */
    uint32_t *nexts;      /* for each place: that of the next callee of the same caller */
};

static const struct stack *row_at(const struct line_tree *tree, uint32_t row) {
    return stack_table_at(&tree->rows, row);
}

static bool is_line(const struct line_tree *tree, uint32_t row) {
    return row < tree->weights.count && ((const struct line_weight *)column_at(&tree->weights, row))->is_line;
}

static void list_rows_by_text(struct line_order *order) {
    uint32_t row_count = stack_table_count(&order->tree->rows);
    for (uint32_t row = row_count; row-- > 0;) {
        uint32_t *first = &order->first_rows[row_at(order->tree, row)->frame.index];
        order->next_rows[row] = *first;
        *first = row;
    }
}

/* Puts the places with that text at the start of their callers' lists. */
static void list_places(struct line_order *order, const struct listed_text *listed) {
    const struct line_tree *tree = order->tree;
    for (uint32_t row = order->first_rows[listed->number]; row != PLACE_NONE; row = order->next_rows[row]) {
        stack_id caller = row_at(tree, row)->prefix;
        if (!listed->has_callees && !is_line(tree, row)) continue;
        uint32_t place = 2 * row + listed->has_callees;
        uint32_t *first = &order->firsts[stack_is_none(caller) ? stack_table_count(&tree->rows) : caller.index];
        order->nexts[place] = *first;
        *first = place;
    }
}

static void order_callees(struct line_order *order, struct failure *failure) {
    const struct strings *strings = order->tree->texts;
    uint32_t text_count = strings_count(strings);
    struct listed_text *listed = memory_allocate(failure, 2 * (size_t)text_count * sizeof *listed);
    if (!listed) return;
    for (uint32_t i = 0; i < 2 * text_count; i++)
        listed[i] = (struct listed_text){strings_text(strings, (string_id){i / 2}), i / 2, i % 2};
    memory_sort(failure, listed, 2 * (size_t)text_count, sizeof *listed, compare_listed);
    list_rows_by_text(order);
    for (uint32_t i = 2 * text_count; i-- > 0 && !failure_is_set(failure);) list_places(order, &listed[i]);
    memory_free(listed);
}

static uint32_t *allocate_places(size_t count, struct failure *failure) {
    uint32_t *places = memory_allocate(failure, count * sizeof *places);
    if (places) memset(places, 0xff, count * sizeof *places); /* PLACE_NONE */
    return places;
}

static struct line_order line_order_create(const struct line_tree *tree, struct failure *failure) {
    size_t row_count = stack_table_count(&tree->rows);
    struct line_order order = {.tree = tree,
                               .first_rows = allocate_places(strings_count(tree->texts), failure),
                               .next_rows = allocate_places(row_count, failure),
                               .firsts = allocate_places(row_count + 1, failure),
                               .nexts = allocate_places(2 * row_count, failure)};
    if (!failure_is_set(failure)) order_callees(&order, failure);
    return order;
}

static void line_order_fini(struct line_order *order) {
    MEMORY_FREE_ALL(order->first_rows, order->next_rows, order->firsts, order->nexts);
}

/* ---- Writing. ---- */

static char *put_text(char *out, struct text text) {
    return text.bytes_count ? mempcpy(out, text.bytes, text.bytes_count) : out;
}

/* Neither our reader nor other tools accept signs in differences. */
static char *put_weight(char *out, struct decimal weight, bool is_difference) {
    char number[DECIMAL_TEXT_BYTES];
    decimal_print(weight, number);
    if (!is_difference) return put_text(out, text_of(number));
    if (weight.mantissa >= 0) return put_text(put_text(out, TEXT("0 ")), text_of(number));
    return put_text(put_text(out, text_of(number + 1)), TEXT(" 0"));
}

static void write_line(struct chunk_list *out, struct text callers, struct text leaf, struct decimal weight,
                       bool is_difference) {
    size_t stack_bytes = callers.bytes_count + leaf.bytes_count;
    char *start = chunk_list_reserve(out, stack_bytes + DECIMAL_TEXT_BYTES + sizeof " 0 \n"), *end = start;
    if (!start) return;
    end = put_text(end, callers);
    end = put_text(end, leaf);
    *end++ = ' ';
    end = put_weight(end, weight, is_difference);
    *end++ = '\n';
    chunk_list_commit(out, (size_t)(end - start));
}

static bool has_negative(const struct line_tree *tree) {
    COLUMN_EACH(const struct line_weight, line_weight, &tree->weights)
        if (line_weight->sum.mantissa < 0) return true;
    return false;
}

/* Walks through the lists. `callers` holds the texts of the rows from the root to the current row, each with a
 * semicolon. */
static void write_lines(const struct line_order *order, struct byte_buffer *callers, struct chunk_list *out,
                        struct progress progress) {
    const struct line_tree *tree = order->tree;
    uint32_t row_count = stack_table_count(&tree->rows), written_count = 0;
    stack_id caller = stack_none();
    bool is_difference = has_negative(tree);
    for (uint32_t place = order->firsts[row_count]; !failure_is_set(out->failure);) {
        if (place == PLACE_NONE) {
            if (stack_is_none(caller)) return;
            const struct stack *row = row_at(tree, caller.index);
            callers->bytes_count -= strings_text(tree->texts, (string_id){row->frame.index}).bytes_count + 1;
            place = order->nexts[2 * caller.index + 1];
            caller = row->prefix;
            continue;
        }
        uint32_t row = place / 2;
        struct text text = strings_text(tree->texts, (string_id){row_at(tree, row)->frame.index});
        if (place % 2) {
            byte_buffer_append(callers, text);
            byte_buffer_append(callers, TEXT(";"));
            caller = (stack_id){row};
            place = order->firsts[row];
            continue;
        }
        struct decimal sum = ((const struct line_weight *)column_at(&tree->weights, row))->sum;
        write_line(out, byte_buffer_text(callers), text, sum, is_difference);
        progress_report(progress, ++written_count, row_count);
        place = order->nexts[place];
    }
}

void line_tree_write(const struct line_tree *tree, struct chunk_list *out, struct progress progress) {
    struct byte_buffer callers = {.failure = out->failure};
    struct line_order order = line_order_create(tree, out->failure);
    if (!failure_is_set(out->failure)) write_lines(&order, &callers, out, progress);
    line_order_fini(&order);
    byte_buffer_fini(&callers);
}
