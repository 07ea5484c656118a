#include "collapsed_dialect.h"

#include "collapsed_line.h"
#include "libconvert/base/cursor.h"
#include "libconvert/profile/threads.h"

/* Takes a semicolon off the text, which may also be at its end. */
static bool take_frame_end(struct text *text) { return !text->bytes_count || cursor_take(text, TEXT(";")); }

/* ---- Where frames end. ---- */

/* Takes one type of a signature in the Java virtual machine: "I", "[J", "Ljava/lang/String;". async-profiler writes a
 * bar for the semicolon. A class without it is a type if the text ends there, which "List*)" of C++ is not. */
static bool take_java_type(struct text *text) {
    while (cursor_take(text, TEXT("["))) continue;
    if (!text->bytes_count || !strchr("BCDFIJSVZL", text->bytes[0])) return false;
    size_t end = 1;
    if (text->bytes[0] == 'L')
        while (end < text->bytes_count && !strchr(";|)", text->bytes[end])) end++;
    *text = text_from(*text, end);
    if (end > 1 && text_starts_with(*text, TEXT(")"))) return false;
    if (!cursor_take(text, TEXT(";"))) cursor_take(text, TEXT("|"));
    return true;
}

/* Returns whether the semicolon at `end` belongs to a Java name that begins at `start`: "Lcom/List;::get",
 * "List.add(Ljava/lang/Object;)Z", "List.get(I)Ljava/lang/Object;". */
static bool is_within_java_name(struct text text, size_t start, size_t end) {
    struct text frame = text_slice(text, start, end), after = text_from(text, end + 1);
    bool is_class = text_starts_with(frame, TEXT("L")) || text_starts_with(frame, TEXT("["));
    if (is_class && (text_starts_with(after, TEXT("::")) || text_starts_with(after, TEXT(".")))) return true;
    size_t open = text_find_last(frame, '(');
    if (open == frame.bytes_count) return false;
    struct text types = text_from(frame, open + 1);
    bool has_types = types.bytes_count > 0;
    while (types.bytes_count && types.bytes[0] != ')')
        if (!take_java_type(&types)) return false;
    if (!types.bytes_count) return has_types;
    types = text_from(types, 1);
    bool returns_class = text_has(types, TEXT("L")) && take_java_type(&types) && !types.bytes_count;
    bool is_end = !after.bytes_count || after.bytes[0] == ';' || text_starts_with(after, TEXT("_["));
    return returns_class && is_end;
}

/* Returns where the last group of parentheses opens, if it ends the text and follows a blank; otherwise the length. */
static size_t find_group(struct text text) {
    size_t depth = 0;
    for (size_t i = text_ends_with(text, TEXT(")")) ? text.bytes_count : 0; i > 1; i--) {
        depth += text.bytes[i - 1] == ')';
        if (text.bytes[i - 1] == '(' && --depth == 0) return text.bytes[i - 2] == ' ' ? i - 1 : text.bytes_count;
    }
    return text.bytes_count;
}

/* Returns whether the semicolon at `end` is before the line of a frame of austin 1 that begins at `start`:
 * "work (prog.py);L12". A function that another one calls may be named L12, too: "main(int);L12". */
static bool is_before_line(struct text text, size_t start, size_t end) {
    struct text frame = text_slice(text, start, end), after = text_from(text, end + 1);
    if (find_group(frame) == frame.bytes_count || !cursor_take(&after, TEXT("L"))) return false;
    size_t digit_count = cursor_count_digits(after);
    return digit_count && (digit_count == after.bytes_count || after.bytes[digit_count] == ';');
}

size_t dialect_frame_end(struct text text, size_t start) {
    size_t end = start;
    do {
        struct text rest = text_from(text, end);
        end += text_find(rest, ';');
        if (end == text.bytes_count) return end;
        if (!is_before_line(text, start, end) && !is_within_java_name(text, start, end)) return end;
    } while (++end < text.bytes_count);
    return end;
}

/* ---- Frames. ---- */

