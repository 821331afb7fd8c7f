// SPDX-License-Identifier: GPL-2.0-or-later

//go:build cgo
// +build cgo

package main

// #include <unistd.h>
// static void mark_c(long value) { lseek(-1002, value, SEEK_SET); }
import "C"

func mark(me int64) {
	if me%2 == 0 {
		C.mark_c(C.long(me))
	} else {
		markGo(me)
	}
}
