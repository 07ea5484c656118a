#include "ending_signals.h"

#include <stdbool.h>
#include <stddef.h>

sigset_t ending_signals_get(void) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    sigset_t signals;
    sigemptyset(&signals);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction action;
        bool is_ignored = sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler == SIG_IGN;
        if (!is_ignored) sigaddset(&signals, numbers[i]);
    }
    return signals;
}
