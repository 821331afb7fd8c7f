// SPDX-License-Identifier: GPL-2.0-or-later

// Go: goroutines that compute and talk, a sort, a map, the garbage collector.
package main

import (
	"sort"
	"strconv"
)

//go:noinline
func numbers(seed uint64, n int) []uint64 {
	v := make([]uint64, n)
	for i := range v {
		seed ^= seed << 13
		seed ^= seed >> 7
		seed ^= seed << 17
		v[i] = seed
	}
	return v
}

//go:noinline
func counted(v []uint64) map[string]int {
	m := make(map[string]int)
	for _, x := range v {
		m[strconv.FormatUint(x%1000, 10)]++
	}
	return m
}

//go:noinline
func work(seed uint64) int {
	v := numbers(seed, 20000)
	sort.Slice(v, func(i, j int) bool { return v[i] < v[j] })
	return len(counted(v))
}

func main() {
	out := make(chan int)
	for i := uint64(1); i <= 2; i++ {
		go func(seed uint64) {
			for {
				out <- work(seed)
			}
		}(i * 88172645463325252)
	}
	for range out {
	}
}
