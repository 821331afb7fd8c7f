// SPDX-License-Identifier: GPL-2.0-or-later

// Command calls makes and serves gRPC and HTTP/2 calls of every kind, and logs each of them itself: that log is what
// tracers are judged by. One source for gRPC 1.19 to the newest, without generated code.
//
//	calls -mode both|server|client -kind grpc|http|h2c|grpchttp [-tls] [-addr HOST:PORT|unix:PATH] [-log FILE]
//
// It prints "ready ADDRESS", then takes commands from standard input, one a line, and answers each with "done ...":
//
//	run SCENARIO [CALLS [CONCURRENCY]]	makes calls (see scenarios in grpc.go and http.go)
//	run harm ROUNDS GOROUTINES		see harm.go
//	dial					opens one more connection and uses it from here on
//	quit
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"
)

// One call as the program saw it. Whoever watches frames must see them between these instants, however busy the
// machine is: the client's request leaves after its Begin and arrives before the server's; the answer leaves after
// the server's Done and arrives before the client's. Instants are nanoseconds of CLOCK_BOOTTIME.
type call struct {
	Side    string `json:"side"` // "client" or "server"
	ID      string `json:"id"`   // the x-call header: names the call on both sides
	Method  string `json:"method"`
	Status  string `json:"status"`
	Begin   int64  `json:"begin"`
	Done    int64  `json:"done"`
	Due     int64  `json:"due"`     // the client gave up after this; 0: it did not
	Timed   bool   `json:"timed"`   // by a deadline
	Latency int64  `json:"latency"` // as a stats handler measures it: from its first word of the call to its last
	Stream  uint64 `json:"stream"`  // 0: not known on this side
	Local   string `json:"local"`
	Peer    string `json:"peer"`
	// Bytes of messages with their five bytes in front, as DATA frames carry them; gRPC only.
	Sent     int64 `json:"sent"`
	Received int64 `json:"received"`

	first   time.Time
	due     *int64
	handled bool
}

var (
	mode    = flag.String("mode", "both", "both, server or client")
	kind    = flag.String("kind", "grpc", "grpc, http (TLS), h2c or grpchttp (gRPC through net/http, TLS)")
	tlsFlag = flag.Bool("tls", false, "gRPC over TLS")
	addr    = flag.String("addr", "127.0.0.1:0", "address to serve or to call; unix:PATH is a unix socket")
	file    = flag.String("log", "", "file for the log of calls, JSON lines")
)

var (
	logLock sync.Mutex
	logTo   *bufio.Writer
	logFile *os.File
	numbers int64
	serving int64 // calls in handlers of gRPC whose end is not in the log yet
)

// The next name of a call.
func nextID() string {
	return fmt.Sprintf("%d-%d", os.Getpid(), atomic.AddInt64(&numbers, 1))
}

// The clock of kernel events, which has no public name in Go.
func now() int64 {
	const clockBoottime = 7
	var ts syscall.Timespec
	_, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&ts)), 0)
	if errno != 0 {
		check(errno)
	}
	return ts.Nano()
}

func begin(side, method string) *call {
	return &call{Side: side, Method: method, first: time.Now(), Begin: now()}
}

func (c *call) finish(status string) {
	c.Latency = int64(time.Since(c.first))
	if c.Done == 0 {
		c.Done = now()
	}
	if c.due != nil {
		c.Due = atomic.LoadInt64(c.due)
	}
	c.Status = status
	if c.handled {
		defer atomic.AddInt64(&serving, -1)
	}
	if logTo == nil {
		return
	}
	line, err := json.Marshal(c)
	check(err)
	logLock.Lock()
	defer logLock.Unlock()
	logTo.Write(append(line, '\n'))
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "calls:", err)
		os.Exit(1)
	}
}

// mux.go shares the port with other protocols.
var share = func(l net.Listener) net.Listener { return l }

func listen() net.Listener {
	if strings.HasPrefix(*addr, "unix:") {
		l, err := net.Listen("unix", (*addr)[5:])
		check(err)
		return l
	}
	l, err := net.Listen("tcp", *addr)
	check(err)
	*addr = l.Addr().String()
	return l
}

func text(a net.Addr) string {
	if a == nil {
		return ""
	}
	return a.String()
}

type caller interface {
	dial()
	run(scenario string, n, parallel int)
}

// Calls fn n times, on as many goroutines as asked for.
func repeat(n, parallel int, fn func()) {
	var left = int64(n)
	var wait sync.WaitGroup
	for i := 0; i < parallel; i++ {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for atomic.AddInt64(&left, -1) >= 0 {
				fn()
			}
		}()
	}
	wait.Wait()
}

func obey(c caller) {
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var word, scenario string
		n, parallel := 1, 1
		fmt.Sscan(in.Text(), &word, &scenario, &n, &parallel)
		begin := time.Now()
		switch word {
		case "run":
			c.run(scenario, n, parallel)
		case "dial":
			c.dial()
		case "quit":
			return
		}
		logLock.Lock()
		if logTo != nil {
			logTo.Flush()
		}
		logLock.Unlock()
		fmt.Println("done", n, time.Since(begin).Nanoseconds())
	}
}

func main() {
	flag.Parse()
	if *file != "" {
		var err error
		logFile, err = os.OpenFile(*file, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
		check(err)
		logTo = bufio.NewWriter(logFile)
	}
	web := *kind != "grpc"
	if *mode != "client" {
		l := listen()
		if web {
			go serveWeb(l)
		} else {
			go serveGRPC(share(l))
		}
	}
	var c caller
	if *mode == "server" {
		c = idle{}
	} else if web && *kind != "grpchttp" {
		c = newWebCaller()
	} else {
		c = newGRPCCaller()
	}
	c.dial()
	fmt.Println("ready", *addr)
	obey(c)
	// the client has its answer before the server's side knows that the call is over
	for until := time.Now().Add(10 * time.Second); atomic.LoadInt64(&serving) > 0 && time.Now().Before(until); {
		time.Sleep(time.Millisecond)
	}
	logLock.Lock()
	if logTo != nil {
		logTo.Flush()
	}
}

// What a server is asked for: nothing but to flush its log.
type idle struct{}

func (idle) dial()                {}
func (idle) run(string, int, int) {}
