// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events to facts, by the names of fields.
 */
#include "trace/trace_fact.h"

#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/map.h"
#include "base/vec.h"
#include "packet/packet.h"
#include "sonde/wire.h"

#define NAMES_MAX 65536u
#define NAME_MAX_BYTES 256u

/* ---- names ---- */

struct trace_names {
	struct map by_hash;	/* uint64_t -> uint32_t */
	VEC(char *) texts;	/* owned; NUL-terminated */
};

struct trace_names *trace_fact_names_new(void)
{
	struct trace_names *n = calloc(1, sizeof(*n));

	if (n)
		map_init(&n->by_hash, sizeof(uint64_t), sizeof(uint32_t));
	return n;
}

void trace_fact_names_free(struct trace_names *n)
{
	if (!n)
		return;
	for (size_t i = 0; i < n->texts.len; i++)
		free(n->texts.items[i]);
	vec_fini(&n->texts);
	map_fini(&n->by_hash);
	free(n);
}

const char *trace_fact_text(const struct trace_names *n, uint32_t name)
{
	return name && name <= n->texts.len ? n->texts.items[name - 1] : "";
}

static bool is_text(const struct trace_names *n, uint32_t name, const char *text, size_t len)
{
	const char *have = trace_fact_text(n, name);

	return !strncmp(have, text, len) && !have[len];
}

static uint32_t add_name(struct trace_names *n, uint64_t hash, const char *text, size_t len)
{
	char *copy = n->texts.len < NAMES_MAX && vec_grow(&n->texts) >= 0 ? strndup(text, len) : NULL;
	uint32_t *slot = copy ? map_add(&n->by_hash, &hash, NULL) : NULL;

	if (!slot) {
		free(copy);
		return 0;
	}
	n->texts.items[n->texts.len++] = copy;
	*slot = (uint32_t)n->texts.len;
	return *slot;
}

static uint32_t intern(struct trace_names *n, const char *text, size_t len)
{
	uint64_t hash;

	len = text ? strnlen(text, MIN(len, (size_t)NAME_MAX_BYTES)) : 0;
	if (!len)
		return 0;
	for (hash = map_hash(text, len);; hash++) {
		const uint32_t *name = map_find(&n->by_hash, &hash);

		if (!name)
			return add_name(n, hash, text, len);
		if (is_text(n, *name, text, len))
			return *name;
	}
}

/* ---- fields ---- */

enum word {
	W_SIDE, W_LATENCY, W_OPENED, W_NAME, W_STATUS, W_ERROR, W_PARENT, W_PROTOCOL, W_HTTP_STATUS,
	W_SYS_NAME, W_SYS_RET, W_SYS_LATENCY, W_SYS_PATH, W_SYS_ARGS,
	W_VALUE, W_WAIT, W_STATE, W_KIND, W_WAKER_PID, W_WAKER_TID, W_WAKER_NAME, W_WAKER_IRQ,
	W_QUOTA_CGROUP, W_QUOTA_TIME, W_QUOTA_PERIOD, W_REASON, W__MAX,
};

static const char *const words[] = {
	[W_SIDE] = "rpc.side", [W_LATENCY] = "rpc.latency", [W_OPENED] = "rpc.opened", [W_NAME] = "rpc.name",
	[W_STATUS] = "rpc.status", [W_ERROR] = "rpc.error", [W_PARENT] = "rpc.parent",
	[W_PROTOCOL] = "rpc.kind", [W_HTTP_STATUS] = "rpc.http_status",
	[W_SYS_NAME] = "syscall.name", [W_SYS_RET] = "syscall.ret", [W_SYS_LATENCY] = "syscall.latency",
	[W_SYS_PATH] = "syscall.path", [W_SYS_ARGS] = "syscall.args",
	[W_VALUE] = "stack.value", [W_WAIT] = "stack.wait", [W_STATE] = "stack.state", [W_KIND] = "block.kind",
	[W_WAKER_PID] = "block.waker.pid", [W_WAKER_TID] = "block.waker.tid",
	[W_WAKER_NAME] = "block.waker.name", [W_WAKER_IRQ] = "block.waker.irq",
	[W_QUOTA_CGROUP] = "block.quota.cgroup", [W_QUOTA_TIME] = "block.quota.time",
	[W_QUOTA_PERIOD] = "block.quota.period", [W_REASON] = "drop.reason",
};
_Static_assert(ARRAY_SIZE(words) == W__MAX, "every word has a name");

