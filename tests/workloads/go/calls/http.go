// SPDX-License-Identifier: GPL-2.0-or-later

package main

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/h2c"
)

func certificate() tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "calls"}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	check(err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// Answers with the status that the path asks for, /status/404, after as many bytes as came.
func answer(w http.ResponseWriter, r *http.Request) {
	c := begin("server", r.URL.Path)
	c.ID, c.Peer = r.Header.Get("x-call"), r.RemoteAddr
	if a, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		c.Local = text(a)
	}
	body, _ := io.ReadAll(r.Body)
	code := 200
	fmt.Sscanf(r.URL.Path, "/status/%d", &code)
	w.WriteHeader(code)
	_, _ = w.Write(body)
	c.finish(strconv.Itoa(code))
}

func serveWeb(l net.Listener) {
	var h http.Handler = http.HandlerFunc(answer)
	if *kind == "grpchttp" {
		h = newServer()
	}
	if *kind == "h2c" {
		check((&http.Server{Handler: h2c.NewHandler(h, &http2.Server{})}).Serve(l))
	}
	s := &http.Server{Handler: h, TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate()},
		NextProtos: []string{"h2"}}}
	check(s.ServeTLS(l, "", ""))
}

type webCaller struct {
	client *http.Client
	base   string
}

func newWebCaller() *webCaller { return &webCaller{} }

func (w *webCaller) dial() {
	if *kind == "h2c" {
		w.base = "http://" + *addr
		plain := func(network, a string, _ *tls.Config) (net.Conn, error) { return net.Dial(network, a) }
		w.client = &http.Client{Transport: &http2.Transport{AllowHTTP: true, DialTLS: plain}}
	} else {
		w.base = "https://" + *addr
		w.client = &http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true,
			TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	}
	w.get("/dialled", 0, nil)
}

// What a request of many headers has beside its name: more than one group of a map holds.
func manyHeaders() http.Header {
	h := http.Header{"User-Agent": {"calls/1"}, "Authorization": {"Bearer hunter2"},
		"Traceparent": {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}}
	for i := 0; i < 40; i++ {
		h.Set(fmt.Sprint("x-more-", i), strings.Repeat("m", i+1))
	}
	return h
}

func (w *webCaller) get(path string, send int, more http.Header) {
	c := begin("client", path)
	c.ID = nextID()
	trace := &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) {
		c.Local, c.Peer = text(i.Conn.LocalAddr()), text(i.Conn.RemoteAddr())
		c.first = time.Now()
	}}
	ctx := httptrace.WithClientTrace(context.Background(), trace)
	method := "GET"
	var body io.Reader
	if send > 0 {
		method, body = "POST", bytes.NewReader(make([]byte, send))
	}
	r, err := http.NewRequestWithContext(ctx, method, w.base+path, body)
	check(err)
	if more != nil {
		r.Header = more
	}
	r.Header.Set("x-call", c.ID)
	got, err := w.client.Do(r)
	check(err)
	_, _ = io.Copy(io.Discard, got.Body)
	got.Body.Close()
	c.finish(strconv.Itoa(got.StatusCode))
}

func (w *webCaller) run(name string, n, parallel int) {
	switch name {
	case "get":
		repeat(n, parallel, func() { w.get("/get", 0, nil) })
	case "post":
		repeat(n, parallel, func() { w.get("/post", 3000, nil) })
	case "missing":
		repeat(n, parallel, func() { w.get("/status/404", 0, nil) })
	case "empty":
		repeat(n, parallel, func() { w.get("/status/204", 0, nil) })
	case "many":
		repeat(n, parallel, func() { w.get("/many", 0, manyHeaders()) })
	default:
		check(fmt.Errorf("no scenario %s", name))
	}
}
