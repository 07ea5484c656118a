/* Recognises profiles of pprof, which have no magic: a message of protobuf with fields in any order. */
#pragma once

#include "libconvert/base/text.h"

/* True if the fields at the start of an input are those of a profile. */
bool pprof_shape_recognises(struct text start);

/* Recognises a message of quipper's perf_data.proto by its first: the attributes of an event, with their type and size.
 */
bool pprof_shape_is_quipper(struct text start);