struct meaning {
	const struct field *field[W__MAX];
};

struct trace_fact_reader {
	struct trace_names *names; /* borrowed */
	struct map meanings;	   /* const struct event_desc * -> struct meaning */
};

struct trace_fact_reader *trace_fact_reader_new(struct trace_names *names)
{
	struct trace_fact_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->names = names;
	map_init(&r->meanings, sizeof(const struct event_desc *), sizeof(struct meaning));
	return r;
}

void trace_fact_reader_free(struct trace_fact_reader *r)
{
	if (!r)
		return;
	map_fini(&r->meanings);
	free(r);
}

static const struct meaning *meaning_of(struct trace_fact_reader *r, const struct event_desc *d)
{
	bool is_new;
	struct meaning *m = map_add(&r->meanings, &d, &is_new);

	for (unsigned w = 0; m && is_new && w < W__MAX; w++)
		m->field[w] = event_field_named(d->fields, d->n_fields, words[w]);
	return m;
}

/* @ev, as its fields are read. */
struct input {
	const struct event *ev;
	const struct meaning *m;
	struct trace_names *names;
};

static uint64_t number(const struct input *in, enum word w)
{
	struct value v;

	if (!in->m->field[w] || event_get(in->ev, in->m->field[w], &v) < 0)
		return 0;
	return v.kind == VAL_INT ? (uint64_t)v.i : v.u;
}

static uint32_t name(const struct input *in, enum word w)
{
	struct value v;

	if (!in->m->field[w] || event_get(in->ev, in->m->field[w], &v) < 0 || v.kind != VAL_STR)
		return 0;
	return intern(in->names, v.str, v.len);
}

static bool is_word(const struct input *in, enum word w, const char *text)
{
	struct value v;

	return in->m->field[w] && event_get(in->ev, in->m->field[w], &v) == 0 && v.kind == VAL_STR &&
	       v.len == strlen(text) && !memcmp(v.str, text, v.len);
}

/* ---- kinds ---- */

/* As sonde rpc shows it: the protocol's own status, that of HTTP, "OK" where only errors have one. */
static uint32_t status_of(const struct input *in)
{
	const uint64_t http = number(in, W_HTTP_STATUS);
	const uint32_t status = name(in, W_STATUS);
	char text[24];

	if (status)
		return status;
	if (http)
		return intern(in->names, text, (size_t)snprintf(text, sizeof(text), "%" PRIu64, http));
	if (!name(in, W_PROTOCOL) || is_word(in, W_PROTOCOL, "grpc") || number(in, W_ERROR))
		return 0;
	return intern(in->names, "OK", 2);
}

static void read_call(const struct input *in, struct trace_fact *f)
{
	uint64_t opened = number(in, W_OPENED);

	f->kind = TRACE_FACT_CALL;
	f->from_ns = opened && opened <= f->ts_ns ? opened : f->ts_ns;
	f->of_call = (struct trace_call_fact){
		.id = event_call_id(in->ev, opened),
		.parent = number(in, W_PARENT),
		.method = name(in, W_NAME),
		.status = status_of(in),
		.error = number(in, W_ERROR) != 0,
		.is_dns = is_word(in, W_PROTOCOL, "dns"),
		.side = is_word(in, W_SIDE, "server")	? TRACE_SIDE_SERVER
			: is_word(in, W_SIDE, "client") ? TRACE_SIDE_CLIENT
							: TRACE_SIDE_UNKNOWN,
	};
}

