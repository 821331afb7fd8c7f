// SPDX-License-Identifier: GPL-2.0-or-later

// Goroutines that say who they are: by calls that fail and carry their number, as runtime.Stack prints it, and by the
// names of the functions that they keep a CPU busy in.
//
//	goroutines GOROUTINES CALLS BUSY_MS
//
//	lseek(-1002, goroutine, 0)
package main

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"
)

func number() int64 {
	var buf [64]byte
	text := bytes.TrimPrefix(buf[:runtime.Stack(buf[:], false)], []byte("goroutine "))
	n, _ := strconv.ParseInt(string(text[:bytes.IndexByte(text, ' ')]), 10, 64)
	return n
}

func say(calls int) {
	me := number()
	for i := 0; i < calls; i++ {
		mark(me) // by the runtime, or through C
		if i%8 == 0 {
			runtime.Gosched()
		}
	}
}

func markGo(me int64) { syscall.Syscall(syscall.SYS_LSEEK, ^uintptr(1001), uintptr(me), 0) }

var (
	sink [4]uint64
	lock sync.Mutex
	logs *os.File
)

// The leaf of the stack of a sample: no frame needs unwinding.
//
//go:noinline
func busy0(until time.Time) {
	for time.Now().Before(until) {
		for i := 0; i < 200000; i++ {
			sink[0]++
		}
	}
}

//go:noinline
func busy1(until time.Time) {
	for time.Now().Before(until) {
		for i := 0; i < 200000; i++ {
			sink[1]++
		}
	}
}

//go:noinline
func busy2(until time.Time) {
	for time.Now().Before(until) {
		for i := 0; i < 200000; i++ {
			sink[2]++
		}
	}
}

func value(word string) int {
	n, err := strconv.Atoi(word)
	if err != nil {
		panic(err)
	}
	return n
}

func main() {
	var err error
	logs, err = os.Create(fmt.Sprintf("%s/%d", os.Getenv("TRUTH"), os.Getpid()))
	if err != nil {
		panic(err)
	}
	var all sync.WaitGroup
	run := func(body func()) {
		all.Add(1)
		go func() {
			defer all.Done()
			body()
		}()
	}
	for i := 0; i < value(os.Args[1]); i++ {
		run(func() { say(value(os.Args[2])) })
	}
	all.Wait()
	until := time.Now().Add(time.Duration(value(os.Args[3])) * time.Millisecond)
	for i, busy := range []func(time.Time){busy0, busy1, busy2} {
		i, busy := i, busy
		run(func() {
			lock.Lock()
			fmt.Fprintf(logs, "{\"pid\": %d, \"goid\": %d, \"function\": \"main.busy%d\"}\n",
				os.Getpid(), number(), i)
			lock.Unlock()
			busy(until)
		})
	}
	all.Wait()
}
