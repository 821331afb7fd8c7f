// SPDX-License-Identifier: GPL-2.0-or-later

// Package main is a library of the C world (-buildmode=c-shared): a process that is no Go program loads it and serves
// and makes gRPC calls.
package main

import "C"

import (
	"context"
	"fmt"
	"net"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// Answers any unary method with what it got.
func echo(_ interface{}, s grpc.ServerStream) error {
	in := new(wrapperspb.BytesValue)
	if err := s.RecvMsg(in); err != nil {
		return err
	}
	return s.SendMsg(in)
}

// Serve starts a server on a port of the loopback address and returns that port, 0 when it cannot.
//
//export Serve
func Serve() C.int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0
	}
	go grpc.NewServer(grpc.UnknownServiceHandler(echo)).Serve(l)
	return C.int(l.Addr().(*net.TCPAddr).Port)
}

// Call makes n calls to the server at port and returns how many were answered.
//
//export Call
func Call(port, n C.int) C.int {
	conn, err := grpc.Dial(fmt.Sprint("127.0.0.1:", port), grpc.WithInsecure(), grpc.WithBlock())
	if err != nil {
		return 0
	}
	defer conn.Close()
	var good C.int
	for i := 0; i < int(n); i++ {
		in, out := &wrapperspb.BytesValue{Value: []byte{byte(i)}}, new(wrapperspb.BytesValue)
		err = conn.Invoke(context.Background(), "/sonde.test.Shared/Echo", in, out)
		if err == nil && out.Value[0] == byte(i) {
			good++
		}
	}
	return good
}

func main() {}
