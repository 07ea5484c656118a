/* Counts primes, and records an interval for each request, a label in stacks, and a counter.
 *
 *     GECKO_RECORDER=1 ./app-c && gecko-convert app-c-*.trace */
#include <stdio.h>

#include <gecko_recorder.h>

static struct grec_category arithmetic = GREC_CATEGORY("Arithmetic", GREC_COLOR_GREEN);

static const struct grec_field request_fields[] = {
    GREC_FIELD("limit", "Limit", GREC_FORMAT_INTEGER),
    GREC_FIELD("primes", "Primes", GREC_FORMAT_INTEGER),
};
static struct grec_marker_type request_type = GREC_MARKER_TYPE("Request", request_fields);

static struct grec_counter served = GREC_COUNTER("Served", "Requests", "Requests that were served", NULL,
                                                 GREC_COUNTER_ACCUMULATED, GREC_GRAPH_PURPLE, 0);

static unsigned count_primes(unsigned limit) {
    unsigned count = 0;
    GREC_LABEL("count primes", &arithmetic);
    for (unsigned n = 2; n < limit; n++) {
        unsigned divisor = 2;
        while (divisor * divisor <= n && n % divisor) divisor++;
        if (divisor * divisor > n) count++;
    }
    return count;
}

int main(void) {
    for (unsigned request = 1; request <= 8; request++) {
        grec_time start = grec_now();
        unsigned limit = request * 50000, primes = count_primes(limit);
        GREC_INTERVAL_WITH("request", &arithmetic, &request_type, start, GREC_INT(limit), GREC_INT(primes));
        grec_counter_add(&served, 1);
        printf("%u primes below %u\n", primes, limit);
    }
    return 0;
}
