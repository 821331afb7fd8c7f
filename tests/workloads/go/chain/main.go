// SPDX-License-Identifier: GPL-2.0-or-later

// Serves /shop.Front/Buy, whose handler writes log lines and calls /shop.Back/Pay of a second server. All calls have
// their number in the x-call header; a call of Back has that of the call of Front that it is part of, and a letter:
//
//	N h: made by the handler	N c: by a goroutine that it started
//	N p: by a pool of goroutines that got the number through a channel
//
// Log lines begin with "N " and say who writes them: to standard error, standard output and the file of the last
// argument. Back writes none.
//
//	chain CALLS CONCURRENCY WORKERS FILE	WORKERS: grpc.NumStreamWorkers
//
// Prints "ready" to standard output, waits for a line, prints "done" and waits for the end of the standard input.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"strconv"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

type work struct {
	call string
	done chan bool
}

var (
	back   *grpc.ClientConn
	pool   = make(chan work)
	file   *log.Logger
	stderr = log.New(os.Stderr, "", 0)
)

func pay(call string) {
	ctx := metadata.AppendToOutgoingContext(context.Background(), "x-call", call)
	in := &wrapperspb.BytesValue{Value: make([]byte, 100)}
	if err := back.Invoke(ctx, "/shop.Back/Pay", in, new(wrapperspb.BytesValue)); err != nil {
		panic(err)
	}
}

func worker() {
	for w := range pool {
		stderr.Print(w.call, " pool")
		pay(w.call + " p")
		w.done <- true
	}
}

func echo(_ interface{}, s grpc.ServerStream) error {
	in := new(wrapperspb.BytesValue)
	if err := s.RecvMsg(in); err != nil {
		return err
	}
	return s.SendMsg(in)
}

func buy(_ interface{}, s grpc.ServerStream) error {
	md, _ := metadata.FromIncomingContext(s.Context())
	call := md["x-call"][0]
	in := new(wrapperspb.BytesValue)
	if err := s.RecvMsg(in); err != nil {
		return err
	}
	fmt.Println(call, "handler")
	file.Print(call, " file")
	pay(call + " h")
	done := make(chan bool)
	go func() {
		stderr.Print(call, " child")
		pay(call + " c")
		close(done)
	}()
	<-done
	w := work{call, make(chan bool)}
	pool <- w
	<-w.done
	stderr.Print(call, " end")
	return s.SendMsg(in)
}

func serve(handler grpc.StreamHandler, workers int) *grpc.ClientConn {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go grpc.NewServer(grpc.UnknownServiceHandler(handler), grpc.NumStreamWorkers(uint32(workers))).Serve(l)
	conn, err := grpc.Dial(l.Addr().String(), grpc.WithInsecure(), grpc.WithBlock())
	if err != nil {
		panic(err)
	}
	return conn
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err)
	}
	return n
}

func main() {
	calls, concurrency, workers := atoi(os.Args[1]), atoi(os.Args[2]), atoi(os.Args[3])
	f, err := os.Create(os.Args[4])
	if err != nil {
		panic(err)
	}
	file = log.New(f, "", 0)
	go worker()
	back = serve(echo, 0)
	front := serve(buy, workers)
	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadString('\n')
	var all sync.WaitGroup
	for c := 0; c < concurrency; c++ {
		all.Add(1)
		go func(c int) {
			defer all.Done()
			for n := c; n < calls; n += concurrency {
				call := strconv.Itoa(n + 1)
				ctx := metadata.AppendToOutgoingContext(context.Background(), "x-call", call)
				in, out := new(wrapperspb.BytesValue), new(wrapperspb.BytesValue)
				if err := front.Invoke(ctx, "/shop.Front/Buy", in, out); err != nil {
					panic(err)
				}
			}
		}(c)
	}
	all.Wait()
	fmt.Println("done")
	io.Copy(io.Discard, os.Stdin)
}
