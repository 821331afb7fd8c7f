// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Numbers of members: api/v1/flow/flow.proto and api/v1/observer/observer.proto of Cilium.
 */
#include "sinks/cilium/hubble_pb.h"

#include <netinet/in.h>
#include <string.h>

#include "base/macros.h"
#include "cilium/hubble.h"
#include "event/event.h"
#include "event/names.h"
#include "sinks/cilium/hubble_flow.h"
#include "base/protobuf/protobuf.h"
#include "sonde/wire.h"

#define POINT_TO_ENDPOINT 101	/* 0 in the datapath, which protobuf has for "unknown" */

/* Members of Flow. */
enum {
	FLOW_TIME = 1, FLOW_VERDICT, FLOW_DROP_REASON, FLOW_ETHERNET, FLOW_IP, FLOW_L4, FLOW_SOURCE = 8,
	FLOW_DESTINATION, FLOW_TYPE, FLOW_NODE_NAME, FLOW_SOURCE_NAMES = 13, FLOW_DESTINATION_NAMES,
	FLOW_EVENT_TYPE = 19, FLOW_DIRECTION = 22, FLOW_POLICY_MATCH, FLOW_POINT, FLOW_DROP_REASON_DESC,
	FLOW_IS_REPLY, FLOW_CAPTURE_POINT, FLOW_INTERFACE, FLOW_PROXY_PORT, FLOW_SOCK_POINT = 31, FLOW_COOKIE,
	FLOW_CGROUP_ID, FLOW_TRACE_REASON = 36, FLOW_SUMMARY = 100000,
};
enum { RESPONSE_FLOW = 1, RESPONSE_LOST = 3, RESPONSE_NODE_NAME = 1000, RESPONSE_TIME };

void hubble_pb_fini(struct hubble_pb *p)
{
	buf_fini(&p->flow);
	buf_fini(&p->part);
	buf_fini(&p->inner);
	buf_fini(&p->text);
}

static void put_text(struct buf *out, uint32_t field, const char *text)
{
	if (text && *text)
		protobuf_text(out, field, text, strlen(text));
}

/* A message that was put together in @message, even if it is empty. */
static void put_message(struct buf *out, uint32_t field, struct buf *message)
{
	protobuf_bytes(out, field, message->data, message->len);
	out->error = out->error ? out->error : buf_error(message);
	buf_reset(message);
}

static void put_time(struct hubble_pb *p, uint32_t field, uint64_t wall_ns, struct buf *out)
{
	if (!wall_ns)
		return;
	protobuf_uint(&p->inner, 1, wall_ns / NS_PER_S);
	protobuf_uint(&p->inner, 2, wall_ns % NS_PER_S);
	put_message(out, field, &p->inner);
}

static uint64_t wall_ns_of(const struct event *ev)
{
	return ev->clock_offset_ns ? event_wall_ns(ev) : 0;
}

/* ---- layers ---- */

static void put_mac(struct buf *out, uint32_t field, const uint8_t mac[6])
{
	static const char digits[] = "0123456789abcdef";
	char text[17];

	for (unsigned i = 0; i < 6; i++) {
		text[i * 3] = digits[mac[i] >> 4];
		text[i * 3 + 1] = digits[mac[i] & 15];
		if (i < 5)
			text[i * 3 + 2] = ':';
	}
	protobuf_bytes(out, field, text, sizeof(text));
}

static void put_address(struct hubble_pb *p, uint32_t field, const struct ipaddr *ip)
{
	if (!ip->family)
		return;
	buf_reset(&p->text);
	ipaddr_text(ip, &p->text);
	protobuf_bytes(&p->part, field, p->text.data, p->text.len);
}