/* Marks at the end of a name, by stackcollapse-perf.pl, stackcollapse-bpftrace.pl, the tools of bcc and async-profiler.
 */
static const struct {
    struct text mark;
    enum frame_kind kind;
    bool is_inlined;
} MARKS[] = {
    {TEXT("_[k]"), FRAME_KERNEL, false},      {TEXT("_[j]"), FRAME_JIT, false}, {TEXT("_[i]"), FRAME_USER, true},
    {TEXT("_[0]"), FRAME_INTERPRETED, false}, {TEXT("_[1]"), FRAME_C1, false},  {TEXT("_[w]"), FRAME_WAKER, false},
    {TEXT(" [inlined]"), FRAME_USER, true},
};

/* Returns whether the name is that of a class in Java: "byte[]", "java.lang.Object". async-profiler writes the class of
 * an allocated object or of a lock as innermost frame, marked as allocated within a thread's buffer "_[i]" or outside
 * of it "_[k]". */
static bool is_java_class(struct text name) {
    if (text_ends_with(name, TEXT("[]"))) return true;
    size_t last = text_find_last(name, '.');
    if (text_find(name, '.') == last || text_has(name, TEXT("/"))) return false;
    for (size_t start = 0, end; start < name.bytes_count; start = end + 1) {
        end = start + text_find(text_from(name, start), '.');
        bool is_upper = name.bytes[start] >= 'A' && name.bytes[start] <= 'Z';
        if (end == start || is_upper != (start > last)) return false;
    }
    return text_find(name, '(') == name.bytes_count && text_find(name, ':') == name.bytes_count;
}

/* Returns the name without the offset that tools for Windows and DTrace add: "write+0x15". */
static struct text without_offset(struct text name) {
    size_t plus = text_find_last(name, '+');
    struct text offset = text_from(name, plus + 1);
    uint64_t number;
    bool has_offset = plus > 0 && cursor_take(&offset, TEXT("0x")) && cursor_parse_number(offset, 16, &number);
    return has_offset ? text_slice(name, 0, plus) : name;
}

/* Takes the module off "libc.so.1`write+0x15", as DTrace, macOS's sample and async-profiler (-l) write it, and DTrace's
 * offset. .NET has "List`1", C++ of Microsoft "Shape::`vtable'", and Ruby "in `draw'". */
static void take_module(struct collapsed_frame *frame) {
    size_t tick = text_find(frame->name, '`');
    struct text module = text_slice(frame->name, 0, tick), name = text_from(frame->name, tick + 1);
    bool is_address = text_starts_with(name, TEXT("0x"));
    bool is_arity = name.bytes_count && cursor_is_digit(name.bytes[0]) && !is_address;
    if (!module.bytes_count || !name.bytes_count || is_arity || text_ends_with(name, TEXT("'")) ||
        text_has(module, TEXT("::")))
        return;
    frame->name = without_offset(name);
    frame->library = text_base_name(module);
}

/* Takes the module off "kernel32.dll!BaseThreadInitThunk", as tools of Windows, VTune and PerfView write it. */
static void take_windows_module(struct collapsed_frame *frame) {
    static const struct text endings[] = {TEXT(".dll"), TEXT(".DLL"), TEXT(".exe"),
                                          TEXT(".EXE"), TEXT(".sys"), TEXT(".so")};
    size_t mark = text_find(frame->name, '!');
    struct text module = text_slice(frame->name, 0, mark), name = text_from(frame->name, mark + 1);
    if (!name.bytes_count || !TEXT_ENDS_IN(module, endings)) return;
    size_t folder_end = text_find_last(module, '\\');
    frame->name = without_offset(name);
    frame->library = text_base_name(folder_end < module.bytes_count ? text_from(module, folder_end + 1) : module);
}

