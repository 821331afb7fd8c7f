/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside probes/sys/sys_scan*.c only.
 */
#ifndef SYS_SCAN_IMPL_H
#define SYS_SCAN_IMPL_H

#include "base/buf.h"
#include "base/map.h"
#include "event/params.h"
#include "probes/sys/snapshot/sys_scan.h"

/* A socket as /proc/net tells of it. */
struct scan_socket {
	uint8_t type;		/* as descriptors have it in captures: FD_* of scap/block_impl.h */
	uint8_t l4;
	uint8_t family;		/* of the addresses: 4 or 6 */
	uint8_t local[16], remote[16];	/* network order */
	uint16_t lport, rport;
	uint64_t address;	/* unix: of the kernel's object */
	uint32_t name_off, name_len;	/* unix: in scan->names */
};

struct scan {
	int proc_fd;
	char *host_root;	/* owned */
	scan_fn fn;
	void *ctx;
	struct params_out out;
	bool anew;		/* rows of processes say that their descriptors follow */
	struct buf text, more;	/* scratch: a file's content */
	struct map sockets;	/* uint64_t inode -> struct scan_socket */
	struct map spaces;	/* uint64_t network namespace -> uint8_t: those whose sockets are known */
	struct buf names;	/* of unix sockets */
};

/* The whole of a small file of /proc, NUL-terminated behind its end, at most @cap bytes. Its length, or -errno. */
int sys_scan_read(int dir_fd, const char *name, struct buf *into, size_t cap);
/* The text of a link; "" when it cannot be read. */
size_t sys_scan_link(int dir_fd, const char *name, char *to, size_t cap);

int sys_scan_files_of(struct scan *s, int pid_fd, uint32_t pid);

#endif
