// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events as Hubble flows. Cilium's records and our packets pass through Cilium notifications, as in Hubble itself;
 * flow events (net.flow) are mapped from their fields. Directions and replies follow Hubble's rules where the event
 * has the necessary data, else they stay unknown.
 */
#include "sinks/cilium/hubble_flow.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/vec.h"
#include "cilium/hubble.h"
#include "cilium/notify.h"
#include "cilium/print.h"
#include "event/names.h"
#include "packet/packet.h"
#include "sonde/wire.h"

#define IDENTITY_HOST 1
#define REASON_REPLY 2
#define REASON_UNKNOWN 5
#define REASON_ENCAP 6
#define REASON_DECAP 7
#define TCP_SYN 0x02
#define TCP_ACK 0x10

/* Translation points of struct cilium_sock. */
enum { SOCK_PRE_FWD = 1, SOCK_POST_FWD, SOCK_PRE_REV, SOCK_POST_REV };

struct hubble_type {
	const struct event_desc *desc;
	const struct field *flow_id, *is_reply, *dir, *point, *iface, *tcp_flags, *state, *nat_sip, *nat_sport;
	const struct field *reason, *func, *owner_end, *sname, *dname;
	const struct field *verdict, *flow_reason, *flow_cause;
};

void hubble_flow_fini(struct hubble_map *m)
{
	cilium_map_fini(&m->cilium);
	vec_fini(&m->types);
}

static const struct field *field_of(const struct event_desc *d, const char *name)
{
	return event_field_named(d->fields, d->n_fields, name);
}

static const struct hubble_type *type_of(struct hubble_map *m, const struct event_desc *d)
{
	for (size_t i = 0; i < m->types.len; i++)
		if (m->types.items[i].desc == d)
			return &m->types.items[i];
	if (vec_grow(&m->types) < 0)
		return NULL;
	m->types.items[m->types.len] = (struct hubble_type){
		.desc = d, .flow_id = field_of(d, "flow.id"), .is_reply = field_of(d, "flow.is_reply"),
		.dir = field_of(d, "net.dir"), .point = field_of(d, "net.point"), .iface = field_of(d, "net.iface"),
		.tcp_flags = field_of(d, "tcp.flags"), .state = field_of(d, "ct.state"),
		.nat_sip = field_of(d, "nat.sip"), .reason = field_of(d, "drop.reason"),
		.func = field_of(d, "drop.func"), .owner_end = field_of(d, "owner.end"),
		.verdict = field_of(d, "net.verdict"), .flow_reason = field_of(d, "flow.drop_reason"),
		.flow_cause = field_of(d, "flow.drop_cause"),
		.sname = field_of(d, "dns.sname"), .dname = field_of(d, "dns.dname"),
	};
	return &m->types.items[m->types.len++];
}

static uint64_t number(const struct event *ev, const struct field *f, uint64_t otherwise)
{
	uint64_t v = 0;

	return f && event_get_number(ev, f, &v) == 0 ? v : otherwise;
}

/* ---- common ---- */

static void set_summary(struct hubble_flow *f, const struct packet *p)
{
	static const char *const flags[] = { "FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR" };
	size_t n = 0;

	switch (f->conn.proto) {
	case IPPROTO_TCP:
		n = (size_t)snprintf(f->summary, sizeof(f->summary), "TCP Flags: ");
		for (size_t i = 0, seen = 0; i < ARRAY_SIZE(flags); i++)
			if (f->tcp_flags & 1u << i)
				n += (size_t)snprintf(f->summary + n, sizeof(f->summary) - n, "%s%s",
						      seen++ ? ", " : "", flags[i]);
		break;
	case IPPROTO_UDP: snprintf(f->summary, sizeof(f->summary), "UDP"); break;
	case IPPROTO_SCTP: snprintf(f->summary, sizeof(f->summary), "SCTP"); break;
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		n = (size_t)snprintf(f->summary, sizeof(f->summary), "ICMPv%c",
				     f->conn.proto == IPPROTO_ICMP ? '4' : '6');
		if (p)
			snprintf(f->summary + n, sizeof(f->summary) - n, " type %u code %u", f->icmp_type,
				 f->icmp_code);
		break;
	default: break;
	}
}

