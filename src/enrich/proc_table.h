/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes by identity (tgid, start) over time: they stay for a while after their exit, so that a late event
 * still finds its name, and a reused pid is another process. Bounded by bytes; what was pushed out is counted.
 */
#ifndef ENRICH_PROC_TABLE_H
#define ENRICH_PROC_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proc_table;

enum proc_text { PROC_COMM, PROC_EXE, PROC_ARGS, PROC_CONTAINER, PROC_IMAGE, PROC_TEXT__MAX };

struct proc_key { uint32_t tgid, pad; uint64_t start_ns; };

struct proc {
	struct proc_key key;
	uint64_t exit_ns;	/* 0 = runs */
	uint64_t cgroup_id;
	uint32_t ppid, uid, gid;
	bool live;		/* told by an event, not by the start snapshot: a snapshot must not overwrite it */
	char *text[PROC_TEXT__MAX];	/* owned, NULL = unknown; set through proc_set_text() */
	uint32_t text_len[PROC_TEXT__MAX];

	/* the table's own */
	void *section;		/* struct sec_proc with strings, made when asked for; NULL = out of date */
	uint32_t section_len;
	size_t bytes;
	struct proc *older_same_pid;	/* chain of one tgid, newest first */
	struct proc *newer, *older;	/* by last use */
};

struct proc_table *proc_table_new(size_t budget_bytes);
void proc_table_free(struct proc_table *t);

/* The process of @key, made if it is new. NULL if memory ran out. */
struct proc *proc_table_add(struct proc_table *t, const struct proc_key *key);

/* By identity; with start_ns 0 the one that had the pid at @ts_ns. NULL = unknown. */
struct proc *proc_table_find(struct proc_table *t, const struct proc_key *key, uint64_t ts_ns);

/* Copies @len bytes (0 = unknown). 0 or -ENOMEM. */
int proc_set_text(struct proc_table *t, struct proc *p, enum proc_text which, const char *text, size_t len);

/* Any other change of @p must be told, so that its section is made anew. */
void proc_changed(struct proc_table *t, struct proc *p);

/* The SEC_PROC section of @p, valid until its next change; NULL if memory ran out. */
const void *proc_section(struct proc_table *t, struct proc *p, uint32_t *ret_len);

/* Forgets processes that ended before @before_ns, then the least used ones until the budget holds. */
void proc_table_trim(struct proc_table *t, uint64_t before_ns);

size_t proc_table_len(const struct proc_table *t);
uint64_t proc_table_evicted(const struct proc_table *t);

#endif
