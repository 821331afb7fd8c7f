/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks of a capture file (.scap), converted to and from SEC_PARAMS: table rows and events. No I/O.
 *
 * The file is a stream of blocks with the framing of pcapng (packet/pcapng.h: type, length, body, padding, length
 * again), in the writer's byte order, which is little endian here. Since version 1.2 every list entry carries its own
 * length: versions only append fields, and readers skip a tail that they do not know.
 */
#ifndef SCAP_BLOCK_H
#define SCAP_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cursor.h"

struct buf;
struct params;
struct params_out;

#define SCAP_SHB 0x0A0D0D0Au
#define SCAP_BYTE_ORDER 0x1A2B3C4Du
#define SCAP_MAJOR 1
#define SCAP_MINOR 2

enum scap_block_kind {
	SCAP_BLOCK_SECTION, SCAP_BLOCK_MACHINE, SCAP_BLOCK_THREADS, SCAP_BLOCK_FDS, SCAP_BLOCK_IFACES,
	SCAP_BLOCK_USERS, SCAP_BLOCK_EVENT,
	SCAP_BLOCK__MAX,
};

struct scap_block_type {
	uint32_t number;
	enum scap_block_kind kind;
	uint8_t version;
	bool has_word;		/* events: 32 bits of flags follow the CPU */
	bool large;		/* events: 32-bit lengths */
};

/* NULL if no version has such a block. */
const struct scap_block_type *scap_block_type(uint32_t number);

/* Receives a borrowed row. A negative return ends the reading. */
typedef int (*scap_row_fn)(void *ctx, const struct params_out *row);

/*
 * Calls @fn for each row of a block. 0, the return of fn, or -EBADMSG with *ret_problem (a phrase: "a thread's entry
 * is longer than its block"). @row is scratch, zeroed before its first use.
 */
int scap_block_rows(const struct scap_block_type *t, struct cursor body, struct params_out *row, scap_row_fn fn,
		    void *ctx, const char **ret_problem);

/* Types of descriptors in files. */
#define FD_FILE 1
#define FD_DIRECTORY 2
#define FD_IPV4 3
#define FD_IPV6 4
#define FD_IPV4_SERVER 5
#define FD_IPV6_SERVER 6
#define FD_FIFO 7
#define FD_UNIX 8
#define FD_EVENT 9
#define FD_UNSUPPORTED 10
#define FD_SIGNAL 11
#define FD_EPOLL 12
#define FD_INOTIFY 13
#define FD_TIMER 14
#define FD_NETLINK 15
#define FD_FILE_V2 16		/* replaces FD_FILE: with flags and device */
#define FD_BPF 17
#define FD_USERFAULT 18
#define FD_IO_URING 19
#define FD_MEMFD 20
#define FD_PIDFD 21
#define FD_KNOWN_TO_ALL 16	/* older readers stop at newer types */
#define FD_TEXT_MAX 21		/* types 7 and 9 to 21, except 16, have a name only */

/* Protocols of sockets in files; 0 = unknown, 1 = none. */
#define SCAP_L4_TCP 2
#define SCAP_L4_UDP 3
#define SCAP_L4_ICMP 4
#define SCAP_L4_RAW 5

struct scap_event_head {
	uint64_t ts_ns;		/* since the epoch */
	uint16_t cpu;
};

/* Reads one event. 1; 0 if its type is unknown; -EBADMSG with *ret_problem. */
int scap_block_event(const struct scap_block_type *t, struct cursor body, struct scap_event_head *ret_head,
		     struct params_out *ret, const char **ret_problem);

/* ---- writing: each appends to @out ---- */

/* Begins a block and returns its start; ends the block that began at @start. 0 or -ENOMEM. */
size_t scap_block_begin(struct buf *out, uint32_t number);
int scap_block_end(struct buf *out, size_t start);

/* First block of a file. */
int scap_block_write_section(struct buf *out);
/* Entry of one row, without the block around it; -EINVAL if the row is of another table. */
int scap_block_write_machine(const struct params *row, struct buf *out);
int scap_block_write_thread(const struct params *row, struct buf *out);
int scap_block_write_fd(const struct params *row, struct buf *out);
int scap_block_write_iface(const struct params *row, struct buf *out);
int scap_block_write_user(const struct params *row, struct buf *out); /* users and groups */
/* A whole block. -EMSGSIZE if the format cannot hold the event. */
int scap_block_write_event(const struct params *ev, const struct scap_event_head *head, struct buf *out);

/* Block numbers that are written. */
#define SCAP_WRITE_MACHINE 0x201u
#define SCAP_WRITE_THREADS 0x215u
#define SCAP_WRITE_FDS 0x218u
#define SCAP_WRITE_IFACES 0x219u
#define SCAP_WRITE_USERS 0x220u

#endif
