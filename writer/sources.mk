writer_sources := \
    writer/cells.c \
    writer/chunk_list.c writer/counter_json.c writer/emitters.c writer/frame_parts.c writer/gzip_writer.c writer/json.c writer/log_json.c writer/losses.c \
    writer/marker_json.c writer/meta_json.c writer/numbering.c writer/overhead_json.c writer/sink.c \
    writer/table_of_rows.c writer/thread_json.c \
    writer/collapsed/collapsed.c writer/collapsed/frame_texts.c \
    writer/collapsed/line_tree.c \
    writer/gecko/gecko.c writer/gecko/gecko_process.c \
    writer/gecko/gecko_tables.c writer/gecko/gecko_thread.c writer/gecko/gecko_weights.c \
    writer/processed/processed.c writer/processed/processed_counters.c writer/processed/processed_slabs.c writer/processed/processed_tables.c \
    writer/processed/processed_thread.c writer/processed/processed_visible.c

# Only batches write archives, so this is not in the library.
archive_writer_sources := writer/archive_file.c
