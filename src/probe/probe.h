/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The live half of a probe: BPF programs, their configuration and their attachment. It makes records, never
 * events; the pure half is its struct decoder_ops (event/decode.h).
 *
 * Every hook loads on its own: one that cannot load or attach is reported through probe_env_hook_failed() and
 * stops nothing else. open() fails only when nothing useful is left.
 */
#ifndef PROBE_PROBE_H
#define PROBE_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sonde/wire.h"

struct buf;
struct decoder_ops;
struct err;
struct loop;
struct opt;
struct opt_strv;
struct probe_env;
struct registry;
struct ring_rec;

/* The source of a ring whose bytes are not records: see raw(). */
#define PROBE_RAW(probe) ((unsigned)(probe)->instance + 1)

/* What the pipeline gives to a live probe. */
struct probe {
	const struct probe_ops *ops;
	void *state;			/* ops->state_size bytes, zeroed */
	const void *conf;		/* ops->conf_size bytes, filled by options */
	struct probe_env *env;		/* rings, shared maps, filters, injection: src/probe/env.h */
	struct loop *loop;		/* of the pipeline; NULL where there is none: then tick() must do */
	uint16_t instance;
	bool opened;			/* open() was called, so close() may be */
	bool ready;			/* open() has returned: so may control(), raw(), call() and status() */
	bool attaching;			/* attach() is at work: nothing but what it calls itself */
	bool attached;			/* attach() was called, so detach() and finish() may be */
	bool running;			/* attach() has returned, so tick() may be called */
};

enum hook_state {
	HOOK_OK,		/* works here */
	HOOK_ABSENT,		/* this kernel does not have it */
	HOOK_REFUSED,		/* there, but not permitted (rights, lockdown) */
	HOOK_FAILED,		/* there and permitted, yet it failed */
	HOOK__MAX,
};

/* One line of `sonde doctor`. */
struct hook_report {
	const char *hook;		/* "tcx", "drop", "xdp exceptions" */
	enum hook_state state;
	char why[256];			/* one sentence for a person, "" when OK */
	char fallback[128];		/* what is used instead, "" if nothing */
};
typedef void (*hook_report_fn)(void *ctx, const struct hook_report *r);

/* Something that a probe's programs could not do, @count times since the start; texts live as long as the probe. */
typedef void (*probe_miss_fn)(void *ctx, const char *file, unsigned line, const char *reason, uint64_t count);

struct probe_ops {
	const char *name, *summary;	/* "net", "packets and drops of the network stack" */
	const struct decoder_ops *decoder;
	const struct opt *opts;		/* options of the probe, offsets into its conf; may be NULL */
	size_t conf_size, state_size;
	const void *conf_default;	/* what --probe NAME runs with; NULL: it has none, or needs a command */

	const void *conf_base;		/* what words of a subscription change; no lists in it; NULL: zeros */

	/*
	 * Rows for the members of the configuration that commands fill, not users: with @opts they say all of it, so
	 * that it can travel as words (opt_words()). May be NULL.
	 */
	const struct opt *command_opts;
	/*
	 * Completes a configuration that came as words; @netns (borrowed): where to attach; @reg: what filters are
	 * parsed with. Optional.
	 */
	int (*conf_init)(void *conf, const struct opt_strv *netns, const struct registry *reg, struct err *err);
	void (*conf_fini)(void *conf);	/* what conf_init() made */

	/* Tries each hook (load, attach, detach) and reports on it; for doctor. Leaves nothing behind. */
	int (*check)(struct probe_env *env, hook_report_fn fn, void *ctx);

	/* Loads with configuration in read-only data. */
	int (*open)(struct probe *p, struct err *err);
	/* Attaches. Records may flow from here on. */
	int (*attach)(struct probe *p, struct err *err);
	/* State that existed before: emits SONDE_RF_SNAPSHOT records through env. Optional. */
	int (*snapshot)(struct probe *p, struct err *err);
	/*
	 * It is opened and attached before all others, proc too: its user wants what is now. Its records wait in the
	 * rings until the snapshots have told what they are about.
	 */
	bool ahead;
	/* Its events name the sockets' owners: the user hears of hooks that find them and do not work. */
	bool wants_owners;
	/*
	 * Sees each record of any probe before it is decoded: may attach, load tables, or put records in front
	 * of it (probe_env_inject()), never make events. Optional.
	 */
	int (*control)(struct probe *p, const struct sonde_rec *r);
	/*
	 * Bytes out of a ring that the probe added to probe_env_reader() with PROBE_RAW as source: what they are only
	 * it knows, and it may make a record of them (probe_env_inject()). Negative stops the run. Optional.
	 */
	int (*raw)(struct probe *p, const struct ring_rec *r);
	/* About every second of stream time. Optional. */
	int (*tick)(struct probe *p, uint64_t now_ns);
	/* By places in its programs, as of the last tick. Optional. */
	void (*misses)(struct probe *p, probe_miss_fn fn, void *ctx);
	/*
	 * What somebody asks of it while it runs, by a verb and words: "dump" of what is kept. It may put records
	 * into the stream later, not at once. -ENOTSUP for a verb that it does not know, always with a sentence.
	 * Optional.
	 */
	int (*call)(struct probe *p, const char *verb, const struct opt_strv *args, struct err *err);
	/* Lines about it for `sonde status`, each with two spaces in front. Optional. */
	void (*status)(const struct probe *p, struct buf *out);
	/*
	 * No record is produced after this; objects and maps stay, so that counters can still be read. Optional
	 * where close() is all there is to it.
	 */
	void (*detach)(struct probe *p);
	/*
	 * Every record that was produced has been handled: the last moment to put some into the stream, about what
	 * is left in maps. Optional.
	 */
	void (*finish)(struct probe *p);
	/* Any state, half-open included. Leaves no program, filter or map behind. */
	void (*close)(struct probe *p);
};

/* All probes, from probes/probes.def; NULL-terminated. */
extern const struct probe_ops *const all_probes[];
const struct probe_ops *probe_find(const char *name);

#endif
