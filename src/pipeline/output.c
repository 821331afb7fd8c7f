// SPDX-License-Identifier: GPL-2.0-or-later
#include "pipeline/output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pipeline/bus.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/macros.h"
#include "clickhouse/clickhouse_sender.h"
#include "event/decode.h"
#include "event/redact/redact_record.h"
#include "http_client/http_client.h"
#include "sinks/outfile.h"
#include "sinks/rotation.h"
#include "sonde/wire.h"
#include "worker/opener.h"

struct output {
	struct sink sink;
	struct outfile *file;	/* owned */
	struct http_client *post; /* owned; process behind a remote file; NULL = none */
	struct clickhouse_sender *sender; /* owned; the same for blocks */
	struct bus *bus;	/* borrowed */
	struct subscriber sub;
	const struct sink_ops *ops;
	const struct sink_opts *opts;
	char *path;		/* owned; file name of a rotated output as given; NULL = not rotated */
	int folder_fd;		/* owned; folder of a rotated output; -1 = none */
	size_t folder_len;	/* length of the folder part in the name */
	struct opener *opener;	/* borrowed; NULL = this process opens the files */
	uint32_t opener_what;
	struct rotation rotation;
	bool (*pass)(void *ctx, const struct event *ev);	/* NULL = all events */
	void *pass_ctx;
	void *seen;		/* owned; of ops->repeats() */
	struct buf redacted;	/* the last record without the fields of sink_opts.redact */
	bool done;		/* the last file is full */
	bool is_stdout;
	int error;		/* first error */
	uint64_t refused;	/* events or records refused after it; the file counts its own */
	char name[256];		/* for messages; outlives the file */
};

/* The file counts a record that failed in it. */
static void note(struct output *o, int r)
{
	o->error = r;
	o->refused += r < 0 && !outfile_error(o->file, NULL);
}

/* Opens the file @name below the folder. */
static int open_next(struct output *o, const char *name)
{
	const char *below = name + o->folder_len;
	int fd = o->opener ? opener_open(o->opener, o->opener_what, below) : outfile_open_below(o->folder_fd, below);

	return fd < 0 ? fd : outfile_open_fd(fd, name, &o->file, NULL);
}

static int compress(const struct output *o, const struct sink_ops *ops)
{
	return o->opts->gzip && ops->flags & SINK_BINARY ? outfile_use_gzip(o->file) : 0;
}

/* The file of this name is whole. */
static void report_closed(const struct output *o)
{
	if (o->opts->rotate.closed)
		o->opts->rotate.closed(o->opts->rotate.closed_ctx, o->name);
}

/* Closes the current file, trailer included, and opens the next. 0 or -errno for good. */
static int rotate(struct output *o, const struct event *ev)
{
	char name[sizeof(o->name)];
	int r = sink_close(&o->sink), c = outfile_close(TAKE_PTR(o->file));

	if (r >= 0)
		r = c;
	if (r >= 0)
		report_closed(o);
	if (r >= 0)
		r = rotation_name(&o->rotation, (int64_t)event_wall_ns(ev), name,
				  sizeof(name));
	if (r >= 0)
		r = open_next(o, name);
	if (r < 0) {
		outfile_open_mem(&o->file);	/* for messages at the end */
		return r;
	}
	snprintf(o->name, sizeof(o->name), "%s", name);
	r = compress(o, o->ops);
	return r < 0 ? r : sink_open(&o->sink, o->ops, o->opts, o->file, NULL);
}

/* Rotates if the event belongs to the next file. */
static void choose_file(struct output *o, const struct event *ev)
{
	if (!o->path || ev->desc->class != EVENT_DATA || !sink_wants(&o->sink, ev))
		return;
	switch (rotation_step(&o->rotation, ev->ts_ns, outfile_bytes(o->file))) {
	case ROTATION_STAY: break;
	case ROTATION_NEXT: note(o, rotate(o, ev)); break;
	case ROTATION_END: o->done = true; break;
	case ROTATION__MAX: break;
	}
}

/* Errors stay with their output: one full disk must not end the others. */
static void take_event(void *ctx, const struct event *ev)
{
	struct output *o = ctx;

	if (o->pass && !o->pass(o->pass_ctx, ev))
		return;
	if (o->error) {
		o->refused++;
		return;
	}
	if (o->done && ev->desc->class != EVENT_META)
		return;
	if (o->seen && o->sink.ops->repeats(o->seen, ev))
		return;
	choose_file(o, ev);
	if (o->error)
		o->refused++;
	else if (!o->done || ev->desc->class == EVENT_META)
		note(o, sink_event(&o->sink, ev));
}

