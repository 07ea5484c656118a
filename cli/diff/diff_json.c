#include "diff_json.h"

#include "libconvert/gecko_convert.h"
#include "libconvert/report.h"

enum { DIFF_VERSION = 1 };

static void write_cell(struct json *json, const char *key, const struct cell *cell) {
    json_key(json, key);
    if (!cell->values) {
        json_null(json);
        return;
    }
    json_object_begin(json);
    json_key_string(json, "state", cell->estimate.change == 0 ? "same" : comparison_state(cell));
    json_key_double(json, "base", cell->estimate.base);
    json_key_double(json, "head", cell->estimate.head);
    json_key_double(json, "change", cell->estimate.change);
    json_key_double(json, "lower", cell->lower);
    json_key_double(json, "upper", cell->upper);
    json_key_bool(json, "standsOut", cell->stands_out);
    json_object_end(json);
}

static bool is_shown(const struct comparison_row *row, bool shows_all) {
    for (size_t i = 0; i < CELL_COUNT_MAX; i++) {
        const struct cell *cell = &row->cells[i];
        if (cell->values && cell->estimate.change != 0 && (cell->stands_out || shows_all)) return true;
    }
    return false;
}

static void write_rows(struct json *json, const char *key, const struct comparison *comparison, enum row_kind kind,
                       bool shows_all) {
    static const char *const keys[][CELL_COUNT_MAX] = {
        [ROW_FUNCTION] = {[CELL_SELF] = "self", [CELL_TOTAL] = "total"},
        [ROW_MARKER] = {[CELL_COUNT] = "count", [CELL_MEDIAN] = "medianMs", [CELL_P95] = "p95Ms"},
        [ROW_COUNTER] = {[CELL_VALUE] = "value"},
        [ROW_DURATION] = {[CELL_VALUE] = "durationMs"},
    };
    json_key_array_begin(json, key);
    COLUMN_EACH(const struct comparison_row, row, &comparison->rows) {
        if (row->kind != kind || !is_shown(row, shows_all)) continue;
        json_object_begin(json);
        json_key_value_text(json, "name", row->name);
        if (kind == ROW_FUNCTION) json_key_text_or_null(json, "library", row->library);
        if (kind == ROW_FUNCTION) json_key_text_or_null(json, "file", row->file);
        if (kind == ROW_COUNTER) json_key_text_or_null(json, "unit", row->file);
        for (size_t j = 0; j < CELL_COUNT_MAX && keys[kind][j]; j++) write_cell(json, keys[kind][j], &row->cells[j]);
        json_object_end(json);
    }
    json_array_end(json);
}

static void write_side(struct json *json, const char *key, const struct runs *runs, size_t side) {
    size_t first = side ? runs->counts.base : 0, count = side ? runs->counts.head : runs->counts.base;
    json_key_object_begin(json, key);
    json_key_string(json, "name", report_path_name(runs->paths[side]));
    json_key_array_begin(json, "runs");
    for (size_t i = first; i < first + count; i++) {
        const struct run *run = &runs->all[i];
        json_object_begin(json);
        json_key_string(json, "name", report_path_name(run->path));
        json_key_string(json, "title", run->title);
        json_key_count(json, "samples", run->info.sample_count);
        json_key_count(json, "samplesLost", run->lost_count);
        json_object_end(json);
    }
    json_array_end(json);
    json_object_end(json);
}

static void write_limits(struct json *json, const struct gate *gate) {
    json_key_array_begin(json, "limits");
    COLUMN_EACH(const struct gate_limit, limit, &gate->limits) {
        bool is_known = limit->outcome.verdict != VERDICT_MISSING;
        char words[GATE_WORDS_BYTES];
        gate_describe(limit, words);
        json_object_begin(json);
        json_key_value_text(json, "expression", limit->limit.source);
        json_key_string(json, "verdict", gate_verdict(gate, limit));
        json_key_string(json, "words", words);
        if (is_known) {
            json_key_double(json, "base", limit->outcome.base);
            json_key_double(json, "head", limit->outcome.head);
            json_key_double(json, limit->limit.is_change ? "change" : "value", limit->outcome.change);
            json_key_double(json, "lower", limit->outcome.lower);
        }
        json_object_end(json);
    }
    json_array_end(json);
}

void diff_write_json(struct json *json, const struct comparison *comparison, const struct gate *gate, bool shows_all) {
    static const char *const pers[] = {[PER_SHARE] = "share", [PER_RUN] = "run", [PER_SECOND] = "second"};
    const struct runs *runs = comparison->runs;
    json_object_begin(json);
    json_key_int(json, "version", DIFF_VERSION);
    json_key_string(json, "tool", "gecko-convert " GECKO_CONVERT_VERSION);
    write_side(json, "base", runs, 0);
    write_side(json, "head", runs, 1);
    json_key_string(json, "measure", runs->measure == MEASURE_CPU ? "cpu" : "samples");
    json_key_value_text(json, "unit", runs->unit);
    json_key_value_text(json, "per",
                        comparison->per == PER_MARKER ? comparison->marker : text_of(pers[comparison->per]));
    json_key_string(json, "error", estimate_knows_noise(runs->counts) ? "bootstrap" : "sampling");
    write_rows(json, "functions", comparison, ROW_FUNCTION, shows_all);
    write_rows(json, "markers", comparison, ROW_MARKER, shows_all);
    write_rows(json, "counters", comparison, ROW_COUNTER, shows_all);
    write_rows(json, "duration", comparison, ROW_DURATION, shows_all);
    write_limits(json, gate);
    json_object_end(json);
}
