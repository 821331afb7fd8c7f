// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records of the net probe to events. Pure: depends on the record's bytes only.
 */
#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/cursor.h"
#include "event/decode.h"
#include "event/event.h"
#include "packet/packet.h"
#include "probes/net/count/net_count_wire.h"
#include "probes/net/datapath/net_datapath_event.h"
#include "probes/net/dns/net_dns_wire.h"
#include "probes/net/mib/net_mib_wire.h"
#include "probes/net/net_1_wire.h"
#include "probes/net/net_decode_1.h"
#include "probes/net/net_event.h"
#include "probes/net/flow/net_flow_wire.h"
#include "probes/net/recorder/net_recorder_wire.h"
#include "probes/net/policy/net_policy_wire.h"
#include "probes/net/owner/net_sock_wire.h"
#include "probes/net/refused/net_refused_wire.h"
#include "probes/net/net_wire.h"

_Static_assert(PACKET_END_SENDER == (int)NET_END_SENDER, "the same numbers");
_Static_assert(PACKET_END_RECEIVER == (int)NET_END_RECEIVER, "the same numbers");

static void set_body(struct net_event *b, const struct net_rec *r)
{
	*b = (struct net_event){
		.location = r->location, .ifindex = r->ifindex, .len = r->orig_len, .cap_len = r->cap_len,
		.mark = r->mark, .hash = r->hash, .reason = r->reason, .prog_id = r->prog_id, .error = r->error,
		.task_pid = r->cur_tgid, .task_tid = r->cur_tid,
		.point = r->point, .dir = r->dir, .owner_end = r->owner_end, .owner_foreign = r->owner_foreign,
		.peer_sock = r->peer.sock, .peer_start_ns = r->peer.start_ns, .peer_pid = r->peer.tgid,
		.peer_how = r->peer.how, .peer_foreign = r->peer.foreign,
	};
	if (r->hdr.type == NET_EV_DROP) {
		b->reason = r->reason & ~NET_REASON_TTL;
		b->cause = r->reason & NET_REASON_TTL ? NET_CAUSE_TTL : NET_CAUSE_NONE;
	}
	memcpy(b->task_comm, r->cur_comm, sizeof(b->task_comm) - 1);
	memcpy(b->peer_comm, r->peer.comm, sizeof(b->peer_comm) - 1);
}

int net_event_add_packet(struct event *ev, struct net_event *b, const struct sec_packet *head, const void *data,
			 struct arena *scratch)
{
	const struct packet_flow *f;
	struct packet p;

	packet_dissect(head->link, data, head->cap_len, head->orig_len, &p);
	f = packet_flow(&p);
	packet_keys_conn_from_flow(&ev->keys.conn, f);
	if (b) {
		b->vlan = p.n_vlan ? p.vlan[0] & 0xfff : 0;
		b->tcp_flags = f->tcp_flags;
		b->ttl = f->ttl;
		b->icmp_type = f->icmp_type;
		b->icmp_code = f->icmp_code;
	}
	return event_add_packet(ev, head, data, scratch);
}

/*
 * Drops the frames above the call that freed the packet, which belong to the tracing machinery: the stack starts at
 * @location.
 */
static int add_stack(struct event *ev, const struct net_rec *r, const void *data, struct arena *scratch)
{
	uint64_t *stack = arena_copy(scratch, data, (size_t)r->n_stack * sizeof(*stack));
	uint32_t first = 0;

	if (!stack)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->n_stack; i++)
		if (stack[i] == r->location) {
			first = i;
			break;
		}
	return event_add_section(ev, SEC_STACK_KERN, stack + first, (r->n_stack - first) * (uint32_t)sizeof(*stack));
}

static void set_ip(struct ipaddr *ret, uint8_t family, const uint8_t *addr)
{
	ret->family = family;
	memcpy(ret->addr, addr, sizeof(ret->addr));
}

static void set_origin(struct net_event *b, const struct sonde_tuple *t)
{
	if (t->family != SONDE_IPV4 && t->family != SONDE_IPV6)
		return;
	set_ip(&b->orig_saddr, t->family, t->laddr);
	set_ip(&b->orig_daddr, t->family, t->raddr);
	b->orig_sport = t->lport;
	b->orig_dport = t->rport;
}

static int decode_packet(struct event *ev, struct net_event *b, const struct net_rec *r, struct cursor *c,
			 struct arena *scratch)
{
	const void *data = cur_bytes(c, r->cap_len), *stack = NULL;
	struct sonde_tuple origin;
	int ret;

