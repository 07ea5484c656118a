/* Recognises profiles of pprof, which have no magic: a message of protobuf with fields in any order. */
#pragma once

#include "libconvert/base/text.h"

/* True if the fields at the start of an input are those of a profile. */
bool pprof_shape_recognises(struct text start);

/* Recognises a message of quipper's perf_data.proto by its first: the attributes of an event, with their type and size.
 */
bool pprof_shape_is_quipper(struct text start);

/* Recognises a trace of Perfetto by its first packet, which has a time, a sender or a track: fields above 2. */
bool pprof_shape_is_perfetto(struct text start);
