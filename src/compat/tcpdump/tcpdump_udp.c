// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * UDP, and what is known by its ports.
 */
#include "base/buf.h"
#include "base/macros.h"
#include "compat/tcpdump/tcpdump_print.h"

#define DNS_PORT 53
#define MDNS_PORT 5353

/* IPv4's are verified from -vv on, as those of IPv6 from -v on. */
static void add_checksum(struct tcpdump_print *pr, const struct tcpdump_ip *ip, uint16_t is, struct cursor all,
			 uint32_t len)
{
	uint16_t sum;

	if (pr->o->verbose < (ip->family == SONDE_IPV4 ? 2u : 1u) || pr->o->unchecked || ip->fragment ||
	    cur_left(&all) < len)
		return;
	if (!is) {
		buf_add_str(pr->out, "[no cksum] ");
		return;
	}
	sum = tcpdump_base_transport_sum(ip, 17, all.pos, len);
	if (sum) {
		uint32_t right = (uint32_t)is + sum;

		buf_printf(pr->out, "[bad udp cksum 0x%04x -> 0x%04x!] ", is,
			   (uint16_t)((right & 0xffff) + (right >> 16)));
	} else {
		buf_add_str(pr->out, "[udp sum ok] ");
	}
}

void tcpdump_udp_print(struct tcpdump_print *pr, const struct tcpdump_ip *ip, struct cursor c, uint32_t len)
{
	struct cursor all = c;
	uint16_t sport = cur_u16be(&c), dport = cur_u16be(&c), udp_len, sum;
	uint32_t data_len;

	tcpdump_base_ends(pr, ip, sport, dport);
	udp_len = cur_u16be(&c);
	sum = cur_u16be(&c);
	if (!cur_ok(&c)) {
		tcpdump_base_cut(pr->out, "udp");
		return;
	}
	if (udp_len >= 8 && udp_len < len)
		len = udp_len;
	data_len = (udp_len >= 8 ? udp_len : len) - MIN(udp_len >= 8 ? udp_len : len, 8u);
	if (pr->o->quick) {
		buf_printf(pr->out, "UDP, length %u", data_len);
		return;
	}
	add_checksum(pr, ip, sum, all, len);
	if (data_len && (sport == DNS_PORT || dport == DNS_PORT))
		tcpdump_dns_print(pr, c, data_len, false);
	else if (data_len && (sport == MDNS_PORT || dport == MDNS_PORT))
		tcpdump_dns_print(pr, c, data_len, true);
	else
		buf_printf(pr->out, "UDP, length %u", data_len);
}
