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

#define CONTAINER_SHORT 12	/* digits of an id that container engines print */

static void put_text(struct json *j, const char *key, const char *text)
{
	if (!text || !*text)
		return;
	json_key(j, key);
	json_str(j, text, strlen(text));
}

static void put_number(struct json *j, const char *key, uint64_t v)
{
	if (!v)
		return;
	json_key(j, key);
	json_u64(j, v);
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
	if (!v)
		return;
	json_key(j, key);
	json_bool(j, true);
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
	json_key(j, key);
	json_str(j, text.data, text.len);
}

static void put_layers(struct json *j, const struct hubble_flow *f)
{
	uint8_t family = f->conn.saddr.family ? f->conn.saddr.family : f->conn.daddr.family;

	if (f->has_mac) {
		json_key(j, "ethernet");
		json_open(j, '{');
		put_mac(j, "source", f->smac);
		put_mac(j, "destination", f->dmac);
		json_close(j, '}');
	}
	if (!family)
		return;
	json_key(j, "IP");
	json_open(j, '{');
	put_address(j, "source", &f->conn.saddr);
	put_address(j, "source_xlated", &f->xlated);
	put_address(j, "destination", &f->conn.daddr);
	put_text(j, "ipVersion", family == 4 ? "IPv4" : "IPv6");
	put_true(j, "encrypted", f->encrypted);
	json_close(j, '}');
}

static void put_flags(struct json *j, uint8_t flags)
{
	static const char *const names[] = { "FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR" };

	json_key(j, "flags");
	json_open(j, '{');
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
	json_key(j, "l4");
	json_open(j, '{');
	json_key(j, name);
	json_open(j, '{');
	put_number(j, icmp ? "type" : "source_port", icmp ? f->icmp_type : f->conn.sport);
	put_number(j, icmp ? "code" : "destination_port", icmp ? f->icmp_code : f->conn.dport);
	if (f->conn.proto == IPPROTO_TCP && f->tcp_flags)
		put_flags(j, f->tcp_flags);
	json_close(j, '}');
	json_close(j, '}');
}

/* ---- endpoints ---- */

static const char *reserved_label(uint32_t identity)
{
	static const char *const labels[] = {
		[1] = "reserved:host", [2] = "reserved:world", [3] = "reserved:unmanaged", [4] = "reserved:health",
		[5] = "reserved:init", [6] = "reserved:remote-node", [7] = "reserved:kube-apiserver",
		[8] = "reserved:ingress", [9] = "reserved:world-ipv4", [10] = "reserved:world-ipv6",
	};

	return identity < ARRAY_SIZE(labels) ? labels[identity] : NULL;
}

/* A string of the event's process; false if unknown. */
static bool proc_text(const struct event *ev, struct sec_str str, const char **ret, size_t *ret_len)
{
	*ret = event_sec_proc_str(event_proc(ev), event_section(ev, SEC_PROC), str, ret_len);
	return *ret && *ret_len;
}

static void put_labels(struct json *j, const struct event *ev, const struct hubble_end *e)
{
	const struct sec_proc *p = e->local ? event_proc(ev) : NULL;
	const char *reserved = reserved_label(e->identity), *text;
	_cleanup_(buf_fini) struct buf label = { 0 };
	size_t len;

	if (!reserved && !(p && p->container.len))
		return;
	json_key(j, "labels");
	json_open(j, '[');
	if (reserved)
		json_str(j, reserved, strlen(reserved));
	if (p && proc_text(ev, p->container, &text, &len)) {
		buf_printf(&label, "container:id=%.*s", (int)MIN(len, (size_t)CONTAINER_SHORT), text);
		json_str(j, label.data, label.len);
	}
	if (p && proc_text(ev, p->image, &text, &len)) {
		buf_reset(&label);
		buf_printf(&label, "container:image=%.*s", (int)len, text);
		json_str(j, label.data, label.len);
	}
	json_close(j, ']');
}

/* Writes the process of the local end as a workload of this kind. */
static void put_workload(struct json *j, const struct event *ev, const struct hubble_end *e)
{
	const struct sec_proc *p = e->local ? event_proc(ev) : NULL;
	const char *comm;
	size_t len;

	if (!p || !proc_text(ev, p->comm, &comm, &len))
		return;
	json_key(j, "workloads");
	json_open(j, '[');
	json_open(j, '{');
	json_key(j, "name");
	json_str(j, comm, len);
	put_text(j, "kind", "Process");
	json_close(j, '}');
	json_close(j, ']');
}

static void put_end(struct json *j, const char *key, const struct event *ev, const struct hubble_end *e)
{
	if (!e->id && !e->identity && !e->local)
		return;
	json_key(j, key);
	json_open(j, '{');
	put_number(j, "ID", e->id);
	put_number(j, "identity", e->identity);
	put_labels(j, ev, e);
	put_workload(j, ev, e);
	json_close(j, '}');
}

static void put_name(struct json *j, const char *key, const struct value *v)
{
	if (v->kind != VAL_STR)
		return;
	json_key(j, key);
	json_open(j, '[');
	json_str(j, v->str, v->len);
	json_close(j, ']');
}

/* ---- other members ---- */

static void put_event_type(struct json *j, const struct hubble_flow *f)
{
	json_key(j, "event_type");
	json_open(j, '{');
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
	json_key(j, "interface");
	json_open(j, '{');
	put_number(j, "index", ifindex);
	put_text(j, "name", name);
	json_close(j, '}');
}

/* Hubble's flows have no member for the kernel's reason and function. */
void hubble_put_summary(struct buf *out, const struct hubble_flow *f)
{
	buf_add_str(out, f->summary);
	if (f->reason.kind == VAL_NONE)
		return;
	buf_add_str(out, *f->summary ? "; dropped: " : "dropped: ");
	value_text(&f->reason, out);
	if (f->func.kind == VAL_STR) {
		buf_add_str(out, " at ");
		value_text(&f->func, out);
	}
}

static void put_summary(struct json *j, const struct hubble_flow *f)
{
	_cleanup_(buf_fini) struct buf text = { 0 };

	hubble_put_summary(&text, f);
	if (!text.len)
		return;
	json_key(j, "Summary");
	json_str(j, text.data, text.len);
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
	if (f->knows_reply) {
		json_key(j, "is_reply");
		json_bool(j, f->is_reply);
	}
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

	json_key(j, "lost_events");
	json_open(j, '{');
	put_text(j, "source", "PERF_EVENT_RING_BUFFER");
	json_key(j, "num_events_lost");
	json_str(j, text, (size_t)snprintf(text, sizeof(text), "%" PRIu64, lost));
	json_key(j, "cpu");
	json_i64(j, cpu);
	json_close(j, '}');
}

void hubble_put_response(struct buf *out, struct time_text *time, const struct event *ev, const struct hubble_flow *f,
			 uint64_t lost, int64_t cpu, const char *node)
{
	struct json j = { .out = out };

	json_open(&j, '{');
	if (f) {
		json_key(&j, "flow");
		json_open(&j, '{');
		put_flow(&j, time, ev, f, node);
		json_close(&j, '}');
	} else {
		put_lost(&j, lost, cpu);
	}
	put_where(&j, time, ev, node);
	json_close(&j, '}');
	buf_add_char(out, '\n');
}