/* The descriptor that the arguments begin with: "3, 0xc000160000, 133". */
static int32_t fd_of(const struct input *in)
{
	struct value v;
	int32_t fd = 0;
	size_t i;

	if (!in->m->field[W_SYS_ARGS] || event_get(in->ev, in->m->field[W_SYS_ARGS], &v) < 0 || v.kind != VAL_STR)
		return -1;
	for (i = 0; i < v.len && i < 7 && v.str[i] >= '0' && v.str[i] <= '9'; i++)
		fd = fd * 10 + (v.str[i] - '0');
	return i && (i == v.len || v.str[i] == ',') ? fd : -1;
}

static void read_syscall(const struct input *in, struct trace_fact *f)
{
	const struct sec_file *file = event_file(in->ev);
	uint64_t latency = number(in, W_SYS_LATENCY);

	f->kind = TRACE_FACT_SYSCALL;
	f->from_ns = f->ts_ns - MIN(latency, f->ts_ns);
	f->of_syscall = (struct trace_syscall_fact){
		.name = name(in, W_SYS_NAME),
		.ret = (int64_t)number(in, W_SYS_RET),
		.file = file ? intern(in->names, file->name, file->name_len) : name(in, W_SYS_PATH),
		.fd = f->cookie || in->ev->keys.file ? fd_of(in) : -1,
	};
}

static enum trace_state state_of(const struct input *in)
{
	if (is_word(in, W_STATE, "runnable"))
		return TRACE_STATE_RUNNABLE;
	if (is_word(in, W_STATE, "sleeping"))
		return TRACE_STATE_SLEEPING;
	if (is_word(in, W_STATE, "disk"))
		return TRACE_STATE_DISK;
	if (is_word(in, W_STATE, "stopped") || is_word(in, W_STATE, "traced"))
		return TRACE_STATE_STOPPED;
	return TRACE_STATE_UNKNOWN;
}

