// Runs goroutines that compute, in Go and in C. It imports no package, because Go compiles those that a program imports
// together with it.
package main

/*
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t rounds;

__attribute__((constructor)) static void read_arguments(int count, char **arguments) {
    if (count > 1) rounds = strtoull(arguments[1], NULL, 10);
}

static uint64_t rounds_wanted(void) { return rounds; }

static uint64_t mix(uint64_t seed, uint64_t rounds) {
    for (uint64_t i = 0; i < rounds; i++) seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed;
}

static void show(uint64_t result) {
    printf("%" PRIu64 "\n", result);
    fflush(stdout);
}
*/
import "C"

func mixInGo(seed, rounds uint64) uint64 {
	for i := uint64(0); i < rounds; i++ {
		seed = seed*6364136223846793005 + 1442695040888963407
	}
	return seed
}

func main() {
	rounds := uint64(C.rounds_wanted())
	results := make([]uint64, 4)
	done := make(chan bool)
	for i := range results {
		go func(i int) {
			for part := 0; part < 10; part++ {
				results[i] += mixInGo(uint64(i), rounds) + uint64(C.mix(C.uint64_t(i), C.uint64_t(rounds)))
			}
			done <- true
		}(i)
	}
	for range results {
		<-done
	}
	for _, result := range results {
		C.show(C.uint64_t(result))
	}
}
