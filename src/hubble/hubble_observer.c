// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which flows a request gets follows Hubble: the last `number` that match (`since` ends the search), or the first, or
 * those after now; then in order, and on with `follow`. Losses are reported whatever the filter.
 */
#include "hubble/hubble_observer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/protobuf/protobuf_read.h"
#include "base/vec.h"
#include "event/core.h"
#include "event/event.h"
#include "event/filter/filter.h"
#include "http/grpc_server.h"
#include "hubble/hubble_request.h"
#include "hubble/hubble_ring.h"
#include "loop/loop.h"
#include "sinks/cilium/hubble_flow.h"
#include "sinks/cilium/hubble_pb.h"
#include "base/protobuf/protobuf.h"
#include "sonde/wire.h"

#define SECONDS 60u			/* over which the rate is taken */
#define NAMESPACE_NS (3600 * NS_PER_S)	/* namespaces without a flow for this long are not listed */
#define NAMESPACES 1024u
#define BURST 1024u			/* flows after which readers get their turn within a batch */
#define VERSION "sonde " SONDE_VERSION

struct seen_namespace {
	char *name;	/* owned */
	uint64_t last_ns;
};

struct hubble_observer {
	struct hubble_observer_opts o;
	struct grpc_server *server;
	struct hubble_ring *ring;
	struct hubble_map map;
	struct hubble_pb pb;
	struct buf message;
	struct loop_source *tick;
	uint64_t start_ns;
	uint64_t flows_at[SECONDS];	/* at each of the last seconds */
	uint64_t seconds;		/* passed so far */
	unsigned burst;
	VEC(struct seen_namespace) namespaces;
};

static const char *node_of(const struct hubble_observer *o)
{
	return o->o.host->hostname;
}

/* ---- GetFlows ---- */

struct flows {
	struct hubble_observer *o;
	struct hubble_request q;
	struct filter *where;	/* owned */
	bool named;		/* it asks for names that come and go */
	uint64_t at;		/* the next entry to look at */
	uint64_t sent;
};

/* Is @ev a flow that the request selects, its time aside? */
static bool matches(const struct flows *f, const struct event *ev)
{
	return !f->where || filter_match(f->where, ev);
}

/* Goes back from the newest entry to the one to begin with. */
static void rewind_to(struct flows *f)
{
	struct hubble_ring *ring = f->o->ring;
	const uint64_t first = hubble_ring_first(ring);
	uint64_t n = 0;
	struct event ev;

	f->at = hubble_ring_next(ring);
	if (f->q.follow && !f->q.number && !f->q.since_ns)
		return;
	if (f->q.first || (!f->q.number && !f->q.since_ns)) {
		f->at = first;
		return;
	}
	while (f->at > first && (!f->q.number || n < f->q.number)) {
		f->at--;
		if (!hubble_ring_event(ring, f->at, f->named, &ev))
			continue;
		if (event_wall_ns(&ev) < f->q.since_ns) {
			f->at++;
			return;
		}
		n += matches(f, &ev);
	}
}

/* 1 if entry @f->at is to be sent, 0 if not, -ENODATA if it is behind the last one. */
static int look_at(struct flows *f)
{
	struct event ev;

	if (!hubble_ring_event(f->o->ring, f->at, f->named, &ev))
		return 1;
	if (event_wall_ns(&ev) < f->q.since_ns)
		return 0;
	if (f->q.until_ns && event_wall_ns(&ev) > f->q.until_ns)
		return -ENODATA;
	if (!matches(f, &ev))
		return 0;
	f->sent++;
	return 1;
}

/* The reader was overtaken. */
static int put_overrun(struct flows *f, struct buf *out)
{
	uint64_t first = hubble_ring_first(f->o->ring), lost = first - f->at;

	f->at = first;
	hubble_pb_lost(&f->o->pb, HUBBLE_LOST_RING, lost, -1, (uint64_t)clock_boot_offset_ns() + clock_boot_ns(),
		       node_of(f->o), out);
	return 1;
}

