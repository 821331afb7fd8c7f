// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fields and text line of net.flow.
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>

#include "base/buf.h"
#include "base/macros.h"
#include "base/str.h"
#include "event/event.h"
#include "event/names.h"
#include "probes/net/net_event.h"
#include "probes/net/flow/net_flow_wire.h"
#include "probes/net/net_text.h"
#include "probes/net/net_wire.h"

static const struct xlat_val why_vals[] = {
	{ NET_FLOW_NEW, "new" }, { NET_FLOW_FLAGS, "flags" }, { NET_FLOW_ACTIVE, "active" },
	{ NET_FLOW_CLOSED, "closed" }, { NET_FLOW_IDLE, "idle" }, { NET_FLOW_END, "end" },
	{ NET_FLOW_PACKET, "packet" },
};
_Static_assert(ARRAY_SIZE(why_vals) == NET_FLOW__MAX - 1, "each cause has a name");
static const struct xlat why_xlat = { .name = "flow_event", .vals = why_vals, .n = ARRAY_SIZE(why_vals) };

static const struct xlat_val state_vals[] = {
	{ FLOW_TCP_SYN_SENT, "syn-sent" }, { FLOW_TCP_SYN_RECV, "syn-recv" }, { FLOW_TCP_ESTABLISHED, "established" },
	{ FLOW_TCP_FIN_WAIT, "fin-wait" }, { FLOW_TCP_CLOSED, "closed" }, { FLOW_TCP_RESET, "reset" },
};
_Static_assert(ARRAY_SIZE(state_vals) == FLOW_TCP__MAX - 1, "each state has a name");
static const struct xlat state_xlat = { .name = "tcp_state", .vals = state_vals, .n = ARRAY_SIZE(state_vals) };

static const struct xlat_val ct_vals[] = {
	{ NET_CT_NEW, "new" }, { NET_CT_ESTABLISHED, "established" }, { NET_CT_RELATED, "related" },
};
static const struct xlat ct_xlat = { .name = "conntrack", .vals = ct_vals, .n = ARRAY_SIZE(ct_vals) };

enum { GET_FIRST = NET_GET__ENDS, GET_LAST, GET_POINT };

