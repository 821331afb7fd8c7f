// SPDX-License-Identifier: GPL-2.0-or-later

package main

import (
	"context"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

type message = wrapperspb.BytesValue

const service = "/sonde.test.Echo/"
const prefix = 5 // bytes in front of a message

// ---- the log: gRPC tells a stats handler where a call begins and ends ----

type keyType struct{}
type dueType struct{}

type watcher struct{ side string }

func (w watcher) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	c := begin(w.side, info.FullMethodName)
	if md, ok := metadata.FromOutgoingContext(ctx); ok && w.side == "client" {
		c.ID = first(md)
		c.due, _ = ctx.Value(dueType{}).(*int64)
		_, c.Timed = ctx.Deadline()
	}
	return context.WithValue(ctx, keyType{}, c)
}

func (w watcher) HandleRPC(ctx context.Context, s stats.RPCStats) {
	c, ok := ctx.Value(keyType{}).(*call)
	if !ok {
		return
	}
	switch s := s.(type) {
	case *stats.InHeader:
		if !s.Client {
			c.Local, c.Peer = text(s.LocalAddr), text(s.RemoteAddr)
		}
	case *stats.OutHeader:
		if s.Client {
			c.Local, c.Peer = text(s.LocalAddr), text(s.RemoteAddr)
			c.first = time.Now()
		}
	case *stats.OutPayload:
		atomic.AddInt64(&c.Sent, int64(s.Length)+prefix)
	case *stats.InPayload:
		atomic.AddInt64(&c.Received, int64(s.Length)+prefix)
	case *stats.End:
		c.finish(status.Code(s.Error).String())
	}
}

func (watcher) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (watcher) HandleConn(context.Context, stats.ConnStats)                       {}

func first(md metadata.MD) string {
	if v := md["x-call"]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// The number of the stream, which has no public name: the field `id` of the transport's stream.
func streamID(ctx context.Context) (id uint64) {
	defer func() { _ = recover() }()
	v := reflect.ValueOf(grpc.ServerTransportStreamFromContext(ctx))
	return reflect.Indirect(v).FieldByName("id").Uint()
}

// In a handler: completes what the log knows. The caller says done() when the handler has nothing more to say.
func note(ctx context.Context) (done func()) {
	c, ok := ctx.Value(keyType{}).(*call)
	if !ok {
		return func() {}
	}
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		c.ID = first(md)
	}
	c.Stream = streamID(ctx)
	c.handled = true
	atomic.AddInt64(&serving, 1)
	return func() { c.Done = now() }
}

// ---- the service ----

type unaryFunc func(ctx context.Context, in *message) (*message, error)

func unary(name string, fn unaryFunc) grpc.MethodDesc {
	return grpc.MethodDesc{MethodName: name, Handler: func(_ interface{}, ctx context.Context,
		dec func(interface{}) error, _ grpc.UnaryServerInterceptor) (interface{}, error) {
		in := new(message)
		if err := dec(in); err != nil {
			return nil, err
		}
		defer note(ctx)()
		return fn(ctx, in)
	}}
}

func stream(name string, server, client bool, fn func(s grpc.ServerStream) error) grpc.StreamDesc {
	return grpc.StreamDesc{StreamName: name, ServerStreams: server, ClientStreams: client,
		Handler: func(_ interface{}, s grpc.ServerStream) error {
			defer note(s.Context())()
			return fn(s)
		}}
}

// Who sent much gets much: more headers than one group of a map holds.
func echo(ctx context.Context, in *message) (*message, error) {
	if md, _ := metadata.FromIncomingContext(ctx); len(md["x-large"]) > 0 {
		for i := 0; i < 20; i++ {
			_ = grpc.SetHeader(ctx, metadata.Pairs(fmt.Sprintf("x-answer-%d", i), strings.Repeat("a", i)))
		}
	}
	return in, nil
}

