// SPDX-License-Identifier: GPL-2.0-or-later

// Three services, a process each: edge calls middle, both call store. What works for a call says so by itself.
//
//	mesh store WORKERS		/t.Store/Get
//	mesh middle WORKERS STORE	/t.Middle/Fan and the stream /t.Middle/Talk: goroutines that call store
//	mesh edge WORKERS STORE MIDDLE	/t.Edge/Buy: goroutines that call middle, a stream to it, a pool
//	mesh client EDGE CALLS CONCURRENCY
//
// Servers print "listening ADDRESS" and end with their standard input; WORKERS: grpc.NumStreamWorkers. The client
// prints "ready", waits for a line and prints "done".
//
// The x-call header of each call is "NUMBER PARENT WHO": the number of the call that it is made for, and by whom.
// Goroutines that work for call NUMBER keep a CPU busy between lseek(-1, 16 * NUMBER + WHO, 0) and
// lseek(-1, 16 * NUMBER + WHO, 1). WHO:
//
//	0: the handler of the call	1: a goroutine that it started	2: a goroutine of that one
//	3: a pool of goroutines that got the number through a channel
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

type message = wrapperspb.BytesValue

const (
	handler = iota
	child
	grandchild
	pooled
)

const (
	fan   = 3 // goroutines of a handler
	turns = 3 // messages of a stream
	spin  = 300 * time.Microsecond
)

var (
	stores  *grpc.ClientConn
	middles *grpc.ClientConn
	made    int64 // calls of this process
	sum     [4]uint64
	works   = make(chan func())
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	must(err)
	return n
}

func mark(call, who, edge int) {
	syscall.Syscall(syscall.SYS_LSEEK, ^uintptr(0), uintptr(16*call+who), uintptr(edge))
}

func work(call, who int) {
	mark(call, who, 0)
	for until := time.Now().Add(spin); time.Now().Before(until); {
		for i := 0; i < 10000; i++ {
			sum[who] += uint64(i)
		}
	}
	mark(call, who, 1)
}

func outgoing(parent, who int) context.Context {
	number := os.Getpid()<<20 | int(atomic.AddInt64(&made, 1))
	return metadata.AppendToOutgoingContext(context.Background(), "x-call", fmt.Sprint(number, parent, who))
}

func invoke(conn *grpc.ClientConn, method string, parent, who int) {
	must(conn.Invoke(outgoing(parent, who), method, &message{Value: []byte("in")}, new(message)))
}

// The number of the call that is served.
func numberOf(s grpc.ServerStream) int {
	md, _ := metadata.FromIncomingContext(s.Context())
	return atoi(strings.Fields(md["x-call"][0])[0])
}

// Goroutines of a handler, the last one with a goroutine of its own; ends when all have.
func fanOut(call int, conn *grpc.ClientConn, method string) {
	var all sync.WaitGroup
	for i := 0; i < fan; i++ {
		all.Add(1)
		go func(i int) {
			defer all.Done()
			work(call, child)
			invoke(conn, method, call, child)
			if i == fan-1 {
				all.Add(1)
				go func() {
					defer all.Done()
					work(call, grandchild)
					invoke(conn, method, call, grandchild)
				}()
			}
		}(i)
	}
	all.Wait()
}

// ---- services ----

func get(s grpc.ServerStream, call int) { work(call, handler) }

func doFan(s grpc.ServerStream, call int) {
	work(call, handler)
	fanOut(call, stores, "/t.Store/Get")
	work(call, handler)
}

// Each further message of the stream is work as well.
func talk(s grpc.ServerStream, call int) {
	for {
		work(call, handler)
		invoke(stores, "/t.Store/Get", call, handler)
		fanOut(call, stores, "/t.Store/Get")
		must(s.SendMsg(&message{Value: []byte("turn")}))
		if s.RecvMsg(new(message)) == io.EOF {
			return
		}
	}
}

func stream(call int) {
	both := &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}
	s, err := middles.NewStream(outgoing(call, handler), both, "/t.Middle/Talk")
	must(err)
	for i := 0; i < turns; i++ {
		must(s.SendMsg(&message{Value: []byte("turn")}))
		must(s.RecvMsg(new(message)))
		work(call, handler)
	}
	must(s.CloseSend())
	for s.RecvMsg(new(message)) == nil {
	}
}

func buy(s grpc.ServerStream, call int) {
	work(call, handler)
	fanOut(call, middles, "/t.Middle/Fan")
	stream(call)
	done := make(chan bool)
	works <- func() {
		work(call, pooled)
		invoke(stores, "/t.Store/Get", call, pooled)
		close(done)
	}
	<-done
	work(call, handler)
}

var services = map[string]func(grpc.ServerStream, int){
	"/t.Store/Get": get, "/t.Middle/Fan": doFan, "/t.Middle/Talk": talk, "/t.Edge/Buy": buy,
}

func handle(_ interface{}, s grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(s)
	if err := s.RecvMsg(new(message)); err != nil {
		return err
	}
	services[method](s, numberOf(s))
	if method == "/t.Middle/Talk" {
		return nil
	}
	return s.SendMsg(&message{Value: []byte("out")})
}

func serve(workers int) {
	for i := 0; i < 2; i++ {
		go func() {
			for do := range works {
				do()
			}
		}()
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	go grpc.NewServer(grpc.UnknownServiceHandler(handle), grpc.NumStreamWorkers(uint32(workers))).Serve(l)
	fmt.Println("listening", l.Addr())
	io.Copy(io.Discard, os.Stdin)
}

func dial(address string) *grpc.ClientConn {
	conn, err := grpc.Dial(address, grpc.WithInsecure(), grpc.WithBlock())
	must(err)
	return conn
}

func client(edges *grpc.ClientConn, calls, concurrency int) {
	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadString('\n')
	var all sync.WaitGroup
	for c := 0; c < concurrency; c++ {
		all.Add(1)
		go func(c int) {
			defer all.Done()
			for n := c; n < calls; n += concurrency {
				invoke(edges, "/t.Edge/Buy", 0, handler)
			}
		}(c)
	}
	all.Wait()
	fmt.Println("done")
	io.Copy(io.Discard, os.Stdin)
}

func main() {
	if os.Args[1] == "client" {
		client(dial(os.Args[2]), atoi(os.Args[3]), atoi(os.Args[4]))
		return
	}
	if len(os.Args) > 3 {
		stores = dial(os.Args[3])
	}
	if len(os.Args) > 4 {
		middles = dial(os.Args[4])
	}
	serve(atoi(os.Args[2]))
}
