// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Numbers of fields: api/v1/observer/observer.proto and api/v1/flow/flow.proto of Cilium.
 */
#include "hubble/hubble_request.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/protobuf/protobuf_read.h"
#include "cilium/hubble.h"
#include "cilium/kdrops.h"
#include "cilium/notify.h"
#include "hubble/hubble_words.h"

#define TEXT_MAX 256u
#define CAUSE "TTL exceeded"	/* of drops of the net probe */

#define ARGS struct hubble_words *w, const char *name, const struct protobuf_field *f, struct err *err

static int wrong(const char *name, struct err *err)
{
	return err_set(err, -EINVAL, "%s: the value is not one of this field", name);
}

/* A string without a NUL of at most TEXT_MAX - 1 bytes; quotes never get past the checks of hubble_words. */
static bool get_text(const struct cursor *bytes, char ret[static TEXT_MAX])
{
	size_t len = cur_left(bytes);

	if (len >= TEXT_MAX || (len && memchr(bytes->pos, '\0', len)))
		return false;
	if (len)
		memcpy(ret, bytes->pos, len);
	ret[len] = '\0';
	return true;
}

/* ---- fields with one string ---- */

#define TEXT_FIELD(fn, ...) \
	static int fn(ARGS) \
	{ \
		char text[TEXT_MAX]; \
\
		return get_text(&f->bytes, text) ? __VA_ARGS__ : wrong(name, err); \
	}

TEXT_FIELD(add_source_ip, hubble_words_ip(w, name, "conn.src", text, err))
TEXT_FIELD(add_destination_ip, hubble_words_ip(w, name, "conn.dst", text, err))
TEXT_FIELD(add_xlated, hubble_words_ip(w, name, "nat.sip", text, err))
TEXT_FIELD(add_source_pod, hubble_words_pod(w, name, HUBBLE_SENDER, text, err))
TEXT_FIELD(add_destination_pod, hubble_words_pod(w, name, HUBBLE_RECEIVER, text, err))
TEXT_FIELD(add_source_fqdn, hubble_words_host(w, name, HUBBLE_SENDER, text, err))
TEXT_FIELD(add_destination_fqdn, hubble_words_host(w, name, HUBBLE_RECEIVER, text, err))
TEXT_FIELD(add_source_port, hubble_words_port(w, name, "conn.sport", text, err))
TEXT_FIELD(add_destination_port, hubble_words_port(w, name, "conn.dport", text, err))

/* Our flows have no layer 7: the port is not the protocol. */
static int add_protocol(ARGS)
{
	char text[TEXT_MAX];

	if (!get_text(&f->bytes, text))
		return wrong(name, err);
	if (!strcasecmp(text, "dns"))
		return err_set(err, -EINVAL, "%s dns: flows of sonde have no layer 7, use port 53", name);
	return hubble_words_protocol(w, name, text, err);
}

/* ---- numbers: one, or a packed list ---- */

static int each_number(ARGS, int (*add)(struct hubble_words *w, const char *name, uint64_t v, struct err *err))
{
	struct cursor list = f->bytes;
	int r = f->has_bytes ? 0 : add(w, name, f->value, err);

	while (r >= 0 && f->has_bytes && cur_left(&list)) {
		uint64_t v = protobuf_read_varint(&list);

		r = cur_ok(&list) ? add(w, name, v, err) : wrong(name, err);
	}
	return r;
}

#define NUMBER_FIELD(fn, add) \
	static int fn(ARGS) \
	{ \
		return each_number(w, name, f, err, add); \
	}

static int add_verdict_number(struct hubble_words *w, const char *name, uint64_t v, struct err *err)
{
	const char *verdict = hubble_verdict(v);

	return verdict ? hubble_words_verdict(w, name, verdict, err) : wrong(name, err);
}

static int add_ip_version_number(struct hubble_words *w, const char *name, uint64_t v, struct err *err)
{
	static const char *const versions[] = { "none", "4", "6" };

	return v < ARRAY_SIZE(versions) ? hubble_words_ip_version(w, name, versions[v], err) : wrong(name, err);
}

/* The same rule as that of the flow's member: set_ours() of sinks/cilium/hubble_flow.c. */
static int add_direction_number(struct hubble_words *w, const char *name, uint64_t v, struct err *err)
{
	static const char *const checks[] = {
		"not net.dir exists or not flow.is_reply exists",
		"net.dir=in and flow.is_reply=false or net.dir=out and flow.is_reply",
		"net.dir=out and flow.is_reply=false or net.dir=in and flow.is_reply",
	};

	return v < ARRAY_SIZE(checks) ? hubble_words_add(w, name, checks[v]) : wrong(name, err);
}