	if (r->n_stack || r->translated)
		cur_skip(c, (8 - r->cap_len % 8) % 8);
	if (r->n_stack)
		stack = cur_bytes(c, (size_t)r->n_stack * sizeof(uint64_t));
	if (r->translated && cur_copy(c, &origin, sizeof(origin)))
		set_origin(b, &origin);
	if (!cur_ok(c) || r->cap_len > r->orig_len)
		return -EBADMSG;
	if (r->link) {
		const struct sec_packet head = {
			.link = r->link, .orig_len = r->orig_len, .cap_len = r->cap_len, .ifindex = r->ifindex,
			.netns = r->netns, .direction = r->dir,
		};

		ret = net_event_add_packet(ev, b, &head, data, scratch);
		if (ret < 0)
			return ret;
	}
	return stack ? add_stack(ev, r, stack, scratch) : 0;
}

static int decode_net(const struct sonde_rec *rec, struct event *ev, const struct emitter *em)
{
	struct cursor c = cur_init(rec, rec->len);
	struct net_event *b;
	struct net_rec r;
	int ret;

	if (!cur_copy(&c, &r, sizeof(r)))
		return -EBADMSG;
	b = event_decode_new_body(ev, em);
	if (!b)
		return -ENOMEM;
	set_body(b, &r);
	if (rec->type != NET_EV_XDP) {
		ev->keys.end = r.owner_end;
		ev->keys.peer = r.peer.sock;
		ev->keys.dropped = rec->type == NET_EV_DROP;
	}
	b->trigger = !!(rec->flags & SONDE_RF_TRIGGER);
	ret = decode_packet(ev, b, &r, &c, em->scratch);
	return ret < 0 ? ret : em->emit(em->ctx, ev);
}

/* Format 1.0. */
static int decode_net_1(const struct sonde_rec *rec, struct event *ev, const struct emitter *em)
{
	const struct sonde_rec *now;
	int ret = net_decode_1_upgrade(rec, em->scratch, &now);

	if (ret < 0)
		return ret;
	event_decode_from_rec(ev, ev->desc, now);
	return now->type == NET_EV_VERDICT ? net_policy_decode(now, ev, em) : decode_net(now, ev, em);
}

static const struct decode_row rows[] = {
	{ NET_EV_TRACE_1, &net_trace_desc, decode_net_1 },
	{ NET_EV_DROP_1, &net_drop_desc, decode_net_1 },
	{ NET_EV_XDP_1, &net_xdp_desc, decode_net_1 },
	{ NET_EV_VERDICT_1, &net_policy_desc, decode_net_1 },
	{ NET_EV_TRACE, &net_trace_desc, decode_net, .ident = true },
	{ NET_EV_DROP, &net_drop_desc, decode_net, .ident = true },
	{ NET_EV_XDP, &net_xdp_desc, decode_net, .ident = true },
	{ NET_EV_REFUSED, &net_refused_desc, net_refused_decode, .ident = true },
	{ NET_EV_UNEXPLAINED, &net_unexplained_desc, net_refused_decode_unexplained },
	{ NET_EV_MIB, &net_mib_desc, net_mib_decode },
	{ NET_EV_FLOW, &net_flow_desc, net_flow_decode, .ident = true },
	{ NET_EV_SOCK, &net_sock_desc, net_sock_decode, .ident = true },
	{ NET_EV_COUNT, &net_count_desc, net_count_decode },
	{ NET_EV_VERDICT, &net_policy_desc, net_policy_decode, .ident = true },
	{ NET_EV_DNS, &net_dns_desc, net_dns_decode },
	{ NET_EV_DUMP, &net_recorder_dump_desc, net_event_dump_decode },
	{ 0 },
};

static const struct event_desc *const events[] = {
	&net_trace_desc, &net_drop_desc, &net_xdp_desc,		  &net_flow_desc,
	&net_count_desc, &net_dns_desc,	 &net_recorder_dump_desc, &net_refused_desc, &net_unexplained_desc,
	&net_mib_desc,	 NULL,
};

extern const struct decoder_ops net_decoder;
const struct decoder_ops net_decoder = {
	.name = "net",
	.probe = 2,
	.events = events,
	.rows = rows,
	.alone = true,
	.content = net_content,
	.redact = net_redact,
};