static void set_packet(struct hubble_flow *f, uint32_t link, const void *data, size_t len, uint32_t orig_len)
{
	const struct packet_flow *flow;
	struct packet p;

	if (!data || !len)
		return;
	packet_dissect(link, data, (uint32_t)len, orig_len, &p);
	flow = packet_flow(&p);
	packet_keys_conn_from_flow(&f->conn, flow);
	f->tcp_flags = flow->tcp_flags;
	f->icmp_type = flow->icmp_type;
	f->icmp_code = flow->icmp_code;
	f->has_mac = p.has_mac && p.tunnel == 0;
	memcpy(f->smac, p.smac, sizeof(f->smac));
	memcpy(f->dmac, p.dmac, sizeof(f->dmac));
	set_summary(f, &p);
}

static void set_state(struct hubble_flow *f, uint8_t reason)
{
	uint8_t state = reason & (uint8_t)~CILIUM_REASON_ENCRYPTED;

	f->trace_reason = hubble_trace_reason(reason);
	f->encrypted = reason & CILIUM_REASON_ENCRYPTED;
	f->knows_reply = state != REASON_UNKNOWN && state != REASON_ENCAP && state != REASON_DECAP;
	f->is_reply = f->knows_reply && state == REASON_REPLY;
}

/* ---- notifications ---- */

static void set_drop(struct hubble_flow *f, const struct cilium_notify *n)
{
	f->verdict = "DROPPED";
	f->drop_code = n->subtype;
	f->src.identity = n->drop.src_identity;
	f->dst.identity = n->drop.dst_identity;
	f->ifindex = n->drop.ifindex;
	f->dst.id = n->drop.dst_id;
	if (!n->source)
		return;
	f->direction = n->drop.dst_id ? HUBBLE_INGRESS : HUBBLE_EGRESS;	/* 0 on egress */
	if (!n->drop.dst_id)
		f->src.id = n->source;
}

static void set_trace(struct hubble_flow *f, const struct cilium_notify *n)
{
	static const uint8_t none[16];
	bool from_endpoint = n->subtype == 5, to_endpoint = n->subtype == 0;

	f->verdict = "FORWARDED";
	f->point = hubble_point(n->subtype);
	f->src.identity = n->trace.src_identity;
	f->dst.identity = n->trace.dst_identity;
	f->ifindex = n->trace.ifindex;
	set_state(f, n->trace.reason);
	if (from_endpoint)
		f->src.id = n->source;
	else if (to_endpoint)
		f->dst.id = n->trace.dst_id;
	else if (n->subtype == 1)
		f->proxy_port = n->trace.dst_id;
	if (!f->knows_reply)
		return;
	if (memcmp(n->trace.orig_ip, none, sizeof(none)))
		f->direction = HUBBLE_EGRESS;
	else if (from_endpoint || to_endpoint)
		f->direction = from_endpoint != f->is_reply ? HUBBLE_EGRESS : HUBBLE_INGRESS;
}

static void set_policy(struct hubble_flow *f, const struct cilium_notify *n)
{
	const struct cilium_policy *p = &n->policy;
	struct hubble_end *local, *remote;

	f->direction = CILIUM_POLICY_DIR(p->bits);
	local = f->direction == HUBBLE_EGRESS ? &f->src : &f->dst;
	remote = f->direction == HUBBLE_EGRESS ? &f->dst : &f->src;
	local->id = n->source;
	remote->identity = p->remote_identity;
	f->policy_match = CILIUM_POLICY_MATCH(p->bits);
	f->verdict = p->verdict < 0 ? "DROPPED" : p->verdict > 0 ? "REDIRECTED" :
		     p->bits & CILIUM_POLICY_AUDITED ? "AUDIT" : "FORWARDED";
	if (p->verdict < 0)
		f->drop_code = (uint8_t)-p->verdict;
	else
		f->proxy_port = (uint32_t)p->verdict;
	f->knows_reply = p->verdict >= 0;
}

