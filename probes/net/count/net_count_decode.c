// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counter records to net.count events, and their fields and text. A report is a table: its first row prints the
 * header too. Pure.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/str.h"
#include "event/decode.h"
#include "event/event.h"
#include "event/names.h"
#include "probes/net/count/net_count_wire.h"
#include "probes/net/net_event.h"
#include "probes/net/policy/net_policy_wire.h"
#include "probes/net/net_text.h"
#include "probes/net/net_wire.h"
#include "sonde/foreign_wire.h"

static const struct xlat_val kind_vals[] = {
	{ NET_COUNT_PASS, "pass" }, { NET_COUNT_DROP, "drop" }, { NET_COUNT_XDP, "xdp" }, { NET_COUNT_REST, "rest" },
	{ NET_COUNT_FORWARD, "forward" }, { NET_COUNT_DROPPED, "dropped" }, { NET_COUNT_POLICY, "policy" },
	{ NET_COUNT_REFUSED, "refused" },
};
_Static_assert(ARRAY_SIZE(kind_vals) == NET_COUNT__MAX - 1, "each kind has a name");
static const struct xlat kind_xlat = { .name = "count_kind", .vals = kind_vals, .n = ARRAY_SIZE(kind_vals) };

static const struct xlat_val verdict_vals[] = {
	{ NET_COUNT_ALLOW, "allow" }, { NET_COUNT_AUDIT, "audit" },
};
_Static_assert(ARRAY_SIZE(verdict_vals) == NET_COUNT_VERDICT__MAX - 1, "each verdict has a name");
static const struct xlat verdict_xlat = {
	.name = "count_verdict", .vals = verdict_vals, .n = ARRAY_SIZE(verdict_vals),
};

static const struct xlat_val way_vals[] = {
	{ NET_DIR_IN, "in" }, { NET_DIR_OUT, "out" }, { NET_COUNT_DIR_SERVICE, "service" },
};
static const struct xlat way_xlat = { .name = "count_dir", .vals = way_vals, .n = ARRAY_SIZE(way_vals) };

/* ---- decode ---- */

int net_count_decode(const struct sonde_rec *rec, struct event *ev, const struct emitter *em)
{
	struct net_count_event *b;
	struct net_count_rec r;

	if (!decode_fixed(rec, &r, sizeof(r)))
		return -EBADMSG;
	b = event_decode_new_body(ev, em);
	if (!b)
		return -ENOMEM;
	*b = (struct net_count_event){
		.location = r.key.location, .packets = r.since.packets, .bytes = r.since.bytes,
		.total_packets = r.total.packets, .total_bytes = r.total.bytes, .interval_ns = r.interval_ns,
		.ifindex = r.key.ifindex, .reason = r.key.reason, .row = r.row, .line = r.line,
		.kind = r.key.kind, .dir = r.key.dir, .point = r.key.point, .file = r.file,
		.verdict = r.key.verdict,
	};
	if (r.key.kind == NET_COUNT_POLICY) {
		b->line = r.key.reason;
		b->file = r.file ? r.file : NET_POLICY_FILE;
	}
	ev->keys.netns = r.key.netns;
	return em->emit(em->ctx, ev);
}

/* ---- values ---- */

enum { GET_REASON, GET_POINT, GET_FUNC, GET_FILE };

/* NULL: print the number. */
static const char *reason_name(const struct event *ev)
{
	const struct net_count_event *b = ev->body;

	if (b->kind == NET_COUNT_REST)
		return xlat_name(&kind_xlat, b->reason);
	if (b->kind == NET_COUNT_POLICY)
		return event_names_get(ev->names, SONDE_NAME_POLICY_RULE, b->location << 32 | b->reason);
	if (b->kind == NET_COUNT_REFUSED)
		return xlat_name(&net_refused_xlat, b->reason);
	return event_names_get(ev->names, b->kind == NET_COUNT_XDP ? SONDE_NAME_XDP_ACTION : SONDE_NAME_DROP_REASON,
			       b->reason);
}

