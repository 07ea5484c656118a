/* Is a file a good profile: processed version 70 or Gecko version 36, plain or compressed? */
#ifndef GECKO_CHECK_H
#define GECKO_CHECK_H

#include "cli/document.h"
#include "offences.h"

enum profile_kind { PROFILE_UNKNOWN, PROFILE_PROCESSED, PROFILE_GECKO };

/* What the document says that it is. */
struct profile_identity {
    enum profile_kind kind;
    double version; /* NAN: it says none */
};

struct profile_identity profile_identify(const struct document *document);

/* "processed v70", terminated. */
enum { PROFILE_TITLE_BYTES = 48 };
void profile_identity_write(struct profile_identity identity, char title[PROFILE_TITLE_BYTES]);

/* By the first bytes of the file: JSON that has a meta, or JsonSlabs. */
bool profile_is_likely(struct text start);

/* Where the profile is in the document: the root, or its member "profile", as old tools have wrapped it. */
const struct node *profile_root(const struct document *document);

/* Applies all rules. Failures (memory) are latched in the document. */
void check_document(struct document *document, struct offences *offences);

/* Reads the input, of the file at that path ("-": standard input), into the empty document, checks that, and closes the
 * input; NULL is one that could not be opened. What is wrong with it, as JSON too, is an offence; what cannot be read
 * at all is a failure, latched where those of the input and the document are. */
void check_input(struct input *input, const char *path, struct document *document, struct offences *offences,
                 struct progress progress);

#endif
