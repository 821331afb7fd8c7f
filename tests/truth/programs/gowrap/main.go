// SPDX-License-Identifier: GPL-2.0-or-later

// gRPC servers whose connections stand behind wrappers of their own, and clients of them. The log has each call of
// either side with its goroutine, both addresses and the cookie of the socket.
//
//	gowrap serve IP:PORT		one port for each wrapper from there; prints "up"; ends at end of input
//	gowrap talk IP:PORT CALLS FIRST	CALLS calls to each wrapper, named from FIRST on
//	gowrap once IP:PORT NAME	one call
//
// A handler says which call it serves by lseek(-1004, name, 0), a goroutine that it hands work to by a channel by
// lseek(-1005, name, 0), its child and grandchild by lseek(-1006, name, 0).
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const soCookie = 57

// ---- connections ----

type embedded struct{ net.Conn }
type pointer struct {
	padding int
	*net.TCPConn
}
type named struct {
	before [3]uintptr
	inner  net.Conn
}

func (n *named) Read(b []byte) (int, error)         { return n.inner.Read(b) }
func (n *named) Write(b []byte) (int, error)        { return n.inner.Write(b) }
func (n *named) Close() error                       { return n.inner.Close() }
func (n *named) LocalAddr() net.Addr                { return n.inner.LocalAddr() }
func (n *named) RemoteAddr() net.Addr               { return n.inner.RemoteAddr() }
func (n *named) SetDeadline(t time.Time) error      { return n.inner.SetDeadline(t) }
func (n *named) SetReadDeadline(t time.Time) error  { return n.inner.SetReadDeadline(t) }
func (n *named) SetWriteDeadline(t time.Time) error { return n.inner.SetWriteDeadline(t) }

type nested struct {
	calls int
	net.Conn
}

var wrappers = []func(c *net.TCPConn) net.Conn{
	func(c *net.TCPConn) net.Conn { return c },
	func(c *net.TCPConn) net.Conn { return &embedded{c} },
	func(c *net.TCPConn) net.Conn { return &pointer{1, c} },
	func(c *net.TCPConn) net.Conn { return &named{inner: c} },
	func(c *net.TCPConn) net.Conn { return &nested{Conn: &embedded{&named{inner: c}}} },
}

func cookie(c *net.TCPConn) (ret uint64) {
	raw, err := c.SyscallConn()
	check(err)
	check(raw.Control(func(fd uintptr) { ret = getCookie(fd) }))
	return ret
}

var cookies sync.Map // "local peer": cookie

func remember(c *net.TCPConn) *net.TCPConn {
	cookies.Store(c.LocalAddr().String()+" "+c.RemoteAddr().String(), cookie(c))
	return c
}

type listener struct {
	*net.TCPListener
	wrap func(c *net.TCPConn) net.Conn
}

func (l listener) Accept() (net.Conn, error) {
	c, err := l.TCPListener.AcceptTCP()
	if err != nil {
		return nil, err
	}
	return l.wrap(remember(c)), nil
}

// ---- log ----

type row struct {
	Pid    int    `json:"pid"`
	Side   string `json:"side"`
	Name   int64  `json:"name"`
	Goid   int64  `json:"goid"`
	Local  string `json:"local"`
	Peer   string `json:"peer"`
	Cookie uint64 `json:"cookie"`
	Wrap   int    `json:"wrap"`
}

var (
	lock sync.Mutex
	logs *os.File
)

