/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Options that the commands which show events share.
 */
#ifndef CMD_RUN_CONF_H
#define CMD_RUN_CONF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/opt.h"

enum run_color { RUN_COLOR_AUTO, RUN_COLOR_ALWAYS, RUN_COLOR_NEVER, RUN_COLOR__MAX };

extern const char *const run_color_names[]; /* by enum run_color, NULL-terminated */

/* Filled by the options of run_sets(), except the last members. */
struct run_conf {
	/* select */
	struct opt_u32v pids;
	struct opt_strv ifaces; /* of commands about packets */
	struct opt_strv netns, containers, cgroups;
	struct opt_strv wheres;
	/* output */
	struct opt_strv outputs; /* -o FORMAT[:FILE] */
	const char *write, *read;
	bool json;
	uint64_t rotate_bytes, rotate_ns, rotate_events;
	uint32_t rotate_files;
	unsigned verbose;
	bool quiet;	    /* no ready message, progress or summary */
	unsigned color;	    /* enum run_color */
	const char *format; /* a tool's name, or with a % the format of a line: event/format.h */
	unsigned data;	    /* enum scap_buffer_form */
	unsigned time;	    /* enum time_mode */
	bool numeric;
	/* end */
	uint64_t count, duration_ns;
	struct {		/* of -o store: cmd/run/run_store.h */
		uint64_t max_bytes, max_age_ns, segment_bytes, segment_ns, sync_ns;
		uint32_t min_free_pct;
		bool has_min_free, group;
		unsigned redact;	/* REDACT_* */
		const uint64_t *segment; /* of a store: read only this one; NULL = all; set by the command */
	} store;
	int64_t since_ns, until_ns; /* of events of a file, wall clock; 0 = no bound */
	bool follow;		    /* a store: wait for more */
	/* global */
	const char *agent; /* a path, "" = the default path, "no"; NULL = if an agent is running */
	const char *host_root;
	const char *symfs; /* names of a recording also from files below it; NULL = none */
	const char *btf;   /* BTF of the running kernel (btf/kernel_btf.h); NULL = default path */
	uint64_t ring_bytes, latency_ns;
	bool explain_filter, symbols;
	struct opt_strv probes;

	/* set by the command */
	const char *where;	  /* all filters: run_settle() */
	const char *where_name;	  /* what messages call them; NULL = --where */
	const char *file_format;  /* for -o FILE if neither prefix nor suffix names one; NULL = an error */
	unsigned string_bytes;	  /* see struct line_opts */
	struct opt_u32v trees;	  /* these processes and their descendants; only with run_ops.why_local */
	/*
	 * The format of -w in a dialect, where suffixes mean nothing: the number of a rotated file comes last.
	 * NULL = the suffix names the format, and stays last.
	 */
	const char *write_format;
	bool rotate_like_tcpdump; /* this and the next two: see struct sink_rotation */
	void (*rotate_closed)(void *ctx, const char *name);
	void *rotate_closed_ctx;
	unsigned pcap; /* this and the next two: see struct sink_opts */
	bool gzip, both_sides;
	unsigned reveal; /* DECODE_REVEAL_* */
};

#endif
