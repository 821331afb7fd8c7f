/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Output formats. A sink knows events, their descriptions and section kinds, but no probe.
 *
 * Each format is a file and a row in sinks.def; `-o NAME[:FILE]` then works in every command.
 */
#ifndef SINKS_SINK_H
#define SINKS_SINK_H

#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

struct err;
struct sonde_rec;

#define SINK_BINARY 1u		/* never to a terminal */
#define SINK_AT_CLOSE 2u	/* writes at the end only */
#define SINK_RAW 4u		/* takes records instead of events */
#define SINK_META 8u		/* takes EVENT_META regardless of `needs` */
#define SINK_FOLDER 16u		/* its file is a directory, which it writes itself: sink->out has only the name */
#define SINK_NO_FILE 32u	/* a command's own, without a file: never rotated */
#define SINK_ASIDE 128u		/* a command's own counts: a run whose other outputs failed ends */
#define SINK_BLOCKS 64u		/* to a URL it writes blocks (clickhouse/clickhouse_block.h) */

#define SINK_PCAP_COOKED 1u	/* of sink_opts.pcap: LINKTYPE_LINUX_SLL2 in place of each link layer */
#define SINK_PCAP_NANO 2u	/* times in ns */

#define SINK_SHOWS_STACKS "stacks"

/* When an output continues in another file; 0 = never for that reason. */
struct sink_rotation {
	uint64_t bytes, every_ns, events;
	uint32_t files;		/* then overwrite the first */
	bool like_tcpdump;	/* numbers and `files` as in tcpdump's -C, -G and -W */
	bool number_last;	/* behind the suffix of the name, not before it */
	/* Called with the name of each full file, when it is closed; may be NULL. */
	void (*closed)(void *ctx, const char *name);
	void *closed_ctx;
};

/* Properties of the run; borrowed for the sink's life. */
struct sink_opts {
	struct line_opts line;
	enum time_mode time;
	bool color;
	bool symbolic;			/* print symbols for addresses if known */
	const struct registry *reg;
	const char *cmdline;		/* for file headers */
	const char *filter_text;	/* for file headers; may be NULL */
	const struct core_host *host;	/* recorded host, filled in once known; may be NULL */
	struct sym *sym;		/* symbolizer for stacks; NULL = not requested */
	bool wait;			/* replay: wait for slow readers instead of losing events */
	bool follows;			/* the replay has no end: names of stacks cannot wait for it */
	bool process_blocks;		/* pcapng: also write a block per process */
	unsigned pcap;			/* pcap: SINK_PCAP_* */
	bool gzip;			/* files of a SINK_BINARY format are compressed */
	bool both_sides;		/* OTLP: spans of calls to databases also from the database's side */
	const struct stack_view *stack;	/* stack format; NULL = default of the output format */
	uint64_t *left_out;		/* most samples dropped for lack of memory, set on close; may be NULL */
	/* The user's selection, for formats with tables; NULL = everything. */
	bool (*pass)(void *ctx, const struct event *ev);
	void *pass_ctx;
	struct sink_rotation rotate;
	const struct store_writer_opts *store;	/* limits of -o store; NULL = none */
	unsigned redact;		/* REDACT_* (event/redact/redact.h) that a SINK_RAW does not get */
	void *ctx;			/* for a command's own sink */
};

/* Records that a sink in parts gets around the stream, so that each part is readable alone. */
enum sink_part {
	SINK_PART_STREAM,
	SINK_PART_NAMES,	/* names of the part that ends, and ledgers */
	SINK_PART_STATE,	/* the part ended: state at the start of the next one */
	SINK_PART__MAX,
};

struct sink {
	const struct sink_ops *ops;
	void *state;			/* ops->state_size bytes, zeroed */
	const struct sink_opts *opts;
	struct outfile *out;		/* owned by the caller */
};

struct sink_ops {
	const char *name, *summary;
	const char *suffix;		/* of file names, ".pcapng" */
	const char *tool, *instead_of;	/* --format TOOL replaces instead_of by this format; NULL = none */
	const char *shows;		/* events it shows, for messages: "RPCs"; NULL = all */
	uint32_t needs;			/* mask of sections, one of which an event must have; 0 = any event */
	unsigned flags;			/* SINK_* */
	const char *http_client_path,
		*http_client_type;	/* Content-Type if FILE may be an http:// URL; NULL = it may not */
	const char *misfit;	/* why event() returns -EXDEV, a clause: the file has no room for such an event */
	const char *post_things;	/* sent items, for messages: "spans" */
	size_t state_size;
	int (*open)(struct sink *s, struct err *err);
	int (*event)(struct sink *s, const struct event *ev);	/* 0 or -errno of the write */
	/*
	 * Is @ev the repetition of an event in this file or an earlier one of the rotation? @seen: seen_size bytes of
	 * the rotation, zeroed at its start. NULL = never.
	 */
	bool (*repeats)(void *seen, const struct event *ev);
	size_t seen_size;
	int (*record)(struct sink *s, const struct sonde_rec *r);	/* SINK_RAW */
	int (*flush)(struct sink *s);	/* makes accepted events readable; may be NULL */
	/* The process of an earlier record became known; for a SINK_RAW with an index. May be NULL. */
	void (*owner)(struct sink *s, uint64_t ts_ns, uint32_t tgid);
	/*
	 * A flight recorder writes its kept records: 1, or 0 if it does already. And: dumps that are complete, 0
	 * while one is written; triggers without a dump of their own. NULL for other sinks.
	 */
	int (*trigger)(struct sink *s);
	void (*dumps)(const struct sink *s, uint64_t *ret_dumps, uint64_t *ret_more);
	/* Of a SINK_RAW in parts, else NULL: should the part end? And: @part follows. */
	bool (*part_is_due)(const struct sink *s);
	int (*part)(struct sink *s, enum sink_part part);
	int (*close)(struct sink *s);	/* writes trailers, so it can fail; called in any state; may be NULL */
};

extern const struct sink_ops *const all_sinks[];	/* NULL-terminated */
const struct sink_ops *sink_find(const char *name);
/* @ops itself, or the format that replaces it with --format @tool (NULL = none). */
const struct sink_ops *sink_for_tool(const struct sink_ops *ops, const char *tool);
const struct sink_ops *sink_find_suffix(const char *path);	/* format with this suffix; NULL = none */
/*
 * Splits "NAME[:FILE]", or a FILE with a known suffix, into format and path; any other FILE has format @otherwise
 * unless NULL. *ret_path points into @text; NULL = standard output. NULL if no format matches.
 */
const struct sink_ops *sink_of_output(const char *text, const char *otherwise, const char **ret_path);

/* On failure (@err has a message) do not close. -EINVAL if a SINK_BINARY format would go to a terminal. */
int sink_open(struct sink *s, const struct sink_ops *ops, const struct sink_opts *opts, struct outfile *out,
	      struct err *err);
bool sink_wants(const struct sink *s, const struct event *ev);	/* does the sink use @ev? */
int sink_event(struct sink *s, const struct event *ev);	/* ignores events that the sink does not use */
int sink_record(struct sink *s, const struct sonde_rec *r);	/* ignored unless SINK_RAW */
int sink_flush(struct sink *s);		/* writes to the file if the format allows it */
int sink_flush_stdout(struct sink *s); /* flush() of sinks that print lines themselves */
int sink_close(struct sink *s);		/* writes the trailer and flushes; the caller frees the outfile */

#endif
