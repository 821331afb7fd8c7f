/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Output formats. A sink knows events, their descriptions and section kinds, and no probe.
 *
 * One file per format, one row in sinks.def; `-o NAME[:FILE]` then works in every command.
 */
#ifndef SINKS_SINK_H
#define SINKS_SINK_H

#include <stddef.h>
#include <stdint.h>

#include "event/event.h"

struct core_host;
struct err;
struct outfile;
struct registry;
struct sonde_rec;
struct stack_view;
struct sym;

#define SINK_BINARY 1u		/* refuses a terminal */
#define SINK_AT_CLOSE 2u	/* writes at the end only */
#define SINK_RAW 4u		/* takes records, not events */
#define SINK_META 8u		/* takes EVENT_META too, whatever `needs` says */

#define SINK_SHOWS_STACKS "stacks"

/* When an output goes on in another file; 0 = never, for that reason. */
struct sink_rotation {
	uint64_t bytes, every_ns, events;
	uint32_t files;		/* then the first is written over */
	bool like_tcpdump;	/* names of the files, and what `files` means, as tcpdump's -C, -G and -W have it */
};

/* What every sink may ask about the run; borrowed for the sink's life. */
struct sink_opts {
	struct line_opts line;
	enum time_mode time;
	bool color;
	bool symbolic;			/* names for addresses where known */
	const struct registry *reg;
	const char *cmdline;		/* for file headers */
	const char *filter_text;	/* likewise; may be NULL */
	const struct core_host *host;	/* that of the records, filled in when it is known; may be NULL */
	struct sym *sym;		/* names for stacks; NULL = not asked for */
	bool wait;			/* a replay: nothing is lost while an output waits for its reader */
	bool process_blocks;		/* pcapng: describe processes in blocks of their own too */
	const struct stack_view *stack;	/* how stacks are shown; NULL = as the format likes it */
	uint64_t *left_out;		/* most samples that an output had no memory for, at its close; may be NULL */
	/* What the user asked to see, for formats with tables; NULL = everything. */
	bool (*pass)(void *ctx, const struct event *ev);
	void *pass_ctx;
	struct sink_rotation rotate;
	void *ctx;			/* of a command's own sink */
};

struct sink {
	const struct sink_ops *ops;
	void *state;			/* ops->state_size bytes, zeroed */
	const struct sink_opts *opts;
	struct outfile *out;		/* owned by the caller */
};

struct sink_ops {
	const char *name, *summary;
	const char *suffix;		/* of files, ".pcapng" */
	const char *tool, *instead_of;	/* with --format TOOL stands in for that format; NULL = does not */
	const char *shows;		/* events that it can show, for messages: "calls"; NULL = all */
	uint32_t needs;			/* section mask an event must have one of; 0 = any event */
	unsigned flags;			/* SINK_* */
	const char *http_client_path,
		*http_client_type;	/* http:// may stand for FILE: where to, and Content-Type; NULL = not */
	const char *post_things;	/* what is sent then: "spans" */
	size_t state_size;
	int (*open)(struct sink *s, struct err *err);
	int (*event)(struct sink *s, const struct event *ev);	/* 0 or -errno of the write */
	int (*record)(struct sink *s, const struct sonde_rec *r);	/* SINK_RAW */
	int (*flush)(struct sink *s);	/* makes what was taken readable; may be NULL */
	int (*close)(struct sink *s);	/* trailers are written here, so it can fail; any state */
};

extern const struct sink_ops *const all_sinks[];	/* NULL-terminated */
const struct sink_ops *sink_find(const char *name);
/* What --format @tool (NULL = none) makes of @ops: itself, or the format of that tool that stands in for it. */
const struct sink_ops *sink_for_tool(const struct sink_ops *ops, const char *tool);
const struct sink_ops *sink_find_suffix(const char *path);	/* the format that such a file has; NULL = none */
/*
 * Format and file of "NAME[:FILE]", or of a FILE with a format's suffix; any other FILE has format @otherwise, if not
 * NULL. @ret_path: into @text, NULL = standard output. NULL if no format matches.
 */
const struct sink_ops *sink_of_output(const char *text, const char *otherwise, const char **ret_path);

/*
 * After a failure (@err has a sentence) there is nothing to close. -EINVAL when a SINK_BINARY format would go
 * to a terminal.
 */
int sink_open(struct sink *s, const struct sink_ops *ops, const struct sink_opts *opts, struct outfile *out,
	      struct err *err);
bool sink_wants(const struct sink *s, const struct event *ev);	/* it has a use for it */
int sink_event(struct sink *s, const struct event *ev);	/* skips events the sink has no use for */
int sink_record(struct sink *s, const struct sonde_rec *r);	/* ignored unless SINK_RAW */
int sink_flush(struct sink *s);		/* to the file, where the format can */
int sink_close(struct sink *s);		/* trailer and flush; the outfile stays the caller's */

#endif
