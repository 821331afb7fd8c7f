// SPDX-License-Identifier: GPL-2.0-or-later

// A Go program without gRPC that loads it as a plugin (../shared, -buildmode=plugin) when it is told to. On standard
// input, a line each, answered by the first word and "done":
//
//	load FILE       loads the plugin and starts its server
//	call N          makes N calls to it
package main

import (
	"bufio"
	"fmt"
	"os"
	"plugin"
	"reflect"
)

var (
	library *plugin.Plugin
	port    int64
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "host:", err)
		os.Exit(1)
	}
}

// Its numbers are C's, types that only the plugin has names for.
func ask(name string, numbers ...int64) int64 {
	symbol, err := library.Lookup(name)
	check(err)
	function := reflect.ValueOf(symbol)
	var in []reflect.Value
	for i, n := range numbers {
		v := reflect.New(function.Type().In(i)).Elem()
		v.SetInt(n)
		in = append(in, v)
	}
	return function.Call(in)[0].Int()
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var word, rest string
		var n int64
		var err error
		fmt.Sscan(lines.Text(), &word, &rest)
		switch word {
		case "load":
			library, err = plugin.Open(rest)
			check(err)
			port = ask("Serve")
		case "call":
			fmt.Sscan(rest, &n)
			if got := ask("Call", port, n); got != n {
				check(fmt.Errorf("%d of %d calls were answered", got, n))
			}
		}
		fmt.Println(word, "done")
	}
}
