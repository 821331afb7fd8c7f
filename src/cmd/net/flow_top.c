// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows by what they are printed as: a row's words are put together once, when it is made. A flow is counted at one
 * row at a time; when its process becomes known later, all of it moves there.
 */
#include "cmd/net/flow_top.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "base/map.h"
#include "base/str.h"
#include "base/vec.h"
#include "event/core.h"
#include "event/event.h"
#include "event/json.h"
#include "event/names.h"
#include "probes/net/net_event.h"
#include "probes/net/flow/net_flow_wire.h"
#include "probes/net/net_wire.h"
#include "sinks/sink.h"
#include "sonde/wire.h"

#define ROWS_MAX 20000u		/* then all others share one */
#define FLOWS_MAX 200000u	/* remembered at a time */

const char *const flow_top_names[] = {
	[FLOW_TOP_NONE] = "none", [FLOW_TOP_TALKERS] = "talkers", [FLOW_TOP_PORTS] = "ports",
	[FLOW_TOP_DROPS] = "drops", NULL,
};
_Static_assert(ARRAY_SIZE(flow_top_names) == FLOW_TOP__MAX + 1, "each table has a name");

struct sums {
	uint64_t packets, sent, received;	/* bytes by the end that began, and to it */
	int64_t conns;
};

struct top_row {
	char *text, *json;		/* owned: the cells behind the numbers, and their members */
	struct sums all, now;		/* now: since the last print of an interval */
};

/* Last totals of a flow, by direction. */
struct top_flow {
	uint64_t packets[2], bytes[2];
	uint32_t row;
	bool ended;
};

struct flow_top {
	enum flow_top_kind kind;
	VEC(struct top_row) rows;
	struct map by_words;		/* hash of the words -> index + 1 */
	struct map flows;		/* id -> struct top_flow */
	uint64_t first_ns, last_ns, shown_ns;	/* boot time */
	uint64_t left_out;		/* reports of flows that there was no room to remember */
	struct buf text, json;		/* of the row at hand */
};

int flow_top_new(enum flow_top_kind kind, struct flow_top **ret)
{
	struct flow_top *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->kind = kind;
	map_init(&t->by_words, sizeof(uint64_t), sizeof(uint32_t));
	map_init(&t->flows, sizeof(uint64_t), sizeof(struct top_flow));
	*ret = t;
	return 0;
}

void flow_top_free(struct flow_top *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->rows.len; i++) {
		free(t->rows.items[i].text);
		free(t->rows.items[i].json);
	}
	vec_fini(&t->rows);
	map_fini(&t->by_words);
	map_fini(&t->flows);
	buf_fini(&t->text);
	buf_fini(&t->json);
	free(t);
}

/* ---- cells ---- */

/* One cell and one member; printed @width wide at least. */
static void cell(struct flow_top *t, struct json *j, const char *key, const char *s, size_t len, size_t width)
{
	size_t from = t->text.len;

	str_escape_buf(&t->text, len ? s : "-", len ? len : 1);
	while (!buf_error(&t->text) && t->text.len - from < width)
		buf_add_char(&t->text, ' ');
	buf_add_str(&t->text, "  ");
	if (!len)
		return;
	json_key(j, key);
	json_str(j, s, len);
}

static void word_cell(struct flow_top *t, struct json *j, const char *key, const char *s, size_t width)
{
	cell(t, j, key, s ? s : "", s ? strlen(s) : 0, width);
}

static void value_cell(struct flow_top *t, struct json *j, const char *key, const struct event *ev, const char *word,
		       size_t width)
{
	_cleanup_(buf_fini) struct buf text = { 0 };
	const char *arg;
	size_t arg_len;
	const struct field *f = event_field_find(ev->desc->fields, ev->desc->n_fields, word, &arg, &arg_len);
	struct value v;

	if (!f || event_get(ev, f, &v) < 0)
		v.kind = VAL_NONE;
	if (v.kind == VAL_STR)
		cell(t, j, key, v.str, v.len, width);
	else if (v.kind == VAL_NONE || value_text(&v, &text) < 0)
		cell(t, j, key, "", 0, width);
	else
		cell(t, j, key, text.data, text.len, width);
}

static void iface_cell(struct flow_top *t, struct json *j, const struct event *ev, uint32_t ifindex)
{
	const char *name = event_names_get(ev->names, SONDE_NAME_IFACE, names_iface_key(ev->keys.netns, ifindex));
	_cleanup_(buf_fini) struct buf number = { 0 };

	buf_printf(&number, "%u", ifindex);
	word_cell(t, j, "iface", name ? name : buf_str(&number), 10);
}

