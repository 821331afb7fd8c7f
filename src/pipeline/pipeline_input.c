// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Inputs whose records were made elsewhere: a file, whose worker parses it; the socket of another agent, whose stream
 * a worker parses as it would a file, and which is connected again after its end; a client of sonde's own agent.
 */
#include <errno.h>
#include <net/if.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "base/macros.h"
#include "host/pids.h"
#include "event/decode.h"
#include "ipc/client.h"
#include "ipc/proto.h"
#include "loop/loop.h"
#include "pipeline/pipeline.h"
#include "pipeline/pipeline_path.h"
#include "pipeline/pipeline_state.h"
#include "sonde/symbol_wire.h"
#include "source/source.h"
#include "sym/sym.h"

#define READ_BUDGET 4096		/* records between two checks of signals and timers */
#define FORMAT_ROUND_MS 50
#define FOLLOW_NS (250 * NS_PER_MS)	/* between flushes of outputs while no record comes */
#define RECONNECT_NS (12 * NS_PER_S)	/* as Cilium's client */
#define NAMES_TICKS 15			/* seconds between two reads of the interface list, as Cilium's client */

/* ---- a file ---- */

static int on_answer(_unused_ void *ctx, _unused_ int fd, _unused_ uint32_t events)
{
	return 0;
}

/*
 * Waits until the input's format is known, so that an unknown one fails before the run. Waits in the loop, where a
 * signal ends it.
 */
static int await_format(struct pipeline *p, struct err *err)
{
	uint64_t end_ns = clock_boot_ns() + SOURCE_FORMAT_MS * NS_PER_MS;
	struct loop_source *answer = NULL;
	int r = loop_add_io(p->loop, source_fd(p->source), EPOLLIN, on_answer, p, &answer);

	if (r < 0)
		return err_errno(err, r, "cannot wait for input");
	r = source_await_format(p->source, 0, err);
	while (r == -ETIMEDOUT && !p->stopping && clock_boot_ns() < end_ns) {
		loop_once(p->loop, FORMAT_ROUND_MS);
		r = source_await_format(p->source, 0, err);
	}
	loop_remove(answer);
	return p->stopping ? 0 : r;
}

/*
 * A recording has the names of its functions behind the events. Where a filter asks for functions, the file is read
 * twice, if it can be: for the names, then for the events.
 */
static int open_names(struct pipeline *p, const char *path, struct err *err)
{
	struct stat st;

	if (!p->set.names_first || !p->sym || p->set.follows || !strcmp(path, "-") || stat(path, &st) < 0 ||
	    !(S_ISREG(st.st_mode) || S_ISDIR(st.st_mode)))
		return 0;
	return source_open_query(path, p->set.query, &p->names_source, err);
}

static int learn_name(void *ctx, struct event *ev)
{
	struct pipeline *p = ctx;

	p->named = true;
	return sym_event(p->sym, ev);
}

static int take_name(void *ctx, const struct sonde_rec *r)
{
	struct pipeline *p = ctx;
	int e = r->type == SONDE_EV_SYMBOLS ? decode_record(p->decode, r, r->len, learn_name, p) : 0;

	return e == -ENOMEM ? e : p->stopping ? -ECANCELED : 0;
}

/* The second reading reports defects of the file. */
static void read_names(struct pipeline *p)
{
	struct loop_source *io = NULL;
	struct err err = { 0 };
	int r = -ENOENT;

	if (p->names_source)
		r = loop_add_io(p->loop, source_fd(p->names_source), EPOLLIN, on_answer, p, &io);

	while (r >= 0 && !p->stopping) {
		r = source_read(p->names_source, READ_BUDGET, take_name, p, &err);
		if (r == 0)
			break;
		if (r == READ_BUDGET || r == -EAGAIN)
			r = loop_once(p->loop, r == READ_BUDGET ? 0 : -1);
	}
	loop_remove(io);
	source_close(TAKE_PTR(p->names_source));
}

static int file_begin(struct pipeline *p, _unused_ struct err *err)
{
	read_names(p);
	p->flush_ns = p->set.follows ? FOLLOW_NS : 0;
	return 0;
}

static int source_fd_of(const struct pipeline *p)
{
	return source_fd(p->source);
}

static int read_source(struct pipeline *p, struct err *err)
{
	int r = source_read(p->source, READ_BUDGET, pipeline_path_from_source, p, err);

	if (r == READ_BUDGET)
		return INPUT_MORE;
	return r > 0 || r == -EAGAIN || r == -ECANCELED ? INPUT_WAIT : r < 0 ? r : INPUT_END;
}

static const struct input_ops file_input = {
	.failure = "cannot wait for input", .begin = file_begin, .fd = source_fd_of, .read = read_source,
};

int pipeline_open_file(struct pipeline *p, const char *path, struct err *err)
{
	int r = source_open_query(path, p->set.query, &p->source, err);

	p->input = &file_input;
	if (r >= 0)
		r = await_format(p, err);
	return r < 0 ? r : open_names(p, path, err);
}

int pipeline_read_permille(const struct pipeline *p)
{
	return p->source ? source_read_permille(p->source) : -1;
}

void pipeline_open_source(struct pipeline *p, struct source *source)
{
	p->source = source;
	p->input = &file_input;
}

