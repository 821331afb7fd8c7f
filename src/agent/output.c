// SPDX-License-Identifier: GPL-2.0-or-later
#include "agent/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "bus/bus.h"
#include "sinks/outfile.h"

struct output {
	struct sink sink;
	struct outfile *file;	/* owned */
	struct sub *sub;	/* owned */
	const struct sink_ops *ops;
	const struct sink_opts *opts;
	char *path;		/* owned; of rotated files, as the user named it; NULL = not rotated */
	uint32_t n_files;	/* opened so far */
	uint64_t since_ns;	/* time of the first event in this file; 0 = none yet */
	int error;		/* first failure */
	uint64_t refused;	/* events or records after it; those the file had taken it counts itself */
	char name[256];		/* for messages; outlives the file */
};

/* A record that met a failing file is one that the file counts as dropped. */
static void note(struct output *o, int r)
{
	o->error = r;
	o->refused += r < 0 && !outfile_error(o->file, NULL);
}

/* The pattern is the user's own. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static bool with_time(char *ret, size_t cap, const char *pattern, const struct tm *tm)
{
	return strftime(ret, cap, pattern, tm) > 0;
}
#pragma GCC diagnostic pop

/* "FILE3", or what strftime(3) makes of it. */
static void file_name(const struct output *o, int64_t wall_ns, char *ret, size_t cap)
{
	time_t second = (time_t)(wall_ns / 1000000000);
	uint32_t files = o->opts->rotate.files, n = files ? o->n_files % files : o->n_files;
	struct tm tm;

	if (strchr(o->path, '%') && localtime_r(&second, &tm) && with_time(ret, cap, o->path, &tm))
		return;
	snprintf(ret, cap, "%s%u", o->path, n);
}

/* What was taken so far is closed, trailer and all, and a new file begun. 0 or -errno for good. */
static int rotate(struct output *o, const struct event *ev)
{
	char name[sizeof(o->name)];
	int r = sink_close(&o->sink), c = outfile_close(TAKE_PTR(o->file));

	file_name(o, (int64_t)(ev->ts_ns + (uint64_t)ev->clock_offset_ns), name, sizeof(name));
	if (r >= 0)
		r = c;
	if (r >= 0)
		r = outfile_open(name, &o->file, NULL);
	if (r < 0) {
		outfile_open_mem(&o->file);	/* the messages of the end ask it */
		return r;
	}
	o->n_files++;
	o->since_ns = 0;
	snprintf(o->name, sizeof(o->name), "%s", name);
	return sink_open(&o->sink, o->ops, o->opts, o->file, NULL);
}

static bool is_due(struct output *o, const struct event *ev)
{
	const struct sink_rotation *r = &o->opts->rotate;

	if (!o->path || ev->desc->class != EVENT_DATA)
		return false;
	if (!o->since_ns)
		o->since_ns = ev->ts_ns ? ev->ts_ns : 1;
	if (r->bytes && outfile_bytes(o->file) >= r->bytes)
		return true;
	return r->every_ns && ev->ts_ns > o->since_ns && ev->ts_ns - o->since_ns >= r->every_ns;
}

/* Errors stay with the output: one full disk must not end the others. */
static int take_event(void *ctx, const struct event *ev)
{
	struct output *o = ctx;

	if (o->error) {
		o->refused++;
		return 0;
	}
	if (is_due(o, ev))
		note(o, rotate(o, ev));
	if (o->error)
		o->refused++;
	else
		note(o, sink_event(&o->sink, ev));
	return 0;
}

static void output_free(struct output *o)
{
	bus_unsubscribe(o->sub);
	outfile_free(o->file);
	free(o->path);
	free(o);
}
DEFINE_CLEANUP(struct output *, output_free)

/* The first file's name goes to o->name. */
static int set_rotation(struct output *o, const struct sink_ops *ops, const struct sink_opts *opts, const char *path,
			struct err *err)
{
	o->ops = ops;
	o->opts = opts;
	if (!opts->rotate.bytes && !opts->rotate.every_ns)
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
	file_name(o, clock_boot_offset_ns() + (int64_t)clock_boot_ns(), o->name, sizeof(o->name));
	o->n_files = 1;
	return 0;
}

int output_open(struct bus *bus, const struct sink_ops *ops, const struct sink_opts *opts, const char *path,
		struct output **ret, struct err *err)
{
	_cleanup_(output_freep) struct output *o = calloc(1, sizeof(*o));
	int r;

	if (!o)
		return err_errno(err, -ENOMEM, "cannot open output %s", ops->name);
	r = set_rotation(o, ops, opts, path, err);
	if (r < 0)
		return r;
	r = outfile_open(o->path ? o->name : path, &o->file, err);
	if (r < 0)
		return r;
	snprintf(o->name, sizeof(o->name), "%s", outfile_name(o->file));
	if ((ops->flags & SINK_BINARY) && outfile_is_tty(o->file))
		return err_set(err, -EINVAL, "-o %s writes binary data: give it a file (-o %s:FILE) or a pipe",
			       ops->name, ops->name);
	r = sink_open(&o->sink, ops, opts, o->file, err);
	if (r < 0)
		return r;
	o->sub = bus_subscribe(bus, &(struct sub_opts){ .event = take_event, .ctx = o });
	if (!o->sub)
		return err_errno(err, -ENOMEM, "cannot open output %s", ops->name);
	*ret = TAKE_PTR(o);
	return 0;
}

void output_record(struct output *o, const struct sonde_rec *r)
{
	if (!o->sink.ops->record)
		return;
	if (o->error) {
		o->refused++;
		return;
	}
	note(o, sink_record(&o->sink, r));
}

void output_flush(struct output *o)
{
	if (!o->error && o->sink.ops->flush)
		o->error = o->sink.ops->flush(&o->sink);
	if (!o->error)
		o->error = outfile_flush(o->file);
}

int output_error(const struct output *o)
{
	return o->error;
}

uint64_t output_refused(const struct output *o)
{
	return o->refused + outfile_dropped(o->file);
}

const char *output_name(const struct output *o)
{
	return o->name;
}

/* What the file says of its failure, and how much is missing in it. */
static int tell_failure(const struct output *o, struct err *err)
{
	char text[sizeof(err->msg)];

	if (!err)
		return o->error;
	if (!outfile_error(o->file, err))
		err_errno(err, o->error, "cannot write %s", o->name);
	snprintf(text, sizeof(text), "%s", err->msg);
	return err_set(err, o->error, "%.400s; %llu records did not get there", text,
		       (unsigned long long)output_refused(o));
}

int output_close(struct output *o, struct err *err)
{
	int r = sink_close(&o->sink);

	if (!o->error)
		o->error = r;
	if (o->error) {
		r = tell_failure(o, err);
	} else {
		r = outfile_close(TAKE_PTR(o->file));
		if (r < 0)
			err_errno(err, r, "cannot write %s", o->name);
	}
	output_free(o);
	return r;
}
