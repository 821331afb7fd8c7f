/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Memory that bpf/ident_file.bpf.h shares with user space. None of it is in records.
 */
#ifndef SONDE_IDENT_FILE_WIRE_H
#define SONDE_IDENT_FILE_WIRE_H

#ifndef __bpf__
#include <linux/types.h>
#endif

/* An open file as the cache compares it. */
struct ident_file_look {
	__u64 file, inode, dentry;	/* keys of addresses; inode: with its number */
	__u64 name;	/* hash and length of the name, unlinked or not, operations; sockets: hash of both ends */
};

struct ident_file_cell {
	struct ident_file_look look;
	__u64 number;
	__u64 check;		/* of all above and the epoch */
	__u32 epoch;
	__u32 sent_end, received_end;	/* TCP: sequence numbers behind the last bytes that a call wrote and read */
	__u32 pad;
};

#endif
