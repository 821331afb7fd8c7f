// SPDX-License-Identifier: GPL-2.0-or-later

// HTTP/1 over TLS by net/http. Each request has its client's port in its path: /PORT/NUMBER; even numbers are found.
//
//	tls server CERT KEY               prints its port
//	tls client PORT CONNECTIONS CALLS
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path"
	"strconv"
	"sync"
)

var body = append(bytes.Repeat([]byte("x"), 3000), "end"...)

// A connection inside a connection, as a listener that counts has it.
type wrapped struct {
	name string
	net.Conn
}

type wrapper struct{ net.Listener }

func (w wrapper) Accept() (net.Conn, error) {
	c, err := w.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &wrapped{"wrapped", c}, nil
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func number(s string) int {
	n, err := strconv.Atoi(s)
	check(err)
	return n
}

func serve(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if number(path.Base(r.URL.Path))%2 != 0 {
		w.WriteHeader(http.StatusNotFound)
	}
	w.Write(body)
}

func server(cert, key string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	fmt.Println(l.Addr().(*net.TCPAddr).Port)
	s := &http.Server{
		Handler:      http.HandlerFunc(serve),
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
	}
	check(s.ServeTLS(wrapper{l}, cert, key))
}

func ask(to string, calls int) {
	c, err := net.Dial("tcp", to)
	check(err)
	t := &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true},
		DialContext:     func(context.Context, string, string) (net.Conn, error) { return c, nil },
	}
	for i := 0; i < calls; i++ {
		url := fmt.Sprintf("https://%s/%d/%d", to, c.LocalAddr().(*net.TCPAddr).Port, i)
		r, err := (&http.Client{Transport: t}).Get(url)
		check(err)
		_, err = io.Copy(io.Discard, r.Body)
		check(err)
		r.Body.Close()
	}
	t.CloseIdleConnections()
}

func client(port string, connections, calls int) {
	const atOnce = 16
	var all sync.WaitGroup
	todo := make(chan int, connections)

	for i := 0; i < connections; i++ {
		todo <- i
	}
	close(todo)
	for i := 0; i < atOnce; i++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for range todo {
				ask("127.0.0.1:"+port, calls)
			}
		}()
	}
	all.Wait()
}

func main() {
	if os.Args[1] == "server" {
		server(os.Args[2], os.Args[3])
	} else {
		client(os.Args[2], number(os.Args[3]), number(os.Args[4]))
	}
}
