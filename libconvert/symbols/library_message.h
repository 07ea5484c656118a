/* Libraries that a process names to its child. */
#pragma once

#include "libconvert/base/child_process.h"
#include "libconvert/profile/libs.h"

/* Sends the library's name, path and build id. Returns false if the other process has ended. */
bool library_send(struct channel *channel, const struct lib *lib);

/* Receives a library; free it with library_received_fini, also if this returns false: the other process has ended, or
 * the texts are too long. Calls child_leave if memory runs out. */
bool library_receive(struct channel *channel, struct lib *lib);
void library_received_fini(struct lib *lib);