static int get_reason(const struct event *ev, struct value *ret)
{
	const struct net_count_event *b = ev->body;
	const char *name = reason_name(ev);

	if (b->kind == NET_COUNT_PASS)
		return -ENOENT;
	if (name)
		return value_set_text(ret, name);
	if (b->kind < NET_COUNT_FORWARD || b->kind == NET_COUNT_REFUSED)
		return value_set_uint(ret, b->reason);
	return value_set_uint(ret, b->reason & ~SONDE_FOREIGN_REASON);
}

static int get_func(const struct event *ev, struct value *ret)
{
	const struct net_count_event *b = ev->body;
	const char *name = b->location ? event_names_get(ev->names, SONDE_NAME_KSYM, b->location) : NULL;

	if (!b->location || b->kind == NET_COUNT_POLICY)
		return -ENOENT;
	if (name)
		return value_set_chars(ret, name, strcspn(name, "+"));
	*ret = (struct value){ .kind = VAL_UINT, .u = b->location, .hex = true };
	return 0;
}

static int count_get(const struct event *ev, const struct field *f, struct value *ret)
{
	const struct net_count_event *b = ev->body;
	const char *name = NULL;

	switch (f->off) {
	case GET_REASON: return get_reason(ev, ret);
	case GET_FUNC: return get_func(ev, ret);
	case GET_POINT:
		name = b->point == NET_POINT_NONE ? NULL : xlat_name(&net_point_xlat, b->point);
		break;
	case GET_FILE:
		name = b->file ? event_names_get(ev->names, SONDE_NAME_SOURCE_FILE, b->file) : NULL;
		if (b->file && !name)
			return value_set_uint(ret, b->file);
		break;
	}
	return value_set_text(ret, name);
}

