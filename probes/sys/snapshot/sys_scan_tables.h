/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables of one scan of /proc: sys_scan.c fills in processes, sys_scan_files.c their descriptors and sockets,
 * sys_scan_host.c interfaces, users and groups.
 */
#ifndef SYS_SCAN_TABLES_H
#define SYS_SCAN_TABLES_H

#include "base/buf.h"
#include "base/map.h"
#include "event/params.h"

/* A socket in /proc/net. */
struct scan_socket {
	uint8_t type;		/* FD_* of scap/block.h */
	uint8_t l4;
	uint8_t family;		/* of the addresses: 4 or 6 */
	uint8_t local[16], remote[16];	/* network order */
	uint16_t lport, rport;
	uint64_t address;	/* unix: of the kernel object */
	uint32_t name_off, name_len;	/* unix: in scan->names */
};

struct scan {
	int proc_fd;
	char *host_root;	/* owned */
	int (*fn)(void *ctx, const struct params_out *row); /* scan_fn */
	void *ctx;
	struct params_out out;
	bool anew;		/* thread rows announce that descriptor rows follow */
	struct buf text, more;	/* scratch: file contents */
	/* lint-ok(tables): lines of /proc/net, for one reading */
	struct map sockets;	/* uint64_t inode -> struct scan_socket */
	struct map spaces;	/* uint64_t network namespace -> uint8_t: namespaces whose sockets were read */
	struct buf names;	/* names of unix sockets */
};

/* Rows of the descriptors of process @pid, whose /proc directory is @pid_fd. 0 or -errno. */
int sys_scan_files_of(struct scan *s, int pid_fd, uint32_t pid);

#endif
