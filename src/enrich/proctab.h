/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes by (tgid, start) and by (tgid, time): who they were when. An exited process stays for a while, so
 * that what arrives late still finds it; a reused pid is another process. Time is that of the events: the table
 * has no clock of its own.
 */
#ifndef ENRICH_PROCTAB_H
#define ENRICH_PROCTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proctab;

/* Image of a process: comm, executable, arguments. A parent and its children share it until they exec. */
struct image {
	uint32_t refs;
	uint32_t exe_len, args_len;
	char comm[16];		/* may lack a NUL */
	char text[];		/* exe, then args */
};

/* How a process was from since_ns on. */
struct proc_version {
	uint64_t since_ns;
	uint64_t taken_ns;	/* of a snapshot: when it was taken; 0 = something that happened */
	uint64_t cgroup_id;
	struct image *image;	/* a reference; NULL = unknown */
	uint32_t uid, gid;
	uint32_t section_len;
	bool section_final;	/* it knows the container, or that there is none */
	void *section;		/* owned: what events of this time get; NULL until the first asks */
};

struct proc_found {
	uint64_t start_ns;
	uint32_t tgid, ppid;
	bool owner_sure;	/* no fact was lost since its user was last read */
	struct proc_version *v;	/* borrowed until the table changes; NULL when nothing is known of that time */
};

/* One thing that happened, or was so, at ts_ns. Strings that are NULL and numbers without has_* are not news. */
struct proc_fact {
	uint64_t ts_ns;
	uint32_t tgid;
	uint64_t start_ns;
	bool snapshot;		/* it was so; may fill gaps, never undoes what happened later */
	bool exited;		/* the last thread is gone */
	bool has_ids, has_ppid;
	uint32_t uid, gid, ppid;
	uint64_t cgroup_id;	/* 0 = not news */
	const char *comm;	/* up to 16 bytes */
	size_t comm_len;
	const char *exe, *args;	/* exe != NULL: it runs another program */
	size_t exe_len, args_len;
	uint32_t maker_tgid;	/* != 0: it was just made, as a copy of this one */
	uint64_t maker_start_ns;
};

struct proctab_stats { uint64_t processes, evicted; };

/* @budget_bytes bounds what processes and their texts take. */
struct proctab *proctab_new(size_t budget_bytes);
void proctab_free(struct proctab *t);

/* 0 or -ENOMEM. Facts without a start are ignored: they could belong to an earlier owner of the pid. */
int proctab_apply(struct proctab *t, const struct proc_fact *f);

/* Facts of up to @ts_ns may be missing: users read before are unsure until a later fact or snapshot has them. */
void proctab_lost(struct proctab *t, uint64_t ts_ns);

/*
 * The process (@tgid, @start_ns) as it was at @ts_ns. @start_ns 0 = whoever had the pid then. False when it is
 * not known.
 */
bool proctab_find(struct proctab *t, uint32_t tgid, uint64_t start_ns, uint64_t ts_ns, struct proc_found *ret);

/* Keeps @section (from malloc) with @v; the table owns it from here on. */
void proctab_keep_section(struct proctab *t, struct proc_version *v, void *section, uint32_t len, bool final);

void proctab_stats(const struct proctab *t, struct proctab_stats *ret);

#endif
