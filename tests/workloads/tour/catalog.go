// SPDX-License-Identifier: GPL-2.0-or-later

// A GC stall: an HTTP server with a large live heap of pointers and little room for new objects (GOGC), so each
// collection marks millions of them, and handlers that allocate meanwhile mark as well.
//
//	catalog
//
// Prints "listening PORT" and ends with its standard input.
package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime/debug"
)

const (
	items     = 1_500_000
	pageItems = 150
)

type item struct {
	name  []byte
	next  *item
	price int
}

var catalog []*item

func fill() {
	var last *item
	for i := 0; i < items; i++ {
		last = &item{name: make([]byte, 16), next: last, price: i}
		catalog = append(catalog, last)
	}
}

func page(w http.ResponseWriter, _ *http.Request) {
	var found []*item
	for i := 0; i < pageItems; i++ {
		found = append(found, &item{name: make([]byte, 4096), next: catalog[i*97%items], price: i})
	}
	fmt.Fprintln(w, len(found))
}

func main() {
	debug.SetGCPercent(20)
	fill()
	http.HandleFunc("/page", page)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go http.Serve(l, nil)
	fmt.Println("listening", l.Addr().(*net.TCPAddr).Port)
	io.Copy(io.Discard, os.Stdin)
}