/* A futex that a thread of the same process released was a lock or a message between the two. */
static enum trace_cause cause_of(const struct input *in, uint32_t tgid)
{
	static const struct { const char *kind; enum trace_cause cause; } rows[] = {
		{ "cpu", TRACE_CAUSE_RUNQ }, { "throttled", TRACE_CAUSE_THROTTLED },
		{ "stopped", TRACE_CAUSE_STOPPED }, { "lock", TRACE_CAUSE_KERNEL_LOCK },
		{ "disk", TRACE_CAUSE_DISK }, { "page-fault", TRACE_CAUSE_FAULT },
		{ "reclaim", TRACE_CAUSE_RECLAIM }, { "connect", TRACE_CAUSE_CONNECT },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (is_word(in, W_KIND, rows[i].kind))
			return rows[i].cause;
	if (is_word(in, W_STATE, "runnable"))
		return TRACE_CAUSE_RUNQ;
	if (is_word(in, W_KIND, "futex") && number(in, W_WAKER_TID) && number(in, W_WAKER_PID) == tgid)
		return TRACE_CAUSE_LOCK;
	return TRACE_CAUSE_WAIT;
}

/* "/web, 10 ms per 100 ms" */
static uint32_t quota_of(const struct input *in)
{
	const double time_ms = (double)number(in, W_QUOTA_TIME) / 1e6;
	const double period_ms = (double)number(in, W_QUOTA_PERIOD) / 1e6;
	const char *cgroup = trace_fact_text(in->names, name(in, W_QUOTA_CGROUP));
	char text[NAME_MAX_BYTES];

	if (period_ms <= 0)
		return 0;
	snprintf(text, sizeof(text), "%.200s, %g ms per %g ms", *cgroup ? cgroup : "cgroup", time_ms, period_ms);
	return intern(in->names, text, sizeof(text));
}

static void read_wait(const struct input *in, struct trace_fact *f)
{
	uint64_t off = MIN(number(in, W_VALUE), f->ts_ns);
	uint32_t irq = name(in, W_WAKER_IRQ);

	f->kind = TRACE_FACT_WAIT;
	f->from_ns = f->ts_ns - off;
	f->of_wait = (struct trace_wait_fact){
		.runq_ns = MIN(number(in, W_WAIT), off),
		.kind = name(in, W_KIND),
		.waker = irq ? irq : name(in, W_WAKER_NAME),
		.waker_tid = (uint32_t)number(in, W_WAKER_TID),
		.waker_tgid = (uint32_t)number(in, W_WAKER_PID),
		.quota = quota_of(in),
		.state = (uint8_t)state_of(in),
		.cause = (uint8_t)cause_of(in, f->tgid),
		.is_idle = is_word(in, W_KIND, "poll") || is_word(in, W_KIND, "socket-read"),
	};
}

static bool closes_window(const struct packet_flow *flow)
{
	return flow->proto == IPPROTO_TCP && (flow->tcp_flags & (TH_SYN | TH_RST | TH_ACK)) == TH_ACK &&
	       !flow->tcp_window;
}

static int read_packet(const struct input *in, struct trace_fact *f)
{
	const uint8_t *data;
	const struct sec_packet *sp = event_packet(in->ev, &data);
	const struct packet_flow *flow;
	struct packet p;

	if (!sp)
		return 0;
	packet_dissect(sp->link, data, sp->cap_len, sp->orig_len, &p);
	flow = packet_flow(&p);
	packet_keys_conn_from_flow(&f->conn, flow);
	f->kind = in->m->field[W_REASON] ? TRACE_FACT_DROP : TRACE_FACT_PACKET;
	f->seq = flow->proto == IPPROTO_TCP ? flow->tcp_seq : 0;
	f->seq_len = flow->payload_len;
	f->of_packet = (struct trace_packet_fact){
		.len = sp->orig_len, .payload = flow->payload_len, .ifindex = sp->ifindex, .dir = sp->direction,
		.tcp_flags = flow->tcp_flags, .window_closed = closes_window(flow), .reason = name(in, W_REASON),
	};
	return 1;
}

static uint32_t comm_of(const struct event *ev, struct trace_names *names)
{
	const struct sec_proc *p = event_proc(ev);
	const char *text;
	size_t len = 0;

	if (!p)
		return 0;
	text = event_sec_proc_str(p, event_section(ev, SEC_PROC), p->comm, &len);
	return intern(names, text, len);
}

int trace_fact_read(struct trace_fact_reader *r, const struct event *ev, struct trace_fact *ret)
{
	const struct input in = { .ev = ev, .m = meaning_of(r, ev->desc), .names = r->names };

	if (!in.m)
		return -ENOMEM;
	if (ev->desc->class != EVENT_DATA || ev->flags & SONDE_RF_SNAPSHOT)
		return 0;
	*ret = (struct trace_fact){
		.ts_ns = ev->ts_ns, .from_ns = ev->ts_ns, .num = ev->seq, .start_ns = ev->start_ns,
		.goid = ev->keys.goid, .call = ev->keys.call, .cookie = ev->keys.cookie, .tgid = ev->tgid,
		.tid = ev->tid, .netns = ev->keys.netns, .comm = comm_of(ev, r->names), .seq = ev->keys.seq,
		.seq_len = ev->keys.seq_len, .stream = ev->keys.rpc_stream, .ident_flags = ev->keys.ident_flags,
		.conn = ev->keys.conn,
	};
	if (!strcmp(ev->desc->name, "rpc.call"))
		read_call(&in, ret);
	else if (in.m->field[W_SYS_NAME] && in.m->field[W_SYS_RET])
		read_syscall(&in, ret);
	else if (in.m->field[W_STATE] && in.m->field[W_VALUE])
		read_wait(&in, ret);
	else
		return read_packet(&in, ret);
	return 1;
}
