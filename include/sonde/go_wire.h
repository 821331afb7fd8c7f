/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Go programs, as user space describes them to the BPF programs that name the running goroutine.
 */
#ifndef SONDE_GO_WIRE_H
#define SONDE_GO_WIRE_H

#include "sonde/wire.h"

#define SONDE_GO_NO_OFF 0xffff
#define SONDE_GO_MARKS 65536	/* bytes of sonde_go_marks, by the low bits of the tgid */

/* Offsets in bytes. Without parent, m or curg the value is SONDE_GO_NO_OFF. */
struct sonde_go_layout {
	__s32 tls;		/* amd64: of g from the thread pointer; unused on arm64 */
	__u16 goid, parent;	/* in struct g */
	__u16 m, curg;		/* g.m, m.curg */
	__u32 pad;
};

/* Values of sonde_go_marks. */
#define SONDE_GO_MARK_GO 1
#define SONDE_GO_MARK_SERVES 2	/* a handler of gRPC or HTTP/2 ran */

/* A program's file; the kernel gives new processes of it the layout. */
struct sonde_go_file {
	__u64 ino, size;
	__u32 dev, pad;		/* major << 20 | minor */
};

#endif
