// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Debug messages of Cilium's datapath. A table maps each message number to a template; an interpreter fills in the
 * three arguments.
 */
#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/buf.h"
#include "base/macros.h"
#include "cilium/names.h"
#include "cilium/print.h"

/*
 * Placeholders: {1d} prints argument 1 as a number. The letter selects the format:
 *   d number		x hex		X 0x and hex	i IPv4 address		6 half of an IPv6 address
 *   h low 16 bits, bytes swapped	H high 16 bits, bytes swapped	l low 16 bits	g high 16 bits
 *   b low byte		B all but the low byte	F conntrack flags in the low byte
 *   c conntrack state	n interface	e errno text	D policy direction
 */
static const char *const texts[] = {
	[1] = "No message, arg1={1d} ({1X}) arg2={2d} ({2X}) arg3={3d} ({3X})",
	[2] = "Attempting local delivery for container id {1d} from seclabel {2d}",
	[3] = "Encapsulating to node {1d} ({1X}) from seclabel {2d}",
	[4] = "Local container found ifindex {1n} seclabel {2h}",
	[5] = "Policy evaluation would deny packet from {1d} to {2d}",
	[6] = "CT lookup: sport={1g} dport={1l} nexthdr={2B} flags={2F}",
	[7] = "CT reverse lookup: sport={1g} dport={1l} nexthdr={2B} flags={2F}",
	[8] = "CT entry found lifetime={1d}, revnat={2h}",
	[9] = "CT created 1/2: sport={1g} dport={1l} nexthdr={2B} flags={2F} revnat={3h}",
	[10] = "CT created 2/2: {1i} revnat={2h}",
	[11] = "Handling ICMPv6 type={1d}",
	[12] = "ICMPv6 echo request for router offset={1d}",
	[13] = "ICMPv6 neighbour soliciation for address {1x}:{2x}",
	[14] = "Sending ICMPv6 time exceeded",
	[15] = "CT verdict: {1c}, revnat={2h}",
	[16] = "Tunnel decap: id={1d} flowlabel={2x}",
	[17] = "Mapping port from={1d} to={2d}",
	[18] = "BPF function {1d} returned error {2d}",
	[19] = "Going to host, policy-skip={1d}",
	[20] = "Going to the stack, policy-skip={1d}",
	[21] = "Packet hash={1d} ({1X}), selected_service={2d}",
	[22] = "Frontend service lookup, addr.p4={1x} key.dport={2h}",
	[23] = "Frontend service lookup failed, addr.p2={1x} addr.p3={2x}",
	[24] = "Service backend slot lookup: slot={1d}, dport={2h}",
	[25] = "Service backend slot lookup result: target.p4={1x} port={2h}",
	[26] = "Service backend slot lookup failed: slot={1d}, dport={2h}",
	[27] = "Backend service lookup failed: backend_id={1d}",
	[28] = "Reverse NAT lookup, index={1h}",
	[29] = "Performing reverse NAT, address.p4={1x} port={2h}",
	[30] = "Frontend service lookup, addr={1i} key.dport={2h}",
	[31] = "Frontend service lookup failed",
	[32] = "Service backend slot lookup: slot={1d}, dport={2h}",
	[33] = "Service backend slot lookup result: target={1i} port={2h}",
	[34] = "Service backend slot lookup failed: slot={1d}, dport={2h}",
	[35] = "Backend service lookup failed: backend_id={1d}",
	[36] = "Reverse NAT lookup, index={1h}",
	[37] = "Performing reverse NAT, address={1i} port={2h}",
	[38] = "Loopback SNAT from={1i} to={2i}",
	[39] = "Loopback reverse SNAT from={1i} to={2i}",
	[40] = "CT lookup address: {1i}",
	[41] = "RR backend slot selection hash={1d} ({1X}), selected_service={2d}",
	[42] = "Reverse proxy lookup sport={1H} dport={1h} saddr={2i} nexthdr={3d}",
	[43] = "Reverse proxy entry found, orig-daddr={1i} orig-dport={2d}",
	[44] = "Reverse proxy updated sport={1H} dport={1h} saddr={2i} nexthdr={3d}",
	[45] = "Resolved L4 policy to: {1h} / {2D}",
	[46] = "Destination is inside cluster prefix, source identity: {1d}",
	[47] = "Attempting encapsulation, lookup key: {1i}, identity: {2d}",
	[48] = "Conntrack lookup 1/2: src={1i}:{3l} dst={2i}:{3g}",
	[49] = "Conntrack lookup 2/2: nexthdr={1B} flags={1b} dir={2d} scope={3d}",
	[50] = "Conntrack create: proxy-port={1g} revnat={1h} src-identity={2d} lb={3i}",
	[51] = "Conntrack lookup 1/2: src=[::{16}]:{3l} dst=[::{26}]:{3g}",
	[52] = "Conntrack lookup 2/2: nexthdr={1B} flags={1b} dir={2d} scope={3d}",
	[53] = "Conntrack create: proxy-port={1g} revnat={1h} src-identity={2d}",
	[54] = "Skipping proxy, tc_index is set={1x}",
	[55] = "Matched L4 policy; creating conntrack src={1d} dst={2d} dport={3H} proto={3b}",
	[56] = "Failed to map addr={1i} to identity",
	[57] = "Failed to map addr.p4=[::{16}] to identity",
	[58] = "Successfully mapped addr={1i} to identity={2d}",
	[59] = "Successfully mapped addr.p4=[::{16}] to identity={2d}",
	[60] = "Stale CT entry found stale_ct.rev_nat_id={2d}, svc.rev_nat_id={1d}",
	[61] = "Inheriting identity={1d} from stack",
	[62] = "Socket lookup: src={1i}:{3l} dst={2i}:{3g}",
	[63] = "Socket lookup: src=[::{16}]:{3l} dst=[::{26}]:{3g}",
	[64] = "Socket assign: {1e}",
	[65] = "L7 LB from {1i} to {2i}: proxy port {3d}",
	[67] = "Loopback SNAT from.p4={1x} to.p4={2x}",
	[68] = "Loopback reverse SNAT from.p4={1x} to.p4={2x}",
};