/* A translated-back address is where the reply came from. */
static void set_sock(struct hubble_flow *f, const struct cilium_notify *n)
{
	const struct cilium_sock *s = &n->sock;
	bool reverse = s->point == SOCK_PRE_REV || s->point == SOCK_POST_REV;
	struct ipaddr *ip = reverse ? &f->conn.saddr : &f->conn.daddr;

	f->type = "SOCK";
	f->verdict = s->point == SOCK_POST_FWD || s->point == SOCK_POST_REV ? "TRANSLATED" : "TRACED";
	f->sock_point = hubble_sock_point(s->point);
	f->sub_type = s->point;
	f->cookie = s->cookie;
	f->cgroup_id = s->cgroup_id;
	ip->family = s->ipv6 ? SONDE_IPV6 : SONDE_IPV4;
	memcpy(ip->addr, s->dst_ip, s->ipv6 ? 16 : 4);
	f->conn.proto = s->proto == 1 ? IPPROTO_TCP : s->proto == 2 ? IPPROTO_UDP : 0;
	*(reverse ? &f->conn.sport : &f->conn.dport) = s->dst_port;
	snprintf(f->summary, sizeof(f->summary), "%s", s->proto == 1 ? "TCP" : s->proto == 2 ? "UDP" : "");
}

/* False if Hubble has no flow for it. */
static bool set_notify(struct hubble_flow *f, const struct cilium_notify *n)
{
	uint32_t link = n->pkt.flags & CILIUM_FLAG_L3 ? SONDE_LINK_RAW : SONDE_LINK_ETHERNET;

	f->type = "L3_L4";
	f->event_type = n->type;
	f->sub_type = n->subtype;
	f->knows_sub_type = true;
	switch (n->type) {
	case CILIUM_DROP: set_drop(f, n); break;
	case CILIUM_TRACE: set_trace(f, n); break;
	case CILIUM_POLICY: set_policy(f, n); break;
	case CILIUM_SOCK: set_sock(f, n); return true;
	case CILIUM_CAPTURE: f->capture_point = hubble_capture_point(n->subtype); break;
	default: return false;
	}
	set_packet(f, link, n->pkt.data, n->pkt.len, n->pkt.orig_len);
	return true;
}

/* ---- events of sonde only ---- */

/* The end that the event's process is. */
static void set_local(struct hubble_flow *f, const struct event *ev, const struct hubble_type *t)
{
	struct value said = event_value(ev, t->owner_end);
	struct hubble_end *end = value_is(&said, "src") ? &f->src : value_is(&said, "dst") ? &f->dst : NULL;

	if (!ev->tgid || !end)
		return;
	end->local = true;
	end->identity = end->identity ? end->identity : IDENTITY_HOST;
}

/*
 * Hubble's rule: egress if the local endpoint opened the connection, for packets of both directions. Our local
 * endpoint is the interface's network namespace. Without connection state, a handshake shows who opened it. @dir:
 * enum packet_direction.
 */
static uint8_t direction_of(const struct hubble_flow *f, uint64_t dir)
{
	bool from_here = dir == PACKET_DIR_OUT, is_handshake = f->conn.proto == IPPROTO_TCP && f->tcp_flags & TCP_SYN;
	bool is_reply = f->knows_reply ? f->is_reply : f->tcp_flags & TCP_ACK;

	if (!dir || (!f->knows_reply && !is_handshake))
		return 0;
	return from_here != is_reply ? HUBBLE_EGRESS : HUBBLE_INGRESS;
}

static void set_ours(struct hubble_flow *f, const struct event *ev, const struct hubble_type *t)
{
	const struct sec_packet *pkt = event_packet(ev, NULL);
	uint64_t dir = t->dir ? number(ev, t->dir, 0) : pkt ? pkt->direction : 0;

	set_local(f, ev, t);
	if (f->event_type == CILIUM_TRACE)
		f->direction = direction_of(f, dir);
	f->cookie = ev->keys.cookie;
	f->cgroup_id = ev->keys.cgroup_id;
	if (t->reason)
		f->reason = event_value(ev, t->reason);
	f->func = event_value(ev, t->func);
	f->src.name = event_value(ev, t->sname);
	f->dst.name = event_value(ev, t->dname);
}

