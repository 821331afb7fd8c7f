// SPDX-License-Identifier: GPL-2.0-or-later

package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// What a watcher must not disturb: goroutines whose stacks grow, are copied and shrink, children, signals and new
// connections, all at once. Prints one line a round, which depends on nothing but the numbers asked for.

// One frame of a stack that grows: what it leaves in its frame, it must find there again.
func grow(depth int, seed uint64, at func()) uint64 {
	var frame [16]uint64
	for i := range frame {
		frame[i] = seed + uint64(i*depth)
	}
	if depth == 0 {
		at()
		return seed
	}
	below := grow(depth-1, seed*6364136223846793005+1442695040888963407, at)
	for i := range frame {
		if frame[i] != seed+uint64(i*depth) {
			check(fmt.Errorf("a frame at depth %d was changed", depth))
		}
	}
	return below ^ frame[depth%len(frame)]
}

func hash(b []byte) uint64 {
	h := fnv.New64a()
	h.Write(b)
	return h.Sum64()
}

func (g *grpcCaller) exchange(i int) uint64 {
	in := &message{Value: []byte(fmt.Sprint("message ", i))}
	out := new(message)
	check(g.conn.Invoke(context.Background(), service+"Unary", in, out))
	return hash(out.Value)
}

func child(i int) uint64 {
	out, err := exec.Command("/bin/echo", "child", fmt.Sprint(i)).Output()
	check(err)
	return hash(out)
}

func signals(stop <-chan struct{}) {
	got := make(chan os.Signal, 1)
	signal.Notify(got, syscall.SIGUSR1)
	defer signal.Stop(got)
	for {
		check(syscall.Kill(os.Getpid(), syscall.SIGUSR1))
		<-got
		select {
		case <-stop:
			return
		case <-time.After(time.Millisecond):
		}
	}
}

func (g *grpcCaller) round(n, goroutines int) uint64 {
	var sum uint64
	var wait sync.WaitGroup
	for i := 0; i < goroutines; i++ {
		wait.Add(1)
		go func(i int) {
			defer wait.Done()
			var more uint64
			deep := grow(20+i*37%1500, uint64(n*goroutines+i), func() {
				switch {
				case i%20 == 0: // a call, from the end of a stack that has grown
					more = g.exchange(i)
				case i%500 == 1:
					more = child(i)
				case i%100 == 2: // stacks shrink too
					runtime.GC()
				}
			})
			atomic.AddUint64(&sum, deep*31+more)
		}(i)
	}
	wait.Wait()
	return sum
}

func (g *grpcCaller) harm(rounds, goroutines int) {
	stop := make(chan struct{})
	go signals(stop)
	for n := 0; n < rounds; n++ {
		old := g.conn
		g.dial() // its goroutines begin with the smallest of stacks, in the functions that are watched
		old.Close()
		fmt.Printf("round %d %016x\n", n, g.round(n, goroutines))
	}
	close(stop)
}
