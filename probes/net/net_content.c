// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The content of a packet is its payload.
 */
#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "event/redact/redact.h"
#include "packet/packet.h"
#include "probes/net/count/net_count_wire.h"
#include "probes/net/dns/net_dns_wire.h"
#include "probes/net/mib/net_mib_wire.h"
#include "probes/net/net_event.h"
#include "probes/net/flow/net_flow_wire.h"
#include "probes/net/recorder/net_recorder_wire.h"
#include "probes/net/policy/net_policy_wire.h"
#include "probes/net/owner/net_sock_wire.h"
#include "probes/net/refused/net_refused_wire.h"
#include "probes/net/net_wire.h"

static int hide_payload(struct sonde_rec *rec)
{
	struct net_rec *r = (void *)rec;
	size_t rest_len, room = rec->len - sizeof(*r);
	uint32_t keep, at;

	if (rec->len < sizeof(*r) || r->cap_len > room)
		return -EBADMSG;
	rest_len = r->n_stack * sizeof(uint64_t) + (r->translated ? sizeof(struct sonde_tuple) : 0);
	at = rest_len ? ROUND_UP(r->cap_len, 8u) : r->cap_len;
	if (at > room || rest_len > room - at)
		return -EBADMSG;
	keep = r->link ? packet_headers_len(r->link, r->data, r->cap_len, r->orig_len) : 0;
	r->cap_len = keep;
	if (rest_len) {
		memset(r->data + keep, 0, ROUND_UP(keep, 8u) - keep);
		keep = ROUND_UP(keep, 8u);
		memmove(r->data + keep, r->data + at, rest_len);
	}
	rec->len = (uint32_t)(sizeof(*r) + keep + rest_len);
	return 0;
}

/*
 * Any user can send with any tuple in a network namespace of their own, so an owner from another namespace proves
 * nothing. Within the packet's namespace the kernel assigns a tuple to one process.
 */
static bool owner_is_sure(const struct sonde_rec *rec)
{
	const struct net_rec *r = (const void *)rec;

	return rec->len >= sizeof(*r) && r->hdr.tgid && !r->owner_foreign;
}

/* Keeps only the message's header, which holds counts. */
static int hide_answer(struct sonde_rec *rec)
{
	struct net_dns_rec *r = (void *)rec;

	if (rec->len < sizeof(*r) || r->len > rec->len - sizeof(*r))
		return -EBADMSG;
	r->len = MIN(r->len, (uint32_t)NET_DNS_MIN);
	rec->len = (uint32_t)sizeof(*r) + r->len;
	return 0;
}

const struct content_rule net_content[] = {
	{ NET_EV_TRACE, hide_payload, owner_is_sure }, { NET_EV_DROP, hide_payload, owner_is_sure },
	{ NET_EV_XDP, hide_payload, owner_is_sure }, { NET_EV_VERDICT, hide_payload, owner_is_sure },
	{ NET_EV_DNS, hide_answer }, { NET_EV_FLOW }, { NET_EV_DUMP }, { NET_EV_COUNT }, { NET_EV_SOCK },
	{ NET_EV_REFUSED }, { NET_EV_UNEXPLAINED }, { NET_EV_MIB }, { 0 },
};

/* ---- --redact ---- */

static int redact_payload(const struct sonde_rec *rec, unsigned fields, struct buf *out)
{
	const struct net_rec *r = (const void *)rec;

	if (rec->len < sizeof(*r) || r->cap_len > rec->len - sizeof(*r))
		return -EBADMSG;
	if (!r->cap_len || !redact_packet(fields, r->link, r->data, r->cap_len, r->orig_len))
		return 0;
	return redact_hide(rec, hide_payload, out);
}

static int redact_answer(const struct sonde_rec *r, unsigned fields, struct buf *out)
{
	return fields & REDACT_DNS ? redact_hide(r, hide_answer, out) : 0;
}

const struct redact_rule net_redact[] = {
	{ NET_EV_TRACE, redact_payload }, { NET_EV_DROP, redact_payload }, { NET_EV_XDP, redact_payload },
	{ NET_EV_VERDICT, redact_payload }, { NET_EV_DNS, redact_answer }, { 0 },
};