static int next_flow(void *ctx, struct buf *out)
{
	struct flows *f = ctx;
	struct hubble_ring *ring = f->o->ring;

	if (f->at < hubble_ring_first(ring))
		return put_overrun(f, out);
	while (f->q.follow || !f->q.number || f->sent < f->q.number) {
		const void *message;
		size_t len;
		int r;

		if (f->at == hubble_ring_next(ring))
			return f->q.follow ? 0 : -ENODATA;
		r = look_at(f);
		if (r < 0)
			return r;
		message = hubble_ring_message(ring, f->at++, &len);
		if (!r)
			continue;
		buf_add(out, message, len);
		return 1;
	}
	return -ENODATA;
}

static void flows_close(void *ctx)
{
	struct flows *f = ctx;

	filter_free(f->where);
	hubble_request_fini(&f->q);
	free(f);
}
DEFINE_CLEANUP(struct flows *, flows_close)

static enum grpc_status get_flows(struct hubble_observer *o, const void *message, size_t len,
				  struct grpc_stream *ret, _unused_ struct buf *reply, struct err *err)
{
	_cleanup_(flows_closep) struct flows *f = calloc(1, sizeof(*f));
	int r = f ? 0 : err_errno(err, -ENOMEM, "cannot send flows");

	if (r >= 0) {
		f->o = o;
		r = hubble_request_parse(message, len, &f->q, err);
	}
	if (r >= 0 && f->q.where.len)
		r = filter_parse(o->o.reg, buf_str(&f->q.where), &f->where, err);
	if (r < 0)
		return r == -ENOMEM ? GRPC_INTERNAL : GRPC_INVALID_ARGUMENT;
	f->named = f->where && (filter_uses(f->where, "dns") || filter_uses(f->where, "k8s"));
	rewind_to(f);
	*ret = (struct grpc_stream){ .next = next_flow, .close = flows_close, .ctx = TAKE_PTR(f) };
	return GRPC_OK;
}

/* ---- other methods ---- */

#define METHOD(fn) \
	static enum grpc_status fn(_unused_ struct hubble_observer *o, _unused_ const void *message, \
				   _unused_ size_t len, _unused_ struct grpc_stream *ret, \
				   _unused_ struct buf *reply, _unused_ struct err *err)

/* UInt32Value */
static void put_wrapped(struct buf *out, uint32_t field, uint64_t v)
{
	char bytes[16];
	struct buf b = buf_in(bytes, sizeof(bytes));

	protobuf_uint(&b, 1, v);
	protobuf_bytes(out, field, b.data, b.len);
	buf_fini(&b);
}

static void put_double(struct buf *out, uint32_t field, double v)
{
	uint64_t bits;

	memcpy(&bits, &v, sizeof(bits));
	protobuf_fixed64(out, field, bits);
}

static void put_text(struct buf *out, uint32_t field, const char *text)
{
	if (*text)
		protobuf_text(out, field, text, strlen(text));
}

/* Members @first to @first + 2 and the uptime. */
static void put_counts(const struct hubble_observer *o, uint32_t uptime, uint32_t first, struct buf *out)
{
	uint64_t kept = hubble_ring_next(o->ring) - hubble_ring_first(o->ring);

	protobuf_uint(out, first, kept);
	protobuf_uint(out, first + 1, HUBBLE_RING_ENTRIES);
	protobuf_uint(out, first + 2, hubble_ring_flows(o->ring));
	protobuf_uint(out, uptime, clock_boot_ns() - o->start_ns);
}

static double flows_rate(const struct hubble_observer *o)
{
	uint64_t seconds = MIN(o->seconds, (uint64_t)SECONDS);
	uint64_t before = seconds < SECONDS ? 0 : o->flows_at[o->seconds % SECONDS];

	return seconds ? (double)(hubble_ring_flows(o->ring) - before) / (double)seconds : 0;
}

/* SERVING: a server starts once its probes are ready. */
METHOD(check_health)
{
	protobuf_uint(reply, 1, 1);
	return GRPC_OK;
}

