/* Functions without names: the program is built with -s. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static double integrate(unsigned steps) {
    double sum = 0;
    for (unsigned i = 0; i < steps; i++) sum += sin((double)i) * sqrt((double)i);
    return sum;
}

__attribute__((noinline)) static unsigned sieve(unsigned limit) {
    unsigned char *is_composite = calloc(limit, 1);
    unsigned count = 0;
    for (unsigned n = 2; n < limit; n++) {
        if (is_composite[n]) continue;
        count++;
        for (unsigned m = 2 * n; m < limit; m += n) is_composite[m] = 1;
    }
    free(is_composite);
    return count;
}

__attribute__((noinline)) static unsigned collatz(unsigned start) {
    unsigned steps = 0;
    for (unsigned long n = start; n != 1; steps++) n = n % 2 ? 3 * n + 1 : n / 2;
    return steps;
}

__attribute__((noinline)) static double run(unsigned round) {
    double sum = integrate(200000) + sieve(300000);
    for (unsigned i = 1; i < 5000; i++) sum += collatz(i + round);
    return sum;
}

int main(void) {
    double sum = 0;
    for (unsigned i = 0; i < 60; i++) sum += run(i);
    printf("%f\n", sum);
    return 0;
}