func fail(context.Context, *message) (*message, error) {
	return nil, status.Error(codes.NotFound, "no such thing: \u00e4 100%")
}

// Ends by itself only after a long time.
func slow(ctx context.Context, in *message) (*message, error) {
	select {
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	case <-time.After(10 * time.Second):
		return in, nil
	}
}

func nap(_ context.Context, in *message) (*message, error) {
	time.Sleep(20 * time.Millisecond)
	return in, nil
}

func sendSome(s grpc.ServerStream) error {
	in := new(message)
	if err := s.RecvMsg(in); err != nil {
		return err
	}
	for i := 0; i < 5; i++ {
		if err := s.SendMsg(in); err != nil {
			return err
		}
	}
	return nil
}

func takeAll(s grpc.ServerStream) error {
	for {
		in := new(message)
		if err := s.RecvMsg(in); err == io.EOF {
			return s.SendMsg(&message{Value: []byte("all")})
		} else if err != nil {
			return err
		}
	}
}

func chat(s grpc.ServerStream) error {
	for {
		in := new(message)
		if err := s.RecvMsg(in); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if err := s.SendMsg(in); err != nil {
			return err
		}
	}
}

var echoService = grpc.ServiceDesc{
	ServiceName: "sonde.test.Echo", HandlerType: (*interface{})(nil),
	Methods: []grpc.MethodDesc{unary("Unary", echo), unary("Fail", fail), unary("Slow", slow), unary("Nap", nap)},
	Streams: []grpc.StreamDesc{
		stream("Server", true, false, sendSome), stream("Client", false, true, takeAll),
		stream("Bidi", true, true, chat),
	},
}

func newServer(o ...grpc.ServerOption) *grpc.Server {
	s := grpc.NewServer(append(o, grpc.StatsHandler(watcher{"server"}), grpc.MaxConcurrentStreams(4096))...)
	s.RegisterService(&echoService, nil)
	return s
}

func serveGRPC(l net.Listener) {
	var o []grpc.ServerOption
	if *tlsFlag {
		cert := certificate()
		o = append(o, grpc.Creds(credentials.NewServerTLSFromCert(&cert)))
	}
	check(newServer(o...).Serve(l))
}

// ---- the calls ----

type grpcCaller struct {
	conn *grpc.ClientConn
	made int64 // calls of traced()
}

func newGRPCCaller() *grpcCaller { return &grpcCaller{} }

func (g *grpcCaller) dial() {
	o := []grpc.DialOption{grpc.WithStatsHandler(watcher{"client"}), grpc.WithBlock()}
	if *tlsFlag || *kind == "grpchttp" {
		o = append(o, grpc.WithTransportCredentials(credentials.NewTLS(
			&tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})))
	} else {
		o = append(o, grpc.WithInsecure())
	}
	target := *addr
	if strings.HasPrefix(target, "unix:") {
		path := target[5:]
		target = "passthrough:///unix"
		o = append(o, grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		}))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	conn, err := grpc.DialContext(ctx, target, o...)
	check(err)
	g.conn = conn
}

func named(more ...string) context.Context {
	pairs := append([]string{"x-call", nextID()}, more...)
	return metadata.AppendToOutgoingContext(context.Background(), pairs...)
}

func (g *grpcCaller) unary(ctx context.Context, method string, bytes int) {
	_ = g.conn.Invoke(ctx, service+method, &message{Value: make([]byte, bytes)}, new(message))
}

func (g *grpcCaller) stream(ctx context.Context, method string, server, client bool, send int) {
	desc := &grpc.StreamDesc{ServerStreams: server, ClientStreams: client}
	s, err := g.conn.NewStream(ctx, desc, service+method)
	check(err)
	for i := 0; i < send; i++ {
		if s.SendMsg(&message{Value: make([]byte, 100)}) != nil {
			break
		}
	}
	_ = s.CloseSend()
	for s.RecvMsg(new(message)) == nil {
	}
}

