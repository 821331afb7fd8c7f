/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An answer of the engine about a process or thread.
 */
#ifndef STATE_ANSWER_H
#define STATE_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

/* A process or thread between two changes. Borrowed until the next fact. */
struct state_task_at {
	uint64_t serial;		/* no other answer has it */
	uint64_t start_ns, cgroup_id;
	uint64_t image_number;			/* 0 = not numbered */
	const struct state_image *image;	/* NULL = unknown; of a thread always */
	uint32_t id, ppid, uid, gid;
	uint32_t vpid;			/* 0 = unknown */
	bool has_ids;
	char comm[16];			/* may lack a NUL; empty = unknown */

	/* SEC_PROC of this time; NULL until state_task_keep_section() */
	const void *section;
	uint32_t section_len;
	bool section_final;		/* complete: later names add nothing */
};

#endif
