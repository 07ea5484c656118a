/* Samples that the program asks for from outside the threads that are sampled: see grec_sample_thread and
 * grec_wait_for_sampling. */
#pragma once

#include "recorder/gecko_recorder.h"

enum grec_error on_demand_sample_thread(struct grec_thread thread);
enum grec_error on_demand_wait(void);