/* "nginx/812", and of a container the digits that engines print. */
static void process_cells(struct flow_top *t, struct json *j, const struct event *ev)
{
	const struct sec_proc *p = event_proc(ev);
	const struct section *s = event_section(ev, SEC_PROC);
	_cleanup_(buf_fini) struct buf name = { 0 };
	const char *comm = NULL, *container = NULL;
	size_t len = 0, container_len = 0;

	if (p) {
		comm = event_sec_proc_str(p, s, p->comm, &len);
		container = event_sec_proc_str(p, s, p->container, &container_len);
	}
	if (ev->tgid)
		buf_printf(&name, "%.*s/%u", (int)len, len ? comm : "", ev->tgid);
	cell(t, j, "proc", name.data, name.len, 22);
	cell(t, j, "container", container, MIN(container_len, (size_t)ID_SHORT), ID_SHORT);
}

static void host_cell(struct flow_top *t, struct json *j, const char *key, const char *name_key,
		      const struct event *ev, const struct ipaddr *ip)
{
	const char *name = ip->family ? event_names_get(ev->names, SONDE_NAME_HOST, event_names_host_key(ip)) : NULL;
	_cleanup_(buf_fini) struct buf text = { 0 };

	ipaddr_text(ip, &text);
	json_key(j, key);
	json_str(j, text.data, text.len);
	if (name) {
		json_key(j, name_key);
		json_str(j, name, strlen(name));
		buf_printf(&text, " (%s)", name);
	}
	str_escape_buf(&t->text, text.data, text.len);
}

/* Client and server of the flow, the same for both directions. */
static void talker_cells(struct flow_top *t, struct json *j, const struct event *ev)
{
	const struct net_flow_event *b = ev->body;
	const struct conn *c = &ev->keys.conn;

	iface_cell(t, j, ev, b->ifindex);
	process_cells(t, j, ev);
	host_cell(t, j, "src", "src_name", ev, b->is_reply ? &c->daddr : &c->saddr);
	buf_add_str(&t->text, " -> ");
	host_cell(t, j, "dst", "dst_name", ev, b->is_reply ? &c->saddr : &c->daddr);
}

static void port_cells(struct flow_top *t, struct json *j, const struct event *ev)
{
	const struct net_flow_event *b = ev->body;
	const struct conn *c = &ev->keys.conn;
	uint16_t port = b->is_reply ? c->sport : c->dport;
	const char *proto = xlat_name(&ip_proto_xlat, c->proto);
	_cleanup_(buf_fini) struct buf text = { 0 };

	iface_cell(t, j, ev, b->ifindex);
	process_cells(t, j, ev);
	if (proto)
		buf_add_str(&text, proto);
	else
		buf_printf(&text, "proto-%u", c->proto);
	cell(t, j, "proto", text.data, text.len, 8);
	buf_printf(&t->text, "%u", port);
	json_key(j, "port");
	json_u64(j, port);
}

static void drop_cells(struct flow_top *t, struct json *j, const struct event *ev)
{
	iface_cell(t, j, ev, ((const struct net_event *)ev->body)->ifindex);
	process_cells(t, j, ev);
	value_cell(t, j, "reason", ev, "drop.reason", 24);
	value_cell(t, j, "func", ev, "drop.func", 0);
}

/* ---- rows ---- */

static int make_row(struct flow_top *t, uint64_t hash)
{
	struct top_row *r;
	uint32_t *index;

	if (buf_error(&t->text) < 0 || buf_error(&t->json) < 0 || vec_grow(&t->rows) < 0)
		return -ENOMEM;
	r = &t->rows.items[t->rows.len];
	*r = (struct top_row){ .text = strndup(t->text.len ? t->text.data : "", t->text.len),
			       .json = strndup(t->json.len ? t->json.data : "", t->json.len) };
	index = r->text && r->json ? map_add(&t->by_words, &hash, NULL) : NULL;
	if (!index) {
		free(r->text);
		free(r->json);
		return -ENOMEM;
	}
	*index = (uint32_t)++t->rows.len;
	return (int)t->rows.len - 1;
}