METHOD(get_status)
{
	put_counts(o, 4, 1, reply);
	put_wrapped(reply, 5, 1);
	put_wrapped(reply, 6, 0);
	put_text(reply, 8, VERSION);
	put_double(reply, 9, flows_rate(o));
	return GRPC_OK;
}

METHOD(get_nodes)
{
	_cleanup_(buf_fini) struct buf node = { 0 };

	put_text(&node, 1, node_of(o));
	put_text(&node, 2, VERSION);
	put_text(&node, 3, o->o.address);
	protobuf_uint(&node, 4, 1);	/* NODE_CONNECTED */
	protobuf_bytes(&node, 5, "", 0);	/* TLS: not enabled */
	put_counts(o, 6, 7, &node);
	protobuf_bytes(reply, 1, node.data, node.len);
	return buf_error(&node) ? GRPC_INTERNAL : GRPC_OK;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct seen_namespace *)a)->name, ((const struct seen_namespace *)b)->name);
}

METHOD(get_namespaces)
{
	uint64_t now_ns = clock_boot_ns();

	vec_sort(&o->namespaces, compare_names);
	vec_each(n, &o->namespaces) {
		_cleanup_(buf_fini) struct buf b = { 0 };

		if (n->last_ns + NAMESPACE_NS < now_ns)
			continue;
		put_text(&b, 2, n->name);
		protobuf_bytes(reply, 1, b.data, b.len);
	}
	return GRPC_OK;
}

/* An agent of sonde has no events of an agent or of debugging. */
static int next_of_none(_unused_ void *ctx, _unused_ struct buf *out)
{
	return -ENODATA;
}

static int next_of_silence(_unused_ void *ctx, _unused_ struct buf *out)
{
	return 0;
}

/* GetAgentEventsRequest and GetDebugEventsRequest { follow = 2 } */
METHOD(get_no_events)
{
	struct cursor c = cur_init(message, len);
	struct protobuf_field f;

	ret->next = next_of_none;
	while (protobuf_read(&c, &f))
		if (f.number == 2)
			ret->next = f.value ? next_of_silence : next_of_none;
	return GRPC_OK;
}

struct peers {
	const struct hubble_observer *o;
	bool told;
};

/* ChangeNotification { name = 1, address = 2, type = 3 }: this host, and no change after it. */
static int next_peer(void *ctx, struct buf *out)
{
	struct peers *p = ctx;

	if (p->told)
		return 0;
	p->told = true;
	put_text(out, 1, node_of(p->o));
	put_text(out, 2, p->o->o.address);
	protobuf_uint(out, 3, 1);	/* PEER_ADDED */
	return 1;
}

METHOD(notify_peers)
{
	struct peers *p = calloc(1, sizeof(*p));

	if (!p)
		return GRPC_INTERNAL;
	p->o = o;
	*ret = (struct grpc_stream){ .next = next_peer, .close = free, .ctx = p };
	return GRPC_OK;
}

static const struct {
	const char *path;
	enum grpc_status (*fn)(struct hubble_observer *o, const void *message, size_t len, struct grpc_stream *ret,
			       struct buf *reply, struct err *err);
} methods[] = {
	{ "/grpc.health.v1.Health/Check", check_health },
	{ "/observer.Observer/GetFlows", get_flows },
	{ "/observer.Observer/ServerStatus", get_status },
	{ "/observer.Observer/GetNodes", get_nodes },
	{ "/observer.Observer/GetNamespaces", get_namespaces },
	{ "/observer.Observer/GetAgentEvents", get_no_events },
	{ "/observer.Observer/GetDebugEvents", get_no_events },
	{ "/peer.Peer/Notify", notify_peers },
};

static enum grpc_status on_request(void *ctx, const char *path, const void *message, size_t len,
				   struct grpc_stream *ret_stream, struct buf *reply, struct err *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
		if (!strcmp(methods[i].path, path))
			return methods[i].fn(ctx, message, len, ret_stream, reply, err);
	err_set(err, -ENOSYS, "%s is not a method of this server", path);
	return GRPC_UNIMPLEMENTED;
}