static void put_layers(struct hubble_pb *p, const struct hubble_flow *f)
{
	uint8_t family = f->conn.saddr.family ? f->conn.saddr.family : f->conn.daddr.family;

	if (f->has_mac) {
		put_mac(&p->part, 1, f->smac);
		put_mac(&p->part, 2, f->dmac);
		put_message(&p->flow, FLOW_ETHERNET, &p->part);
	}
	if (!family)
		return;
	put_address(p, 1, &f->conn.saddr);
	put_address(p, 2, &f->conn.daddr);
	protobuf_uint(&p->part, 3, family == SONDE_IPV4 ? 1 : 2);
	protobuf_uint(&p->part, 4, f->encrypted);
	put_address(p, 5, &f->xlated);
	put_message(&p->flow, FLOW_IP, &p->part);
}

static uint32_t l4_member(uint8_t proto)
{
	switch (proto) {
	case IPPROTO_TCP: return 1;
	case IPPROTO_UDP: return 2;
	case IPPROTO_ICMP: return 3;
	case IPPROTO_ICMPV6: return 4;
	case IPPROTO_SCTP: return 5;
	default: return 0;
	}
}

static void put_l4(struct hubble_pb *p, const struct hubble_flow *f)
{
	bool icmp = f->conn.proto == IPPROTO_ICMP || f->conn.proto == IPPROTO_ICMPV6;
	uint32_t member = l4_member(f->conn.proto);

	if (!member)
		return;
	protobuf_uint(&p->inner, 1, icmp ? f->icmp_type : f->conn.sport);
	protobuf_uint(&p->inner, 2, icmp ? f->icmp_code : f->conn.dport);
	if (f->conn.proto == IPPROTO_TCP && f->tcp_flags) {
		buf_reset(&p->text);
		for (uint32_t i = 0; i < 8; i++)	/* FIN is bit 0 and member 1 */
			protobuf_uint(&p->text, i + 1, f->tcp_flags >> i & 1);
		put_message(&p->inner, 3, &p->text);
	}
	put_message(&p->part, member, &p->inner);
	put_message(&p->flow, FLOW_L4, &p->part);
}

/* ---- endpoints ---- */

static void put_end(struct hubble_pb *p, uint32_t field, const struct event *ev, const struct hubble_end *e)
{
	const char *comm;
	size_t len;

	if (!hubble_flow_end_is_known(e))
		return;
	protobuf_uint(&p->part, 1, e->id);
	protobuf_uint(&p->part, 2, e->identity);
	put_text(&p->part, 3, hubble_flow_pod(ev, e, SONDE_NAME_POD_NAMESPACE));
	buf_reset(&p->text);
	hubble_flow_labels(ev, e, &p->text);
	for (size_t at = 0; at < p->text.len; at += strlen(p->text.data + at) + 1)
		put_text(&p->part, 4, p->text.data + at);
	put_text(&p->part, 5, hubble_flow_pod(ev, e, SONDE_NAME_POD));
	if (hubble_flow_comm(ev, e, &comm, &len)) {
		protobuf_text(&p->inner, 1, comm, len);
		put_text(&p->inner, 2, HUBBLE_WORKLOAD);
		put_message(&p->part, 6, &p->inner);
	}
	put_message(&p->flow, field, &p->part);
}

/* ---- other members ---- */

static void put_name(struct hubble_pb *p, uint32_t field, const struct value *v)
{
	if (v->kind == VAL_STR)
		protobuf_text(&p->flow, field, v->str, v->len);
}

static void put_event_type(struct hubble_pb *p, const struct hubble_flow *f)
{
	protobuf_uint(&p->inner, 1, f->event_type);
	if (f->knows_sub_type)
		protobuf_uint(&p->inner, 2, f->sub_type);
	put_message(&p->flow, FLOW_EVENT_TYPE, &p->inner);
}

static void put_interface(struct hubble_pb *p, const struct event *ev, uint32_t ifindex)
{
	if (!ifindex)
		return;
	protobuf_uint(&p->inner, 1, ifindex);
	put_text(&p->inner, 2,
		 event_names_get(ev->names, SONDE_NAME_IFACE, names_iface_key(ev->keys.netns, ifindex)));
	put_message(&p->flow, FLOW_INTERFACE, &p->inner);
}

