/* Signals by which a user ends the program. */
#pragma once

#include <signal.h>

/* Returns SIGINT, SIGTERM and SIGHUP, without those that the caller ignores (nohup). */
sigset_t ending_signals_get(void);