/* ---- events ---- */

static int see_namespace(struct hubble_observer *o, const char *name)
{
	const uint64_t now_ns = clock_boot_ns();
	size_t i = 0;

	while (i < o->namespaces.len && strcmp(o->namespaces.items[i].name, name) != 0)
		i++;
	if (i == o->namespaces.len) {
		char *copy = i < NAMESPACES ? strdup(name) : NULL;

		if (!copy || vec_push(&o->namespaces, (struct seen_namespace){ .name = copy }) < 0) {
			free(copy);
			return i < NAMESPACES ? -ENOMEM : 0;
		}
	}
	o->namespaces.items[i].last_ns = now_ns;
	return 0;
}

static int take_flow(struct hubble_observer *o, const struct event *ev, const struct hubble_flow *f)
{
	const struct hubble_end *ends[] = { &f->src, &f->dst };
	int r = 0;

	hubble_pb_flow(&o->pb, ev, f, node_of(o), &o->message);
	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(ends); i++) {
		const char *name = hubble_flow_pod(ev, ends[i], SONDE_NAME_POD_NAMESPACE);

		r = name ? see_namespace(o, name) : 0;
	}
	return r < 0 ? r : hubble_ring_add(o->ring, ev, &o->message);
}

int hubble_observer_event(struct hubble_observer *o, const struct event *ev)
{
	struct hubble_flow flow;
	uint64_t lost = 0;
	int64_t cpu = 0;
	int r = hubble_flow_event(&o->map, ev, &flow, &lost, &cpu);

	if (r <= 0)
		return r;
	buf_reset(&o->message);
	if (r == 1) {
		r = take_flow(o, ev, &flow);
	} else {
		hubble_pb_lost(&o->pb, HUBBLE_LOST_PERF, lost, cpu, event_wall_ns(ev), node_of(o), &o->message);
		r = hubble_ring_add(o->ring, NULL, &o->message);
	}
	if (++o->burst >= BURST)
		hubble_observer_flush(o);
	return r;
}

void hubble_observer_flush(struct hubble_observer *o)
{
	if (!o->burst)
		return;
	o->burst = 0;
	grpc_server_wake(o->server);
}

static int on_tick(void *ctx, _unused_ uint64_t now_ns)
{
	struct hubble_observer *o = ctx;

	o->flows_at[o->seconds++ % SECONDS] = hubble_ring_flows(o->ring);
	return 0;
}

/* ---- life ---- */

void hubble_observer_free(struct hubble_observer *o)
{
	if (!o)
		return;
	grpc_server_free(o->server);
	loop_remove(o->tick);
	hubble_ring_free(o->ring);
	hubble_flow_fini(&o->map);
	hubble_pb_fini(&o->pb);
	buf_fini(&o->message);
	for (size_t i = 0; i < o->namespaces.len; i++)
		free(o->namespaces.items[i].name);
	vec_fini(&o->namespaces);
	free(o);
}
DEFINE_CLEANUP(struct hubble_observer *, hubble_observer_free)

int hubble_observer_new(struct loop *loop, const struct hubble_observer_opts *opts, struct hubble_observer **ret,
			struct err *err)
{
	_cleanup_(hubble_observer_freep) struct hubble_observer *o = calloc(1, sizeof(*o));
	const struct grpc_server_opts server = {
		.fds = opts->fds, .n_fds = opts->n_fds, .request = on_request, .ctx = o,
	};
	int r = o ? 0 : -ENOMEM;

	if (r >= 0) {
		o->o = *opts;
		o->start_ns = clock_boot_ns();
		o->ring = hubble_ring_new();
		r = o->ring ? loop_add_timer(loop, NS_PER_S, NS_PER_S, on_tick, o, &o->tick) : -ENOMEM;
	}
	if (r < 0)
		return err_errno(err, r, "cannot serve Hubble's clients");
	r = grpc_server_new(loop, &server, &o->server, err);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(o);
	return 0;
}
