// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * flow.proto in protobuf's JSON mapping (proto3): member names as in the .proto file, zero and empty members omitted,
 * 64-bit numbers as strings, wrapped values bare.
 */
#include "sinks/cilium/hubble_flow.h"

#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "cilium/hubble.h"
#include "event/json.h"
#include "event/names.h"
#include "sonde/wire.h"

static void put_text(struct json *j, const char *key, const char *text)
{
	if (text && *text)
		json_put_text(j, key, text);
}

static void put_number(struct json *j, const char *key, uint64_t v)
{
	if (v)
		json_put_u64(j, key, v);
}

static void put_64(struct json *j, const char *key, uint64_t v)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRIu64, v);
	if (v)
		put_text(j, key, text);
}

static void put_true(struct json *j, const char *key, bool v)
{
	if (v)
		json_put_bool(j, key, true);
}

/* Members of both a flow and its enclosing object. */
static void put_where(struct json *j, struct time_text *time, const struct event *ev, const char *node)
{
	put_text(j, "node_name", node);
	if (!ev->clock_offset_ns)
		return;
	json_key(j, "time");
	buf_add_char(j->out, '"');
	time_text_rfc3339_utc(time, ev, j->out);
	buf_add_char(j->out, '"');
	j->comma = true;
}

/* ---- layers ---- */

