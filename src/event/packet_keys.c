// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Packet section and connection key, for events of any probe.
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "base/arena.h"
#include "event/event.h"
#include "packet/packet.h"

int event_add_packet(struct event *ev, const struct sec_packet *head, const void *data, struct arena *scratch)
{
	struct sec_packet *p = arena_alloc(scratch, sizeof(*p) + head->cap_len);

	if (!p)
		return -ENOMEM;
	*p = *head;
	if (head->cap_len)
		memcpy(p + 1, data, head->cap_len);
	return event_add_section(ev, SEC_PACKET, p, (uint32_t)sizeof(*p) + head->cap_len);
}

bool packet_keys_tcp_range(const struct event *ev, uint32_t *ret_seq, uint32_t *ret_len)
{
	const uint8_t *data;
	const struct sec_packet *sp = event_packet(ev, &data);
	const struct packet_flow *f;
	struct packet p;

	if (!sp)
		return false;
	packet_dissect(sp->link, data, sp->cap_len, sp->orig_len, &p);
	f = packet_flow(&p);
	if (f->proto != IPPROTO_TCP || !f->has_ports || !f->payload_len)
		return false;
	*ret_seq = f->tcp_seq;
	*ret_len = f->payload_len;
	return true;
}

void packet_keys_conn_from_flow(struct conn *ret, const struct packet_flow *f)
{
	if (!ipaddr_bytes(f->family))
		return;
	ipaddr_set(&ret->saddr, f->family, f->saddr);
	ipaddr_set(&ret->daddr, f->family, f->daddr);
	ret->proto = f->proto;
	if (f->has_ports) {
		ret->sport = f->sport;
		ret->dport = f->dport;
	}
}
