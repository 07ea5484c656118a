// Counts and sorts words in two goroutines, for a second.
package main

import (
	"fmt"
	"sort"
	"strings"
	"sync"
	"time"
)

func count(n int) map[string]int {
	counts := map[string]int{}
	for i := 0; i < n; i++ {
		counts[fmt.Sprintf("w%d", i*7919%5003)]++
	}
	return counts
}

func sorted(counts map[string]int) string {
	words := make([]string, 0, len(counts))
	for word := range counts {
		words = append(words, word)
	}
	sort.Strings(words)
	return strings.Join(words, ",")
}

func main() {
	var group sync.WaitGroup
	end := time.Now().Add(time.Second)
	for i := 0; i < 2; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for time.Now().Before(end) {
				sorted(count(10000))
			}
		}()
	}
	group.Wait()
}
