/* The service of docs/cookbook.md: works a little, waits a little, for two seconds or until it is killed. Leaves some
 * memory behind. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

static unsigned handle_request(unsigned number) {
    enum { ROUND_COUNT = 200000, KEPT_BYTES = 65536 };
    unsigned sum = number;
    char *kept = malloc(KEPT_BYTES);
    if (!kept) return 0;
    memset(kept, (int)number, KEPT_BYTES);
    for (unsigned i = 0; i < ROUND_COUNT; i++) sum = sum * 1103515245u + (unsigned char)kept[i % KEPT_BYTES];
    if (number % 2) free(kept);
    return sum;
}

int main(void) {
    const struct timespec pause = {.tv_nsec = 4000000};
    unsigned sum = 0;
    for (unsigned number = 0; number < 400; number++) {
        sum += handle_request(number);
        nanosleep(&pause, NULL);
    }
    return sum == 1;
}
