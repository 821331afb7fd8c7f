// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Captures: subscribers of the bus with an output of their own.
 */
#include "agent/agent_capture.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent_inst.h"
#include "agent/agent_request.h"
#include "agent/access/agent_rights.h"
#include "pipeline/output.h"
#include "pipeline/pipeline.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/rights.h"
#include "base/str.h"
#include "event/event.h"
#include "event/filter/filter.h"
#include "ipc/proto.h"
#include "probe/probe.h"
#include "sinks/sink.h"

#define CAPTURES_MAX 8

struct capture {
	struct capture *next;
	struct agent_captures *all;
	unsigned number;
	uint32_t mask;			/* 1u << instance */
	uint32_t kept;			/* instances with a flight recorder: only its dumps are written */
	struct filter *where;		/* NULL = none */
	struct sink_opts opts;
	struct output *out;		/* owned */
	uint64_t events;
	char name[256];			/* file name from the request; escaped */
};

/* ---- events ---- */

static bool pass(void *ctx, const struct event *ev)
{
	struct capture *c = ctx;
	uint32_t bit = 1u << ev->instance % 32;

	if (!(c->mask & bit) || ev->desc->class != EVENT_DATA)
		return !ev->instance || c->mask & bit;
	if (c->kept & bit && !(ev->flags & SONDE_RF_KEPT))
		return false;
	if (c->where && !filter_match(c->where, ev))
		return false;
	c->events++;
	return true;
}

/* ---- begin and end ---- */

/* Instances of the capture need their events decoded here. */
static void want_events(struct capture *c, int by)
{
	for (uint16_t i = 1; i < SONDE_INSTANCES; i++)
		if (c->mask & 1u << i)
			c->all->insts->of[i]->n_decode += (unsigned)by;
}

static void capture_free(struct capture *c)
{
	if (!c)
		return;
	want_events(c, -1);
	for (uint16_t i = 1; i < SONDE_INSTANCES; i++)
		if (c->mask & 1u << i)
			agent_inst_put(c->all->insts, i);
	filter_free(c->where);
	free(c);
}
DEFINE_CLEANUP(struct capture *, capture_free)

/* A flight recorder keeps its packets until a dump. */
static bool keeps(const struct probe_request *w)
{
	for (size_t i = 1; i < w->args.len; i++)
		if (!strncmp(w->args.items[i], "--keep=", 7))
			return true;
	return false;
}

static int get_instances(struct capture *c, struct agent_request *q, struct err *err)
{
	for (size_t i = 0; i < q->probes.len; i++) {
		uint16_t instance;
		int r = agent_inst_get(c->all->insts, q, i, &instance, err);

		if (r < 0)
			return r;
		if (c->mask & 1u << instance) {		/* requested twice */
			agent_inst_put(c->all->insts, instance);
			continue;
		}
		c->mask |= 1u << instance;
		c->kept |= keeps(&q->probes.items[i]) ? 1u << instance : 0;
		c->all->insts->of[instance]->n_decode++;
	}
	return q->probes.len ? 0 : err_set(err, -EINVAL, "a capture needs at least one probe");
}

static int open_output(struct capture *c, const char *name, int *fd, struct err *err)
{
	const struct sink_ops *ops = sink_find_suffix(name);

	ops = ops ? ops : sink_find("pcapng");
	if (!ops->event)
		return err_set(err, -EINVAL, "%s: the agent writes no files of format %s", c->name, ops->name);
	c->opts = (struct sink_opts){
		.reg = pipeline_registry(c->all->insts->pipeline),
		.host = pipeline_host(c->all->insts->pipeline),
		.cmdline = "sonde control capture",
		.time = TIME_RFC3339,
		.symbolic = true,
	};
	pipeline_need(c->all->insts->pipeline,
		      ops->needs | (c->where && filter_also(c->where) ? 1u << SEC_PARAMS : 0));
	return output_open_fd(pipeline_bus(c->all->insts->pipeline), ops, &c->opts, TAKE_FD(*fd), c->name, &c->out,
			      err);
}

static unsigned free_number(const struct agent_captures *all)
{
	unsigned number = 1;

	for (const struct capture *c = all->first; c;) {
		if (c->number == number) {
			number++;
			c = all->first;
		} else {
			c = c->next;
		}
	}
	return number;
}

static int begin(struct agent_captures *all, struct agent_request *q, const char *name, int *fd, struct buf *out,
		 struct err *err)
{
	_cleanup_(capture_freep) struct capture *c = calloc(1, sizeof(*c));
	int r = 0;

