/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The folder of a dump: segments of the agent's store that are linked or moved there, cut where the dump begins. By a
 * thread: a cut segment is read and written again, and the recording goes on meanwhile.
 */
#ifndef AGENT_RECORD_DUMP_H
#define AGENT_RECORD_DUMP_H

#include <stdbool.h>
#include <stdint.h>

struct err;
struct record_dump;

/* All segments of the dump are complete on the disk. */
struct record_dump_opts {
	const struct record_process_opts *store;
	const char *name;	/* of the folder, in the store */
	int64_t before;		/* segments of a flight recorder's dump have higher numbers */
	int64_t since_ns;	/* wall clock; 0 = from the first segment on */
};

/* Everything in @o is borrowed until record_dump_finish(). 0 or -errno. */
int record_dump_start(const struct record_dump_opts *o, struct record_dump **ret);
bool record_dump_is_done(const struct record_dump *d);
/* Waits for its end. 0 or -errno with a message. NULL is fine. */
int record_dump_finish(struct record_dump *d, struct err *err);

#endif