static void take_mark(struct collapsed_frame *frame) {
    for (size_t i = 0; i < sizeof MARKS / sizeof *MARKS; i++) {
        struct text mark = MARKS[i].mark, name = frame->name;
        if (name.bytes_count <= mark.bytes_count || !text_ends_with(name, mark)) continue;
        frame->name = text_slice(name, 0, name.bytes_count - mark.bytes_count);
        if (is_java_class(frame->name)) return;
        frame->kind = MARKS[i].kind;
        frame->is_inlined = MARKS[i].is_inlined;
        return;
    }
}

/* Takes the line or the position in the code off a method of Java with a mark, as jfrconv of async-profiler writes them
 * (--lines, --bci): "java/util/List.add:12", "Main.run@34". */
static void take_java_place(struct collapsed_frame *frame) {
    static const struct text scripts[] = {TEXT(".js"), TEXT(".mjs"), TEXT(".cjs"), TEXT(".ts")};
    struct text method = frame->name;
    size_t at = text_find_last(method, '@');
    uint64_t position;
    uint32_t line = 0;
    bool has_position = at < method.bytes_count && cursor_parse_number(text_from(method, at + 1), 10, &position);
    if (has_position) method = text_slice(method, 0, at);
    if (!has_position && !cursor_take_last_place(&method, &line)) return;
    if (text_has(method, TEXT(" ")) || text_has(method, TEXT(":")) || !text_has(method, TEXT("."))) return;
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
        if (text_ends_with(method, scripts[i])) return;
    frame->name = method;
    frame->line = line;
}

static void parse_marked_name(struct text text, struct collapsed_frame *frame) {
    frame->name = text;
    take_mark(frame);
    bool is_java = frame->kind == FRAME_JIT || frame->kind == FRAME_INTERPRETED || frame->kind == FRAME_C1;
    if (is_java || frame->is_inlined) take_java_place(frame);
    take_module(frame);
    take_windows_module(frame);
    /* Tools write these between the stacks of the program and the kernel, and of a sleeper and its waker. */
    if (text_equal(text, TEXT("-")) || text_equal(text, TEXT("--"))) frame->kind = FRAME_SEPARATOR;
}

static bool is_library(struct text path) {
    static const struct text endings[] = {TEXT(".so"), TEXT(".dylib"), TEXT(".dll"), TEXT(".pyd")};
    struct text name = text_base_name(path);
    bool is_interpreter = text_starts_with(name, TEXT("python")) && !text_ends_with(name, TEXT(".py"));
    return is_interpreter || TEXT_ENDS_IN(name, endings) || text_has(name, TEXT(".so."));
}

static bool is_native(struct text path) {
    static const struct text endings[] = {TEXT(".c"),   TEXT(".cc"), TEXT(".cpp"), TEXT(".cxx"), TEXT(".h"),
                                          TEXT(".hpp"), TEXT(".rs"), TEXT(".pyx"), TEXT(".go"),  TEXT(".S")};
    return TEXT_ENDS_IN(path, endings);
}

