/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bodies of the proc events, between proc_decode.c (records to bodies) and proc_desc.c (rows and lines); only these
 * two files read a body. It begins with its SEC_STATE, for the tables of state.
 */
#ifndef PROC_EVENT_H
#define PROC_EVENT_H

#include <stdint.h>

#include "event/event.h"
#include "event/redact/redact.h"

/* Strings lie behind the body; offsets count from its end (as in struct sec_proc). */
struct proc_task_body {
	struct sec_task task;
	struct sec_str file;
	uint64_t exe_ino;
	uint32_t pidns, mntns, ns_tid, exe_dev, old_tid, pad;
};

struct proc_exit_body {
	struct sec_state state;
	uint32_t status;	/* as wait(2) gives it; of the process when last, else of the thread */
	uint32_t pad;
	char comm[16];
};

struct proc_rename_body {
	struct sec_task task;
	char old[16];
};

struct proc_mmap_body {
	struct sec_mapping map;
	uint32_t prot, flags;
};

struct proc_socket_body {
	struct sec_socket sock;
	uint8_t what, state, pad[6];
	char comm[16];
};

extern const struct event_desc proc_fork_desc, proc_exec_desc, proc_exit_desc, proc_rename_desc, proc_cgroup_desc,
	proc_mmap_desc, proc_socket_desc, proc_task_desc;
extern const struct event_desc *const proc_descs[];
extern const struct redact_rule proc_redact[];	/* proc_redact.c */

#endif
