/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a command asks of the sys probe.
 */
#ifndef SYS_SYS_H
#define SYS_SYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/opt.h"

struct err;
struct registry;
struct sys_pushdown;

/* What the probe alone knows at its end. */
struct sys_stats {
	uint64_t suppressed;		/* events of --suppress */
	uint64_t suppressed_tids;	/* threads that have such a name */
	uint64_t healed, postponed, rows; /* of sys_resync.h */
	struct sys_stats_lost {
		unsigned abi, nr;	/* SYS_NR_MAX: those that no table has */
		uint64_t count;		/* records that did not fit */
	} lost[16];			/* most first */
	unsigned n_lost;
};

/* Events beside the calls. */
#define SYS_EVENT_SWITCH 1u
#define SYS_EVENT_SIGNAL 2u
#define SYS_EVENT_FAULT 4u
#define SYS_EVENT_URING 8u
#define SYS_EVENT_EXIT 16u

/* Which calls a summary measures: some, drawn at random, beside the first of each and the long ones; or all. */
enum sys_times { SYS_TIMES_DRAWN, SYS_TIMES_ALL, SYS_TIMES__MAX };

/* What a summary has a table for: all together, each process, each command name. As SYS_BY_*. */
enum sys_by { SYS_SUMMARY_ALL, SYS_SUMMARY_PROCESS, SYS_SUMMARY_NAME, SYS_SUMMARY__MAX };

enum sys_result { SYS_RESULT_ALL, SYS_RESULT_FAILED, SYS_RESULT_GOOD, SYS_RESULT__MAX };

/* Filled by the probe's options, and by commands. */
struct sys_conf {
	struct opt_strv calls;		/* names, classes (%file), !name; none = all */
	unsigned result;		/* enum sys_result */
	uint64_t snaplen;		/* bytes of payload per call; 0 = none */
	uint64_t min_latency_ns;	/* only calls that took so long */
	bool enter;			/* also a record when a call is entered */
	bool cpu_times;			/* of all processes too, each second, for captures */
	bool summary;			/* count in the kernel, tell at the end */
	bool context;			/* also what the kernel knows of sockets, files and processes */
	struct opt_strv events;		/* of events beside the calls: names of --events */
	unsigned events_too;		/* SYS_EVENT_*: wanted whatever `events` says */
	struct opt_strv suppress;	/* command names that are not wanted */
	struct sys_stats *stats;	/* filled when the probe is detached; NULL = nobody asks */
	bool scan;			/* tell of the threads, descriptors and users that are there already */
	const struct sys_pushdown *push; /* what of the filter the kernel decides (sys_pushdown.h); NULL = nothing */
	const char *push_text;		/* where that cannot be handed over: the filter; NULL = none */
	bool push_others;		/* see struct sys_pushdown_opts */
	bool keep_state;		/* calls that change descriptors and processes pass whatever it says */
	const char *max_cpu;		/* CPU time that watching may take: "5%" of one CPU; NULL = any */
	bool no_times;			/* no latency: the program at the entry is not needed */
	unsigned times;			/* enum sys_times, of a summary */
	unsigned by;			/* enum sys_by, of a summary */
};

#define SYS_SNAPLEN_MAX 16384

extern const struct sys_conf sys_conf_default;
extern const struct opt sys_opts[];
extern const char *const sys_times_names[]; /* by enum sys_times, NULL-terminated */
extern const char *const sys_by_names[];    /* by enum sys_by, NULL-terminated */

/* The same from words that came from elsewhere: what of `push_text` the kernel can decide becomes `push`. */
int sys_conf_init(void *conf, const struct opt_strv *netns, const struct registry *reg, struct err *err);
void sys_conf_fini(void *conf);

/*
 * Bits (SYS_WANT_*) of the calls that @c names, for one ABI: @ret has SYS_NUMBERS bytes. -EINVAL with a sentence
 * for a word that is no call and no class.
 */
int sys_conf_want(const struct sys_conf *c, unsigned abi, uint8_t *ret, struct err *err);

/* @c max_cpu in thousandths of a CPU; 0 = there is none. -EINVAL with a sentence. */
int sys_conf_max_cpu(const struct sys_conf *c, unsigned *ret, struct err *err);

/* SYS_EVENT_* of both. -EINVAL with a sentence for a word that is none. */
int sys_conf_events(const struct sys_conf *c, unsigned *ret, struct err *err);

#endif
