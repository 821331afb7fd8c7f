/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The live half of a probe: BPF programs, their configuration and their attachment. It produces records, never
 * events; the pure half is its struct decoder_ops (event/decode.h).
 *
 * Hooks fail independently: a hook that cannot be loaded or attached is reported through probe_env_hook_failed(), and
 * the others work. open() fails only if no useful hook is left.
 */
#ifndef PROBE_PROBE_H
#define PROBE_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/wire.h"

struct buf;
struct err;
struct event;
struct opt_strv;
struct registry;
struct ring_rec;

/* ring_opts.source of a ring whose contents are not records: see raw(). */
#define PROBE_RAW(probe) ((unsigned)(probe)->instance + 1)

/* A live probe in a pipeline. */
struct probe {
	const struct probe_ops *ops;
	void *state;			/* ops->state_size bytes, zeroed */
	const void *conf;		/* ops->conf_size bytes, filled by options */
	struct probe_env *env;		/* rings, shared maps, filters, injection: src/probe/env.h */
	struct loop *loop;		/* of the pipeline; NULL: the probe has to make do with tick() */
	uint16_t instance;
	bool opened;			/* open() was called: close() may be called */
	bool ready;			/* open() returned: control(), raw(), call() and status() may be called */
	bool attaching;			/* attach() is running: no operation may be called */
	bool attached;			/* attach() was called: detach() and finish() may be called */
	bool running;			/* attach() returned: tick() may be called */
};

enum hook_state {
	HOOK_OK,		/* works here */
	HOOK_ABSENT,		/* the kernel lacks it */
	HOOK_REFUSED,		/* not permitted (rights, lockdown) */
	HOOK_FAILED,		/* available and permitted, but failed */
	HOOK__MAX,
};

/* One line of `sonde doctor`. */
struct hook_report {
	const char *hook;		/* "tcx", "drop", "xdp exceptions" */
	enum hook_state state;
	char why[256];			/* one sentence; "" if HOOK_OK */
	char fallback[128];		/* its replacement; "" = none */
};
typedef void (*hook_report_fn)(void *ctx, const struct hook_report *r);

/* An operation in a probe's programs failed @count times since the start. Strings live as long as the probe. */
typedef void (*probe_miss_fn)(void *ctx, const char *file, unsigned line, const char *reason, uint64_t count);

struct probe_ops {
	const char *name, *summary;	/* "net", "packets and drops of the network stack" */
	const struct decoder_ops *decoder;
	const struct opt *opts;		/* options of the probe, offsets into its conf; may be NULL */
	size_t conf_size, state_size;
	const void *conf_default;	/* configuration of --probe NAME; NULL: none, or the probe needs a command */

	const void *conf_base;		/* defaults of a subscription's options; without lists; NULL: zeros */

	/*
	 * Rows for members of the configuration that commands fill, not users. With @opts they cover all members, so
	 * that a configuration can be sent as option words (opt_words()). May be NULL.
	 */
	const struct opt *command_opts;
	/*
	 * Completes a configuration parsed from option words. @netns (borrowed): namespaces to attach in; @reg: event
	 * types that filters may use. Optional.
	 */
	int (*conf_init)(void *conf, const struct opt_strv *netns, const struct registry *reg, struct err *err);
	void (*conf_fini)(void *conf);	/* frees the allocations of conf_init() */

	/*
	 * Loads, attaches and detaches each hook and reports the result, for `sonde doctor`. Leaves nothing behind.
	 */
	int (*check)(struct probe_env *env, hook_report_fn fn, void *ctx);

	/* Loads with configuration in read-only data. */
	int (*open)(struct probe *p, struct err *err);
	/* Attaches. Records may arrive before it returns. */
	int (*attach)(struct probe *p, struct err *err);
	/* Injects SONDE_RF_SNAPSHOT records of the state that existed before. Optional. */
	int (*snapshot)(struct probe *p, struct err *err);
	/*
	 * After snapshot(), in a run that goes on: a process that the stream knows so far, alive (ev->ts_ns 0) or
	 * ended a short while ago, then. Injects it if the snapshot lacks it. Not 0 ends the walk. Optional.
	 */
	int (*snapshot_known)(struct probe *p, const struct event *ev);
	/*
	 * Open and attach before all other probes, proc included: its user wants events from now on. Its records wait
	 * in the rings until the snapshots have been taken.
	 */
	bool ahead;
	/* Its events name the owners of sockets: failures of the hooks that find owners are reported. */
	bool wants_owners;
	/*
	 * Gets each record of any probe before it is decoded. May attach, load tables or inject records before it
	 * (probe_env_inject()). Optional.
	 */
	int (*control)(struct probe *p, const struct sonde_rec *r);
	/*
	 * Gets the events of the probe's own decoder, before filters: findings that its programs need. Optional.
	 */
	void (*learn)(struct probe *p, const struct event *ev);
	/*
	 * Gets the contents of a ring that the probe added to probe_env_reader() with source PROBE_RAW; may convert
	 * them to records (probe_env_inject()). A negative return value stops the run. Optional.
	 */
	int (*raw)(struct probe *p, const struct ring_rec *r);
	/* Called about once per second of stream time. Optional. */
	int (*tick)(struct probe *p, uint64_t now_ns);
	/*
	 * --max-cpu (probe/budget/budget.h): from now on it leaves events out, counted as sampled, so that it costs
	 * about 1/@one_in (1, 2, 4 ... 64) of all its events. Writes a phrase for the user to @ret_what ("recording
	 * calls in 1/4 of the time"). -ENOTSUP if it cannot leave out any. Optional.
	 */
	int (*sample)(struct probe *p, uint32_t one_in, char *ret_what, size_t size);
	/* Reports failures by source line of its programs, as of the last tick. Optional. */
	void (*misses)(struct probe *p, probe_miss_fn fn, void *ctx);
	/*
	 * A request of `sonde control` while the probe runs: a verb ("dump") and arguments. It may inject records
	 * later, not during the call. -ENOTSUP for an unknown verb, with @err set. Optional.
	 */
	int (*call)(struct probe *p, const char *verb, const struct opt_strv *args, struct err *err);
	/* Appends lines for `sonde status`, each indented by two spaces. Optional. */
	void (*status)(const struct probe *p, struct buf *out);
	/*
	 * Stops the production of records; objects and maps stay, so that counters can still be read. Optional if
	 * close() suffices.
	 */
	void (*detach)(struct probe *p);
	/*
	 * Called after all records have been handled: the last chance to inject records, of entries left in maps.
	 * Optional.
	 */
	void (*finish)(struct probe *p);
	/* Valid in any state, half-open included. Leaves no program, filter or map behind. */
	void (*close)(struct probe *p);
};

/* All probes, from probes/probes.def; NULL-terminated. */
extern const struct probe_ops *const all_probes[];
const struct probe_ops *probe_find(const char *name);

#endif
