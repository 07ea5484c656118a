/* Recognises profiles of pprof, which have no magic: a message of protobuf with fields in any order. */
#pragma once

#include "libconvert/base/text.h"

/* True if the fields at the start of an input are those of a profile. */
bool pprof_shape_recognises(struct text start);
