// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Name tables of release 1.20. Cilium only appends numbers, except for source files, renumbered in 1.19.
 */
#include "cilium/names.h"

#include <stddef.h>

#include "base/buf.h"
#include "base/macros.h"
#include "cilium/notify.h"

static const char *const drop_reasons[] = {
	[0] = "Success",
	[2] = "Invalid packet",
	[3] = "Interface",
	[4] = "Interface Decrypted",
	[5] = "LB, sock cgroup: No backend slot entry found",
	[6] = "LB, sock cgroup: No backend entry found",
	[7] = "LB, sock cgroup: Reverse entry update failed",
	[8] = "LB, sock cgroup: Reverse entry stale",
	[9] = "Fragmented packet",
	[10] = "Fragmented packet entry update failed",
	[11] = "Missed tail call to custom program",
	[12] = "Interface Decrypting",
	[13] = "Interface Encrypting",
	[14] = "LB: sock cgroup: Reverse entry delete succeeded",
	[15] = "MTU error message",
	[130] = "Invalid source mac",
	[131] = "Invalid destination mac",
	[132] = "Invalid source ip",
	[133] = "Policy denied",
	[134] = "Invalid packet",
	[135] = "CT: Truncated or invalid header",
	[136] = "Fragmentation needed",
	[137] = "CT: Unknown L4 protocol",
	[138] = "CT: Can't create entry from packet",
	[139] = "Unsupported L3 protocol",
	[140] = "Missed tail call",
	[141] = "Error writing to packet",
	[142] = "Unknown L4 protocol",
	[143] = "Unknown ICMPv4 code",
	[144] = "Unknown ICMPv4 type",
	[145] = "Unknown ICMPv6 code",
	[146] = "Unknown ICMPv6 type",
	[147] = "Error retrieving tunnel key",
	[148] = "Error retrieving tunnel options",
	[149] = "Invalid Geneve option",
	[150] = "Unknown L3 target address",
	[151] = "Stale or unroutable IP",
	[152] = "No matching local container found",
	[153] = "Error while correcting L3 checksum",
	[154] = "Error while correcting L4 checksum",
	[155] = "CT: Map insertion failed",
	[156] = "Invalid IPv6 extension header",
	[157] = "IP fragmentation not supported",
	[158] = "Service backend not found",
	[160] = "No tunnel/encapsulation endpoint (datapath BUG!)",
	[161] = "NAT 46/64 not enabled",
	[162] = "Reached EDT rate-limiting drop horizon",
	[163] = "Unknown connection tracking state",
	[164] = "Local host is unreachable",
	[165] = "No configuration available to perform policy decision",
	[166] = "Unsupported L2 protocol",
	[167] = "No mapping for NAT masquerade",
	[168] = "Unsupported protocol for NAT masquerade",
	[169] = "FIB lookup failed",
	[170] = "Encapsulation traffic is prohibited",
	[171] = "Invalid identity",
	[172] = "Unknown sender",
	[173] = "NAT not needed",
	[174] = "Is a ClusterIP",
	[175] = "First logical datagram fragment not found",
	[176] = "Forbidden ICMPv6 message",
	[177] = "Denied by LB src range check",
	[178] = "Socket lookup failed",
	[179] = "Socket assign failed",
	[180] = "Proxy redirection not supported for protocol",
	[181] = "Policy denied by denylist",
	[182] = "VLAN traffic disallowed by VLAN filter",
	[183] = "Incorrect VNI from VTEP",
	[184] = "Failed to update or lookup TC buffer",
	[185] = "No SID was found for the IP address",
	[186] = "SRv6 state was removed during tail call",
	[187] = "L3 translation from IPv4 to IPv6 failed (NAT46)",
	[188] = "L3 translation from IPv6 to IPv4 failed (NAT64)",
	[189] = "Authentication required",
	[190] = "No conntrack map found",
	[191] = "No nat map found",
	[192] = "Invalid ClusterID",
	[193] = "Unsupported packet protocol for DSR encapsulation",
	[194] = "No egress gateway found",
	[195] = "Traffic is unencrypted",
	[196] = "TTL exceeded",
	[197] = "No node ID found",
	[198] = "Rate limited",
	[199] = "IGMP handled",
	[200] = "IGMP subscribed",
	[201] = "Multicast handled",
	[202] = "Host datapath not ready",
	[203] = "Endpoint policy program not available",
	[204] = "No Egress IP configured",
	[205] = "Punt to proxy",
	[206] = "No device",
};

/* Two ranges: programs, then headers. */
static const char *const files_low[] = {
	[1] = "bpf_host.c", [2] = "bpf_lxc.c", [3] = "bpf_overlay.c", [4] = "bpf_xdp.c", [5] = "bpf_sock.c",
	[7] = "bpf_wireguard.c",
};

#define FILES_HIGH 101
static const char *const files_high[] = {
	"drop.h", "srv6.h", "icmp6.h", "nodeport.h", "lb.h", "mcast.h", "ipv4.h", "conntrack.h", "local_delivery.h",
	"trace.h", "encap.h", "host_firewall.h", "nodeport_egress.h", "ipv6.h", "classifiers.h",
};

