/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Configuration of the sys probe.
 */
#ifndef SYS_SYS_CONF_H
#define SYS_SYS_CONF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/opt.h"

struct registry;

/* Totals of a run that only the probe has. */
struct sys_stats {
	uint64_t suppressed;		/* events dropped by --suppress */
	uint64_t suppressed_tids;	/* threads with a suppressed name */
	uint64_t healed, postponed, rows; /* see struct resync_stats */
	struct sys_stats_lost {
		unsigned abi, nr;	/* SYS_NR_MAX: numbers without a table row */
		uint64_t count;		/* records */
	} lost[16];			/* most losses first */
	unsigned n_lost;
};

/* Events beside system calls. */
#define SYS_EVENT_SWITCH 1u
#define SYS_EVENT_SIGNAL 2u
#define SYS_EVENT_FAULT 4u
#define SYS_EVENT_URING 8u
#define SYS_EVENT_EXIT 16u

/*
 * Calls that a summary times: a random sample, with the first calls of each number and all long ones; or all calls.
 */
enum sys_times { SYS_TIMES_SAMPLED, SYS_TIMES_ALL, SYS_TIMES__MAX };

/* Tables of a summary: one for all, one per process, one per command name. Values as SYS_BY_*. */
enum sys_by { SYS_SUMMARY_ALL, SYS_SUMMARY_PROCESS, SYS_SUMMARY_NAME, SYS_SUMMARY__MAX };

/* Unusual: failed, but for EAGAIN, EINPROGRESS, EINTR and restarts, or as long as min_latency_ns. */
enum sys_result { SYS_RESULT_ALL, SYS_RESULT_FAILED, SYS_RESULT_SUCCESS, SYS_RESULT_UNUSUAL, SYS_RESULT__MAX };

/* Set by the probe's options and by commands. */
struct sys_conf {
	struct opt_strv calls;		/* names, classes (%file), !name; empty = all */
	unsigned result;		/* enum sys_result */
	uint64_t snaplen;		/* bytes of payload per call; 0 = none */
	uint64_t min_latency_ns;	/* only calls of at least this duration */
	bool enter;			/* also record entries */
	bool cpu_times;			/* also record CPU times of all processes each second, for captures */
	bool cpu_times_shown;		/* the same whatever is selected: user space shows them */
	bool summary;			/* count in the kernel and report at the end */
	bool context;			/* also kernel state of sockets, files and processes */
	struct opt_strv events;		/* names of --events */
	unsigned events_too;		/* SYS_EVENT_* to add to `events` */
	struct opt_strv suppress;	/* command names to drop */
	struct sys_stats *stats;	/* filled on detach; NULL = not requested */
	bool scan;			/* first report existing threads, descriptors and users */
	const struct sys_pushdown *push; /* part of the filter for the kernel (sys_pushdown.h); NULL = none */
	const char *push_text;		/* the filter as text, if @push cannot be passed; NULL = none */
	bool push_others;		/* see struct sys_pushdown_opts */
	bool keep_state;		/* calls that change descriptors and processes pass any filter */
	const char *max_cpu;		/* limit of CPU time: "5%" of one CPU; NULL = none */
	bool no_times;			/* no latency: leaves out the program at entry */
	unsigned times;			/* enum sys_times, for a summary */
	unsigned by;			/* enum sys_by, for a summary */
	uint64_t interval_ns;		/* also report a summary at this interval: what came since if by process, else
					 * the sums since the start; 0 = once, at the end */
};

#define SYS_SNAPLEN_MAX 16384

extern const struct sys_conf sys_conf_default;
extern const struct opt sys_opts[];
extern const char *const sys_times_names[]; /* by enum sys_times, NULL-terminated */
extern const char *const sys_by_names[];    /* by enum sys_by, NULL-terminated */

/*
 * Completes a configuration that arrived as text: the part of `push_text` that the kernel can evaluate becomes
 * `push`.
 */
int sys_conf_init(void *conf, const struct opt_strv *netns, const struct registry *reg, struct err *err);
void sys_conf_fini(void *conf);

/*
 * SYS_WANT_* of the calls that @c selects, for one ABI: @ret has SYS_NUMBERS bytes. -EINVAL and @err for an unknown
 * call or class.
 */
int sys_conf_want(const struct sys_conf *c, unsigned abi, uint8_t *ret, struct err *err);

/* @c->max_cpu in thousandths of a CPU; 0 = no limit. -EINVAL and @err if it is malformed. */
int sys_conf_max_cpu(const struct sys_conf *c, unsigned *ret, struct err *err);

/* SYS_EVENT_* of @c->events and @c->events_too. -EINVAL and @err for an unknown name. */
int sys_conf_events(const struct sys_conf *c, unsigned *ret, struct err *err);

#endif
