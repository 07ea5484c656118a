#include "script_frames.h"

void script_frames_set_func(struct profile *profile, const struct script_name *script, struct func *func) {
    func->name = profile_string(profile, script->name);
    func->line = script->line;
    func->column = script->column;
    func->flags = script->kind == SCRIPT_JAVASCRIPT || script->kind == SCRIPT_PYTHON ? FUNC_IS_JS : 0;
    if (!script->file.bytes_count) return;
    func->source = profile_source(profile, script->file);
    func->resource = resource_none();
}

struct category_pair script_frames_category(struct profile *profile, const struct script_name *script) {
    enum code_kind kind = script->kind == SCRIPT_PYTHON ? CODE_SCRIPT : CODE_JIT;
    return categories_intern_code(&profile->categories, kind, script->tier);
}

void script_frames_name(struct profile *profile, struct func *func, struct frame *frame) {
    struct category_pair generated = categories_intern_code(&profile->categories, CODE_JIT, TEXT(""));
    if (frame->category != generated.category) return;
    struct script_name script;
    script_name_parse(strings_text(&profile->strings, func->name), &script);
    if (script.kind == SCRIPT_NONE) return;
    script_frames_set_func(profile, &script, func);
    struct category_pair own = script_frames_category(profile, &script);
    frame->category = own.category;
    frame->subcategory = own.subcategory;
}