	if (!c)
		return err_errno(err, -ENOMEM, "cannot begin a capture");
	c->all = all;
	c->number = free_number(all);
	str_escape(c->name, sizeof(c->name), name, strlen(name));
	if (c->number > CAPTURES_MAX)
		return err_set(err, -EBUSY, "%d captures run already", CAPTURES_MAX);
	if (q->where && *q->where)
		r = filter_parse(pipeline_registry(all->insts->pipeline), q->where, &c->where, err);
	if (r >= 0)
		r = get_instances(c, q, err);
	if (r >= 0)
		r = agent_inst_snapshot(all->insts, c->mask, NULL, err);
	if (r >= 0)
		agent_inst_started(all->insts, c->mask);
	if (r >= 0)
		r = open_output(c, name, fd, err);
	if (r < 0)
		return r;
	output_set_pass(c->out, pass, c);
	c->next = all->first;
	all->first = c;
	log_info("sonde: capture %u begins: %s", c->number, c->name);
	return buf_printf(out, "capture %u\n", TAKE_PTR(c)->number);
}

/* 0, or the first error of the file with a message. */
static int end(struct capture *c, struct buf *out, struct err *err)
{
	struct capture **at = &c->all->first;
	int r;

	agent_inst_drain(c->all->insts, c->mask);
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	r = output_close(c->out, err);
	if (out)
		buf_printf(out, "capture %u: %" PRIu64 " events in %s\n", c->number, c->events, c->name);
	log_info("sonde: capture %u ended: %" PRIu64 " events in %s", c->number, c->events, c->name);
	capture_free(c);
	return r;
}

void agent_capture_end(struct agent_captures *all)
{
	while (all->first) {
		struct err err = { 0 };

		if (end(all->first, NULL, &err) < 0)
			log_warn("%s", err.msg);
	}
}

void agent_capture_flush(struct agent_captures *all)
{
	for (struct capture *c = all->first; c; c = c->next)
		output_flush(c->out);
}

void agent_capture_report(const struct agent_captures *all, struct buf *out)
{
	for (const struct capture *c = all->first; c; c = c->next)
		buf_printf(out, "capture %u: %" PRIu64 " events in %s%s%s\n", c->number, c->events, c->name,
			   output_error(c->out) ? ", which failed: " : "",
			   output_error(c->out) ? strerror(-output_error(c->out)) : "");
}

/* ---- verbs ---- */

static int start(struct agent_captures *all, const struct verb_args *args, struct buf *out, struct err *err)
{
	static const char plain[] = "probe=net\0option=--whole-packets\0option=--once";
	struct proto_frame words = { .data = plain, .len = sizeof(plain) };
	struct agent_request q;
	int r;

	if (args->n < 2 || *args->fd < 0)
		return err_set(err, -EINVAL,
			       "capture start needs a file name, and its descriptor with the "
			       "request (sonde control sends it)");
	if (args->n > 2)
		words = (struct proto_frame){ .data = args->items[2],
					      .len = (uint32_t)(args->end - args->items[2]) };
	r = agent_request_parse(&words, &q, err);
	if (r < 0)
		return r;
	r = begin(all, &q, args->items[1], args->fd, out, err);
	agent_request_fini(&q);
	return r;
}

static int stop(struct agent_captures *all, const struct verb_args *args, struct buf *out, struct err *err)
{
	struct capture *c = all->first;
	uint32_t n = 0;

	if (args->n > 2 || (args->n == 2 && str_to_u32(args->items[1], 10, &n) < 0))
		return err_set(err, -EINVAL, "capture stop needs a number if several captures run");
	while (c && n && c->number != n)
		c = c->next;
	if (!c)
		return err_set(err, -ENOENT, "no such capture (sonde control capture lists them)");
	if (!n && c->next)
		return err_set(err, -EINVAL, "several captures run: name one (sonde control capture lists them)");
	return end(c, out, err);
}

int agent_capture_call(struct agent_captures *all, const struct verb_args *args, struct buf *out, struct err *err)
{
	if (!args->n) {
		agent_capture_report(all, out);
		return buf_error(out);
	}
	if (!strcmp(args->items[0], "start"))
		return start(all, args, out, err);
	if (!strcmp(args->items[0], "stop"))
		return stop(all, args, out, err);
	return err_set(err, -EINVAL, "%s: start, stop or nothing is expected", args->items[0]);
}

/* All flight recorders, or the one of the instance given. */
int agent_capture_dump_call(struct agent_captures *all, const struct verb_args *args, struct buf *out,
			    struct err *err)
{
	uint64_t _cleanup_rights_ was = rights_raise(all->insts->rights->working);
	const struct opt_strv none = { 0 };
	uint32_t only = 0;
	int asked = 0;

	if (args->n > 1 || (args->n && str_to_u32(args->items[0], 10, &only) < 0))
		return err_set(err, -EINVAL, "dump takes one instance number, or nothing for all recorders");
	for (uint16_t i = 1; i < SONDE_INSTANCES; i++) {
		if (!all->insts->of[i] || all->insts->of[i]->quiet || (only && only != i) ||
		    !keeps(&all->insts->of[i]->request) ||
		    pipeline_call(all->insts->pipeline, NULL, i, "dump", &none, err) < 0)
			continue;
		buf_printf(out, "instance %u dumps\n", i);
		asked++;
	}
	if (!asked)
		return err_set(err, -ENOENT, "no flight recorder runs here: sonde control capture start FILE "
			       "probe=net option=--keep=5s begins one");
	return buf_error(out);
}
