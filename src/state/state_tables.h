/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables behind struct state, for the files of this folder.
 */
#ifndef STATE_TABLES_H
#define STATE_TABLES_H

#include "base/map.h"
#include "base/vec.h"
#include "base/list.h"
#include "state/state_evicted.h"
#include "state/state_image.h"
#include "state/state_timeline.h"

/* A process that inherits the image of its creator, until that is settled. */
struct state_birth {
	uint64_t start_ns, born_ns;
	uint32_t tgid;
};

#define STATE_HOT 1024 /* a power of two */

struct state_tasks {
	struct map by_id;	/* uint32_t -> struct task *, the youngest */
	/* found lately, by the low bits of the number: a look-up is most of the cost of an answer */
	struct task *hot[STATE_HOT];
	struct list live, exited;
	size_t bytes, budget_bytes;
	uint64_t entries;
	uint64_t keep_ns;	/* after the exit */
	struct state_evicted evicted;
};

struct state_sockets {
	struct map by_cookie;	/* uint64_t -> struct sock * */
	struct list open, closed;
	size_t bytes, max_bytes;
	struct state_evicted evicted;
};

struct state_files {
	struct map by_number;	/* number and instance -> struct file * */
	struct file *recent;	/* answer to the last question; NULL = none */
	struct list files;
	size_t bytes, budget_bytes;
	struct state_evicted evicted;
};

struct state_ranges {
	struct map by_cookie;	/* uint64_t -> struct range_sock * */
	struct list socks;
};

struct state {
	struct state_tasks procs, threads;
	struct state_sockets socks;
	struct state_files files;
	struct state_ranges ranges;
	struct state_images images;
	struct map calls[2];	/* state_call.c: number -> struct call; the younger generation first */
	struct map containers;	/* state_event.c: uint64_t cgroup id -> struct container, "" = none */
	struct state_losses losses;
	uint64_t lost;		/* number of losses so far */
	VEC(struct state_birth) births; /* in the order they came; those before birth_at are done */
	size_t birth_at;
	uint64_t gen;		/* number of changes to processes */
	uint64_t answers;	/* built so far */
	uint64_t now_ns;	/* latest time of any fact */
};

void state_task_init(struct state *s, size_t process_bytes, size_t thread_bytes);
void state_task_fini(struct state *s);
void state_socket_init(struct state *s, size_t budget_bytes);
void state_socket_fini(struct state *s);
void state_file_init(struct state *s, size_t budget_bytes);
void state_file_fini(struct state *s);
void state_range_init(struct state *s);
void state_range_fini(struct state *s);
void state_call_init(struct state *s);
void state_call_fini(struct state *s);
void state_event_init(struct state *s);
void state_event_fini(struct state *s);

#endif