static void put_mac(struct json *j, const char *key, const uint8_t mac[6])
{
	char text[18];

	snprintf(text, sizeof(text), "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
	put_text(j, key, text);
}

static void put_address(struct json *j, const char *key, const struct ipaddr *ip)
{
	_cleanup_(buf_fini) struct buf text = { 0 };

	if (!ip->family)
		return;
	ipaddr_text(ip, &text);
	json_put_str(j, key, text.data, text.len);
}

static void put_layers(struct json *j, const struct hubble_flow *f)
{
	uint8_t family = f->conn.saddr.family ? f->conn.saddr.family : f->conn.daddr.family;

	if (f->has_mac) {
		json_put_open(j, "ethernet", '{');
		put_mac(j, "source", f->smac);
		put_mac(j, "destination", f->dmac);
		json_close(j, '}');
	}
	if (!family)
		return;
	json_put_open(j, "IP", '{');
	put_address(j, "source", &f->conn.saddr);
	put_address(j, "source_xlated", &f->xlated);
	put_address(j, "destination", &f->conn.daddr);
	put_text(j, "ipVersion", family == SONDE_IPV4 ? "IPv4" : "IPv6");
	put_true(j, "encrypted", f->encrypted);
	json_close(j, '}');
}

static void put_flags(struct json *j, uint8_t flags)
{
	static const char *const names[] = { "FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR" };

	json_put_open(j, "flags", '{');
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		put_true(j, names[i], flags & 1u << i);
	json_close(j, '}');
}

static const char *l4_name(uint8_t proto)
{
	switch (proto) {
	case IPPROTO_ICMP: return "ICMPv4";
	case IPPROTO_TCP: return "TCP";
	case IPPROTO_UDP: return "UDP";
	case IPPROTO_ICMPV6: return "ICMPv6";
	case IPPROTO_SCTP: return "SCTP";
	default: return NULL;
	}
}

static void put_l4(struct json *j, const struct hubble_flow *f)
{
	const char *name = l4_name(f->conn.proto);
	bool icmp = f->conn.proto == IPPROTO_ICMP || f->conn.proto == IPPROTO_ICMPV6;

	if (!name)
		return;
	json_put_open(j, "l4", '{');
	json_put_open(j, name, '{');
	put_number(j, icmp ? "type" : "source_port", icmp ? f->icmp_type : f->conn.sport);
	put_number(j, icmp ? "code" : "destination_port", icmp ? f->icmp_code : f->conn.dport);
	if (f->conn.proto == IPPROTO_TCP && f->tcp_flags)
		put_flags(j, f->tcp_flags);
	json_close(j, '}');
	json_close(j, '}');
}

/* ---- endpoints ---- */

static void put_labels(struct json *j, const struct event *ev, const struct hubble_end *e)
{
	_cleanup_(buf_fini) struct buf labels = { 0 };
	const char *label;

	hubble_flow_labels(ev, e, &labels);
	if (!labels.len || buf_error(&labels))
		return;
	json_put_open(j, "labels", '[');
	for (label = labels.data; label < labels.data + labels.len; label += strlen(label) + 1)
		json_str(j, label, strlen(label));
	json_close(j, ']');
}

/* Writes the process of the local end as a workload of this kind. */
static void put_workload(struct json *j, const struct event *ev, const struct hubble_end *e)
{
	const char *comm;
	size_t len;

	if (!hubble_flow_comm(ev, e, &comm, &len))
		return;
	json_put_open(j, "workloads", '[');
	json_open(j, '{');
	json_put_str(j, "name", comm, len);
	put_text(j, "kind", HUBBLE_WORKLOAD);
	json_close(j, '}');
	json_close(j, ']');
}

static void put_end(struct json *j, const char *key, const struct event *ev, const struct hubble_end *e)
{
	if (!hubble_flow_end_is_known(e))
		return;
	json_put_open(j, key, '{');
	put_number(j, "ID", e->id);
	put_number(j, "identity", e->identity);
	put_text(j, "namespace", hubble_flow_pod(ev, e, SONDE_NAME_POD_NAMESPACE));
	put_labels(j, ev, e);
	put_text(j, "pod_name", hubble_flow_pod(ev, e, SONDE_NAME_POD));
	put_workload(j, ev, e);
	json_close(j, '}');
}

static void put_name(struct json *j, const char *key, const struct value *v)
{
	if (v->kind != VAL_STR)
		return;
	json_put_open(j, key, '[');
	json_str(j, v->str, v->len);
	json_close(j, ']');
}

/* ---- other members ---- */

static void put_event_type(struct json *j, const struct hubble_flow *f)
{
	json_put_open(j, "event_type", '{');
	put_number(j, "type", f->event_type);
	if (f->knows_sub_type)
		put_number(j, "sub_type", f->sub_type);
	json_close(j, '}');
}

static void put_drop(struct json *j, const struct hubble_flow *f)
{
	const char *name = hubble_drop_reason(f->drop_code);

	if (!f->drop_code)
		return;
	if (name)
		put_text(j, "drop_reason_desc", name);
	else
		put_number(j, "drop_reason_desc", f->drop_code);
}

static void put_interface(struct json *j, const struct event *ev, uint32_t ifindex)
{
	const char *name = event_names_get(ev->names, SONDE_NAME_IFACE, names_iface_key(ev->keys.netns, ifindex));

	if (!ifindex)
		return;
	json_put_open(j, "interface", '{');
	put_number(j, "index", ifindex);
	put_text(j, "name", name);
	json_close(j, '}');
}

static void put_summary(struct json *j, const struct hubble_flow *f)
{
	_cleanup_(buf_fini) struct buf text = { 0 };

	hubble_flow_summary(&text, f);
	if (!text.len)
		return;
	json_put_str(j, "Summary", text.data, text.len);
}

static void put_flow(struct json *j, struct time_text *time, const struct event *ev, const struct hubble_flow *f,
		     const char *node)
{
	static const char *const directions[] = { NULL, "INGRESS", "EGRESS" };

	put_where(j, time, ev, node);
	put_text(j, "verdict", f->verdict);
	put_number(j, "drop_reason", f->drop_code);
	put_layers(j, f);
	put_l4(j, f);
	put_end(j, "source", ev, &f->src);
	put_end(j, "destination", ev, &f->dst);
	put_text(j, "Type", f->type);
	put_name(j, "source_names", &f->src.name);
	put_name(j, "destination_names", &f->dst.name);
	put_event_type(j, f);
	put_text(j, "traffic_direction", f->direction < ARRAY_SIZE(directions) ? directions[f->direction] : NULL);
	put_number(j, "policy_match_type", f->policy_match);
	put_text(j, "trace_observation_point", f->point);
	put_drop(j, f);
	if (f->knows_reply)
		json_put_bool(j, "is_reply", f->is_reply);
	put_text(j, "debug_capture_point", f->capture_point);
	put_interface(j, ev, f->ifindex);
	put_number(j, "proxy_port", f->proxy_port);
	put_text(j, "sock_xlate_point", f->sock_point);
	put_64(j, "socket_cookie", f->cookie);
	put_64(j, "cgroup_id", f->cgroup_id);
	put_text(j, "trace_reason", f->trace_reason);
	put_summary(j, f);
}

/* ---- responses ---- */

static void put_lost(struct json *j, uint64_t lost, int64_t cpu)
{
	char text[24];

	json_put_open(j, "lost_events", '{');
	put_text(j, "source", "PERF_EVENT_RING_BUFFER");
	json_put_str(j, "num_events_lost", text, (size_t)snprintf(text, sizeof(text), "%" PRIu64, lost));
	json_put_i64(j, "cpu", cpu);
	json_close(j, '}');
}

void hubble_put_response(struct buf *out, struct time_text *time, const struct event *ev, const struct hubble_flow *f,
			 uint64_t lost, int64_t cpu, const char *node)
{
	struct json j = { .out = out };

	json_open(&j, '{');
	if (f) {
		json_put_open(&j, "flow", '{');
		put_flow(&j, time, ev, f, node);
		json_close(&j, '}');
	} else {
		put_lost(&j, lost, cpu);
	}
	put_where(&j, time, ev, node);
	json_close(&j, '}');
	buf_add_char(out, '\n');
}