static const char *const points[] = {
	"to-endpoint", "to-proxy", "to-host", "to-stack", "to-overlay", "from-endpoint", "from-proxy", "from-host",
	"from-stack", "from-overlay", "from-network", "to-network", "from-crypto", "to-crypto",
};

static const char *const states[] = {
	"new", "established", "reply", "related", "reopened", "unknown", "srv6-encap", "srv6-decap",
	"encrypt-overlay",
};

static const char *const identities[] = {
	"unknown", "host", "world", "unmanaged", "health", "init", "remote-node", "kube-apiserver", "ingress",
	"world-ipv4", "world-ipv6",
};

static const char *const agent_events[] = {
	"unspecified", "Message", "Cilium agent started", "Endpoint regenerated", "Failed endpoint regeneration",
	"Policy updated", "Policy deleted", "Endpoint created", "Endpoint deleted", "IPCache entry upserted",
	"IPCache entry deleted",
};

static const char *const matches[] = { "none", "L3-Only", "L3-L4", "L4-Only", "all", "L3-Proto", "Proto-Only" };
static const char *const sock_points[] = {
	NULL, "pre-xlate-fwd", "post-xlate-fwd", "pre-xlate-rev", "post-xlate-rev",
};
static const char *const ct_states[] = { "New", "Established", "Reply", "Related" };
static const char *const auths[] = { "disabled", "spire", "test-always-fail" };

static const char *lookup(const char *const *names, size_t n, uint64_t i)
{
	return i < n ? names[i] : NULL;
}

const char *cilium_names_drop_reason(uint8_t code)
{
	return lookup(drop_reasons, ARRAY_SIZE(drop_reasons), code);
}

/* "to-endpoint"; NULL if unknown. */
static const char *cilium_point(uint8_t point)
{
	return lookup(points, ARRAY_SIZE(points), point);
}

const char *cilium_names_agent_event(uint32_t type)
{
	return lookup(agent_events, ARRAY_SIZE(agent_events), type);
}

const char *cilium_names_policy_match(uint8_t match)
{
	return lookup(matches, ARRAY_SIZE(matches), match) ?: "unknown";
}

const char *cilium_names_policy_action(const struct cilium_policy *p)
{
	if (p->bits & CILIUM_POLICY_AUDITED)
		return "audit";
	return p->verdict < 0 ? "deny" : p->verdict > 0 ? "redirect" : "allow";
}

const char *cilium_names_sock_point(uint8_t point)
{
	return lookup(sock_points, ARRAY_SIZE(sock_points), point) ?: "unknown";
}

/* Prints the name, or the number without one. */
static void put(struct buf *out, const char *name, uint64_t number)
{
	if (name)
		buf_add_str(out, name);
	else
		buf_add_u64(out, number);
}

void cilium_names_put_drop(struct buf *out, uint8_t code, int ext_error)
{
	const char *name = cilium_names_drop_reason(code);

	put(out, name, code);
	if (!name || ext_error)
		buf_printf(out, ", %d", ext_error);
}

const char *cilium_names_file(uint8_t id)
{
	return id < FILES_HIGH ? lookup(files_low, ARRAY_SIZE(files_low), id) :
				 lookup(files_high, ARRAY_SIZE(files_high), id - FILES_HIGH);
}

void cilium_names_put_file(struct buf *out, uint8_t id)
{
	const char *name = cilium_names_file(id);

	if (name)
		buf_add_str(out, name);
	else
		buf_printf(out, "unknown(%u)", id);
}

void cilium_names_put_point(struct buf *out, uint8_t point)
{
	put(out, cilium_point(point), point);
}

const char *cilium_names_state(uint8_t reason)
{
	return lookup(states, ARRAY_SIZE(states), reason & ~CILIUM_REASON_ENCRYPTED);
}

void cilium_names_put_state(struct buf *out, uint8_t reason)
{
	put(out, cilium_names_state(reason), reason);
}

void cilium_names_put_identity(struct buf *out, uint32_t id, int numeric)
{
	put(out, numeric ? NULL : lookup(identities, ARRAY_SIZE(identities), id), id);
}

void cilium_names_put_ct_state(struct buf *out, uint32_t state)
{
	const char *name = lookup(ct_states, ARRAY_SIZE(ct_states), state);

	if (name)
		buf_add_str(out, name);
	else
		cilium_names_put_drop(out, (uint8_t)state, 0);
}

const char *cilium_names_auth(uint8_t type)
{
	return lookup(auths, ARRAY_SIZE(auths), type) ?: "unknown";
}

void cilium_names_put_auth(struct buf *out, uint8_t type)
{
	const char *name = lookup(auths, ARRAY_SIZE(auths), type);

	if (name)
		buf_add_str(out, name);
	else
		buf_printf(out, "Unknown-auth-type-%u", type);
}