/* The index of the event's row, or -ENOMEM. */
static int row_of(struct flow_top *t, const struct event *ev)
{
	struct json j = { .out = &t->json, .comma = true };
	uint64_t hash;
	uint32_t *index;

	buf_reset(&t->text);
	buf_reset(&t->json);
	if (t->kind == FLOW_TOP_TALKERS)
		talker_cells(t, &j, ev);
	else if (t->kind == FLOW_TOP_PORTS)
		port_cells(t, &j, ev);
	else
		drop_cells(t, &j, ev);
	while (t->text.len && t->text.data[t->text.len - 1] == ' ')
		t->text.len--;
	hash = map_hash(t->text.data, t->text.len);
	index = map_find(&t->by_words, &hash);
	if (!index && t->rows.len >= ROWS_MAX) {
		hash = 0;
		buf_reset(&t->text);
		buf_reset(&t->json);
		buf_add_str(&t->text, "(others)");
		index = map_find(&t->by_words, &hash);
	}
	return index ? (int)*index - 1 : make_row(t, hash);
}

static void add(struct sums *s, const struct top_flow *f, int sign)
{
	uint64_t packets = f->packets[0] + f->packets[1];

	s->packets += sign < 0 ? -packets : packets;
	s->sent += sign < 0 ? -f->bytes[0] : f->bytes[0];
	s->received += sign < 0 ? -f->bytes[1] : f->bytes[1];
}

static void move(struct top_flow *f, struct sums *from, struct sums *to)
{
	add(from, f, -1);
	from->conns--;
	add(to, f, 1);
	to->conns++;
}

/* Those that ended are forgotten when there are too many. */
static void purge(struct flow_top *t)
{
	struct map keep;
	size_t pos = 0;
	void *key, *val;

	map_init(&keep, sizeof(uint64_t), sizeof(struct top_flow));
	while (map_next(&t->flows, &pos, &key, &val)) {
		struct top_flow *to = ((struct top_flow *)val)->ended ? NULL : map_add(&keep, key, NULL);

		if (to)
			*to = *(struct top_flow *)val;
	}
	map_fini(&t->flows);
	t->flows = keep;
}

static int take_flow(struct flow_top *t, const struct event *ev)
{
	const struct net_flow_event *b = ev->body;
	unsigned way = !!b->is_reply;
	int row = row_of(t, ev);
	struct top_flow *f, more = { 0 };
	bool fresh = false;

	if (row < 0)
		return row;
	if (t->flows.len >= FLOWS_MAX)
		purge(t);
	f = t->flows.len < FLOWS_MAX ? map_add(&t->flows, &b->id, &fresh) : map_find(&t->flows, &b->id);
	if (!f) {
		t->left_out++;
		return 0;
	}
	if (fresh) {
		f->row = (uint32_t)row;
		t->rows.items[row].all.conns++;
		t->rows.items[row].now.conns++;
	} else if (f->row != (uint32_t)row) {
		move(f, &t->rows.items[f->row].all, &t->rows.items[row].all);
		f->row = (uint32_t)row;
	}
	more.packets[way] = b->packets > f->packets[way] ? b->packets - f->packets[way] : 0;
	more.bytes[way] = b->bytes > f->bytes[way] ? b->bytes - f->bytes[way] : 0;
	f->packets[way] += more.packets[way];
	f->bytes[way] += more.bytes[way];
	f->ended = b->why == NET_FLOW_CLOSED || b->why == NET_FLOW_IDLE || b->why == NET_FLOW_END;
	add(&t->rows.items[row].all, &more, 1);
	add(&t->rows.items[row].now, &more, 1);
	return 0;
}

static int take_drop(struct flow_top *t, const struct event *ev)
{
	const struct top_flow one = { .packets = { 1 }, .bytes = { ((const struct net_event *)ev->body)->len } };
	int row = row_of(t, ev);

	if (row < 0)
		return row;
	add(&t->rows.items[row].all, &one, 1);
	add(&t->rows.items[row].now, &one, 1);
	return 0;
}

static int take(struct flow_top *t, const struct event *ev)
{
	bool drops = t->kind == FLOW_TOP_DROPS;

	if (ev->desc->type != (drops ? NET_EV_DROP : NET_EV_FLOW))
		return 0;
	if (!t->first_ns)
		t->first_ns = t->shown_ns = ev->ts_ns;
	t->last_ns = MAX(t->last_ns, ev->ts_ns);
	return drops ? take_drop(t, ev) : take_flow(t, ev);
}

/* ---- the table ---- */

static const struct sums *sums_of(const struct top_row *r, bool interval)
{
	return interval ? &r->now : &r->all;
}

static uint64_t weight(const struct sums *s, bool packets)
{
	return packets ? s->packets : s->sent + s->received;
}

struct order {
	bool interval, packets;
};