/* ---- the socket of another agent ---- */

/* Names of this host's interfaces, since the agent sends only indexes. */
static void emit_interface_names(struct pipeline *p)
{
	struct if_nameindex *all = if_nameindex();

	for (struct if_nameindex *i = all; i && i->if_index; i++)
		pipeline_path_emit_name(p, SONDE_NAME_IFACE, i->if_index, i->if_name);
	if (all)	/* the C library does not take NULL */
		if_freenameindex(all);
}

static int socket_begin(struct pipeline *p, _unused_ struct err *err)
{
	emit_interface_names(p);
	return 0;
}

static void socket_tick(struct pipeline *p, _unused_ uint64_t now_ns)
{
	if (++p->ticks % NAMES_TICKS == 0)
		emit_interface_names(p);
}

/* INPUT_WAIT also if the agent is not back yet. */
static int reconnect(struct pipeline *p, struct err *err)
{
	int r = source_open_socket(p->socket_path, p->socket_format, &p->source, err);

	if (r == -ECONNREFUSED || r == -ENOENT)
		return pipeline_run_again(p, p->reconnect_ns);
	if (r < 0)
		return r;
	log_info("sonde: connected to %s again", p->socket_path);
	return pipeline_run_watch(p);
}

static int socket_read(struct pipeline *p, struct err *err)
{
	int r = p->source ? read_source(p, err) : reconnect(p, err);

	if (r != INPUT_END && r != -ENODATA)
		return r;
	log_info("sonde: %s was closed; connecting again in %llu s", p->socket_path,
		 (unsigned long long)(p->reconnect_ns / NS_PER_S));
	loop_remove(TAKE_PTR(p->input_io));
	source_close(TAKE_PTR(p->source));
	return pipeline_run_again(p, p->reconnect_ns);
}

static const struct input_ops socket_input = {
	.failure = "cannot wait for input", .timed = true, .begin = socket_begin, .fd = source_fd_of,
	.read = socket_read, .tick = socket_tick,
};

int pipeline_open_socket(struct pipeline *p, const char *path, const char *format, uint64_t reconnect_ns,
			 struct err *err)
{
	p->socket_path = path;
	p->input = &socket_input;
	p->socket_format = source_find(format);
	p->reconnect_ns = reconnect_ns ? reconnect_ns : RECONNECT_NS;
	if (!p->socket_format)
		return err_set(err, -EINVAL, "no input format %s (sonde help outputs lists them)", format);
	pipeline_path_emit_host(p);
	pipeline_path_emit_clock(p);
	pipeline_path_emit_name(p, SONDE_NAME_INSTANCE, 0, format);
	return source_open_socket(path, p->socket_format, &p->source, err);
}

/* ---- an agent of ours ---- */

static void take_failed(struct pipeline *p, const struct proto_frame *f)
{
	const char *hook = proto_fixed(f, NULL, 0) ? proto_word(f, 0, NULL) : NULL, *why;

	for (; hook; hook = why ? proto_word(f, 0, why) : NULL) {
		why = proto_word(f, 0, hook);
		if (why)
			pipeline_run_hook_fails(p, 1, hook, why);
	}
}

static int on_frame(void *ctx, const struct proto_frame *f)
{
	struct pipeline *p = ctx;

	p->ended |= f->type == PROTO_END;
	if (f->type == PROTO_HOOK_FAILED)
		take_failed(p, f);
	/* the frame's check covers its length; after a limit the rest counts as filtered */
	if (f->type == PROTO_RECORD)
		pipeline_path_from_source(p, f->data);
	return 0;
}

static int agent_fd(const struct pipeline *p)
{
	return client_fd(p->client);
}

static int agent_read(struct pipeline *p, struct err *err)
{
	int r = client_read(p->client, READ_BUDGET, on_frame, p);

	if (r < 0)
		return client_failure(p->client, r, err);
	return p->ended ? INPUT_END : r == READ_BUDGET ? INPUT_MORE : INPUT_WAIT;
}

/* Reads the rest of the stopped stream, its ledger last. */
static int agent_finish(struct pipeline *p, struct err *err)
{
	uint64_t end_ns = clock_boot_ns() + 10 * NS_PER_S;
	int r = p->ended || p->error ? 0 : client_stop(p->client);

	while (!p->ended && !p->error && r >= 0 && clock_boot_ns() < end_ns) {
		r = client_wait(p->client, 1000);
		if (r >= 0)
			r = client_read(p->client, READ_BUDGET, on_frame, p);
	}
	pipeline_run_flush(p);
	if (r < 0)
		return client_failure(p->client, r, err);
	return p->ended || p->error ? 0 : err_set(err, -ETIMEDOUT, "the agent did not end the stream within 10 s");
}

static const struct input_ops agent_input = {
	.failure = "cannot wait for the agent", .timed = true, .fd = agent_fd, .read = agent_read,
	.finish = agent_finish,
};

void pipeline_open_agent(struct pipeline *p, struct client *c, bool says)
{
	const struct proto_frame failed = client_failed_hooks(c);

	p->client = c;
	p->input = &agent_input;
	p->agent_says = says;
	take_failed(p, &failed);
	/* the agent's pids are those of the initial pid namespace */
	if (pids_are_initial())
		p->own = (uint32_t)getpid();
}
