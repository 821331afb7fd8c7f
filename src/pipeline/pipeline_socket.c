// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Run over another agent's socket: a worker parses the stream as it would a file. When the agent closes the
 * connection, the run waits and connects again.
 */
#include "pipeline/pipeline_socket.h"

#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "pipeline/pipeline_path.h"
#include "pipeline/pipeline_rings.h"
#include "pipeline/pipeline_state.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/units.h"
#include "loop/loop.h"
#include "source/source.h"

#define RECONNECT_NS (12 * NS_PER_S)	/* as Cilium's client */
#define NAMES_TICKS 15			/* seconds between two reads of the interface list, as Cilium's client */
#define BUDGET 4096			/* records between two checks of signals and timers */

struct socket_run {
	struct pipeline *p;
	struct loop_source *io, *tick, *duration, *retry;
	unsigned ticks;
	bool due;			/* time to reconnect */
};

int pipeline_open_socket(struct pipeline *p, const char *path, const char *format, uint64_t reconnect_ns,
			 struct err *err)
{
	p->socket_path = path;
	p->socket_format = source_find(format);
	p->reconnect_ns = reconnect_ns ? reconnect_ns : RECONNECT_NS;
	if (!p->socket_format)
		return err_set(err, -EINVAL, "no input format %s (sonde help outputs lists them)", format);
	pipeline_path_emit_host(p);
	pipeline_path_emit_clock(p);
	pipeline_path_emit_name(p, SONDE_NAME_INSTANCE, 0, format);
	return source_open_socket(path, p->socket_format, &p->source, err);
}

/* Names of this host's interfaces, since the agent sends only indexes. */
static void emit_interface_names(struct pipeline *p)
{
	struct if_nameindex *all = if_nameindex();

	for (struct if_nameindex *i = all; i && i->if_index; i++)
		pipeline_path_emit_name(p, SONDE_NAME_IFACE, i->if_index, i->if_name);
	if (all)	/* the C library does not take NULL */
		if_freenameindex(all);
}

static int on_input(void *ctx, _unused_ int fd, _unused_ uint32_t events)
{
	((struct socket_run *)ctx)->p->input_ready = true;
	return 0;
}

static int on_tick(void *ctx, _unused_ uint64_t now_ns)
{
	struct socket_run *s = ctx;

	pipeline_path_emit_clock(s->p);
	pipeline_path_emit_tick(s->p);
	if (++s->ticks % NAMES_TICKS == 0)
		emit_interface_names(s->p);
	return 0;
}

static int on_duration(void *ctx, _unused_ uint64_t now_ns)
{
	pipeline_stop(((struct socket_run *)ctx)->p);
	return 0;
}

static int on_retry(void *ctx, _unused_ uint64_t now_ns)
{
	((struct socket_run *)ctx)->due = true;
	return 0;
}

static int watch(struct socket_run *s)
{
	return loop_add_io(s->p->loop, source_fd(s->p->source), EPOLLIN, on_input, s, &s->io);
}

static int wait_for_agent(struct socket_run *s)
{
	loop_remove(TAKE_PTR(s->io));
	source_close(TAKE_PTR(s->p->source));
	return loop_set_timer(s->retry, s->p->reconnect_ns, 0);
}

/* 0 also if the agent is not back yet. */
static int reconnect(struct socket_run *s, struct err *err)
{
	int r;

	s->due = false;
	r = source_open_socket(s->p->socket_path, s->p->socket_format, &s->p->source, err);
	if (r == -ECONNREFUSED || r == -ENOENT)
		return loop_set_timer(s->retry, s->p->reconnect_ns, 0);
	if (r < 0)
		return r;
	log_info("sonde: connected to %s again", s->p->socket_path);
	return watch(s);
}

/* 0 to continue, or the error that ends the run. */
static int take_input(struct socket_run *s, bool *more, struct err *err)
{
	struct pipeline *p = s->p;
	int r = source_read(p->source, BUDGET, pipeline_path_from_source, p, err);

	pipeline_rings_flush(p);
	*more = r == BUDGET;
	if (r > 0 || r == -EAGAIN || r == -ECANCELED)
		return 0;
	if (r < 0 && r != -ENODATA)
		return r;
	*more = false;
	log_info("sonde: %s was closed; connecting again in %llu s", p->socket_path,
		 (unsigned long long)(p->reconnect_ns / NS_PER_S));
	return wait_for_agent(s);
}

static int run(struct socket_run *s, struct err *err)
{
	struct pipeline *p = s->p;
	bool more = false;	/* the last read used up its budget */
	int r = 0;

	while (r >= 0 && !p->stopping) {
		p->input_ready = more;
		r = loop_once(p->loop, more ? 0 : -1);
		if (r >= 0 && s->due && !p->stopping)
			r = reconnect(s, err);
		else if (r >= 0 && p->input_ready && p->source && !p->stopping)
			r = take_input(s, &more, err);
	}
	return r;
}

int pipeline_socket_run(struct pipeline *p, struct err *err)
{
	struct socket_run s = { .p = p };
	int r;

	emit_interface_names(p);
	r = loop_add_timer(p->loop, NS_PER_S, NS_PER_S, on_tick, &s, &s.tick);
	if (r >= 0)
		r = loop_add_timer(p->loop, 0, 0, on_retry, &s, &s.retry);
	if (r >= 0 && p->limits.duration_ns)
		r = loop_add_timer(p->loop, p->limits.duration_ns, 0, on_duration, &s, &s.duration);
	if (r >= 0)
		r = watch(&s);
	r = r < 0 ? err_errno(err, r, "cannot wait for input") : run(&s, err);
	loop_remove(s.io);
	loop_remove(s.tick);
	loop_remove(s.retry);
	loop_remove(s.duration);
	return r < 0 ? r : 0;
}