int output_folder(const struct output *o)
{
	return o->folder_fd;
}

void output_set_opener(struct output *o, struct opener *opener, uint32_t what)
{
	o->opener = opener;
	o->opener_what = what;
}

static struct output *output_new(void)
{
	struct output *o = calloc(1, sizeof(*o));

	if (o)
		o->folder_fd = -1;
	return o;
}

static void output_free(struct output *o)
{
	cleanup_close(&o->folder_fd);
	if (o->bus)
		bus_unsubscribe(o->bus, &o->sub);
	outfile_free(o->file);
	http_client_free(o->post);
	clickhouse_sender_free(o->sender);
	free(o->path);
	free(o->seen);
	buf_fini(&o->redacted);
	free(o);
}
DEFINE_CLEANUP(struct output *, output_free)

/* Length of the path up to the last slash before any time format. */
static int open_folder(struct output *o, struct err *err)
{
	size_t fixed = strcspn(o->path, "%");
	char folder[PATH_MAX];

	while (fixed && o->path[fixed - 1] != '/')
		fixed--;
	if (fixed >= sizeof(folder))
		return err_errno(err, -ENAMETOOLONG, "cannot write %s", o->path);
	memcpy(folder, fixed ? o->path : ".", fixed ? fixed : 1);
	folder[fixed ? fixed : 1] = '\0';
	o->folder_len = fixed;
	o->folder_fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return o->folder_fd < 0 ? err_errno(err, -errno, "cannot write %s", o->path) : 0;
}

/* Opens the first file; its name goes to o->name. */
static int set_rotation(struct output *o, const struct sink_ops *ops, const struct sink_opts *opts, const char *path,
			struct err *err)
{
	const struct sink_ops *named = path && !opts->rotate.number_last ? sink_find_suffix(path) : NULL;

	o->ops = ops;
	o->opts = opts;
	if (!rotation_asked(&opts->rotate) || ops->flags & SINK_NO_FILE)
		return 0;
	if (!path || !strcmp(path, "-"))
		return err_set(err, -EINVAL, "-o %s: only files can be rotated: name one (-o %s:FILE)",
			       ops->name, ops->name);
	if (!ops->event || ops->flags & SINK_AT_CLOSE)
		return err_set(err, -EINVAL, "-o %s: files of this format are one piece and cannot be rotated",
			       ops->name);
	o->path = strdup(path);
	if (!o->path)
		return err_errno(err, -ENOMEM, "cannot open output %s", ops->name);
	o->rotation = (struct rotation){ .rule = &opts->rotate, .path = o->path };
	o->rotation.suffix_len = named ? strlen(named->suffix) : 0;
	if (rotation_name(&o->rotation, clock_boot_offset_ns() + (int64_t)clock_boot_ns(), o->name,
			  sizeof(o->name)) < 0)
		return err_set(err, -ENAMETOOLONG, "-o %s: the name of the first file is empty or too long",
			       ops->name);
	return open_folder(o, err);
}

static int put_remote(void *ctx, const void *data, size_t len, size_t n)
{
	http_client_put(ctx, data, len, n); /* counts what it leaves out */
	return 0;
}

static int put_block(void *ctx, const void *data, size_t len, _unused_ size_t n)
{
	clickhouse_sender_put(ctx, data, len);
	return 0;
}

static void on_news(_unused_ void *ctx, const char *sentence)
{
	log_warn("%s", sentence);
}

static int open_blocks(struct output *o, struct loop *loop, const struct sink_opts *opts, const char *url,
		       struct err *err)
{
	const struct clickhouse_sender_opts c = { .url = url, .wait = opts->wait, .loop = loop, .news = on_news };
	const char *known;
	int r = clickhouse_sender_open(&c, &o->sender, &known, err);

	if (r < 0)
		return r;
	r = outfile_open_remote(url, put_block, o->sender, &o->file);
	if (r < 0)
		return err_errno(err, r, "cannot write to %s", url);
	outfile_set_peer(o->file, known);
	return 0;
}