/* Hubble counts a drop without connection state among those that are not replies. */
static int add_reply_number(struct hubble_words *w, const char *name, uint64_t v, _unused_ struct err *err)
{
	return hubble_words_add(w, name, v ? "flow.is_reply" :
				"flow.is_reply=false or net.verdict=dropped and not flow.is_reply exists");
}

NUMBER_FIELD(add_verdict, add_verdict_number)
NUMBER_FIELD(add_ip_version, add_ip_version_number)
NUMBER_FIELD(add_direction, add_direction_number)
NUMBER_FIELD(add_reply, add_reply_number)

/* ---- drop reasons ---- */

/* Those of the kernel that have the code, as "@field in (...)"; all others for CILIUM_DROP_OTHER. */
static void put_reasons(const char *field, uint8_t code, struct buf *out)
{
	bool other = code == CILIUM_DROP_OTHER, found = false;

	for (size_t i = 0; i < n_kdrop_rows; i++) {
		if (!other && kdrop_rows[i].code != code)
			continue;
		if (found)
			buf_add_str(out, ", ");
		else
			buf_printf(out, "%s%s in (", other ? "not " : "", field);
		buf_add_str(out, kdrop_rows[i].name);
		found = true;
	}
	buf_add_str(out, found ? ")" : "not evt.type exists");
}

/* A cause has precedence over the reason: sinks/cilium/cilium_map.h. */
static void put_code(const char *reason, const char *cause, uint8_t code, struct buf *out)
{
	buf_printf(out, "not %s exists and ", cause);
	put_reasons(reason, code, out);
	if (code == cilium_kdrops_code_of_text(CAUSE, strlen(CAUSE)))
		buf_printf(out, " or %s='" CAUSE "'", cause);
}

static int add_code(struct hubble_words *w, const char *name, uint64_t v, struct err *err)
{
	_cleanup_(buf_fini) struct buf check = { 0 };

	if (v > UINT8_MAX)
		return wrong(name, err);
	buf_add_str(&check, "evt.type=net.drop and (");
	put_code("drop.reason", "drop.cause", (uint8_t)v, &check);
	buf_add_str(&check, ") or evt.type=net.flow and net.verdict=dropped and (");
	put_code("flow.drop_reason", "flow.drop_cause", (uint8_t)v, &check);
	buf_add_str(&check, ")");
	return buf_error(&check) ? -ENOMEM : hubble_words_add(w, name, buf_str(&check));
}

NUMBER_FIELD(add_drop_reason, add_code)

/* ---- messages ---- */

/* EventTypeFilter { type = 1, match_sub_type = 2, sub_type = 3 }; sub-types of drops are codes, of traces points. */
static int put_event_type(uint64_t type, uint64_t sub, bool has_sub, const char *name, struct buf *out,
			  struct err *err)
{
	static const struct { uint64_t type; const char *check; } types[] = {
		{ 0, "evt.type exists" }, { CILIUM_DROP, "evt.type=net.drop" },
		{ CILIUM_CAPTURE, "evt.type=net.capture" }, { CILIUM_TRACE, "evt.type in (net.flow, net.trace)" },
		{ CILIUM_POLICY, "evt.type=net.policy-verdict" }, { CILIUM_SOCK, "evt.type=net.trace-sock" },
	};
	size_t i = 0;

	while (i < ARRAY_SIZE(types) && types[i].type != type)
		i++;
	if (i == ARRAY_SIZE(types))
		return err_set(err, -EINVAL, "%s: flows of sonde have no type %" PRIu64, name, type);
	buf_add_str(out, types[i].check);
	if (!has_sub)
		return 0;
	if (type == CILIUM_DROP && sub <= UINT8_MAX) {
		buf_add_str(out, " and (");
		put_code("drop.reason", "drop.cause", (uint8_t)sub, out);
		buf_add_char(out, ')');
	} else if (type == CILIUM_TRACE && sub <= UINT8_MAX) {
		/* a missing member reads as 0 */
		buf_printf(out, sub ? " and net.point=%u" : " and (net.point=%u or not net.point exists)",
			   (unsigned)sub);
	} else {
		return err_set(err, -EINVAL, "%s: sub-types go with traces and drops only", name);
	}
	return 0;
}

static int add_event_type(ARGS)
{
	_cleanup_(buf_fini) struct buf check = { 0 };
	struct cursor c = f->bytes;
	struct protobuf_field m;
	uint64_t v[4] = { 0 };
	int r;

	while (protobuf_read(&c, &m))
		if (m.number < ARRAY_SIZE(v))
			v[m.number] = m.value;
	if (!cur_ok(&c))
		return wrong(name, err);
	r = put_event_type(v[1], v[3], v[2], name, &check, err);
	return r < 0 ? r : buf_error(&check) ? -ENOMEM : hubble_words_add(w, name, buf_str(&check));
}

