// Sorts texts in two threads, and records it. The program starts its recording itself:
//
//     ./app-cc app.trace && gecko-convert app.trace
#include <gecko_recorder.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <thread>
#include <vector>

static grec_category sorting = GREC_CATEGORY("Sorting", GREC_COLOR_ORANGE);
static grec_label sort_label = GREC_LABEL_AT("sort", &sorting, __FILE__, __LINE__);
static grec_marker batch_marker = GREC_MARKER("batch", &sorting, nullptr);

static std::vector<std::string> make_texts(unsigned seed, size_t count) {
    std::vector<std::string> texts;
    for (size_t i = 0; i < count; i++) texts.push_back(std::to_string(seed = seed * 1103515245u + 12345u));
    return texts;
}

static void work(const char *name, unsigned seed) {
    grec::thread_scope thread(name);
    for (unsigned batch = 0; batch < 10; batch++) {
        grec::interval_scope interval(batch_marker);
        grec::label_scope label(sort_label, name);
        std::vector<std::string> texts = make_texts(seed + batch, 20000);
        std::sort(texts.begin(), texts.end());
        grec_text_marker("first text", &sorting, texts.front().c_str());
    }
}

int main(int argument_count, char **arguments) {
    grec_options options = {};
    options.path = argument_count > 1 ? arguments[1] : "app.trace";
    options.flags = GREC_SAMPLER;
    grec_error error = grec_start(&options);
    if (error) std::fprintf(stderr, "%s: not recorded: %s\n", options.path, grec_error_text(error));
    std::thread first(work, "first sorter", 1u), second(work, "second sorter", 2u);
    first.join();
    second.join();
    grec_stop();
    return error ? 1 : 0;
}