static void put_reply(struct hubble_pb *p, const struct hubble_flow *f)
{
	if (!f->knows_reply)
		return;
	protobuf_uint(&p->inner, 1, f->is_reply);
	put_message(&p->flow, FLOW_IS_REPLY, &p->inner);
}

static void put_summary(struct hubble_pb *p, const struct hubble_flow *f)
{
	buf_reset(&p->text);
	hubble_flow_summary(&p->text, f);
	if (p->text.len)
		protobuf_text(&p->flow, FLOW_SUMMARY, p->text.data, p->text.len);
}

static void put_flow(struct hubble_pb *p, const struct event *ev, const struct hubble_flow *f, const char *node)
{
	struct buf *out = &p->flow;

	put_time(p, FLOW_TIME, wall_ns_of(ev), out);
	protobuf_uint(out, FLOW_VERDICT, hubble_verdict_number(f->verdict));
	protobuf_uint(out, FLOW_DROP_REASON, f->drop_code);
	put_layers(p, f);
	put_l4(p, f);
	put_end(p, FLOW_SOURCE, ev, &f->src);
	put_end(p, FLOW_DESTINATION, ev, &f->dst);
	protobuf_uint(out, FLOW_TYPE, !strcmp(f->type, "SOCK") ? 3 : 1);
	put_text(out, FLOW_NODE_NAME, node);
	put_name(p, FLOW_SOURCE_NAMES, &f->src.name);
	put_name(p, FLOW_DESTINATION_NAMES, &f->dst.name);
	put_event_type(p, f);
	protobuf_uint(out, FLOW_DIRECTION, f->direction);
	protobuf_uint(out, FLOW_POLICY_MATCH, f->policy_match);
	protobuf_uint(out, FLOW_POINT, !f->point ? 0 : f->sub_type ? f->sub_type : POINT_TO_ENDPOINT);
	protobuf_uint(out, FLOW_DROP_REASON_DESC, f->drop_code);
	put_reply(p, f);
	protobuf_uint(out, FLOW_CAPTURE_POINT, f->capture_point ? f->sub_type : 0);
	put_interface(p, ev, f->ifindex);
	protobuf_uint(out, FLOW_PROXY_PORT, f->proxy_port);
	protobuf_uint(out, FLOW_SOCK_POINT, f->sock_point ? f->sub_type : 0);
	protobuf_uint(out, FLOW_COOKIE, f->cookie);
	protobuf_uint(out, FLOW_CGROUP_ID, f->cgroup_id);
	protobuf_uint(out, FLOW_TRACE_REASON, hubble_trace_reason_number(f->trace_reason));
	put_summary(p, f);
}

void hubble_pb_flow(struct hubble_pb *p, const struct event *ev, const struct hubble_flow *f, const char *node,
		    struct buf *out)
{
	buf_reset(&p->flow);
	put_flow(p, ev, f, node);
	put_message(out, RESPONSE_FLOW, &p->flow);
	put_text(out, RESPONSE_NODE_NAME, node);
	put_time(p, RESPONSE_TIME, wall_ns_of(ev), out);
}

void hubble_pb_lost(struct hubble_pb *p, enum hubble_lost source, uint64_t lost, int64_t cpu, uint64_t wall_ns,
		    const char *node, struct buf *out)
{
	protobuf_uint(&p->part, 1, source);
	protobuf_uint(&p->part, 2, lost);
	if (cpu >= 0) {
		protobuf_uint(&p->inner, 1, (uint64_t)cpu);
		put_message(&p->part, 3, &p->inner);
	}
	put_message(out, RESPONSE_LOST, &p->part);
	put_text(out, RESPONSE_NODE_NAME, node);
	put_time(p, RESPONSE_TIME, wall_ns, out);
}
