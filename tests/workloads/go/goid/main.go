// SPDX-License-Identifier: GPL-2.0-or-later

// Goroutines that say their number, as runtime.Stack prints it.
//
//	goid calls GOROUTINES CALLS	each passes its number to CALLS system calls: offset of lseek(-1, ...)
//	goid busy [PROGRAM ARG...]	busy0 to busy3 run in a goroutine each; prints the four numbers; ends with the
//					next line, or becomes PROGRAM
//
// Waits for a line before it begins.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	_ "os/user" // brings in runtime/cgo where cgo is on
	"runtime"
	"strconv"
	"sync"
	"syscall"
)

func number() uint64 {
	var buf [64]byte
	text := buf[:runtime.Stack(buf[:], false)]
	text = bytes.TrimPrefix(text, []byte("goroutine "))
	n, _ := strconv.ParseUint(string(text[:bytes.IndexByte(text, ' ')]), 10, 64)
	return n
}

func calls(n int) {
	me := number()
	for i := 0; i < n; i++ {
		syscall.Syscall(syscall.SYS_LSEEK, ^uintptr(0), uintptr(me), 0)
		if i%16 == 0 {
			runtime.Gosched()
		}
	}
}

var sinks [4]uint64

//go:noinline
func busy0() {
	for {
		sinks[0]++
	}
}

//go:noinline
func busy1() {
	for {
		sinks[1]++
	}
}

//go:noinline
func busy2() {
	for {
		sinks[2]++
	}
}

//go:noinline
func busy3() {
	for {
		sinks[3]++
	}
}

func busy() {
	for i, f := range []func(){busy0, busy1, busy2, busy3} {
		me := make(chan uint64)
		go func(f func()) {
			me <- number()
			f()
		}(f)
		fmt.Print(map[bool]string{true: "", false: " "}[i == 0], <-me)
	}
	fmt.Println()
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

func main() {
	in := bufio.NewReader(os.Stdin)
	in.ReadString('\n')
	if os.Args[1] == "busy" {
		busy()
		in.ReadString('\n')
		if len(os.Args) > 2 {
			panic(syscall.Exec(os.Args[2], os.Args[2:], os.Environ()))
		}
		return
	}
	var all sync.WaitGroup
	for i := 0; i < atoi(os.Args[2]); i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			calls(atoi(os.Args[3]))
		}()
	}
	all.Wait()
	fmt.Println("done")
}
