// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * DNS answers as events. The names themselves travel as names of the stream (net_dns.c). Pure.
 */
#include <errno.h>
#include <string.h>

#include "base/cursor.h"
#include "base/macros.h"
#include "event/decode.h"
#include "event/event.h"
#include "packet/dns.h"
#include "probes/net/dns/net_dns_wire.h"
#include "probes/net/net_event.h"

struct net_dns_event {
	char name[DNS_NAME_MAX + 1];
	struct ipaddr address;	/* the first; family 0 = none */
	uint32_t ttl;
	uint32_t ifindex;
	uint8_t rcode, n;
	uint8_t pad[6];
};

int net_dns_decode(const struct sonde_rec *rec, struct event *ev, const struct emitter *em)
{
	struct cursor c = cur_init(rec, rec->len);
	struct net_dns_event *b;
	struct net_dns_rec head;
	struct dns_answer a;
	const void *data;

	if (!cur_copy(&c, &head, sizeof(head)))
		return -EBADMSG;
	data = cur_bytes(&c, head.len);
	if (!data)
		return -EBADMSG;
	b = event_decode_new_body(ev, em);
	if (!b)
		return -ENOMEM;
	*b = (struct net_dns_event){ .ifindex = head.ifindex };
	if (dns_answer_parse(data, head.len, &a) == 0) { /* otherwise it has no names */
		memcpy(b->name, a.name, sizeof(b->name));
		b->rcode = a.rcode;
		b->n = a.n;
	}
	if (b->n) {
		b->ttl = a.addresses[0].ttl;
		b->address.family = a.addresses[0].family;
		memcpy(b->address.addr, a.addresses[0].addr, sizeof(b->address.addr));
	}
	ev->keys.netns = head.netns;
	return em->emit(em->ctx, ev);
}

static const struct xlat_val rcode_vals[] = {
	{ 0, "NOERROR" }, { 1, "FORMERR" }, { 2, "SERVFAIL" }, { 3, "NXDOMAIN" }, { 4, "NOTIMP" }, { 5, "REFUSED" },
};
static const struct xlat rcode_xlat = { .name = "dns_rcode", .vals = rcode_vals, .n = ARRAY_SIZE(rcode_vals) };

#define ROW(member, name_, kind_, doc_, ...) \
	FIELD_ROW(struct net_dns_event, member, name_, kind_, doc_, ##__VA_ARGS__)

static const struct field dns_fields[] = {
	ROW(name, "dns.name", FIELD_STR, "queried name; empty if it is not a host name", .flags = FIELD_OPTIONAL),
	ROW(rcode, "dns.rcode", FIELD_ENUM, "response code", .xlat = &rcode_xlat),
	ROW(n, "dns.addresses", FIELD_UINT, "addresses in the answer"),
	ROW(address, "dns.address", FIELD_IP, "the first address", .flags = FIELD_OPTIONAL),
	ROW(ttl, "dns.ttl", FIELD_UINT, "seconds for which that address is valid", .flags = FIELD_OPTIONAL),
	ROW(ifindex, "net.iface", FIELD_IFACE, "interface", .flags = FIELD_OPTIONAL),
};

const struct event_desc net_dns_desc = {
	.type = NET_EV_DNS,
	.name = "net.dns",
	.doc = "a DNS answer with addresses",
	.class = EVENT_STATE,
	.fields = dns_fields,
	.n_fields = ARRAY_SIZE(dns_fields),
	.body_size = sizeof(struct net_dns_event),
};