static int open_remote(struct output *o, struct loop *loop, const struct sink_ops *ops, const struct sink_opts *opts,
		       const char *url, struct err *err)
{
	const struct http_client_opts post = {
		.url = url,
		.path = ops->http_client_path,
		.type = ops->http_client_type,
		.things = ops->post_things,
		.wait = opts->wait,
		.loop = loop,
		.news = on_news,
	};
	int r;

	if (!ops->http_client_path && !(ops->flags & SINK_BLOCKS))
		return err_set(err, -EINVAL, "-o %s: this format goes to files, not to servers (%s)", ops->name, url);
	if (o->path)
		return err_set(err, -EINVAL, "-o %s: only files can be rotated, not %s", ops->name, url);
	if (ops->flags & SINK_BLOCKS)
		return open_blocks(o, loop, opts, url, err);
	r = http_client_open(&post, &o->post, err);
	if (r < 0)
		return r;
	r = outfile_open_remote(url, put_remote, o->post, &o->file);
	return r < 0 ? err_errno(err, r, "cannot open output %s", ops->name) : 0;
}

static int open_named(struct output *o, const struct sink_ops *ops, const char *path, struct err *err)
{
	int r;

	if (!path || !strcmp(path, "-"))
		return err_set(err, -EINVAL, "-o %s: name a directory (-o %s:DIR)", ops->name, ops->name);
	r = outfile_open_name(path, &o->file);
	return r < 0 ? err_errno(err, r, "cannot open output %s", ops->name) : 0;
}

/* The file is open: writes the header and subscribes. */
static int begin(struct output *o, struct bus *bus, const struct sink_ops *ops, const struct sink_opts *opts,
		 struct err *err)
{
	int r;

	snprintf(o->name, sizeof(o->name), "%s", outfile_name(o->file));
	o->opts = opts;
	o->is_stdout = outfile_is_stdout(o->file);
	if ((ops->flags & SINK_BINARY) && outfile_is_tty(o->file))
		return err_set(err, -EINVAL, "-o %s writes binary data: give it a file (-o %s:FILE) or a pipe",
			       ops->name, ops->name);
	if (ops->repeats)
		o->seen = calloc(1, ops->seen_size);
	if (compress(o, ops) < 0 || (ops->repeats && !o->seen))
		return err_errno(err, -ENOMEM, "cannot open output %s", ops->name);
	r = sink_open(&o->sink, ops, opts, o->file, err);
	if (r < 0)
		return r;
	if (!ops->event)
		return 0;
	o->sub = (struct subscriber){ .event = take_event, .ctx = o };
	o->bus = bus;
	bus_subscribe(bus, &o->sub);
	return 0;
}

