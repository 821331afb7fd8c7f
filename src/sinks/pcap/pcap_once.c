// SPDX-License-Identifier: GPL-2.0-or-later
#include "sinks/pcap/pcap_once.h"

#include "base/macros.h"
#include "base/map.h"
#include "event/event.h"

#define LOOPBACK_IFINDEX 1u	/* in each namespace */

static uint64_t hash_of(const struct sec_packet *p, const uint8_t *data)
{
	const uint64_t h = map_hash(data, p->cap_len) ^ ((uint64_t)p->netns << 32 | p->orig_len);

	return h ? h : 1;
}

bool pcap_once_repeats(void *seen, const struct event *ev)
{
	struct pcap_once *o = seen;
	const uint8_t *data;
	const struct sec_packet *p = event_packet(ev, &data);
	uint64_t h, *at;

	if (!p || p->ifindex != LOOPBACK_IFINDEX || !p->netns || p->direction == PACKET_DIR_UNKNOWN)
		return false;
	h = hash_of(p, data);
	if (p->direction == PACKET_DIR_OUT) {
		o->left[o->n_left++ % PCAP_ONCE_MAX] = h;
		return false;
	}
	for (uint64_t i = 1; i <= MIN(o->n_left, (uint64_t)PCAP_ONCE_MAX); i++) {
		at = &o->left[(o->n_left - i) % PCAP_ONCE_MAX];
		if (*at != h)
			continue;
		*at = 0;
		return true;
	}
	return false;
}
