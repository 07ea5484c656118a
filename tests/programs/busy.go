// Runs goroutines that compute, in Go and in C.
package main

/*
#include <stdint.h>

static uint64_t mix(uint64_t seed, uint64_t rounds) {
    for (uint64_t i = 0; i < rounds; i++) seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed;
}
*/
import "C"

import (
	"fmt"
	"os"
	"strconv"
	"sync"
)

func mixInGo(seed, rounds uint64) uint64 {
	for i := uint64(0); i < rounds; i++ {
		seed = seed*6364136223846793005 + 1442695040888963407
	}
	return seed
}

func main() {
	rounds, _ := strconv.ParseUint(os.Args[1], 10, 64)
	results := make([]uint64, 4)
	var group sync.WaitGroup
	for i := range results {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			for part := 0; part < 10; part++ {
				results[i] += mixInGo(uint64(i), rounds) + uint64(C.mix(C.uint64_t(i), C.uint64_t(rounds)))
			}
		}(i)
	}
	group.Wait()
	fmt.Println(results)
}
