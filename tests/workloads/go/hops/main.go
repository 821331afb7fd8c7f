// SPDX-License-Identifier: GPL-2.0-or-later

// Three processes of one program: a client calls a front, whose handler calls a back.
//
//	hops back
//	hops front BACK
//	hops client FRONT
//
// Servers print "listening ADDRESS" and end with their standard input. The client prints "ready" and reads lines
//
//	CALLS CONCURRENCY GAP_US SLEEP_US EVERY SLOW_US [NAME]
//
// and answers each with "done": CALLS calls of /t.Front/Put, CONCURRENCY at a time, each GAP_US after the one before;
// the back sleeps for SLEEP_US, in every EVERYth call (0: in none) for SLOW_US. With a NAME the methods are
// /t.Front/NAME-N and /t.Back/NAME-N, N counting calls from 0: the name of a call says its parent.
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
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func header(s grpc.ServerStream, name string) string {
	md, _ := metadata.FromIncomingContext(s.Context())
	if v := md[name]; len(v) > 0 {
		return v[0]
	}
	return ""
}

func back(_ interface{}, s grpc.ServerStream) error {
	in := new(wrapperspb.BytesValue)
	if err := s.RecvMsg(in); err != nil {
		return err
	}
	us, _ := strconv.Atoi(header(s, "x-sleep"))
	if us > 0 {
		time.Sleep(time.Duration(us) * time.Microsecond)
	}
	return s.SendMsg(in)
}

func front(conn *grpc.ClientConn) grpc.StreamHandler {
	return func(_ interface{}, s grpc.ServerStream) error {
		in := new(wrapperspb.BytesValue)
		if err := s.RecvMsg(in); err != nil {
			return err
		}
		method, _ := grpc.MethodFromServerStream(s)
		method = strings.Replace(method, "/t.Front/", "/t.Back/", 1)
		if method == "/t.Back/Put" {
			method = "/t.Back/Get"
		}
		out := new(wrapperspb.BytesValue)
		ctx := metadata.AppendToOutgoingContext(s.Context(), "x-sleep", header(s, "x-sleep"))
		if err := conn.Invoke(ctx, method, in, out); err != nil {
			return err
		}
		return s.SendMsg(out)
	}
}

func serve(h grpc.StreamHandler) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	go grpc.NewServer(grpc.UnknownServiceHandler(h)).Serve(l)
	fmt.Println("listening", l.Addr())
	io.Copy(io.Discard, os.Stdin)
}

func dial(addr string) *grpc.ClientConn {
	conn, err := grpc.Dial(addr, grpc.WithInsecure(), grpc.WithBlock())
	must(err)
	return conn
}

func call(conn *grpc.ClientConn, method string, sleep int) {
	ctx := metadata.AppendToOutgoingContext(context.Background(), "x-sleep", strconv.Itoa(sleep))
	in := &wrapperspb.BytesValue{Value: make([]byte, 100)}
	if err := conn.Invoke(ctx, method, in, new(wrapperspb.BytesValue)); err != nil {
		fmt.Fprintln(os.Stderr, method, err)
	}
}

func run(conn *grpc.ClientConn, words []string) {
	var n [6]int
	for i := range n {
		var err error
		n[i], err = strconv.Atoi(words[i])
		must(err)
	}
	var all sync.WaitGroup
	for c := 0; c < n[1]; c++ {
		all.Add(1)
		go func(c int) {
			defer all.Done()
			for i := c; i < n[0]; i += n[1] {
				method, sleep := "/t.Front/Put", n[3]
				if len(words) > 6 {
					method = fmt.Sprintf("/t.Front/%s-%d", words[6], i)
				}
				if n[4] > 0 && i%n[4] == n[4]-1 {
					sleep = n[5]
				}
				call(conn, method, sleep)
				time.Sleep(time.Duration(n[2]) * time.Microsecond)
			}
		}(c)
	}
	all.Wait()
}

func main() {
	switch os.Args[1] {
	case "back":
		serve(back)
	case "front":
		serve(front(dial(os.Args[2])))
	case "client":
		conn := dial(os.Args[2])
		fmt.Println("ready")
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			run(conn, strings.Fields(in.Text()))
			fmt.Println("done")
		}
	}
}
