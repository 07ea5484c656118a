// usage: every_call TRACE SAVED_TRACE
#include "every_call.h"

namespace {

// Records scopes as objects, which only the C++ interface has.
void record_scopes() {
    static grec_label label = GREC_LABEL_AT("label object", &inner_category, __FILE__, __LINE__);
    static grec_marker marker = GREC_MARKER("interval object", &outer_category, nullptr);
    grec::thread_scope thread("thread object");
    grec::label_scope label_scope(label);
    grec::label_scope text_scope(label, "text of the object");
    grec::label_scope here_scope(GREC_LABEL_HERE("label of this place", &inner_category));
    grec::interval_scope interval_scope(marker);
    grec_sample();
}

}  // namespace

static void record_in_this_language(void) { record_scopes(); }
