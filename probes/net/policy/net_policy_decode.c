// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Decodes verdict records to net.policy-verdict, with the notification that Cilium's clients understand.
 */
#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/cleanup.h"
#include "base/cursor.h"
#include "cilium/notify.h"
#include "cilium/print.h"
#include "event/decode.h"
#include "event/event.h"
#include "packet/packet.h"
#include "probes/net/net_event.h"
#include "probes/net/datapath/net_datapath_event.h"
#include "probes/net/policy/net_policy_wire.h"
#include "sonde/notify_wire.h"

#define IDENTITY_HOST 1
#define IDENTITY_WORLD 2

struct verdict {
	const struct net_rec *r;
	const uint8_t *data;
	struct packet_flow flow;
};

static bool is_loopback(const struct packet_flow *f, const uint8_t *addr)
{
	static const uint8_t one[16] = { [15] = 1 };

	return f->family == SONDE_IPV4 ? addr[0] == 127 : f->family == SONDE_IPV6 && !memcmp(addr, one, sizeof(one));
}

static uint32_t remote_identity(const struct verdict *v)
{
	const uint8_t *remote = v->r->dir == NET_DIR_IN ? v->flow.saddr : v->flow.daddr;

	return !v->flow.family ? 0 : is_loopback(&v->flow, remote) ? IDENTITY_HOST : IDENTITY_WORLD;
}

static uint8_t drop_code(const struct verdict *v)
{
	return v->r->prog_id ? NET_POLICY_DENIED_BY_RULE : NET_POLICY_DENIED;
}

static struct cilium_notify notify_of(const struct verdict *v)
{
	return (struct cilium_notify){
		.type = CILIUM_POLICY, .source = v->r->ifindex < 0x8000 ? (uint16_t)v->r->ifindex : 0,
		.hash = v->r->hash,
		.pkt = { .data = v->data, .len = v->r->cap_len, .orig_len = v->r->orig_len,
			 .flags = (v->r->link == SONDE_LINK_RAW ? CILIUM_FLAG_L3 : 0) |
				  (v->flow.family == SONDE_IPV6 ? CILIUM_FLAG_IPV6 : 0) },
	};
}

static struct cilium_notify verdict_notify(const struct verdict *v)
{
	const struct net_rec *r = v->r;
	struct cilium_notify n = notify_of(v);
	bool denied = NET_VERDICT_ACTION(r->location) != SONDE_POLICY_ALLOW;

	n.policy = (struct cilium_policy){
		.remote_identity = remote_identity(v), .verdict = denied ? -(int32_t)drop_code(v) : 0,
		.dst_port = v->flow.dport, .proto = v->flow.proto, .cookie = r->reason,
		.bits = (uint8_t)((r->dir == NET_DIR_IN ? SONDE_POLICY_INGRESS : SONDE_POLICY_EGRESS) |
				  (v->flow.family == SONDE_IPV6 ? SONDE_POLICY_IPV6 : 0) |
				  SONDE_POLICY_MATCH(NET_VERDICT_MATCH(r->location)) |
				  (denied ? SONDE_POLICY_AUDITED : 0) |
				  (r->link == SONDE_LINK_RAW ? SONDE_POLICY_L3 : 0)),
	};
	return n;
}

static int add_notify(struct event *ev, const struct verdict *v, const struct cilium_notify *n, struct arena *scratch)
{
	_cleanup_(buf_fini) struct buf bytes = { 0 };
	struct sec_notify *s;
	int r = cilium_encode(n, &bytes);

	if (r < 0)
		return r;
	s = arena_alloc(scratch, sizeof(*s) + bytes.len);
	if (!s)
		return -ENOMEM;
	*s = (struct sec_notify){ .cpu = v->r->hdr.cpu, .type = CILIUM_RECORD_SAMPLE };
	memcpy(s + 1, bytes.data, bytes.len);
	return event_add_section(ev, SEC_NOTIFY, s, (uint32_t)(sizeof(*s) + bytes.len));
}

static int set_packet(struct event *ev, const struct verdict *v, struct arena *scratch)
{
	const struct net_rec *r = v->r;
	const struct sec_packet head = {
		.link = r->link, .orig_len = r->orig_len, .cap_len = r->cap_len, .ifindex = r->ifindex,
		.netns = r->netns, .direction = r->dir,
	};

	packet_keys_conn_from_flow(&ev->keys.conn, &v->flow);
	return event_add_packet(ev, &head, v->data, scratch);
}

static int emit_verdict(const struct verdict *v, struct event *ev, const struct emitter *em)
{
	struct net_datapath_event_event *b = event_decode_new_body(ev, em);
	const struct cilium_notify n = verdict_notify(v);
	int r;

	if (!b)
		return -ENOMEM;
	*b = (struct net_datapath_event_event){
		.kind = CILIUM_POLICY,
		.hash = v->r->hash,
		.endpoint = n.source,
		.len = v->r->orig_len,
		.cap_len = v->r->cap_len,
		.verdict = n.policy.verdict,
		.ifindex = v->r->ifindex,
		.rule = NET_VERDICT_GENERATION(v->r->location) << 32 | v->r->reason,
		.own = true,
	};
	r = set_packet(ev, v, em->scratch);
	if (r >= 0)
		r = add_notify(ev, v, &n, em->scratch);
	return r < 0 ? r : em->emit(em->ctx, ev);
}

int net_policy_decode(const struct sonde_rec *rec, struct event *ev, const struct emitter *em)
{
	struct cursor c = cur_init(rec, rec->len);
	struct verdict v = { 0 };
	struct net_rec r;
	struct packet p;

	if (!cur_copy(&c, &r, sizeof(r)))
		return -EBADMSG;
	v.r = &r;
	v.data = cur_bytes(&c, r.cap_len);
	if (!cur_ok(&c) || r.cap_len > r.orig_len || !r.link)
		return -EBADMSG;
	packet_dissect(r.link, v.data, r.cap_len, r.orig_len, &p);
	v.flow = p.outer;	/* rules match the outer headers */
	return emit_verdict(&v, ev, em);
}