static int heavier(const void *a, const void *b, void *ctx)
{
	const struct top_row *x = *(const struct top_row *const *)a, *y = *(const struct top_row *const *)b;
	const struct order *o = ctx;
	uint64_t left = weight(sums_of(x, o->interval), o->packets);
	uint64_t right = weight(sums_of(y, o->interval), o->packets);

	return left != right ? (left > right ? -1 : 1) : strcmp(x->text, y->text);
}

static void text_head(enum flow_top_kind kind, struct buf *out)
{
	static const char *const ends[] = {
		[FLOW_TOP_NONE] = "", [FLOW_TOP_TALKERS] = "FROM -> TO", [FLOW_TOP_PORTS] = "PROTO     PORT",
		[FLOW_TOP_DROPS] = "REASON                    FUNCTION",
	};

	if (kind == FLOW_TOP_DROPS)
		buf_printf(out, "%10s %14s  ", "DROPS", "BYTES");
	else
		buf_printf(out, "%14s %14s %10s %7s  ", "SENT", "RECEIVED", "PACKETS", "CONNS");
	buf_printf(out, "%-10s  %-22s  %-12s  %s\n", "INTERFACE", "PROCESS", "CONTAINER", ends[kind]);
}

static void text_row(enum flow_top_kind kind, const struct top_row *r, const struct sums *s, struct buf *out)
{
	if (kind == FLOW_TOP_DROPS)
		buf_printf(out, "%10" PRIu64 " %14" PRIu64 "  ", s->packets, s->sent);
	else
		buf_printf(out, "%14" PRIu64 " %14" PRIu64 " %10" PRIu64 " %7" PRId64 "  ", s->sent, s->received,
			   s->packets, s->conns);
	buf_add_str(out, r->text);
	buf_add_char(out, '\n');
}

static void json_row(const struct flow_top *t, const struct top_row *r, const struct sums *s, bool interval,
		     uint64_t time_ns, struct buf *out)
{
	buf_printf(out, "{\"v\":1,\"type\":\"flow.top\",\"table\":\"%s\",\"final\":%s,\"time_ns\":%" PRIu64
		   ",\"packets\":%" PRIu64, flow_top_names[t->kind], interval ? "false" : "true", time_ns,
		   s->packets);
	if (t->kind == FLOW_TOP_DROPS)
		buf_printf(out, ",\"bytes\":%" PRIu64, s->sent);
	else
		buf_printf(out, ",\"sent\":%" PRIu64 ",\"received\":%" PRIu64 ",\"conns\":%" PRId64, s->sent,
			   s->received, s->conns);
	buf_add_str(out, r->json);
	buf_add_str(out, "}\n");
}

int flow_top_print(struct flow_top *t, bool interval, bool json, unsigned max, struct buf *out)
{
	_cleanup_free_ struct top_row **rows = calloc(t->rows.len + 1, sizeof(*rows));
	struct order order = { .interval = interval, .packets = t->kind == FLOW_TOP_DROPS };
	uint64_t time_ns = t->last_ns - (interval ? t->shown_ns : t->first_ns);
	size_t n = 0;

	if (!rows)
		return -ENOMEM;
	for (size_t i = 0; i < t->rows.len; i++)
		if (weight(sums_of(&t->rows.items[i], interval), true))
			rows[n++] = &t->rows.items[i];
	qsort_r(rows, n, sizeof(*rows), heavier, &order);
	if (!json)
		text_head(t->kind, out);
	for (size_t i = 0; i < n && (!max || i < max); i++) {
		if (json)
			json_row(t, rows[i], sums_of(rows[i], interval), interval, time_ns, out);
		else
			text_row(t->kind, rows[i], sums_of(rows[i], interval), out);
	}
	if (!json && max && n > max)
		buf_printf(out, "(%zu more)\n", n - max);
	if (t->left_out && !json)
		buf_printf(out, "(%" PRIu64 " reports of more flows than fit are not in it)\n", t->left_out);
	for (size_t i = 0; interval && i < t->rows.len; i++)
		t->rows.items[i].now = (struct sums){ 0 };
	t->shown_ns = interval ? t->last_ns : t->shown_ns;
	return buf_error(out);
}

/* ---- as a sink ---- */

static int top_event(struct sink *s, const struct event *ev)
{
	return take(s->opts->ctx, ev);
}

const struct sink_ops flow_top_sink = {
	.name = "flow top", .summary = "tables of flows and drops", .flags = SINK_AT_CLOSE, .event = top_event,
};
