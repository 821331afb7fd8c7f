/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state at an event: its thread and process, the descriptor it is about, users and containers; and how buffers
 * are shown.
 */
#ifndef SCAP_STATE_VIEW_H
#define SCAP_STATE_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "event/params.h"
#include "event/value.h"

/* A shared, immutable string with a NUL behind it. NULL = unknown. */
struct scap_str {
	uint32_t refs, len;
	char data[];
};

enum scap_role { SCAP_ROLE_NONE, SCAP_ROLE_CLIENT, SCAP_ROLE_SERVER, SCAP_ROLE__MAX };

#define SCAP_FD_CONNECTED 1u
#define SCAP_FD_CLOSING 2u	/* between close enter and its exit */
#define SCAP_FD_CANCELED 4u	/* the number was given away again meanwhile */
#define SCAP_FD_FROM_ROW 8u
#define SCAP_FD_FROM_KERNEL 16u	/* by a live event's open file: no call or row said what it is */

struct scap_fd {
	uint32_t refs;
	uint64_t serial;		/* the same in its copies for other processes, in no other descriptor */
	uint8_t type;			/* FD_* of scap/block.h; 0 = unknown */
	uint8_t l4;			/* SCAP_L4_* of scap/block.h */
	uint8_t role;			/* enum scap_role */
	uint8_t flags;			/* SCAP_FD_* */
	uint32_t open_flags, dev;
	uint64_t ino;
	struct ipaddr sip, dip;		/* client and server side once the role is known; a listener has dip alone */
	uint16_t sport, dport;
	uint64_t unix_source, unix_dest;
	uint64_t file;			/* number of the open file that a live event had here; 0 = none had */
	uint32_t file_dev;		/* its device: major << 20 | minor */
	struct scap_str *name;		/* owned reference */
};

struct scap_thread {
	int64_t tid, pid, ptid, sid, vpgid, vtid, vpid;
	uint32_t uid, gid, loginuid, flags;	/* flags: SCAP_CLONE_* */
	int64_t fdlimit;
	uint32_t vmsize_kb, vmrss_kb, vmswap_kb, tty;
	uint64_t pfmajor, pfminor;
	struct scap_str *comm, *exe, *exepath, *cwd, *root, *container;	/* owned references */
	struct scap_str *args, *env, *cgroups;	/* NUL-terminated strings, one behind the other */
	struct scap_fdtable *fds;		/* owned reference; of a thread NULL: its process has them */
	uint64_t cgroup_id;			/* of a live event; 0 = none said it */
	uint64_t exec_ns;			/* CPU time, from context switches */
	uint64_t clone_ns, n_threads;		/* threads beside the main one */
	uint64_t known_ns;			/* time of the event or row that added it; 0 = before the start */
	uint64_t program;			/* number of the image that gave the name; 0 = not the engine */
	bool exe_writable, invented;		/* invented: known from its events only */

	/* of the event before this one */
	uint16_t last_type;
	int64_t last_fd;
	uint64_t enter_ns, latency_ns;
	struct buf enter;			/* SEC_PARAMS of the last enter event */
	void *proc_section;			/* owned: SEC_PROC, made when asked for */
	uint32_t proc_len;
};

#define SCAP_CLONE_THREAD (1u << 13)
#define SCAP_CLONE_INVERTED (1u << 16)	/* the child's clone event came before the parent's */
#define SCAP_CLONE_IN_PIDNS (1u << 29)

/* State of one event. ev->view points to it until the next event. */
struct scap_view {
	const struct scap_state *state;
	const struct scap_event_info *info;
	struct params p;			/* of the event */
	struct params enter;			/* of its enter event; enter.n 0 = none */
	const struct scap_thread *thread;	/* NULL: not known */
	const struct scap_thread *process;	/* its main thread, or itself */
	const struct scap_fd *fd;		/* the descriptor it is about; NULL = none */
	int64_t fd_num;				/* -1 = none */
	uint16_t cpu;
	uint64_t num;				/* of the event in its stream, filtered ones counted */
	uint64_t ts_ns;				/* since 1970, or since boot while the wall clock is unknown */
	uint64_t delta_ns;			/* since the event before */
	uint64_t first_ns;			/* time of the first event */
	uint64_t exec_ns;			/* of who leaves the CPU: time on it; 0 = not known */
};

struct scap_user { uint32_t uid, gid; struct scap_str *name, *home, *shell; };
struct scap_group { uint32_t gid; struct scap_str *name; };
struct scap_container {
	struct scap_str *id, *name, *image, *type, *image_id, *repo, *tag, *digest;
	struct scap_str *mounts;	/* source:destination:mode:rdwr:propagation, comma separated */
	struct scap_str *json;	/* the text that it was parsed from */
	uint8_t privileged;	/* 0 not said, 1 no, 2 yes */
};

enum scap_buffer_form {
	SCAP_BUFFER_DOTS,	/* printable characters, dots for others; truncated at `cut` */
	SCAP_BUFFER_ASCII,	/* printable characters and newlines, on lines of their own */
	SCAP_BUFFER_HEX, SCAP_BUFFER_HEX_ASCII, SCAP_BUFFER_BASE64,
	SCAP_BUFFER__MAX,
};

struct scap_render_opts {
	enum scap_buffer_form form;
	size_t cut;		/* characters of SCAP_BUFFER_DOTS; 0 = all */
};

#define SCAP_RENDER_CUT 80	/* characters of a buffer that sysdig prints */

#endif
