// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records of socket hooks to events of the type that other datapaths use: the notification that Cilium's clients
 * understand, plus the process and the hook. Pure.
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "base/arena.h"
#include "cilium/notify.h"
#include "cilium/print.h"
#include "event/decode.h"
#include "event/event.h"
#include "probes/net/net_event.h"
#include "probes/net/datapath/net_datapath_event.h"
#include "probes/net/owner/net_sock_wire.h"
#include "sonde/notify_wire.h"

static int add_notify(struct event *ev, const struct net_sock_rec *r, struct arena *scratch)
{
	struct sonde_sock msg = {
		.type = SONDE_NOTIFY_SOCK,
		.point = r->point,
		.proto = r->proto == IPPROTO_TCP   ? 1
			 : r->proto == IPPROTO_UDP ? 2
						   : 0,
		.ipv6 = r->family == SONDE_IPV6,
		.dst_port = r->port,
		.cookie = r->cookie,
		.cgroup_id = r->cgroup_id,
	};
	struct sec_notify *s = arena_alloc(scratch, sizeof(*s) + sizeof(msg));

	if (!s)
		return -ENOMEM;
	memcpy(msg.dst_ip, r->addr, sizeof(msg.dst_ip));
	*s = (struct sec_notify){ .cpu = r->hdr.cpu, .type = CILIUM_RECORD_SAMPLE };
	memcpy(s + 1, &msg, sizeof(msg));
	return event_add_section(ev, SEC_NOTIFY, s, sizeof(*s) + sizeof(msg));
}

int net_sock_decode(const struct sonde_rec *rec, struct event *ev, const struct emitter *em)
{
	struct net_datapath_event_event *b;
	struct net_sock_rec r;
	int ret;

	if (!decode_fixed(rec, &r, sizeof(r)) || !ipaddr_bytes(r.family))
		return -EBADMSG;
	b = event_decode_new_body(ev, em);
	if (!b)
		return -ENOMEM;
	*b = (struct net_datapath_event_event){ .kind = CILIUM_SOCK, .code = r.point, .hook = r.hook };
	ev->keys.cookie = r.cookie;
	ev->keys.cgroup_id = r.cgroup_id;
	ipaddr_set(&ev->keys.conn.daddr, r.family, r.addr);
	ev->keys.conn.dport = r.port;
	ev->keys.conn.proto = r.proto;
	ret = add_notify(ev, &r, em->scratch);
	return ret < 0 ? ret : em->emit(em->ctx, ev);
}