static const char *const captures[] = {
	[4] = "Delivery to ifindex {1d}",
	[5] = "Incoming packet to load balancer on ifindex {1d}",
	[6] = "Packet after nat46 ifindex {1d}",
	[7] = "Packet after nat64 ifindex {1d}",
	[8] = "Packet to proxy port {1h} (Pre)",
	[9] = "Packet to proxy port {1h} (Post)",
	[10] = "Packet going into snat engine on ifindex {1d}",
	[11] = "Packet coming from snat engine on ifindex {1d}",
};

static const char *const capture_prefixes[] = {
	[4] = "-> {1n}", [5] = "<- load-balancer {1n}", [6] = "== v4->v6 {1d}", [7] = "== v6->v4 {1d}",
	[9] = "-> proxy port {1h}",
};

static uint16_t swap16(uint32_t v)
{
	return __builtin_bswap16((uint16_t)v);
}

static void put_ipv4(struct buf *out, uint32_t v)
{
	char text[INET_ADDRSTRLEN];

	inet_ntop(AF_INET, &v, text, sizeof(text));
	buf_add_str(out, text);
}

static void put_flags(struct buf *out, uint8_t flags)
{
	const char *between = "";

	if (flags & 1) {
		buf_add_str(out, "OUT");
		between = ",";
	}
	if (flags & 2)
		buf_printf(out, "%sRELATED", between);
}

static void put_half_ipv6(struct buf *out, uint32_t v)
{
	uint32_t swapped = __builtin_bswap32(v);

	buf_printf(out, "%x:%x", swapped >> 16, swapped & 0xffff);
}

#define ERRNO_LAST_OF_GO 132 /* ERFKILL */

/* Go's errno texts: glibc's in lower case, with a few exceptions. */
static void put_errno(struct buf *out, uint32_t v)
{
	const char *text = v <= ERRNO_LAST_OF_GO ? strerrordesc_np((int)v) : NULL;

	if (!v) {
		buf_add_str(out, "Success");
	} else if (v == ESTALE) {
		buf_add_str(out, "stale NFS file handle");
	} else if (text) {
		buf_add_char(out, islower((unsigned char)text[1]) ? (char)tolower(text[0]) : text[0]);
		buf_add_str(out, text + 1);
	} else {
		buf_printf(out, "errno %u", v);
	}
}

static void put_arg(struct buf *out, uint32_t v, char how, const struct cilium_print *o)
{
	switch (how) {
	case 'd': buf_add_u64(out, v); break;
	case 'x': buf_printf(out, "%x", v); break;
	case 'X': buf_printf(out, "0x%x", v); break;
	case 'i': put_ipv4(out, v); break;
	case '6': put_half_ipv6(out, v); break;
	case 'h': buf_add_u64(out, swap16(v)); break;
	case 'H': buf_add_u64(out, swap16(v >> 16)); break;
	case 'l': buf_add_u64(out, v & 0xffff); break;
	case 'g': buf_add_u64(out, v >> 16); break;
	case 'b': buf_add_u64(out, v & 0xff); break;
	case 'B': buf_add_u64(out, v >> 8); break;
	case 'F': put_flags(out, (uint8_t)v); break;
	case 'c': cilium_names_put_ct_state(out, v); break;
	case 'n': cilium_print_put_iface(out, v, o); break;
	case 'e':
		put_errno(out, v);
		break;
	case 'D': buf_add_str(out, v == 0 ? "egress" : v == 1 ? "ingress" : ""); break;
	default: break;
	}
}

static void interpret(struct buf *out, const char *text, const uint32_t *arg, const struct cilium_print *o)
{
	for (; *text; text++) {
		if (*text != '{') {
			buf_add_char(out, *text);
			continue;
		}
		put_arg(out, arg[text[1] - '1'], text[2], o);
		text += 3;
	}
}

void cilium_debug_put(struct buf *out, const struct cilium_notify *n, const struct cilium_print *o)
{
	const char *text = n->subtype < ARRAY_SIZE(texts) ? texts[n->subtype] : NULL;

	if (text)
		interpret(out, text, n->arg, o);
	else
		buf_printf(out, "Unknown message type=%u arg1=%u arg2=%u", n->subtype, n->arg[0], n->arg[1]);
}

void cilium_debug_put_capture(struct buf *out, const struct cilium_notify *n, const struct cilium_print *o)
{
	const char *text = n->subtype < ARRAY_SIZE(captures) ? captures[n->subtype] : NULL;

	if (text)
		interpret(out, text, n->arg, o);
	else
		buf_printf(out, "Unknown message type=%u arg1=%u", n->subtype, n->arg[0]);
}

bool cilium_debug_put_capture_prefix(struct buf *out, const struct cilium_notify *n, const struct cilium_print *o)
{
	const char *text = n->subtype < ARRAY_SIZE(capture_prefixes) ? capture_prefixes[n->subtype] : NULL;

	if (text)
		interpret(out, text, n->arg, o);
	return text != NULL;
}
