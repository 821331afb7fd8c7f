/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bodies of the proc events, between proc_decode.c (records to bodies) and proc_desc.c (rows and lines). The fields
 * of the rows are the contract with all other code; only these two files read a body.
 */
#ifndef PROC_EVENT_H
#define PROC_EVENT_H

#include <stdint.h>

#include "event/event.h"
#include "event/redact/redact.h"

/* Strings lie behind the body; offsets count from its end (as in struct sec_proc). */
struct proc_task_body {
	struct sec_str file, exe, args;
	uint64_t exe_ino, image_ns, maker_start_ns;
	uint32_t ppid, uid, gid;
	uint32_t pidns, mntns, ns_tgid, ns_tid;
	uint32_t exe_dev, old_tid, maker_tgid;
	uint8_t thread;		/* a thread of a process that is there already */
	uint8_t pad[3];
	char comm[16];
};

struct proc_exit_body {
	uint32_t status;	/* as wait(2) gives it; of the process when last, else of the thread */
	uint8_t last, pad[3];
	char comm[16];
};

struct proc_rename_body {
	char comm[16], old[16];
};

struct proc_mmap_body {
	struct sec_str path;
	uint64_t addr, len, file_off, ino;
	uint32_t dev, ino_generation, prot, flags;
	uint8_t build_id[20], build_id_len, pad[3];
};

struct proc_socket_body {
	uint64_t listener;
	uint8_t what, state, closed, pad[5];
	char comm[16];
};

extern const struct event_desc proc_fork_desc, proc_exec_desc, proc_exit_desc, proc_rename_desc, proc_cgroup_desc,
	proc_mmap_desc, proc_socket_desc, proc_task_desc;
extern const struct event_desc *const proc_descs[];
extern const struct redact_rule proc_redact[];	/* proc_redact.c */

#endif