/* TCPFlags: FIN is member 1, and so on; all that are set must be. */
static int add_tcp_flags(ARGS)
{
	static const char *const flags[] = { NULL, "FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR" };
	struct cursor c = f->bytes;
	struct protobuf_field m;
	char list[64] = "";
	bool is[ARRAY_SIZE(flags)] = { false };

	while (protobuf_read(&c, &m)) {
		if (m.number >= ARRAY_SIZE(flags))
			return err_set(err, -EINVAL, "%s: flows of sonde know no flag %" PRIu64, name, m.number);
		is[m.number] = m.value;
	}
	for (size_t i = 1; i < ARRAY_SIZE(flags); i++)
		if (is[i])
			snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%s", *list ? "," : "",
				 flags[i]);
	if (!cur_ok(&c))
		return wrong(name, err);
	return *list ? hubble_words_tcp_flags(w, name, list, err) : hubble_words_add(w, name, "tcp.flags exists");
}

/* NetworkInterface { index = 1, name = 2 } */
static int add_interface(ARGS)
{
	struct cursor c = f->bytes;
	struct protobuf_field m;
	char text[TEXT_MAX] = "", check[TEXT_MAX + 64];
	uint64_t index = 0;

	while (protobuf_read(&c, &m)) {
		if (m.number == 2 && !get_text(&m.bytes, text))
			return wrong(name, err);
		index = m.number == 1 ? m.value : index;
	}
	if (!cur_ok(&c) || index > UINT32_MAX || (*text && !hubble_words_is_name(text, false)))
		return wrong(name, err);
	snprintf(check, sizeof(check), "net.iface exists");
	if (index)
		snprintf(check, sizeof(check), "net.iface=%" PRIu64, index);
	if (*text)
		snprintf(check + (index ? strlen(check) : 0), sizeof(check) - (index ? strlen(check) : 0),
			 "%snet.iface='%s'", index ? " and " : "", text);
	return hubble_words_add(w, name, check);
}

/* Workload { name = 1, kind = 2 }: the process of an end is one. */
static int add_workload(struct hubble_words *w, const char *name, enum hubble_end_of end,
			const struct protobuf_field *f, struct err *err)
{
	char of[TEXT_MAX] = "", kind[TEXT_MAX] = "";
	struct cursor c = f->bytes;
	struct protobuf_field m;

	while (protobuf_read(&c, &m))
		if ((m.number == 1 && !get_text(&m.bytes, of)) || (m.number == 2 && !get_text(&m.bytes, kind)))
			return wrong(name, err);
	if (!cur_ok(&c))
		return wrong(name, err);
	if (*kind && strcmp(kind, "Process") != 0)
		return err_set(err, -EINVAL, "%s: workloads of sonde's flows have the kind Process", name);
	return hubble_words_local(w, name, "proc.name", end, *of ? of : NULL, err);
}

static int add_source_workload(ARGS)
{
	return add_workload(w, name, HUBBLE_SENDER, f, err);
}

static int add_destination_workload(ARGS)
{
	return add_workload(w, name, HUBBLE_RECEIVER, f, err);
}

/* ---- FlowFilter ---- */

/* Rows without a function have no counterpart. */
static const struct filter_row { const char *name; int (*add)(ARGS); } rows[] = {
	[1] = { "source_ip", add_source_ip }, [2] = { "source_pod", add_source_pod },
	[3] = { "destination_ip", add_destination_ip }, [4] = { "destination_pod", add_destination_pod },
	[5] = { "verdict", add_verdict }, [6] = { "event_type", add_event_type },
	[7] = { "source_fqdn", add_source_fqdn }, [8] = { "destination_fqdn", add_destination_fqdn },
	[9] = { "http_status_code", NULL }, [10] = { "source_label", NULL }, [11] = { "destination_label", NULL },
	[12] = { "protocol", add_protocol }, [13] = { "source_port", add_source_port },
	[14] = { "destination_port", add_destination_port }, [15] = { "reply", add_reply },
	[16] = { "source_service", NULL }, [17] = { "destination_service", NULL }, [18] = { "dns_query", NULL },
	[19] = { "source_identity", NULL }, [20] = { "destination_identity", NULL }, [21] = { "http_method", NULL },
	[22] = { "http_path", NULL }, [23] = { "tcp_flags", add_tcp_flags }, [24] = { "node_name", NULL },
	[25] = { "ip_version", add_ip_version }, [26] = { "source_workload", add_source_workload },
	[27] = { "destination_workload", add_destination_workload }, [28] = { "trace_id", NULL },
	[29] = { "uuid", NULL }, [30] = { "traffic_direction", add_direction }, [31] = { "http_url", NULL },
	[32] = { "http_header", NULL }, [33] = { "drop_reason_desc", add_drop_reason },
	[34] = { "source_ip_xlated", add_xlated }, [35] = { "interface", add_interface },
	[36] = { "node_labels", NULL }, [37] = { "source_cluster_name", NULL },
	[38] = { "destination_cluster_name", NULL }, [39] = { "ip_trace_id", NULL }, [40] = { "encrypted", NULL },
};