// Many streams that are all open at once.
func (g *grpcCaller) many(n int) {
	var open, wait sync.WaitGroup
	open.Add(n)
	for i := 0; i < n; i++ {
		wait.Add(1)
		go func() {
			defer wait.Done()
			both := &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}
			s, err := g.conn.NewStream(named(), both, service+"Bidi")
			check(err)
			check(s.SendMsg(&message{Value: []byte("here")}))
			check(s.RecvMsg(new(message)))
			open.Done()
			open.Wait()
			_ = s.CloseSend()
			for s.RecvMsg(new(message)) == nil {
			}
		}()
	}
	wait.Wait()
}

// Connections one after the other; what they were made of is used again.
func (g *grpcCaller) renew(n int) {
	for i := 0; i < n; i++ {
		g.conn.Close()
		runtime.GC()
		g.dial()
		g.unary(named(), "Unary", 10)
		g.unary(named(), "Unary", 10)
	}
}

const patience = 30 * time.Millisecond

func (g *grpcCaller) cancelled() {
	due := new(int64)
	ctx, cancel := context.WithCancel(context.WithValue(named(), dueType{}, due))
	time.AfterFunc(patience, func() {
		atomic.StoreInt64(due, now())
		cancel()
	})
	g.unary(ctx, "Slow", 10)
	cancel()
}

func (g *grpcCaller) late() {
	due := now() + int64(patience)
	ctx, cancel := context.WithTimeout(context.WithValue(named(), dueType{}, &due), patience)
	defer cancel()
	g.unary(ctx, "Slow", 10)
}

func (g *grpcCaller) large() {
	g.unary(named("x-large", strings.Repeat("m", 6000), "authorization", "Bearer hunter2", "traceparent",
		"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"), "Unary", 100)
}

// Each call has a trace of its own, made from its name: values of one length in memory that is used again and again.
func (g *grpcCaller) traced() {
	ctx := named()
	md, _ := metadata.FromOutgoingContext(ctx)
	id := hex.EncodeToString([]byte(first(md)))
	trace := strings.Repeat("0", 32-len(id)) + id
	g.unary(metadata.AppendToOutgoingContext(ctx, "traceparent", "00-"+trace+"-00f067aa0ba902b7-01"), "Unary", 10)
	if atomic.AddInt64(&g.made, 1)%50 == 0 {
		runtime.GC()
	}
}

// More headers than anybody looks at.
func (g *grpcCaller) wide() {
	var more []string
	for i := 0; i < 100; i++ {
		more = append(more, fmt.Sprintf("x-wide-%d", i), "w")
	}
	g.unary(named(more...), "Unary", 100)
}

func (g *grpcCaller) scenario(name string) func() {
	switch name {
	case "unary":
		return func() { g.unary(named(), "Unary", 100) }
	case "slow":
		return func() { g.unary(named(), "Slow", 100) }
	case "nap":
		return func() { g.unary(named(), "Nap", 100) }
	case "fail":
		return func() { g.unary(named(), "Fail", 100) }
	case "missing": // no such method: the answer is one HEADERS frame
		return func() { g.unary(named(), "Missing", 100) }
	case "server":
		return func() { g.stream(named(), "Server", true, false, 1) }
	case "client":
		return func() { g.stream(named(), "Client", false, true, 5) }
	case "bidi":
		return func() { g.stream(named(), "Bidi", true, true, 5) }
	case "cancel":
		return g.cancelled
	case "deadline":
		return g.late
	case "large":
		return g.large
	case "traced":
		return g.traced
	case "wide":
		return g.wide
	}
	check(fmt.Errorf("no scenario %s", name))
	return nil
}

func (g *grpcCaller) run(name string, n, parallel int) {
	switch name {
	case "many":
		g.many(n)
		return
	case "renew":
		g.renew(n)
		return
	case "harm":
		g.harm(n, parallel)
		return
	}
	repeat(n, parallel, g.scenario(name))
}