#define ROW(member, name_, kind_, doc_, ...) \
	FIELD_ROW(struct net_count_event, member, name_, kind_, doc_, ##__VA_ARGS__)
#define GET_ROW(word_, name_, doc_) \
	{ .name = (name_), .kind = FIELD_GET, .off = (word_), .like = FIELD_LIKE(FIELD_STR), .doc = (doc_), \
	  .flags = FIELD_LABEL | FIELD_OPEN }

static const struct field count_fields[] = {
	ROW(kind, "count.kind", FIELD_ENUM,
	    "pass, drop, xdp, refused, rest (the table was full); of another datapath "
	    "forward, dropped",
	    .xlat = &kind_xlat, .flags = FIELD_LABEL),
	GET_ROW(GET_REASON, "count.reason", "drop reason, or a point of another datapath's own"),
	ROW(dir, "count.dir", FIELD_ENUM, "direction at the interface", .xlat = &way_xlat,
	    .flags = FIELD_OPTIONAL | FIELD_LABEL),
	GET_ROW(GET_POINT, "count.point", "observation point"),
	ROW(verdict, "count.verdict", FIELD_ENUM, "verdict of a rule: allow, deny, audit (reported and passed)",
	    .xlat = &verdict_xlat, .flags = FIELD_OPTIONAL | FIELD_LABEL),
	ROW(ifindex, "net.iface", FIELD_IFACE, "interface", .flags = FIELD_OPTIONAL | FIELD_LABEL),
	GET_ROW(GET_FUNC, "count.func", "kernel function that dropped it"),
	ROW(location, "count.location", FIELD_NAME, "where in that function", .space = SONDE_NAME_KSYM,
	    .flags = FIELD_OPTIONAL | FIELD_LABEL),
	GET_ROW(GET_FILE, "count.file", "source file of another datapath's program, or rule file"),
	ROW(line, "count.line", FIELD_UINT, "line in that file", .flags = FIELD_OPTIONAL | FIELD_LABEL),
	ROW(packets, "count.packets", FIELD_UINT, "packets since the last report"),
	ROW(bytes, "count.bytes", FIELD_UINT, "their bytes, including the link header"),
	ROW(interval_ns, "count.interval", FIELD_NS, "since the last report, or the start"),
	ROW(total_packets, "count.total_packets", FIELD_UINT, "packets since the start", .flags = FIELD_TOTAL),
	ROW(total_bytes, "count.total_bytes", FIELD_UINT, "bytes since the start", .flags = FIELD_TOTAL),
};

/* ---- text ---- */

/* Pads to @width, by the printed length. */
static void put_cell(struct buf *out, const char *text, size_t len, size_t width)
{
	size_t from = out->len;

	str_escape_buf(out, text, len);
	while (!buf_error(out) && out->len - from < width)
		buf_add_char(out, ' ');
	buf_add_char(out, ' ');
}

static void put_reason(const struct event *ev, struct buf *out)
{
	struct value v;
	char number[24];

	if (get_reason(ev, &v) < 0) {
		put_cell(out, "-", 1, 22);
	} else if (v.kind == VAL_STR) {
		put_cell(out, v.str, v.len, 22);
	} else {
		snprintf(number, sizeof(number), "%" PRIu64, v.u);
		put_cell(out, number, strlen(number), 22);
	}
}

static void put_word(const char *word, size_t width, struct buf *out)
{
	put_cell(out, word ? word : "-", word ? strlen(word) : 1, width);
}

/* "rules.conf:12"; the file alone for the built-in default, which has no line. */
static void put_rule_place(const struct event *ev, struct buf *out)
{
	const struct net_count_event *b = ev->body;
	const char *name = event_names_get(ev->names, SONDE_NAME_SOURCE_FILE, b->file);

	str_escape_buf(out, name ? name : "-", name ? strlen(name) : 1);
	if (b->line)
		buf_printf(out, ":%u", b->line);
	buf_add_char(out, '\n');
}

static void put_place(const struct event *ev, const struct line_opts *o, struct buf *out)
{
	const struct net_count_event *b = ev->body;
	const char *name;

	if (b->kind == NET_COUNT_POLICY) {
		put_rule_place(ev, out);
		return;
	}
	name = o->numeric ? NULL
			  : event_names_get(ev->names, b->file ? SONDE_NAME_SOURCE_FILE : SONDE_NAME_KSYM,
					    b->file ? b->file : b->location);

	if (name)
		str_escape_buf(out, name, strlen(name));
	else if (b->file)
		buf_printf(out, "file %u", b->file);
	else if (b->location)
		buf_printf(out, "0x%" PRIx64, b->location);
	else
		buf_add_char(out, '-');
	if (b->line)
		buf_printf(out, ":%u", b->line);
	buf_add_char(out, '\n');
}

static int count_line(const struct event *ev, const struct line_opts *o, struct buf *out)
{
	const struct net_count_event *b = ev->body;
	size_t from;

	if (!b->row)
		buf_printf(out, "%-8s%-23s%-8s%-14s%-16s%12s %15s  %s\n", "KIND", "REASON", "DIR", "POINT",
			   "INTERFACE", "PACKETS", "BYTES", "PLACE");
	put_word(xlat_name(&kind_xlat, b->kind), 7, out);
	put_reason(ev, out);
	put_word(xlat_name(&way_xlat, b->dir), 7, out);
	put_word(b->verdict ? xlat_name(&verdict_xlat, b->verdict) :
		 b->point == NET_POINT_NONE ? NULL : xlat_name(&net_point_xlat, b->point), 13, out);
	from = out->len;
	net_text_put_iface(ev, b->ifindex, out);
	while (!buf_error(out) && out->len - from < 16)
		buf_add_char(out, ' ');
	buf_printf(out, "%12" PRIu64 " %15" PRIu64 "  ", b->packets, b->bytes);
	put_place(ev, o, out);
	return buf_error(out);
}

const struct event_desc net_count_desc = {
	.type = NET_EV_COUNT,
	.name = "net.count",
	.doc = "sums of packets and bytes",
	.class = EVENT_DATA,
	.aggregate = true,
	.table = true,
	.fields = count_fields,
	.n_fields = ARRAY_SIZE(count_fields),
	.body_size = sizeof(struct net_count_event),
	.get = count_get,
	.line = count_line,
};