static int add_field(struct hubble_words *w, const struct protobuf_field *f, struct err *err)
{
	const struct filter_row *row = f->number < ARRAY_SIZE(rows) ? &rows[f->number] : NULL;

	if (row && row->add)
		return row->add(w, row->name, f, err);
	if (row && row->name)
		return err_set(err, -EINVAL, "flows of sonde have nothing that the filter %s could look at",
			       row->name);
	return err_set(err, -EINVAL, "the filter has a field that sonde does not know: %s number %" PRIu64,
		       f->number == 999 ? "experimental," : "", f->number);
}

static int put_filter(struct cursor c, struct buf *out, struct err *err)
{
	_cleanup_(hubble_words_fini) struct hubble_words words = { 0 };
	struct protobuf_field f;
	int r = 0;

	while (r >= 0 && protobuf_read(&c, &f))
		r = add_field(&words, &f, err);
	if (r >= 0 && !cur_ok(&c))
		return err_set(err, -EINVAL, "a filter is not a FlowFilter");
	if (r >= 0 && !words.parts.len)
		buf_add_str(out, "evt.type exists");
	hubble_words_put(&words, out);
	return r;
}

/* ---- GetFlowsRequest ---- */

enum { BLACK, WHITE, LISTS };

/* Appends a FlowFilter to a list of alternatives. */
static int add_filter(struct buf *list, struct cursor bytes, struct err *err)
{
	int r;

	buf_add_str(list, list->len ? " or (" : "(");
	r = put_filter(bytes, list, err);
	buf_add_char(list, ')');
	return r;
}

/* Timestamp { seconds = 1, nanos = 2 }; a time before 1970 is the first ns of it. */
static uint64_t get_time(struct cursor c)
{
	struct protobuf_field f;
	uint64_t s = 0, ns = 0;

	while (protobuf_read(&c, &f)) {
		s = f.number == 1 ? f.value : s;
		ns = f.number == 2 ? f.value : ns;
	}
	if (s > INT64_MAX)
		return 1;
	return s >= UINT64_MAX / NS_PER_S ? UINT64_MAX : MAX(s * NS_PER_S + MIN(ns, NS_PER_S - 1), 1ull);
}

static void join_lists(const struct buf lists[static LISTS], struct buf *out)
{
	const struct buf *black = &lists[BLACK], *white = &lists[WHITE];

	if (white->len)
		buf_printf(out, "(%.*s)", (int)white->len, white->data);
	if (black->len)
		buf_printf(out, "%snot (%.*s)", white->len ? " and " : "", (int)black->len, black->data);
	for (size_t i = 0; i < LISTS; i++)
		out->error = out->error ? out->error : buf_error(&lists[i]);
}

static int parse(struct cursor c, struct hubble_request *q, struct buf lists[static LISTS], struct err *err)
{
	struct protobuf_field f;
	unsigned filters = 0;
	int r = 0;

	while (r >= 0 && protobuf_read(&c, &f)) {
		switch (f.number) {
		case 1: q->number = f.value; break;
		case 3: q->follow = f.value; break;
		case 5:
		case 6:
			if (++filters > HUBBLE_REQUEST_FILTERS)
				return err_set(err, -EINVAL, "a request may have %u filters",
					       HUBBLE_REQUEST_FILTERS);
			r = add_filter(&lists[f.number == 6 ? WHITE : BLACK], f.bytes, err);
			break;
		case 7: q->since_ns = get_time(f.bytes); break;
		case 8: q->until_ns = get_time(f.bytes); break;
		case 9: q->first = f.value; break;
		default: break;	/* a later release's, or a field mask: we send all members */
		}
	}
	return r < 0 ? r : cur_ok(&c) ? 0 : err_set(err, -EINVAL, "the message is not a GetFlowsRequest");
}

int hubble_request_parse(const void *message, size_t len, struct hubble_request *ret, struct err *err)
{
	struct hubble_request q = { 0 };
	struct buf lists[LISTS] = { 0 };
	int r = parse(cur_init(message, len), &q, lists, err);

	if (r >= 0 && q.first && q.follow)
		r = err_set(err, -EINVAL, "first and follow exclude each other");
	if (r >= 0) {
		join_lists(lists, &q.where);
		r = buf_error(&q.where);
	}
	if (r == -ENOMEM)
		err_errno(err, r, "cannot put the filter together");
	for (size_t i = 0; i < LISTS; i++)
		buf_fini(&lists[i]);
	if (r < 0)
		hubble_request_fini(&q);
	else
		*ret = q;
	return r;
}

void hubble_request_fini(struct hubble_request *q)
{
	buf_fini(&q->where);
}
