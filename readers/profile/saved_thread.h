/* A thread while it is read, of either format. */
#pragma once

#include "saved_reader.h"

/* The thread that is read. Its process is known when all members have been read. */
struct saved_thread {
    thread_id id;
    struct thread *thread;
    string_id pid;
    struct text process_name;
    struct text process_type;
    int64_t process_start_ns;
    int64_t process_end_ns;
    bool is_main;
    struct column pauses;    /* struct paused_range */
    struct column times;     /* int64_t: of samples whose times are not differences */
    struct column weights;   /* struct decimal */
    struct column cpu_ns;    /* int64_t */
    struct column delays_ns; /* int64_t */
    bool has_cpu_rest;       /* some processor times have a fraction */
    bool has_weights;
    enum weight_type weight_type;
};

/* Begins a thread, which becomes the one that is read. Returns false if memory ran out (latched). Call
 * saved_thread_fini otherwise. */
bool saved_thread_begin(struct saved_reader *reader, struct saved_thread *saved);
void saved_thread_fini(struct saved_thread *saved);

/* Gives the thread its process, once all its members were read. */
void saved_thread_end(struct saved_reader *reader, struct saved_thread *saved);

/* Reads a member. Returns false, and reads nothing, if it knows no such member. */
bool saved_thread_read_member(struct saved_reader *reader, struct text key, void *saved);

/* Read tables of the processed format. */
void saved_samples_read(struct saved_reader *reader, struct saved_thread *saved);
void saved_markers_read(struct saved_reader *reader, struct saved_thread *saved);
void saved_allocations_read(struct saved_reader *reader, struct saved_thread *saved);

/* Reads a thread of a version before 60, which has all tables of its own. */
void saved_thread_read_with_tables(struct saved_reader *reader, struct saved_thread *saved);

/* A new sample, whose time is not known yet. A sample without a time is a failure. */
extern const struct sample saved_blank_sample;
void saved_samples_check_times(struct saved_reader *reader, const struct samples *samples);

/* Gives the samples what was read of processor times and delays. */
void saved_thread_set_details(struct saved_reader *reader, struct saved_thread *saved);

/* Reads one processor time. */
int64_t saved_cpu_ns(struct saved_reader *reader, struct saved_thread *saved);

/* A new marker, and what makes it whole. */
extern const struct marker saved_blank_marker;
void saved_marker_settle(struct saved_reader *reader, struct marker *marker, uint32_t row);
