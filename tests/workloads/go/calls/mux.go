// SPDX-License-Identifier: GPL-2.0-or-later

//go:build cmux
// +build cmux

package main

import (
	"net"
	"net/http"

	"github.com/soheilhy/cmux"
)

// Connections are told apart by their first bytes: gRPC and HTTP/1 on one port.
func init() {
	share = func(l net.Listener) net.Listener {
		m := cmux.New(l)
		grpc, web := m.Match(cmux.HTTP2()), m.Match(cmux.Any())
		go func() { check(http.Serve(web, http.NotFoundHandler())) }()
		go func() { check(m.Serve()) }()
		return grpc
	}
}