/* Returns the kind of the script's code, which is the usual one of the dialect if the path does not show it. */
static enum frame_kind script_kind(struct text path, enum frame_kind usual) {
    static const struct {
        struct text ending;
        enum frame_kind kind;
    } rows[] = {
        {TEXT(".rb"), FRAME_RUBY},        {TEXT(".php"), FRAME_PHP},
        {TEXT("<internal>"), FRAME_PHP}, /* PHP's own functions */
        {TEXT(".js"), FRAME_JAVASCRIPT},  {TEXT(".mjs"), FRAME_JAVASCRIPT},
        {TEXT(".cjs"), FRAME_JAVASCRIPT}, {TEXT(".ts"), FRAME_JAVASCRIPT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (text_ends_with(path, rows[i].ending)) return rows[i].kind;
    return usual;
}

/* Sets where the frame's code is. Code of other languages than the script's is machine code. */
static void set_place(struct collapsed_frame *frame, struct text path, uint32_t line, enum frame_kind script) {
    if (is_library(path)) {
        frame->library = text_base_name(path);
        return;
    }
    frame->file = path;
    frame->line = line;
    frame->kind = is_native(path) ? FRAME_USER : script_kind(path, script);
}

/* py-spy: "name (file.py:12)", "name (file.py)", "name (library.so)", and "name (:0)" for machine code of which nothing
 * else is known. heaptrack_print: "name (file.c)". */
static bool parse_py_spy_frame(struct text text, struct collapsed_frame *frame) {
    static const struct text certain[] = {TEXT(".py"), TEXT(">")};
    size_t open = find_group(text);
    if (open == text.bytes_count) return false;
    struct text place = text_slice(text, open + 1, text.bytes_count - 1);
    uint32_t line = 0;
    bool is_nowhere = text_equal(place, TEXT(":0"));
    bool has_no_line = text_ends_with(place, TEXT(":-1")); /* phpspy, in PHP's own functions */
    if (has_no_line) place.bytes_count -= 3;
    bool is_place = is_nowhere || has_no_line || cursor_take_last_place(&place, &line) || is_library(place) ||
                    TEXT_ENDS_IN(place, certain) || is_native(place);
    if (!is_place || !place.bytes_count) return false;
    frame->name = text_slice(text, 0, open - 1);
    if (is_nowhere) return frame->name.bytes_count > 0;
    set_place(frame, place, line, FRAME_PYTHON);
    return frame->name.bytes_count > 0;
}

/* austin 1: "name (file.py);L12", and "name (file.py:12)" with its option -a. */
static bool parse_old_austin_frame(struct text text, struct collapsed_frame *frame) {
    size_t last = text_find_last(text, ';');
    uint64_t line = 0;
    bool has_line = is_before_line(text, 0, last) && cursor_parse_number(text_from(text, last + 2), 10, &line);
    if (!parse_py_spy_frame(has_line ? text_slice(text, 0, last) : text, frame)) return false;
    if (has_line && line <= UINT32_MAX) frame->line = (uint32_t)line;
    return true;
}

/* austin: "path/file.py:name:12"; without a name, which is not ASCII, "path/file.py::12". A number instead of the name
 * is a line before a column, as Nix writes "flake.nix:12:34". */
static bool parse_austin_frame(struct text text, struct collapsed_frame *frame) {
    uint32_t line;
    if (!cursor_take_last_place(&text, &line)) return false;
    size_t colon = text_find_last(text, ':');
    struct text path = text_slice(text, 0, colon);
    bool is_path = text_starts_with(path, TEXT("<")) || text_find(path, '.') < path.bytes_count ||
                   text_find(path, '/') < path.bytes_count || text_find(path, '\\') < path.bytes_count;
    struct text name = text_from(text, colon + 1);
    bool is_number = name.bytes_count && cursor_count_digits(name) == name.bytes_count;
    if (!is_path || is_number || colon == text.bytes_count) return false;
    frame->name = name.bytes_count ? name : TEXT("(unnamed)");
    set_place(frame, path, line, FRAME_PYTHON);
    return true;
}

/* rbspy: "name - path/file.rb:12", "name - path/file.rb" and "name [c function] - (unknown)". */
static bool parse_rbspy_frame(struct text text, struct collapsed_frame *frame) {
    static const struct text dash = TEXT(" - ");
    uint32_t line = 0;
    bool has_line = cursor_take_last_place(&text, &line);
    size_t at = text_find_part(text, dash);
    struct text path = text_from(text, at + dash.bytes_count);
    bool is_unknown = text_equal(path, TEXT("(unknown)")) || text_equal(path, TEXT("unknown"));
    bool is_path = has_line || is_unknown || text_ends_with(path, TEXT(".rb"));
    if (at == 0 || !path.bytes_count || !is_path) return false;
    frame->name = text_slice(text, 0, at);
    if (!is_unknown) set_place(frame, path, line, FRAME_RUBY);
    return true;
}

/* tracing-flame of Rust: " module::span:src/file.rs:12", after the semicolon. */
static bool parse_tracing_frame(struct text text, struct collapsed_frame *frame) {
    uint32_t line;
    text = text_trim(text);
    if (!cursor_take_last_place(&text, &line)) return false;
    size_t colon = text_find_last(text, ':');
    struct text path = text_from(text, colon + 1);
    if (colon == 0 || !text_ends_with(path, TEXT(".rs"))) return false;
    frame->name = text_slice(text, 0, colon);
    set_place(frame, path, line, FRAME_USER);
    return true;
}

/* PerfView and other tools for .NET and Windows: "System.Private.CoreLib!System.String.Concat(class System.String)".
 * These are no modules: "operator!=", "push!(v::Vector, x::Any)", "push! at ./array.jl:3", "File.read!/1". */
static bool parse_module_frame(struct text text, struct collapsed_frame *frame) {
    frame->name = text;
    take_mark(frame);
    struct text name = frame->name, module = text_take_until(&name, '!');
    if (!module.bytes_count || !name.bytes_count || strchr("=( /", name.bytes[0])) return false;
    for (size_t i = 0; i < module.bytes_count; i++)
        if (!cursor_is_word_byte(module.bytes[i]) && !strchr(".-+", module.bytes[i])) return false;
    frame->name = without_offset(name);
    frame->library = module;
    return true;
}

/* Julia: "fib(n::Int64) at ./fib.jl:3", "+ at ./int.jl:87 [inlined]", "jl_apply at /src/julia.h:1982". */
static bool parse_julia_frame(struct text text, struct collapsed_frame *frame) {
    static const struct text at = TEXT(" at "), mark = TEXT(" [inlined]");
    uint32_t line;
    bool is_inlined = text_ends_with(text, mark);
    if (is_inlined) text.bytes_count -= mark.bytes_count;
    if (!cursor_take_last_place(&text, &line)) return false;
    size_t name_bytes = text_find_part(text, at);
    struct text path = text_from(text, name_bytes + at.bytes_count);
    if (!name_bytes || (!text_ends_with(path, TEXT(".jl")) && !is_native(path))) return false;
    frame->name = text_slice(text, 0, name_bytes);
    frame->is_inlined = is_inlined;
    set_place(frame, path, line, FRAME_JIT);
    return true;
}

/* PyTorch's export_stacks: "torch/nn/modules/module.py(1110):__call_impl", with "_" for each blank. */
static bool parse_torch_frame(struct text text, struct collapsed_frame *frame) {
    static const struct text after_path = TEXT(".py(");
    size_t open = text_find_part(text, after_path) + after_path.bytes_count;
    struct text left = text_from(text, open);
    uint64_t line;
    if (!cursor_take_number(&left, 10, &line) || line > UINT32_MAX || !cursor_take(&left, TEXT("):"))) return false;
    if (!left.bytes_count || !strchr("_ ", left.bytes[0])) return false;
    frame->name = text_from(left, 1);
    set_place(frame, text_slice(text, 0, open - 1), (uint32_t)line, FRAME_PYTHON);
    return frame->name.bytes_count > 0;
}

/* ---- Threads. ---- */

#define NO_THREAD ((struct collapsed_thread){.pid = PID_UNKNOWN, .parent_pid = PID_UNKNOWN, .tid = PID_UNKNOWN})

/* Takes an id of at least 0. */
static bool take_plain_id(struct text *text, int64_t *id) {
    return text->bytes_count && cursor_is_digit(text->bytes[0]) && cursor_take_id(text, id);
}

/* Leaves *id as it is if the text is something else. */
static bool parse_plain_id(struct text text, int64_t *id) {
    int64_t number;
    if (!take_plain_id(&text, &number) || text.bytes_count) return false;
    *id = number;
    return true;
}

void dialect_parse_comm(struct text text, struct collapsed_thread *thread) {
    struct collapsed_thread parts = NO_THREAD;
    struct text ids = text;
    *thread = NO_THREAD;
    thread->name = text;
    size_t slash = text_find_last(text, '/');
    if (slash < text.bytes_count && parse_plain_id(text_from(text, slash + 1), &parts.tid))
        ids = text_slice(text, 0, slash);
    size_t dash = text_find_last(ids, '-');
    if (dash == 0 || dash == ids.bytes_count) return;
    struct text pid = text_from(ids, dash + 1);
    if (!parse_plain_id(pid, &parts.pid) && !text_equal(pid, TEXT("?"))) return;
    parts.name = text_slice(ids, 0, dash);
    if (parts.tid == PID_UNKNOWN) parts.tid = parts.pid;
    *thread = parts;
}

/* async-profiler: "[main tid=100]" or "[tid=100]", after "[SCHED_OTHER]" with its option `sched`. The name may contain
 * semicolons. */
static bool take_async_profiler_thread(struct text *stack, struct collapsed_thread *thread) {
    static const struct text mark = TEXT("tid=");
    if (cursor_take(stack, TEXT("[SCHED_"))) text_take_until(stack, ';');
    if (!cursor_take(stack, TEXT("["))) return false;
    size_t at = text_find_part(*stack, mark);
    thread->name = text_trim_end(text_slice(*stack, 0, at));
    *stack = text_from(*stack, at + mark.bytes_count);
    return take_plain_id(stack, &thread->tid) && cursor_take(stack, TEXT("]")) && take_frame_end(stack);
}

/* Takes one of py-spy's processes: process 123:"python prog.py". The command may contain semicolons. */
static bool take_py_spy_process(struct text *stack, int64_t *pid, struct text *command) {
    struct text rest = *stack;
    if (!cursor_take(&rest, TEXT("process ")) || !take_plain_id(&rest, pid) || !cursor_take(&rest, TEXT(":\"")))
        return false;
    size_t end = text_find_part(rest, TEXT("\";"));
    if (end == rest.bytes_count && text_ends_with(rest, TEXT("\""))) end--;
    *command = text_slice(rest, 0, end);
    *stack = text_from(rest, end + 1);
    return take_frame_end(stack);
}

/* py-spy: processes, each the parent of the next one, and "thread (123): name". */
static bool take_py_spy_thread(struct text *stack, struct collapsed_thread *thread) {
    bool has_process = false;
    int64_t pid;
    for (struct text command; take_py_spy_process(stack, &pid, &command); has_process = true) {
        thread->parent_pid = thread->pid;
        thread->parent_name = thread->process_name;
        thread->pid = pid;
        thread->process_name = command;
    }
    if (!cursor_take(stack, TEXT("thread ("))) {
        thread->tid = thread->pid;
        return has_process;
    }
    struct text own = text_take_until(stack, ';');
    size_t close = text_find(own, ')');
    struct text id = text_slice(own, 0, close), name = text_from(own, close + 1);
    bool has_id = parse_plain_id(id, &thread->tid);
    /* Where the system's id is unknown, py-spy writes that of Python in hexadecimal. */
    thread->name = cursor_take(&name, TEXT(": ")) ? name : has_id ? (struct text){0} : id;
    return close < own.bytes_count;
}

/* austin: "P123;T0:456", where 0 is the interpreter, or "P123;T456". */
static bool take_austin_thread(struct text *stack, struct collapsed_thread *thread) {
    if (!cursor_take(stack, TEXT("P")) || !take_plain_id(stack, &thread->pid) || !cursor_take(stack, TEXT(";T")))
        return false;
    struct text id = text_take_until(stack, ';');
    size_t colon = text_find(id, ':');
    if (colon < id.bytes_count) id = text_from(id, colon + 1);
    if (!parse_plain_id(id, &thread->tid)) thread->name = id;
    return id.bytes_count > 0;
}

/* austin 1: "Thread 7f1a3f799280", after "Process 123" if there are several. The number is that of pthread_self. */
static bool take_old_austin_thread(struct text *stack, struct collapsed_thread *thread) {
    enum { DIGITS_MIN = 8 };
    if (cursor_take(stack, TEXT("Process ")) && (!take_plain_id(stack, &thread->pid) || !take_frame_end(stack)))
        return false;
    thread->name = text_take_until(stack, ';');
    struct text id = thread->name;
    uint64_t number;
    return cursor_take(&id, TEXT("Thread ")) && id.bytes_count >= DIGITS_MIN && cursor_parse_number(id, 16, &number);
}

/* macOS's sample: "Thread_123" and "Thread_123   DispatchQueue_1: com.apple.main-thread  (serial)". */
static bool take_sample_thread(struct text *stack, struct collapsed_thread *thread) {
    if (!cursor_take(stack, TEXT("Thread_")) || !take_plain_id(stack, &thread->tid)) return false;
    size_t end = text_find(*stack, ';');
    struct text name = text_slice(*stack, 0, end);
    if (name.bytes_count && name.bytes[0] != ':' && !text_is_blank_byte(name.bytes[0])) return false;
    cursor_take(&name, TEXT(":"));
    thread->name = text_trim(name);
    *stack = text_from(*stack, end + 1);
    return true;
}

/* tracing-flame: "ThreadId(1)-main", or one name for all threads. A blank is before each frame: other programs may be
 * called "tracing". */
static bool take_tracing_thread(struct text *stack, struct collapsed_thread *thread) {
    struct text own = text_take_until(stack, ';');
    thread->name = own;
    if (stack->bytes_count && !text_starts_with(*stack, TEXT(" "))) return false;
    if (text_equal(own, TEXT("all-threads")) || text_equal(own, TEXT("tracing"))) return true;
    int64_t number;
    if (!cursor_take(&own, TEXT("ThreadId(")) || !take_plain_id(&own, &number) || !cursor_take(&own, TEXT(")")))
        return false;
    if (cursor_take(&own, TEXT("-"))) thread->name = own;
    return true;
}

/* .NET: "Process64 app (4711) Args: --x;Thread (4720) CPU=12ms (.NET ThreadPool)", also with groups of threads. */
static bool take_dotnet_thread(struct text *stack, struct collapsed_thread *thread) {
    struct text process = text_take_until(stack, ';'), own;
    if (!cursor_take(&process, TEXT("Process64 ")) && !cursor_take(&process, TEXT("Process32 "))) return false;
    process = text_trim_end(text_slice(process, 0, text_find_part(process, TEXT(" Args:"))));
    size_t open = find_group(process);
    if (!parse_plain_id(text_slice(process, open + 1, process.bytes_count - 1), &thread->pid)) return false;
    thread->process_name = text_trim_end(text_slice(process, 0, open));
    do own = text_take_until(stack, ';');
    while (text_equal(own, TEXT("(Non-Activities)")) || text_equal(own, TEXT("Threads")));
    size_t name_start = find_group(own);
    struct text name = text_slice(own, name_start + 1, own.bytes_count - 1);
    if (!cursor_take(&own, TEXT("Thread (")) || !take_plain_id(&own, &thread->tid)) return false;
    if (text_find(own, '(') < own.bytes_count) thread->name = name;
    return true;
}

bool dialect_is_old_austin(struct text stack) {
    struct collapsed_thread thread;
    return take_old_austin_thread(&stack, &thread);
}

bool dialect_has_spaced_frames(struct text stack) {
    struct collapsed_thread thread;
    return take_tracing_thread(&stack, &thread);
}

/* ---- The choice. ---- */

static const struct dialect plain;
static const struct dialect DIALECTS[] = {
    {.take_thread = take_async_profiler_thread},
    {.parse_frame = parse_old_austin_frame,
     .take_thread = take_old_austin_thread,
     .weight_unit = GECKO_CONVERT_UNIT_US,
     .needs_both = true},
    {.parse_frame = parse_py_spy_frame, .take_thread = take_py_spy_thread},
    {.parse_frame = parse_austin_frame, .take_thread = take_austin_thread},
    {.parse_frame = parse_rbspy_frame},
    {.take_thread = take_sample_thread},
    {.parse_frame = parse_tracing_frame, .take_thread = take_tracing_thread, .weight_unit = GECKO_CONVERT_UNIT_NS},
    {.parse_frame = parse_module_frame, .take_thread = take_dotnet_thread},
    {.parse_frame = parse_julia_frame},
    {.parse_frame = parse_torch_frame, .weight_unit = GECKO_CONVERT_UNIT_US},
};
/* This many stacks are enough to recognise the dialect. */
enum { DIALECT_COUNT = sizeof DIALECTS / sizeof *DIALECTS, CHOICE_STACKS_MAX = 100 };

static bool has_thread(const struct dialect *dialect, struct text stack, size_t own_frame_count) {
    struct collapsed_thread thread = NO_THREAD;
    if (!dialect->take_thread || !dialect->take_thread(&stack, &thread)) return false;
    return !dialect->needs_both || own_frame_count || !stack.bytes_count;
}

/* What the stacks in the start of a trace have of a dialect. */
struct votes {
    size_t own_frame_count; /* in the current stack: frames that are shaped like the dialect's */
    size_t thread_count;
    size_t stack_count; /* stacks of which the thread or most frames are the dialect's */
};

static void count_frames(struct text stack, size_t *frame_count, struct votes votes[DIALECT_COUNT]) {
    for (size_t i = 0; i < DIALECT_COUNT; i++) votes[i].own_frame_count = 0;
    *frame_count = 0;
    for (size_t start = 0, end; start < stack.bytes_count; start = end + 1, ++*frame_count) {
        end = dialect_frame_end(stack, start);
        struct text text = text_slice(stack, start, end);
        struct collapsed_frame frame;
        for (size_t i = 0; i < DIALECT_COUNT && text.bytes_count; i++)
            votes[i].own_frame_count += DIALECTS[i].parse_frame && DIALECTS[i].parse_frame(text, &frame);
    }
}

static bool is_most(size_t part, size_t whole) { return part * 4 >= whole * 3 && part > 0; }

struct dialect_choice dialect_choose(struct text start, bool is_whole, enum collapsed_counts counts) {
    struct votes votes[DIALECT_COUNT] = {0};
    size_t stack_count = 0, frame_count;
    struct text text;
    struct collapsed_line line;
    while (stack_count < CHOICE_STACKS_MAX && collapsed_line_take(&start, is_whole, &text)) {
        if (collapsed_line_parse(text, counts, &line) != COLLAPSED_STACK) continue;
        stack_count++;
        count_frames(line.stack, &frame_count, votes);
        for (size_t i = 0; i < DIALECT_COUNT; i++) {
            bool is_thread = has_thread(&DIALECTS[i], line.stack, votes[i].own_frame_count);
            votes[i].thread_count += is_thread;
            bool has_frames = !DIALECTS[i].needs_both && votes[i].own_frame_count * 2 > frame_count;
            votes[i].stack_count += is_thread || has_frames;
        }
    }
    for (size_t i = 0; i < DIALECT_COUNT; i++)
        if (is_most(votes[i].stack_count, stack_count))
            return (struct dialect_choice){&DIALECTS[i], is_most(votes[i].thread_count, stack_count)};
    return (struct dialect_choice){&plain, false};
}

void dialect_parse_frame(const struct dialect *dialect, struct text text, struct collapsed_frame *frame) {
    while (text.bytes_count > 1 && text_is_blank_byte(text.bytes[0])) text = text_from(text, 1);
    *frame = (struct collapsed_frame){0};
    if (dialect->parse_frame && dialect->parse_frame(text, frame)) return;
    *frame = (struct collapsed_frame){0};
    parse_marked_name(text, frame);
}

bool dialect_take_thread(const struct dialect *dialect, struct text *stack, struct collapsed_thread *thread) {
    struct text rest = *stack;
    *thread = NO_THREAD;
    if (!dialect->take_thread || !dialect->take_thread(&rest, thread)) return false;
    *stack = rest;
    return true;
}
