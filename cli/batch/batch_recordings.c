#include "batch_recordings.h"

#include "batch_plan.h"
#include "libconvert/base/first_row.h"
#include "readers/input/input_folder.h"

struct batch_recording_file {
    size_t entry;
    size_t recording;
    uint32_t number; /* input_folder_number */
    struct text folder;
};

void batch_recordings_init(struct batch_recordings *recordings, struct failure *failure) {
    column_init(&recordings->files, sizeof(struct batch_recording_file), failure);
    column_init(&recordings->rows, sizeof(struct batch_recording), failure);
}

void batch_recordings_restart(struct batch_recordings *recordings) {
    for (size_t i = 0; i < recordings->rows.count; i++) {
        struct batch_recording *recording = column_at(&recordings->rows, i);
        input_spool_destroy(recording->spool);
        recording->spool = NULL;
        recording->seen_count = 0;
    }
}

void batch_recordings_fini(struct batch_recordings *recordings) {
    batch_recordings_restart(recordings);
    column_fini(&recordings->files);
    column_fini(&recordings->rows);
}

static const struct batch_recording_file *file_at(const struct column *files, size_t i) { return column_at(files, i); }

/* Orders by folder, and within a folder by number. */
static int compare_places(const void *left, const void *right) {
    const struct batch_recording_file *a = left, *b = right;
    int order = text_compare(a->folder, b->folder);
    return order ? order : (a->number > b->number) - (a->number < b->number);
}

static int compare_entries(const void *left, const void *right) {
    const struct batch_recording_file *a = left, *b = right;
    return (a->entry > b->entry) - (a->entry < b->entry);
}

/* Returns whether the entry can be a file with that number. One that was refused, or that is an archive, cannot. */
static bool can_be(const struct batch_entry *entry, uint32_t number) {
    enum batch_status status = atomic_load(&entry->status);
    const struct batch_trace *trace = batch_entry_trace(entry);
    if (number == INPUT_FOLDER_HEADER) return status == BATCH_PENDING && trace && trace->may_have_parts;
    return number != INPUT_FOLDER_OTHER && (status == BATCH_PENDING || status == BATCH_NO_TRACE);
}

/* Lists the members that can be files of recordings. */
static void list_files(struct column *files, const struct column *members, size_t first) {
    for (size_t i = first; i < members->count; i++) {
        const struct batch_entry *entry = column_at(members, i);
        struct text folder;
        uint32_t number = input_folder_number(text_of(entry->member), &folder);
        struct batch_recording_file *file = can_be(entry, number) ? column_push(files) : NULL;
        if (!file) continue;
        *file = (struct batch_recording_file){.entry = i + 1, .number = number, .folder = folder};
    }
}

/* Adds the recording whose files are those from `first` up to `end`, in order. */
static void add(struct batch_source *source, const struct column *files, size_t first, size_t end, size_t header) {
    struct batch_recordings *recordings = &source->recordings;
    struct batch_recording *recording = column_push(&recordings->rows);
    if (!recording) return;
    *recording = (struct batch_recording){.header = file_at(files, header)->entry, .file_count = end - first};
    for (size_t i = first; i < end; i++) {
        struct batch_recording_file *file = column_push(&recordings->files);
        if (!file) return;
        *file = *file_at(files, i);
        file->recording = recordings->rows.count - 1;
        struct batch_entry *entry = batch_entry_at(source, file->entry);
        if (file->number != INPUT_FOLDER_HEADER) atomic_store(&entry->status, BATCH_PART);
    }
}

/* Says why the files without a header are no traces. Other programs have files with such names, too. */
static void note_no_header(struct batch_source *source, const struct column *files, size_t first, size_t end) {
    for (size_t i = first; i < end; i++) {
        const struct batch_recording_file *file = file_at(files, i);
        struct batch_entry *entry = batch_entry_at(source, file->entry);
        if (file->number > INPUT_FOLDER_HEADER || atomic_load(&entry->status) != BATCH_NO_TRACE) continue;
        struct failure failure = {0};
        failure_set(&failure, FAILURE_INPUT,
                    "%s > %s: if perf record --threads wrote this file, the header of the recording, the file data in "
                    "its folder, is missing",
                    source->path, entry->member);
        batch_entry_fail(entry, &source->texts, BATCH_NO_TRACE, batch_code_no_trace, &failure);
    }
}

/* Returns the end of the files that are in the same folder as the one at `first`. */
static size_t end_of_folder(const struct column *files, size_t first) {
    size_t end = first + 1;
    while (end < files->count && text_equal(file_at(files, end)->folder, file_at(files, first)->folder)) end++;
    return end;
}

/* Looks at the files of a folder, those from `first` up to `end`. */
static void find_in_folder(struct batch_source *source, const struct column *files, size_t first, size_t end) {
    size_t header = end - 1;
    while (header > first && file_at(files, header)->number > INPUT_FOLDER_HEADER) header--;
    bool has_header = file_at(files, header)->number == INPUT_FOLDER_HEADER;
    bool has_first_part = file_at(files, first)->number == 0, has_kernel = header + 1 < end;
    if (has_header && (has_first_part || has_kernel))
        add(source, files, first, end, header);
    else if (has_first_part)
        note_no_header(source, files, first, end);
}

void batch_recordings_find(struct batch_source *source, size_t first) {
    struct column files;
    column_init(&files, sizeof(struct batch_recording_file), &source->failure);
    list_files(&files, &source->members, first);
    column_sort(&files, compare_places);
    for (size_t start = 0, end; start < files.count; start = end) {
        end = end_of_folder(&files, start);
        find_in_folder(source, &files, start, end);
    }
    column_fini(&files);
    column_sort(&source->recordings.files, compare_entries);
}

struct batch_recording *batch_recordings_of(const struct batch_recordings *recordings, size_t entry_number,
                                            uint32_t *file_number) {
    const struct column *files = &recordings->files;
    size_t at = FIRST_ROW(i, files->count, file_at(files, i)->entry >= entry_number);
    const struct batch_recording_file *file = at < files->count ? file_at(files, at) : NULL;
    if (!file || file->entry != entry_number) return NULL;
    *file_number = file->number;
    return column_at(&recordings->rows, file->recording);
}
