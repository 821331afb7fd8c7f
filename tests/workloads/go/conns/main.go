// SPDX-License-Identifier: GPL-2.0-or-later

// Command conns makes gRPC calls over connections behind wrappers of net.Conn, of every shape that Go code has. Both
// sides of a connection are wrapped alike. It prints "ready", then takes commands from standard input, one a line:
//
//	call WRAPPER	three calls of the method /sonde.test.Conns/WRAPPER; answers "done PORT PORT": client, server
//	dead		two calls to a port that refuses, one unary and one stream; answers "done CODE CODE"
//	fail KIND N	N calls of the method /sonde.test.Conns/KIND, which fail; answers "done" and the code of each
//	quit
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

type message = wrapperspb.BytesValue

// ---- wrappers ----

// In an interface, the pointer itself.
type direct struct{ *net.TCPConn }

// In an interface, a pointer to a copy.
type value struct {
	net.Conn
	_ int
}

type level2 struct {
	_ [3]int
	net.Conn
}
type level1 struct {
	_ string
	level2
}

// Two embedded structs deep.
type deep struct {
	_ int
	level1
}

// Not embedded, the only one.
type plain struct {
	name  string
	inner net.Conn
}

func (c *plain) Read(b []byte) (int, error)         { return c.inner.Read(b) }
func (c *plain) Write(b []byte) (int, error)        { return c.inner.Write(b) }
func (c *plain) Close() error                       { return c.inner.Close() }
func (c *plain) LocalAddr() net.Addr                { return c.inner.LocalAddr() }
func (c *plain) RemoteAddr() net.Addr               { return c.inner.RemoteAddr() }
func (c *plain) SetDeadline(t time.Time) error      { return c.inner.SetDeadline(t) }
func (c *plain) SetReadDeadline(t time.Time) error  { return c.inner.SetReadDeadline(t) }
func (c *plain) SetWriteDeadline(t time.Time) error { return c.inner.SetWriteDeadline(t) }

// With a field of its own kind in front.
type tree struct {
	parent *tree
	net.Conn
}

// Held by an interface that is not net.Conn, as golang.org/x/net/websocket does.
type stream struct {
	_     bool
	rwc   io.ReadWriteCloser
	local net.Addr
}

func (c *stream) Read(b []byte) (int, error)       { return c.rwc.Read(b) }
func (c *stream) Write(b []byte) (int, error)      { return c.rwc.Write(b) }
func (c *stream) Close() error                     { return c.rwc.Close() }
func (c *stream) LocalAddr() net.Addr              { return c.local }
func (c *stream) RemoteAddr() net.Addr             { return c.local }
func (c *stream) SetDeadline(time.Time) error      { return nil }
func (c *stream) SetReadDeadline(time.Time) error  { return nil }
func (c *stream) SetWriteDeadline(time.Time) error { return nil }

// Two of a kind: which one it is cannot be known from the type.
type two struct {
	plain
	one, other net.Conn
}

func (c *two) Read(b []byte) (int, error)  { return c.one.Read(b) }
func (c *two) Write(b []byte) (int, error) { return c.other.Write(b) }

var wrappers = map[string]func(net.Conn) net.Conn{
	"Bare":   func(c net.Conn) net.Conn { return c },
	"Direct": func(c net.Conn) net.Conn { return direct{c.(*net.TCPConn)} },
	"Value":  func(c net.Conn) net.Conn { return value{Conn: c} },
	"Deep":   func(c net.Conn) net.Conn { return &deep{level1: level1{level2: level2{Conn: c}}} },
	"Plain":  func(c net.Conn) net.Conn { return &plain{"plain", c} },
	"Tree":   func(c net.Conn) net.Conn { return &tree{&tree{}, c} },
	"Stream": func(c net.Conn) net.Conn { return &stream{rwc: c, local: c.LocalAddr()} },
	"Six": func(c net.Conn) net.Conn {
		return &tree{nil, &plain{"", value{Conn: &deep{level1: level1{level2: level2{
			Conn: &stream{rwc: direct{c.(*net.TCPConn)}, local: c.LocalAddr()}}}}}}}
	},
	"Two":  func(c net.Conn) net.Conn { return &two{plain{"", c}, c, c} },
	"Pipe": nil,
	"Tls":  nil,
}

// ---- calls ----

// A listener of connections that were made elsewhere.
type made chan net.Conn

func (m made) Accept() (net.Conn, error) { return <-m, nil }
func (made) Close() error                { return nil }
func (made) Addr() net.Addr              { return &net.TCPAddr{} }

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "conns:", err)
		os.Exit(1)
	}
}

