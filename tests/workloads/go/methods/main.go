// SPDX-License-Identifier: GPL-2.0-or-later

// Serves two methods that keep a CPU busy, each in a function of its own and in a goroutine that the handler starts:
// /shop.Cart/Add in main.add for 7 ms, /shop.Cart/List in main.list for 3. Two callers call one after the other until
// it ends. Prints "ready".
package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

var sums [2]uint64

func add(until time.Time) {
	for time.Now().Before(until) {
		for i := 0; i < 100000; i++ {
			sums[0] += uint64(i)
		}
	}
}

func list(until time.Time) {
	for time.Now().Before(until) {
		for i := 0; i < 100000; i++ {
			sums[1] += uint64(i)
		}
	}
}

func handle(_ interface{}, s grpc.ServerStream) error {
	in := new(wrapperspb.BytesValue)
	if err := s.RecvMsg(in); err != nil {
		return err
	}
	busy, half := list, 1500*time.Microsecond
	if method, _ := grpc.MethodFromServerStream(s); method == "/shop.Cart/Add" {
		busy, half = add, 3500*time.Microsecond
	}
	done := make(chan bool)
	busy(time.Now().Add(half))
	go func() {
		busy(time.Now().Add(half))
		close(done)
	}()
	<-done
	return s.SendMsg(in)
}

func call(conn *grpc.ClientConn) {
	for {
		for _, method := range []string{"/shop.Cart/Add", "/shop.Cart/List"} {
			in, out := new(wrapperspb.BytesValue), new(wrapperspb.BytesValue)
			if conn.Invoke(context.Background(), method, in, out) != nil {
				return
			}
		}
	}
}

func main() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go grpc.NewServer(grpc.UnknownServiceHandler(handle)).Serve(l)
	conn, err := grpc.Dial(l.Addr().String(), grpc.WithInsecure(), grpc.WithBlock())
	if err != nil {
		panic(err)
	}
	for i := 0; i < 2; i++ {
		go call(conn)
	}
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
}
