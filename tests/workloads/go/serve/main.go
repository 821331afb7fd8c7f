// SPDX-License-Identifier: GPL-2.0-or-later

// Serves gRPC calls of its own client, numbered by the x-call header. What works for call N says so by a system call,
// lseek(-1, 8 * N + WHO), so that a tracer's answer can be checked:
//
//	WHO 0: the handler	1: a goroutine that it started	2: a goroutine of that one
//	WHO 3: a pool of goroutines that got the number through a channel
//	WHO 4: a goroutine that the handler started, after the call ended
//
//	serve CALLS CONCURRENCY WORKERS		WORKERS: grpc.NumStreamWorkers
//
// Prints "ready", waits for a line, prints "done" and waits for the end of the standard input.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

var (
	pool  = make(chan int)
	after sync.WaitGroup
	over  = make(chan bool)
)

func say(n, who int) {
	syscall.Syscall(syscall.SYS_LSEEK, ^uintptr(0), uintptr(8*n+who), 0)
}

func worker() {
	for n := range pool {
		say(n, 3)
	}
}

func handle(_ interface{}, s grpc.ServerStream) error {
	md, _ := metadata.FromIncomingContext(s.Context())
	n := atoi(md["x-call"][0])
	in := new(wrapperspb.BytesValue)
	if err := s.RecvMsg(in); err != nil {
		return err
	}
	say(n, 0)
	var children sync.WaitGroup
	children.Add(2)
	go func() {
		defer children.Done()
		say(n, 1)
		go func() {
			defer children.Done()
			say(n, 2)
		}()
	}()
	children.Wait()
	after.Add(1)
	go func() {
		<-over
		say(n, 4)
		after.Done()
	}()
	pool <- n
	say(n, 0)
	return s.SendMsg(in)
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

func call(conn *grpc.ClientConn, n int) {
	ctx := metadata.AppendToOutgoingContext(context.Background(), "x-call", strconv.Itoa(n))
	in := &wrapperspb.BytesValue{Value: make([]byte, 100)}
	if err := conn.Invoke(ctx, "/shop.Cart/Add", in, new(wrapperspb.BytesValue)); err != nil {
		panic(err)
	}
}

func main() {
	calls, concurrency, workers := atoi(os.Args[1]), atoi(os.Args[2]), atoi(os.Args[3])
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go worker()
	go grpc.NewServer(grpc.UnknownServiceHandler(handle), grpc.NumStreamWorkers(uint32(workers))).Serve(l)
	conn, err := grpc.Dial(l.Addr().String(), grpc.WithInsecure(), grpc.WithBlock())
	if err != nil {
		panic(err)
	}
	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadString('\n')
	var all sync.WaitGroup
	for c := 0; c < concurrency; c++ {
		all.Add(1)
		go func(c int) {
			defer all.Done()
			for n := c; n < calls; n += concurrency {
				call(conn, n+1)
			}
		}(c)
	}
	all.Wait()
	close(over)
	after.Wait()
	fmt.Println("done")
	io.Copy(io.Discard, os.Stdin)
}
