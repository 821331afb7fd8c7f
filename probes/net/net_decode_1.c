// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records of format 1.0 as records of today. Pure.
 */
#include "probes/net/net_decode_1.h"

#include <errno.h>
#include <string.h>

#include "base/arena.h"
#include "event/decode.h"
#include "probes/net/net_wire.h"
#include "probes/net/net_1_wire.h"
#include "probes/net/policy/net_policy_wire.h"

uint8_t net_decode_1_how(uint8_t owner_by)
{
	switch (owner_by) {
	case NET_OWNER_1_RX_SK: return SONDE_HOW_STORAGE;
	case NET_OWNER_1_SKB_SK: return SONDE_HOW_SKB;
	case NET_OWNER_1_TUPLE:
	case NET_OWNER_1_REMOTE_TUPLE: return SONDE_HOW_TUPLE;
	case NET_OWNER_1_LISTENER: return SONDE_HOW_LISTENER;
	default: return SONDE_HOW_UNKNOWN;
	}
}

static uint8_t end_of(const struct net_rec_1 *r)
{
	switch (r->owner_by) {
	case NET_OWNER_1_NONE: return NET_END_UNKNOWN;
	case NET_OWNER_1_RX_SK: return NET_END_RECEIVER;
	case NET_OWNER_1_SKB_SK:
	case NET_OWNER_1_REMOTE_TUPLE: return NET_END_SENDER;
	default: break;
	}
	if (r->dir == NET_DIR_OUT)
		return NET_END_SENDER;
	return r->dir == NET_DIR_IN || r->owner_by == NET_OWNER_1_LISTENER ? NET_END_RECEIVER : NET_END_UNKNOWN;
}

static uint16_t type_of(uint16_t old)
{
	switch (old) {
	case NET_EV_TRACE_1: return NET_EV_TRACE;
	case NET_EV_DROP_1: return NET_EV_DROP;
	case NET_EV_XDP_1: return NET_EV_XDP;
	default: return NET_EV_VERDICT;
	}
}

static void convert(struct net_rec *to, const struct net_rec_1 *r)
{
	*to = (struct net_rec){
		.hdr = r->hdr,
		.id = { .cgroup_id = r->cgroup_id, .sock = r->cookie, .netns = r->netns,
			.owner_how = net_decode_1_how(r->owner_by) },
		.location = r->location, .netns = r->netns, .ifindex = r->ifindex, .reason = r->reason,
		.prog_id = r->prog_id, .orig_len = r->orig_len, .cap_len = r->cap_len, .mark = r->mark,
		.hash = r->hash, .cur_tgid = r->cur_tgid, .cur_tid = r->cur_tid, .link = r->link,
		.n_stack = r->n_stack, .point = r->point, .dir = r->dir, .owner_end = end_of(r),
		.owner_foreign = r->owner_by == NET_OWNER_1_REMOTE_TUPLE, .error = r->error,
	};
	to->hdr.type = type_of(r->hdr.type);
	to->hdr.flags |= SONDE_RF_IDENT;
	memcpy(to->cur_comm, r->cur_comm, sizeof(to->cur_comm));
	memcpy(to->ifname, r->ifname, sizeof(to->ifname));
}

int net_decode_1_upgrade(const struct sonde_rec *rec, struct arena *scratch, const struct sonde_rec **ret)
{
	struct net_rec_1 old;
	struct net_rec *r;
	size_t rest;

	if (!decode_fixed(rec, &old, sizeof(old)))
		return -EBADMSG;
	rest = rec->len - sizeof(old);
	r = arena_alloc(scratch, sizeof(*r) + rest);
	if (!r)
		return -ENOMEM;
	convert(r, &old);
	r->hdr.len = (uint32_t)(sizeof(*r) + rest);
	memcpy(r->data, (const char *)rec + sizeof(old), rest);
	*ret = &r->hdr;
	return 0;
}