func echo(_ interface{}, s grpc.ServerStream) error {
	in := new(message)
	if method, _ := grpc.MethodFromServerStream(s); method == "/sonde.test.Conns/Denied" {
		return status.Error(codes.PermissionDenied, "denied")
	}
	if err := s.RecvMsg(in); err != nil {
		return err
	}
	return s.SendMsg(in)
}

func pair() (client, server net.Conn) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	defer l.Close()
	client, err = net.Dial("tcp", l.Addr().String())
	check(err)
	server, err = l.Accept()
	check(err)
	return client, server
}

func port(c net.Conn) int {
	if a, ok := c.LocalAddr().(*net.TCPAddr); ok {
		return a.Port
	}
	return 0
}

func connect(name string) (client, server net.Conn, ports [2]int) {
	if name == "Pipe" {
		client, server = net.Pipe()
		return client, server, ports
	}
	client, server = pair()
	ports = [2]int{port(client), port(server)}
	if name == "Tls" {
		cert := certificate()
		return tls.Client(&tree{nil, client}, &tls.Config{InsecureSkipVerify: true}),
			tls.Server(&tree{nil, server}, &tls.Config{Certificates: []tls.Certificate{cert}}), ports
	}
	return wrappers[name](client), wrappers[name](server), ports
}

func call(name string, served made) [2]int {
	client, server, ports := connect(name)
	served <- server
	conn, err := grpc.Dial("passthrough:///"+name, grpc.WithInsecure(), grpc.WithBlock(),
		grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) { return client, nil }))
	check(err)
	defer conn.Close()
	for i := 0; i < 3; i++ {
		in, out := &message{Value: []byte{byte(i)}}, new(message)
		check(conn.Invoke(context.Background(), "/sonde.test.Conns/"+name, in, out))
	}
	return ports
}

// Calls that fail before a byte is sent.
func dead() (unary, stream string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	address := l.Addr().String()
	l.Close()
	conn, err := grpc.Dial("passthrough:///"+address, grpc.WithInsecure())
	check(err)
	defer conn.Close()
	err = conn.Invoke(context.Background(), "/sonde.test.Conns/Dead", new(message), new(message))
	unary = status.Code(err).String()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err = conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: true}, "/sonde.test.Conns/DeadStream",
		grpc.WaitForReady(true))
	return unary, status.Code(err).String()
}

// What fails a call: before it is sent, right after that, or by its server ("Denied").
var failures = map[string]struct {
	conn    string
	timeout time.Duration
	cancel  bool
}{
	"Refused":   {"dead", time.Minute, false},
	"Late":      {"dead", time.Millisecond, false},
	"Cancelled": {"dead", time.Minute, true},
	"Closed":    {"closed", time.Minute, false},
	"Expired":   {"live", 0, false},
	"Stopped":   {"live", time.Minute, true},
	"Denied":    {"live", time.Minute, false},
}

func fail(kind string, n int, served made) (got []string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	l.Close()
	client, server := pair()
	served <- server
	conns := map[string]*grpc.ClientConn{}
	for _, name := range []string{"live", "dead", "closed"} {
		dial := func(_ context.Context, to string) (net.Conn, error) {
			if to == "live" {
				return client, nil
			}
			return net.Dial("tcp", l.Addr().String())
		}
		conns[name], err = grpc.Dial("passthrough:///"+name, grpc.WithInsecure(),
			grpc.WithContextDialer(dial))
		check(err)
		defer conns[name].Close()
	}
	conns["closed"].Close()
	for how := failures[kind]; n > 0; n-- {
		ctx, cancel := context.WithTimeout(context.Background(), how.timeout)
		if how.cancel {
			cancel()
		}
		err := conns[how.conn].Invoke(ctx, "/sonde.test.Conns/"+kind, new(message), new(message),
			grpc.WaitForReady(kind != "Refused"))
		cancel()
		got = append(got, status.Code(err).String())
	}
	return got
}

func main() {
	served := make(made)
	go grpc.NewServer(grpc.UnknownServiceHandler(echo)).Serve(served)
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		words := strings.Fields(in.Text())
		switch {
		case len(words) == 2 && words[0] == "call":
			ports := call(words[1], served)
			fmt.Println("done", ports[0], ports[1])
		case len(words) == 3 && words[0] == "fail":
			n, err := strconv.Atoi(words[2])
			check(err)
			fmt.Println("done", strings.Join(fail(words[1], n, served), " "))
		case words[0] == "dead":
			unary, stream := dead()
			fmt.Println("done", unary, stream)
		default:
			return
		}
	}
}
