// Three functions that take turns, and tell how much processor time each had: shares MILLISECONDS
//
// Turns differ in length and are longer than the sampler's interval. Otherwise both could keep in step.
package main

import (
	"fmt"
	"math/rand"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"
)

const clockThreadCputimeID = 3

var sum uint64

func nowNs() int64 {
	var time syscall.Timespec
	syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockThreadCputimeID, uintptr(unsafe.Pointer(&time)), 0)
	return time.Nano()
}

//go:noinline
func work(steps uint64) uint64 {
	value := uint64(1)
	for i := uint64(0); i < steps; i++ {
		value = value*6364136223846793005 + 1
	}
	return value
}

//go:noinline
func alpha(steps uint64) { sum += work(steps * 5) }

//go:noinline
func beta(steps uint64) { sum += work(steps * 3) }

//go:noinline
func gamma(steps uint64) { sum += work(steps * 2) }

func main() {
	runtime.LockOSThread()
	limitMs, _ := strconv.ParseInt(os.Args[1], 10, 64)
	names, functions := []string{"alpha", "beta", "gamma"}, []func(uint64){alpha, beta, gamma}
	var spentNs [3]int64
	for spentNs[0]+spentNs[1]+spentNs[2] < limitMs*1000000 {
		for i, function := range functions {
			steps := uint64(500000 + rand.Intn(1000000))
			beginNs := nowNs()
			function(steps)
			spentNs[i] += nowNs() - beginNs
		}
	}
	for i, name := range names {
		fmt.Println("function", name, spentNs[i])
	}
}
