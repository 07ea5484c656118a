/* Checks whether a file is a valid profile: processed version 70 or Gecko version 36, plain or compressed. */
#pragma once

#include "readers/json/document.h"
#include "violations.h"

enum profile_kind { PROFILE_UNKNOWN, PROFILE_PROCESSED, PROFILE_GECKO };

/* What the document claims to be. */
struct profile_identity {
    enum profile_kind kind;
    double version; /* NAN: the document has no version */
};

struct profile_identity profile_identify(const struct document *document);

/* Writes "processed v70", terminated. */
enum { PROFILE_TITLE_BYTES = 48 };
void profile_identity_write(struct profile_identity identity, char title[PROFILE_TITLE_BYTES]);

/* Returns true if the first bytes of a file look like a profile: JSON with a member "meta". */
bool profile_is_likely(struct text start);

/* Applies all rules. Failures (memory) are latched in the document's failure. */
void check_document(struct document *document, struct violations *violations);

/* Reads the input into the empty document, checks that, and closes the input. The input may be NULL if it could not be
 * opened. Everything wrong with the content is a violation, JSON errors included. If the input cannot be read, that is
 * latched in the failure of the input and the document. */
void check_input(struct input *input, struct document *document, struct violations *violations,
                 struct progress progress);