/* Verdict on the flow's packets. A single drop among them is an event of its own with its reason. */
static void set_verdict(struct hubble_flow *f, const struct event *ev, const struct hubble_type *t)
{
	struct value verdict = event_value(ev, t->verdict), reason = event_value(ev, t->flow_reason);
	struct value cause = event_value(ev, t->flow_cause);

	f->verdict = value_is(&verdict, "dropped") ? "DROPPED" :
		     value_is(&verdict, "redirected") ? "REDIRECTED" : "FORWARDED";
	if (!value_is(&verdict, "dropped"))
		return;
	f->drop_code = cilium_map_drop_code(&reason, &cause);
	f->reason = reason;
}

/* A flow event: no packet, but all fields of its record. */
static void set_conversation(struct hubble_flow *f, const struct event *ev, const struct hubble_type *t)
{
	struct value point = event_value(ev, t->point), state = event_value(ev, t->state);
	struct value nat = event_value(ev, t->nat_sip);

	f->type = "L3_L4";
	set_verdict(f, ev, t);
	f->event_type = CILIUM_TRACE;
	f->conn = ev->keys.conn;
	f->tcp_flags = (uint8_t)number(ev, t->tcp_flags, 0);
	f->ifindex = (uint32_t)number(ev, t->iface, 0);
	f->knows_sub_type = point.kind == VAL_STR && point.has_number;
	if (f->knows_sub_type) {
		f->sub_type = (uint8_t)point.u;
		f->point = hubble_point(f->sub_type);
	}
	f->knows_reply = true;
	f->is_reply = number(ev, t->is_reply, 0);
	if (state.kind == VAL_STR)
		f->trace_reason = value_is(&state, "related") ? "RELATED" : f->is_reply ? "REPLY" :
				  value_is(&state, "new") ? "NEW" : "ESTABLISHED";
	if (nat.kind == VAL_IP)
		f->xlated = nat.ip;
	set_summary(f, NULL);
}

int hubble_flow_event(struct hubble_map *m, const struct event *ev, struct hubble_flow *ret, uint64_t *ret_lost,
		      int64_t *ret_cpu)
{
	const struct hubble_type *t = type_of(m, ev->desc);
	struct cilium_notify n = { 0 };
	struct cilium_payload p;
	int r;

	*ret = (struct hubble_flow){ 0 };
	if (!t)
		return -ENOMEM;
	if (t->flow_id) {
		set_conversation(ret, ev, t);
		set_ours(ret, ev, t);
		return 1;
	}
	r = cilium_map_event(&m->cilium, ev, &p);
	if (r <= 0)
		return r;
	if (p.type == CILIUM_RECORD_LOST) {
		*ret_lost = p.lost;
		*ret_cpu = p.cpu;
		return 2;
	}
	if (p.type != CILIUM_RECORD_SAMPLE || cilium_notify_decode(p.data, p.len, &n, NULL) < 0 ||
	    !set_notify(ret, &n))
		return 0;
	if (!event_section(ev, SEC_NOTIFY))
		set_ours(ret, ev, t);
	return 1;
}

/* ---- text that both forms have ---- */

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

bool hubble_flow_end_is_known(const struct hubble_end *e)
{
	return e->id || e->identity || e->local;
}

bool hubble_flow_comm(const struct event *ev, const struct hubble_end *e, const char **ret, size_t *ret_len)
{
	const struct sec_proc *p = e->local ? event_proc(ev) : NULL;

	return p && proc_text(ev, p->comm, ret, ret_len);
}

const char *hubble_flow_pod(const struct event *ev, const struct hubble_end *e, uint32_t space)
{
	return e->local && ev->keys.cgroup_id ? event_names_get(ev->names, space, ev->keys.cgroup_id) : NULL;
}

void hubble_flow_labels(const struct event *ev, const struct hubble_end *e, struct buf *out)
{
	const struct sec_proc *p = e->local ? event_proc(ev) : NULL;
	const char *reserved = reserved_label(e->identity), *text;
	size_t len;

	if (reserved)
		buf_add(out, reserved, strlen(reserved) + 1);
	if (p && proc_text(ev, p->container, &text, &len))
		buf_printf(out, "container:id=%.*s%c", (int)MIN(len, (size_t)ID_SHORT), text, 0);
	if (p && proc_text(ev, p->image, &text, &len))
		buf_printf(out, "container:image=%.*s%c", (int)len, text, 0);
}

/* Hubble's flows have no member for the kernel's reason and function. */
void hubble_flow_summary(struct buf *out, const struct hubble_flow *f)
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
