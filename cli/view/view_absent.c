/* The command `view` of the static program, which has no HTTP server. */
#include "cli/command.h"
#include "libconvert/base/failure.h"

int view_command(int argument_count, char *const *arguments) {
    struct failure failure = {0};
    (void)argument_count;
    (void)arguments;
    failure_set(&failure, FAILURE_IO,
                "this program was built without its HTTP server: convert to a file and open that at "
                "https://profiler.firefox.com");
    return command_refuse("view", &failure);
}