int output_open(struct bus *bus, struct loop *loop, const struct sink_ops *ops, const struct sink_opts *opts,
		const char *path, struct output **ret, struct err *err)
{
	_cleanup_(output_freep) struct output *o = output_new();
	int r;

	if (!o)
		return err_errno(err, -ENOMEM, "cannot open output %s", ops->name);
	if (opts->redact && !(ops->flags & SINK_RAW))
		return err_set(err, -EINVAL,
			       "-o %s: --redact applies to records: write them with -o store or -o rec, and read "
			       "those with -r", ops->name);
	r = set_rotation(o, ops, opts, path, err);
	if (r < 0)
		return r;
	if (ops->flags & SINK_FOLDER)
		r = open_named(o, ops, path, err);
	else if (http_client_is_url(path))
		r = open_remote(o, loop, ops, opts, path, err);
	else
		r = outfile_open(o->path ? o->name : path, &o->file, err);
	if (r < 0)
		return r;
	r = begin(o, bus, ops, opts, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(o);
	return 0;
}

int output_open_fd(struct bus *bus, const struct sink_ops *ops, const struct sink_opts *opts, int fd,
		   const char *name, struct output **ret, struct err *err)
{
	_cleanup_close_ int owned = fd;
	_cleanup_(output_freep) struct output *o = output_new();
	int r;

	if (!o)
		return err_errno(err, -ENOMEM, "cannot open output %s", ops->name);
	r = outfile_open_fd(TAKE_FD(owned), name, &o->file, err);
	if (r >= 0)
		r = begin(o, bus, ops, opts, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(o);
	return 0;
}

void output_set_pass(struct output *o, bool (*pass)(void *ctx, const struct event *ev), void *ctx)
{
	o->pass = pass;
	o->pass_ctx = ctx;
}

/* A record that no rule can redact is left out; the stream says so. */
static int write_redacted(struct output *o, const struct sonde_rec *r)
{
	const int ret = redact_record(all_decoders, r, o->opts->redact, &o->redacted);
	const struct sonde_lost_rec lost = {
		.hdr = { .ts_ns = r->ts_ns, .len = sizeof(lost), .type = SONDE_EV_LOST, .cpu = r->cpu,
			 .instance = r->instance },
		.cause = SONDE_LOST_SINK, .count = 1,
	};

	if (ret == -ENOMEM)
		return ret;
	return sink_record(&o->sink, ret < 0 ? &lost.hdr : ret ? (const void *)o->redacted.data : r);
}

void output_record(struct output *o, const struct sonde_rec *r)
{
	if (!o->sink.ops->record)
		return;
	if (o->error) {
		o->refused++;
		return;
	}
	note(o, o->opts->redact ? write_redacted(o, r) : sink_record(&o->sink, r));
}

int output_trigger(struct output *o)
{
	return !o->error && o->sink.ops->trigger ? o->sink.ops->trigger(&o->sink) : 0;
}

void output_dumps(const struct output *o, uint64_t *ret_dumps, uint64_t *ret_more)
{
	*ret_dumps = *ret_more = 0;
	if (!o->error && o->sink.ops->dumps)
		o->sink.ops->dumps(&o->sink, ret_dumps, ret_more);
}

bool output_wants_owners(const struct output *o)
{
	return o->sink.ops->owner;
}

void output_owner(struct output *o, uint64_t ts_ns, uint32_t tgid)
{
	if (!o->error && o->sink.ops->owner)
		o->sink.ops->owner(&o->sink, ts_ns, tgid);
}

bool output_part_is_due(const struct output *o)
{
	return !o->error && o->sink.ops->part_is_due && o->sink.ops->part_is_due(&o->sink);
}

void output_part(struct output *o, enum sink_part part)
{
	if (!o->error && o->sink.ops->part)
		note(o, o->sink.ops->part(&o->sink, part));
}

void output_flush(struct output *o)
{
	if (!o->error)
		o->error = sink_flush(&o->sink);
	if (o->post)
		http_client_pump(o->post);
	if (o->sender)
		clickhouse_sender_pump(o->sender);
}

int output_error(const struct output *o)
{
	return o->error;
}

bool output_is_aside(const struct output *o)
{
	return o->ops->flags & SINK_ASIDE;
}

bool output_done(const struct output *o)
{
	return o->done;
}

bool output_unread(const struct output *o)
{
	return o->error == -EPIPE && o->is_stdout;
}

static uint64_t output_refused(const struct output *o)
{
	return o->refused + outfile_dropped(o->file);
}

/* Error of the file, with the number of records it lacks. Not -EINVAL: the command was right. */
static int set_failure(const struct output *o, struct err *err)
{
	const int code = o->error == -EINVAL ? -EIO : o->error;
	char text[sizeof(err->msg)];

	if (!err)
		return code;
	if (o->error == -EXDEV && o->ops && o->ops->misfit)
		err_set(err, o->error, "cannot write %s: %s", o->name, o->ops->misfit);
	else if (!outfile_error(o->file, err))
		err_errno(err, o->error, "cannot write %s", o->name);
	snprintf(text, sizeof(text), "%s", err->msg);
	return err_set(err, code, "%.400s; %llu records lost", text, (unsigned long long)output_refused(o));
}

/* Records that a failed output has handed over are still sent. @r: the error so far. */
static int close_remote(struct output *o, int r, struct err *err)
{
	struct err *why = r < 0 ? NULL : err;
	int sent = 0;

	if (o->post)
		sent = http_client_close(TAKE_PTR(o->post), NULL, why);
	else if (o->sender)
		sent = clickhouse_sender_close(TAKE_PTR(o->sender), why);
	return r < 0 ? r : sent;
}

int output_close(struct output *o, struct err *err)
{
	int r = sink_close(&o->sink);

	if (!o->error)
		o->error = r;
	if (o->error) {
		outfile_flush(o->file); /* nothing if that failed before */
		r = set_failure(o, err);
	} else {
		r = outfile_close(TAKE_PTR(o->file));
		if (r < 0)
			err_errno(err, r, "cannot write %s", o->name);
		else if (o->done)
			report_closed(o); /* the last of -W files is full, too */
	}
	r = close_remote(o, r, err);
	output_free(o);
	return r;
}
