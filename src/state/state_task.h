/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes by {tgid, start} or {tgid, time}, threads by {tid, start of the process}: name, program, users, cgroup at
 * any time. A reused number is another process.
 */
#ifndef STATE_TASK_H
#define STATE_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "state/state_answer.h"

struct state;

/* A state at ts_ns. Strings that are NULL and numbers without has_* are not part of the fact. */
struct state_task_fact {
	uint64_t ts_ns;
	uint32_t tgid, tid;	/* equal: about the process */
	uint64_t start_ns;	/* of the process */
	bool snapshot;		/* read at ts_ns; true for an unknown time */
	bool exited;		/* the process with its last thread; of tid != tgid: this thread */
	bool has_ids, has_ppid;
	uint32_t uid, gid, ppid;
	uint32_t vpid;		/* process id in its own pid namespace; 0 = not part of the fact */
	uint64_t cgroup_id;	/* 0 = not part of the fact */
	const char *comm;	/* up to 16 bytes */
	size_t comm_len;
	uint64_t image;		/* number of the process's image; 0 = not numbered */
	const char *exe, *args;	/* exe != NULL: an exec, or the program that a snapshot saw */
	size_t exe_len, args_len;
	uint32_t maker_tgid;	/* != 0: a fork of this process, which gives it its program */
	uint64_t maker_start_ns; /* 0 = the process with the number at ts_ns */
};

/* 0 or -ENOMEM. Ignores facts without a start: they could be about an earlier process with the number. */
int state_task_apply(struct state *s, const struct state_task_fact *f);

/*
 * The process at @ts_ns; @start_ns 0 = the process with that number then. 0, -ENOENT, -ESTALE if it was evicted, or
 * -ENOMEM; *ret is NULL on failure.
 */
int state_task_process(struct state *s, uint32_t tgid, uint64_t start_ns, uint64_t ts_ns,
		       const struct state_task_at **ret);

/*
 * Passes @fn each process that is alive, then those that ended after @since_ns, the latest first, as they were at the
 * end. @exit_ns 0 = alive. A result of @fn other than 0 ends the walk and is returned; -ENOMEM.
 */
typedef int (*state_task_fn)(void *ctx, const struct state_task_at *at, uint64_t exit_ns);
int state_task_known(struct state *s, uint64_t since_ns, state_task_fn fn, void *ctx);

/* Is the image @number of the process known? False after a lost exec. */
bool state_task_has_image(const struct state *s, const struct state_task_at *at, uint64_t number);

/* The thread @tid != tgid of the process that started at @start_ns. Returns as above. */
int state_task_thread(struct state *s, uint32_t tid, uint64_t start_ns, uint64_t ts_ns,
		      const struct state_task_at **ret);

/* User of the process at @ts_ns. False if it is unknown or a lost record may have changed it since. */
bool state_task_user(struct state *s, uint32_t tgid, uint64_t start_ns, uint64_t ts_ns, uint32_t *ret_uid);

/* Keeps @section (from malloc) with @at of a process; the engine owns it from here on. */
void state_task_keep_section(struct state *s, const struct state_task_at *at, void *section, uint32_t len,
			     bool final);

#endif