#define ROW(member, name_, kind_, doc_, ...) \
	FIELD_ROW(struct net_flow_event, member, name_, kind_, doc_, ##__VA_ARGS__)

static const struct field flow_fields[] = {
	ROW(why, "flow.event", FIELD_ENUM, "cause of the report: new, flags, active, closed, idle, end, packet",
	    .xlat = &why_xlat),
	ROW(id, "flow.id", FIELD_HEX, "id of the flow at this interface, the same in both directions"),
	ROW(is_reply, "flow.is_reply", FIELD_BOOL, "against the direction of the first packet"),
	ROW(dir, "net.dir", FIELD_ENUM, "direction at the interface", .xlat = &net_dir_xlat),
	NET_GET_ROW(GET_POINT, "net.point", FIELD_ENUM, "observation point of the packet that made it so",
		  .xlat = &net_point_xlat),
	ROW(ifindex, "net.iface", FIELD_IFACE, "interface", .flags = FIELD_OPTIONAL),
	ROW(packets, "flow.packets", FIELD_UINT, "packets in this direction since the first"),
	ROW(bytes, "flow.bytes", FIELD_UINT, "their bytes, including the link header"),
	NET_GET_ROW(GET_FIRST, "flow.first", FIELD_UINT, "time of the first packet, ns since 1970",
		    .key = "first_ns"),
	NET_GET_ROW(GET_LAST, "flow.last", FIELD_UINT, "of the last one, either direction", .key = "last_ns"),
	ROW(verdict, "net.verdict", FIELD_ENUM,
	    "forwarded; redirected; dropped where no packet is known to have got "
	    "through",
	    .xlat = &net_verdict_xlat),
	ROW(action, "net.action", FIELD_ENUM, "pass, drop, redirect, or nat: an address or a port was translated",
	    .xlat = &net_action_xlat),
	ROW(dropped, "flow.dropped", FIELD_UINT, "packets of this direction that the kernel dropped",
	    .flags = FIELD_OPTIONAL),
	ROW(reason, "flow.drop_reason", FIELD_NAME, "the kernel's reason for the last of them",
	    .space = SONDE_NAME_DROP_REASON, .flags = FIELD_OPTIONAL, .key = "drop_reason"),
	ROW(cause, "flow.drop_cause", FIELD_ENUM, "cause from that packet, beyond the reason: TTL exceeded",
	    .xlat = &net_cause_xlat, .flags = FIELD_OPTIONAL, .key = "drop_cause"),
	ROW(redirected, "flow.redirected", FIELD_UINT, "packets redirected by a program or an action",
	    .flags = FIELD_OPTIONAL),
	ROW(duration_ns, "flow.duration", FIELD_NS, "from the first packet to the last one, both directions"),
	ROW(tcp_flags, "tcp.flags", FIELD_FLAGS, "all TCP flags of this direction", .xlat = &net_tcp_flag_xlat,
	    .flags = FIELD_OPTIONAL),
	ROW(tcp_state, "tcp.state", FIELD_ENUM, "state by the flags of both directions", .xlat = &state_xlat,
	    .flags = FIELD_OPTIONAL),
	ROW(rtt_ns, "tcp.rtt", FIELD_NS, "of the handshake, from SYN to the ACK that ends it",
	    .flags = FIELD_OPTIONAL),
	ROW(srtt_ns, "tcp.srtt", FIELD_NS, "smoothed round trip, as the socket of this direction's sender has it",
	    .flags = FIELD_OPTIONAL),
	ROW(retransmitted, "tcp.retransmitted", FIELD_UINT, "segments that repeated earlier bytes",
	    .flags = FIELD_OPTIONAL),
	ROW(zero_windows, "tcp.zero_windows", FIELD_UINT, "segments that closed the receive window",
	    .flags = FIELD_OPTIONAL),
	ROW(ct, "ct.state", FIELD_ENUM, "state of connection tracking", .xlat = &ct_xlat, .flags = FIELD_OPTIONAL,
	    .key = "ct_state"),
	ROW(mark, "ct.mark", FIELD_HEX, "its mark", .flags = FIELD_OPTIONAL, .key = "ct_mark"),
	ROW(offloaded, "ct.offloaded", FIELD_BOOL, "handed to a flow table or to hardware: packets pass unseen",
	    .flags = FIELD_OPTIONAL),
	ROW(nat_saddr, "nat.sip", FIELD_IP, "source on the other side of a translation", .flags = FIELD_OPTIONAL,
	    .key = "nat_saddr"),
	ROW(nat_sport, "nat.sport", FIELD_UINT, "its port", .flags = FIELD_PORT | FIELD_OPTIONAL, .key = "nat_sport"),
	ROW(nat_daddr, "nat.dip", FIELD_IP, "destination on the other side of a translation", .flags = FIELD_OPTIONAL,
	    .key = "nat_daddr"),
	ROW(nat_dport, "nat.dport", FIELD_UINT, "its port", .flags = FIELD_PORT | FIELD_OPTIONAL, .key = "nat_dport"),
	ROW(next_hop, "route.next_hop", FIELD_IP, "where it goes on, by the routing table", .flags = FIELD_OPTIONAL),
	ROW(out_ifindex, "route.iface", FIELD_IFACE, "and out of which interface", .flags = FIELD_OPTIONAL,
	    .key = "route_iface"),
	ROW(owner_foreign, "owner.foreign", FIELD_BOOL,
	    "the process's socket is in another network namespace than the flow", .flags = FIELD_OPTIONAL,
	    .key = "owner_foreign"),
	ROW(owner_end, "owner.end", FIELD_ENUM, "which end that process is: src, dst", .xlat = &net_end_xlat,
	    .flags = FIELD_OPTIONAL, .key = "owner_end"),
	NET_END_ROWS("source", "destination"),
};

/* The stream carries the offset of the wall clock. */
static int get_time(const struct event *ev, uint64_t boot_ns, struct value *ret)
{
	if (!ev->clock_offset_ns || !boot_ns)
		return -ENOENT;
	return net_text_get_uint(boot_ns + (uint64_t)ev->clock_offset_ns, ret);
}

static int flow_get(const struct event *ev, const struct field *f, struct value *ret)
{
	const struct net_flow_event *b = ev->body;

	switch (f->off) {
	case GET_POINT: return net_text_get_named(&net_point_xlat, b->point, ret);
	case GET_FIRST: return get_time(ev, b->first_ns, ret);
	case GET_LAST: return get_time(ev, b->last_ns, ret);
	default: return net_text_get_end(ev, f->off, ret);
	}
}

/* ---- text ---- */

static void put_proto(struct buf *out, uint8_t proto)
{
	switch (proto) {
	case IPPROTO_ICMP: buf_add_str(out, "icmp"); break;
	case IPPROTO_TCP: buf_add_str(out, "tcp"); break;
	case IPPROTO_UDP: buf_add_str(out, "udp"); break;
	case IPPROTO_ICMPV6: buf_add_str(out, "icmpv6"); break;
	case IPPROTO_SCTP: buf_add_str(out, "sctp"); break;
	default: buf_printf(out, "proto %u", proto);
	}
}

static void put_flags(struct buf *out, uint8_t flags)
{
	static const uint8_t shown[] = { 0x02, 0x10, 0x01, 0x04 };	/* SYN, ACK, FIN, RST */
	const char *between = " ";

	for (size_t i = 0; i < ARRAY_SIZE(shown); i++) {
		if (!(flags & shown[i]))
			continue;
		buf_printf(out, "%s%s", between, xlat_name(&net_tcp_flag_xlat, shown[i]));
		between = ",";
	}
}

/* The ends in the order of the flow; the arrow shows the direction of these packets. */
static void put_ends(const struct event *ev, struct buf *out)
{
	const struct net_flow_event *b = ev->body;
	const struct conn *c = &ev->keys.conn;
	bool back = b->is_reply;

	net_text_put_end(back ? &c->daddr : &c->saddr, back ? c->dport : c->sport, out);
	buf_add_str(out, back ? " <- " : " -> ");
	net_text_put_end(back ? &c->saddr : &c->daddr, back ? c->sport : c->dport, out);
	buf_add_char(out, ' ');
	put_proto(out, c->proto);
}

static void put_nat(const struct event *ev, struct buf *out)
{
	const struct net_flow_event *b = ev->body;

	if (!b->nat)
		return;
	buf_add_str(out, "  nat ");
	net_text_put_end(&b->nat_saddr, b->nat_sport, out);
	buf_add_str(out, " -> ");
	net_text_put_end(&b->nat_daddr, b->nat_dport, out);
}

static void put_turn(const struct event *ev, struct buf *out)
{
	const struct net_flow_event *b = ev->body;
	const char *reason = event_names_get(ev->names, SONDE_NAME_DROP_REASON, b->reason);

	if (b->dropped)
		buf_printf(out, " %u dropped (%s%s%s)", b->dropped, reason ? reason : "?", b->cause ? ": " : "",
			   b->cause ? xlat_name(&net_cause_xlat, b->cause) : "");
	if (b->redirected)
		buf_printf(out, " %u redirected", b->redirected);
}

/* Appends name and value if known. */
static void put_text(const struct event *ev, const char *what, enum field_kind like, int word, struct buf *out)
{
	const struct field f = { .kind = FIELD_GET, .off = (uint16_t)word, .like = FIELD_LIKE(like) };
	struct value v;

	if (flow_get(ev, &f, &v) < 0)
		return;
	buf_printf(out, " %s ", what);
	if (v.kind == VAL_UINT)
		buf_printf(out, "%llu.%09llu", (unsigned long long)v.u / 1000000000,
			   (unsigned long long)v.u % 1000000000);
	else
		value_text(&v, out);
}

/* -v: details that the short line omits. */
static void put_details(const struct event *ev, struct buf *out)
{
	const struct net_flow_event *b = ev->body;

	buf_add_str(out, "   ");
	if (b->ct)
		buf_printf(out, " ct %s", xlat_name(&ct_xlat, b->ct));
	if (b->mark)
		buf_printf(out, " mark 0x%x", b->mark);
	if (b->offloaded)
		buf_add_str(out, " offloaded");
	buf_printf(out, " %s", xlat_name(&net_action_xlat, b->action) ?: "?");
	if (b->retransmitted)
		buf_printf(out, " retransmitted %u", b->retransmitted);
	if (b->zero_windows)
		buf_printf(out, " zero windows %u", b->zero_windows);
	if (b->next_hop.family) {
		buf_add_str(out, " via ");
		ipaddr_text(&b->next_hop, out);
		buf_add_char(out, ' ');
		net_text_put_iface(ev, b->out_ifindex, out);
	}
	put_text(ev, "first", FIELD_UINT, GET_FIRST, out);
	put_text(ev, "last", FIELD_UINT, GET_LAST, out);
	put_text(ev, "from", FIELD_STR, NET_GET_SNAME, out);
	put_text(ev, "to", FIELD_STR, NET_GET_DNAME, out);
	buf_printf(out, " netns %u cookie %llu\n", ev->keys.netns, (unsigned long long)ev->keys.cookie);
}

/* "closed in eth0: 10.0.0.1:4711 -> 10.0.0.2:80 tcp SYN,ACK,FIN  6 packets 512 B  [nginx/812 tuple]  flow 0x1a.." */
static int flow_line(const struct event *ev, const struct line_opts *o, struct buf *out)
{
	const struct net_flow_event *b = ev->body;

	buf_printf(out, "%-6s %s ", xlat_name(&why_xlat, b->why) ?: "?", b->dir == NET_DIR_IN ? "<-" : "->");
	net_text_put_iface(ev, b->ifindex, out);
	buf_add_str(out, ": ");
	put_ends(ev, out);
	put_flags(out, b->tcp_flags);
	buf_printf(out, "  %llu packets %llu B", (unsigned long long)b->packets, (unsigned long long)b->bytes);
	if (b->duration_ns)
		buf_printf(out, " %.3f s", (double)b->duration_ns / 1e9);
	if (b->rtt_ns)
		buf_printf(out, " rtt %.3f ms", (double)b->rtt_ns / 1e6);
	put_turn(ev, out);
	put_nat(ev, out);
	net_text_put_owner(ev, out);
	buf_printf(out, "  flow 0x%llx\n", (unsigned long long)b->id);
	if (o->verbose)
		put_details(ev, out);
	return buf_error(out);
}

const struct event_desc net_flow_desc = {
	.type = NET_EV_FLOW,
	.name = "net.flow",
	.doc = "one direction of a flow at an interface",
	.class = EVENT_DATA,
	.fields = flow_fields,
	.n_fields = ARRAY_SIZE(flow_fields),
	.body_size = sizeof(struct net_flow_event),
	.sections = 1u << SEC_PROC,
	.get = flow_get,
	.line = flow_line,
};
