// SPDX-License-Identifier: GPL-2.0-or-later

package main

import (
	"syscall"
	"unsafe"
)

func getCookie(fd uintptr) (ret uint64) {
	size := uint32(unsafe.Sizeof(ret))
	syscall.Syscall6(syscall.SYS_GETSOCKOPT, fd, syscall.SOL_SOCKET, soCookie, uintptr(unsafe.Pointer(&ret)),
		uintptr(unsafe.Pointer(&size)), 0)
	return ret
}
