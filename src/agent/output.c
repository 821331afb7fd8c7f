// SPDX-License-Identifier: GPL-2.0-or-later
#include "agent/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "bus/bus.h"
#include "sinks/outfile.h"

struct output {
	struct sink sink;
	struct outfile *file;	/* owned */
	struct sub *sub;	/* owned */
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

/* Errors stay with the output: one full disk must not end the others. */
static int take_event(void *ctx, const struct event *ev)
{
	struct output *o = ctx;

	if (o->error) {
		o->refused++;
		return 0;
	}
	note(o, sink_event(&o->sink, ev));
	return 0;
}

static void output_free(struct output *o)
{
	bus_unsubscribe(o->sub);
	outfile_free(o->file);
	free(o);
}
DEFINE_CLEANUP(struct output *, output_free)

int output_open(struct bus *bus, const struct sink_ops *ops, const struct sink_opts *opts, const char *path,
		struct output **ret, struct err *err)
{
	_cleanup_(output_freep) struct output *o = calloc(1, sizeof(*o));
	int r;

	if (!o)
		return err_errno(err, -ENOMEM, "cannot open output %s", ops->name);
	r = outfile_open(path, &o->file, err);
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