func write(r row) {
	r.Pid, r.Goid = os.Getpid(), number()
	if c, ok := cookies.Load(r.Local + " " + r.Peer); ok {
		r.Cookie = c.(uint64)
	}
	line, _ := json.Marshal(r)
	lock.Lock()
	defer lock.Unlock()
	_, err := logs.Write(append(line, '\n'))
	check(err)
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func number() int64 {
	var buf [64]byte
	text := bytes.TrimPrefix(buf[:runtime.Stack(buf[:], false)], []byte("goroutine "))
	n, _ := strconv.ParseInt(string(text[:bytes.IndexByte(text, ' ')]), 10, 64)
	return n
}

func mark(tag, value int64) { syscall.Syscall(syscall.SYS_LSEEK, uintptr(-tag), uintptr(value), 0) }

// ---- server ----

var handed = make(chan int64)

func serveCall(wrap int, ctx context.Context, in *wrapperspb.BytesValue) (*wrapperspb.BytesValue, error) {
	md, _ := metadata.FromIncomingContext(ctx)
	name, err := strconv.ParseInt(md["x-call"][0], 10, 64)
	check(err)
	p, _ := peer.FromContext(ctx)
	mark(1004, name)
	var born sync.WaitGroup
	born.Add(2)
	go func() {
		defer born.Done()
		mark(1006, name)
		go func() {
			defer born.Done()
			mark(1006, name)
		}()
	}()
	born.Wait()
	handed <- name
	mark(1004, name)
	write(row{Side: "server", Name: name, Local: locals.of(p.Addr.String()), Peer: p.Addr.String(), Wrap: wrap})
	return in, nil
}

// Old releases of gRPC do not say the local address: it is that of the connection from this peer.
type byPeer struct{ sync.Map }

func (b *byPeer) of(peer string) (ret string) {
	cookies.Range(func(key, _ interface{}) bool {
		text := key.(string)
		if len(text) > len(peer) && text[len(text)-len(peer)-1:] == " "+peer {
			ret = text[:len(text)-len(peer)-1]
		}
		return ret == ""
	})
	return ret
}

var locals byPeer

func serve(host string, port int) {
	go func() {
		for name := range handed {
			mark(1005, name)
		}
	}()
	for i, wrap := range wrappers {
		i := i
		l, err := net.Listen("tcp", fmt.Sprintf("%s:%d", host, port+i))
		check(err)
		s := grpc.NewServer()
		s.RegisterService(&grpc.ServiceDesc{ServiceName: "truth.Echo", HandlerType: (*interface{})(nil),
			Methods: []grpc.MethodDesc{{MethodName: "Unary", Handler: func(_ interface{},
				ctx context.Context, dec func(interface{}) error,
				_ grpc.UnaryServerInterceptor) (interface{}, error) {
				in := new(wrapperspb.BytesValue)
				if err := dec(in); err != nil {
					return nil, err
				}
				return serveCall(i, ctx, in)
			}}}}, struct{}{})
		go s.Serve(listener{l.(*net.TCPListener), wrap})
	}
	fmt.Println("up")
	os.Stdin.Read(make([]byte, 1))
}

// ---- client ----

func dial(host string, port, i int) (*grpc.ClientConn, *net.TCPConn) {
	var raw *net.TCPConn
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	target := fmt.Sprintf("passthrough:///%s:%d", host, port+i)
	conn, err := grpc.DialContext(ctx, target, grpc.WithInsecure(), grpc.WithBlock(),
		grpc.WithContextDialer(func(ctx context.Context, to string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, "tcp", to)
			if err != nil {
				return nil, err
			}
			raw = remember(c.(*net.TCPConn))
			return wrappers[i](raw), nil
		}))
	check(err)
	return conn, raw
}

func call(conn *grpc.ClientConn, raw *net.TCPConn, wrap int, name int64) {
	ctx := metadata.AppendToOutgoingContext(context.Background(), "x-call", strconv.FormatInt(name, 10))
	in := &wrapperspb.BytesValue{Value: make([]byte, name%700)}
	check(conn.Invoke(ctx, "/truth.Echo/Unary", in, new(wrapperspb.BytesValue)))
	write(row{Side: "client", Name: name, Local: raw.LocalAddr().String(),
		Peer: raw.RemoteAddr().String(), Wrap: wrap})
}

const atOnce = 4

func talk(host string, port int, calls, first int64) {
	var all sync.WaitGroup
	for i := range wrappers {
		conn, raw := dial(host, port, i)
		for g := int64(0); g < atOnce; g++ {
			all.Add(1)
			i, g := i, g
			go func() {
				defer all.Done()
				for n := g; n < calls; n += atOnce {
					call(conn, raw, i, first+int64(i)*calls+n)
				}
			}()
		}
	}
	all.Wait()
}

func value(word string) int64 {
	n, err := strconv.ParseInt(word, 10, 64)
	check(err)
	return n
}

func main() {
	var err error
	logs, err = os.Create(fmt.Sprintf("%s/%d", os.Getenv("TRUTH"), os.Getpid()))
	check(err)
	host, text, err := net.SplitHostPort(os.Args[2])
	check(err)
	port := int(value(text))
	switch os.Args[1] {
	case "serve":
		serve(host, port)
	case "talk":
		talk(host, port, value(os.Args[3]), value(os.Args[4]))
	default:
		conn, raw := dial(host, port, 0)
		call(conn, raw, 0, value(os.Args[3]))
		conn.Close()
	}
}
