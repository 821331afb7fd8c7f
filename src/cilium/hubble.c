// SPDX-License-Identifier: GPL-2.0-or-later
#include "cilium/hubble.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "cilium/notify.h"

#define DROP_FIRST 130

/* Indexed from DROP_FIRST. Newer codes are written as numbers. */
static const char *const drop_reasons[] = {
	[130 - DROP_FIRST] = "INVALID_SOURCE_MAC",
	[131 - DROP_FIRST] = "INVALID_DESTINATION_MAC",
	[132 - DROP_FIRST] = "INVALID_SOURCE_IP",
	[133 - DROP_FIRST] = "POLICY_DENIED",
	[134 - DROP_FIRST] = "INVALID_PACKET_DROPPED",
	[135 - DROP_FIRST] = "CT_TRUNCATED_OR_INVALID_HEADER",
	[136 - DROP_FIRST] = "CT_MISSING_TCP_ACK_FLAG",
	[137 - DROP_FIRST] = "CT_UNKNOWN_L4_PROTOCOL",
	[138 - DROP_FIRST] = "CT_CANNOT_CREATE_ENTRY_FROM_PACKET",
	[139 - DROP_FIRST] = "UNSUPPORTED_L3_PROTOCOL",
	[140 - DROP_FIRST] = "MISSED_TAIL_CALL",
	[141 - DROP_FIRST] = "ERROR_WRITING_TO_PACKET",
	[142 - DROP_FIRST] = "UNKNOWN_L4_PROTOCOL",
	[143 - DROP_FIRST] = "UNKNOWN_ICMPV4_CODE",
	[144 - DROP_FIRST] = "UNKNOWN_ICMPV4_TYPE",
	[145 - DROP_FIRST] = "UNKNOWN_ICMPV6_CODE",
	[146 - DROP_FIRST] = "UNKNOWN_ICMPV6_TYPE",
	[147 - DROP_FIRST] = "ERROR_RETRIEVING_TUNNEL_KEY",
	[148 - DROP_FIRST] = "ERROR_RETRIEVING_TUNNEL_OPTIONS",
	[149 - DROP_FIRST] = "INVALID_GENEVE_OPTION",
	[150 - DROP_FIRST] = "UNKNOWN_L3_TARGET_ADDRESS",
	[151 - DROP_FIRST] = "STALE_OR_UNROUTABLE_IP",
	[152 - DROP_FIRST] = "NO_MATCHING_LOCAL_CONTAINER_FOUND",
	[153 - DROP_FIRST] = "ERROR_WHILE_CORRECTING_L3_CHECKSUM",
	[154 - DROP_FIRST] = "ERROR_WHILE_CORRECTING_L4_CHECKSUM",
	[155 - DROP_FIRST] = "CT_MAP_INSERTION_FAILED",
	[156 - DROP_FIRST] = "INVALID_IPV6_EXTENSION_HEADER",
	[157 - DROP_FIRST] = "IP_FRAGMENTATION_NOT_SUPPORTED",
	[158 - DROP_FIRST] = "SERVICE_BACKEND_NOT_FOUND",
	[160 - DROP_FIRST] = "NO_TUNNEL_OR_ENCAPSULATION_ENDPOINT",
	[161 - DROP_FIRST] = "FAILED_TO_INSERT_INTO_PROXYMAP",
	[162 - DROP_FIRST] = "REACHED_EDT_RATE_LIMITING_DROP_HORIZON",
	[163 - DROP_FIRST] = "UNKNOWN_CONNECTION_TRACKING_STATE",
	[164 - DROP_FIRST] = "LOCAL_HOST_IS_UNREACHABLE",
	[165 - DROP_FIRST] = "NO_CONFIGURATION_AVAILABLE_TO_PERFORM_POLICY_DECISION",
	[166 - DROP_FIRST] = "UNSUPPORTED_L2_PROTOCOL",
	[167 - DROP_FIRST] = "NO_MAPPING_FOR_NAT_MASQUERADE",
	[168 - DROP_FIRST] = "UNSUPPORTED_PROTOCOL_FOR_NAT_MASQUERADE",
	[169 - DROP_FIRST] = "FIB_LOOKUP_FAILED",
	[170 - DROP_FIRST] = "ENCAPSULATION_TRAFFIC_IS_PROHIBITED",
	[171 - DROP_FIRST] = "INVALID_IDENTITY",
	[172 - DROP_FIRST] = "UNKNOWN_SENDER",
	[173 - DROP_FIRST] = "NAT_NOT_NEEDED",
	[174 - DROP_FIRST] = "IS_A_CLUSTERIP",
	[175 - DROP_FIRST] = "FIRST_LOGICAL_DATAGRAM_FRAGMENT_NOT_FOUND",
	[176 - DROP_FIRST] = "FORBIDDEN_ICMPV6_MESSAGE",
	[177 - DROP_FIRST] = "DENIED_BY_LB_SRC_RANGE_CHECK",
	[178 - DROP_FIRST] = "SOCKET_LOOKUP_FAILED",
	[179 - DROP_FIRST] = "SOCKET_ASSIGN_FAILED",
	[180 - DROP_FIRST] = "PROXY_REDIRECTION_NOT_SUPPORTED_FOR_PROTOCOL",
	[181 - DROP_FIRST] = "POLICY_DENY",
	[182 - DROP_FIRST] = "VLAN_FILTERED",
	[183 - DROP_FIRST] = "INVALID_VNI",
	[184 - DROP_FIRST] = "INVALID_TC_BUFFER",
	[185 - DROP_FIRST] = "NO_SID",
	[186 - DROP_FIRST] = "MISSING_SRV6_STATE",
	[187 - DROP_FIRST] = "NAT46",
	[188 - DROP_FIRST] = "NAT64",
	[189 - DROP_FIRST] = "AUTH_REQUIRED",
	[190 - DROP_FIRST] = "CT_NO_MAP_FOUND",
	[191 - DROP_FIRST] = "SNAT_NO_MAP_FOUND",
	[192 - DROP_FIRST] = "INVALID_CLUSTER_ID",
	[193 - DROP_FIRST] = "UNSUPPORTED_PROTOCOL_FOR_DSR_ENCAP",
	[194 - DROP_FIRST] = "NO_EGRESS_GATEWAY",
	[196 - DROP_FIRST] = "TTL_EXCEEDED",
	[197 - DROP_FIRST] = "NO_NODE_ID",
	[202 - DROP_FIRST] = "DROP_HOST_NOT_READY",
	[203 - DROP_FIRST] = "DROP_EP_NOT_READY",
};

/* Point 0 is valid in the datapath but "unknown" in protobuf, which renumbers it. */
static const char *const points[] = {
	"TO_ENDPOINT", "TO_PROXY", "TO_HOST", "TO_STACK", "TO_OVERLAY", "FROM_ENDPOINT", "FROM_PROXY", "FROM_HOST",
	"FROM_STACK", "FROM_OVERLAY", "FROM_NETWORK", "TO_NETWORK",
};

static const char *const sock_points[] = {
	[1] = "SOCK_XLATE_POINT_PRE_DIRECTION_FWD", [2] = "SOCK_XLATE_POINT_POST_DIRECTION_FWD",
	[3] = "SOCK_XLATE_POINT_PRE_DIRECTION_REV", [4] = "SOCK_XLATE_POINT_POST_DIRECTION_REV",
};

static const char *const capture_points[] = {
	[4] = "DBG_CAPTURE_DELIVERY", [5] = "DBG_CAPTURE_FROM_LB", [6] = "DBG_CAPTURE_AFTER_V46",
	[7] = "DBG_CAPTURE_AFTER_V64", [8] = "DBG_CAPTURE_PROXY_PRE", [9] = "DBG_CAPTURE_PROXY_POST",
	[10] = "DBG_CAPTURE_SNAT_PRE", [11] = "DBG_CAPTURE_SNAT_POST",
};

/* Indexed by the datapath's number; 5 is "unknown". */
static const char *const trace_reasons[] = {
	[0] = "NEW", [1] = "ESTABLISHED", [2] = "REPLY", [3] = "RELATED", [4] = "REOPENED",
	[6] = "SRV6_ENCAP", [7] = "SRV6_DECAP", [8] = "ENCRYPT_OVERLAY",
};

const char *hubble_drop_reason(uint8_t code)
{
	return code >= DROP_FIRST && code - DROP_FIRST < (int)ARRAY_SIZE(drop_reasons) ?
		drop_reasons[code - DROP_FIRST] : NULL;
}

int hubble_drop_code(const char *name, size_t len)
{
	for (size_t i = 0; i < ARRAY_SIZE(drop_reasons); i++)
		if (drop_reasons[i] && strlen(drop_reasons[i]) == len && !memcmp(drop_reasons[i], name, len))
			return (int)i + DROP_FIRST;
	return -ENOENT;
}

const char *hubble_point(uint8_t point)
{
	return point < ARRAY_SIZE(points) ? points[point] : NULL;
}

const char *hubble_sock_point(uint8_t point)
{
	return point < ARRAY_SIZE(sock_points) ? sock_points[point] : NULL;
}

const char *hubble_capture_point(uint8_t code)
{
	return code < ARRAY_SIZE(capture_points) ? capture_points[code] : NULL;
}

const char *hubble_trace_reason(uint8_t reason)
{
	reason &= (uint8_t)~CILIUM_REASON_ENCRYPTED;
	return reason < ARRAY_SIZE(trace_reasons) ? trace_reasons[reason] : NULL;
}

uint8_t hubble_trace_reason_number(const char *name)
{
	for (size_t i = 0; name && i < ARRAY_SIZE(trace_reasons); i++)
		if (trace_reasons[i] && !strcmp(trace_reasons[i], name))
			return (uint8_t)(i < 5 ? i + 1 : i);
	return 0;
}

static const char *const verdicts[] = {
	[1] = "FORWARDED", [2] = "DROPPED", [3] = "ERROR", [4] = "AUDIT", [5] = "REDIRECTED", [6] = "TRACED",
	[7] = "TRANSLATED",
};

const char *hubble_verdict(uint64_t number)
{
	return number < ARRAY_SIZE(verdicts) ? verdicts[number] : NULL;
}

uint8_t hubble_verdict_number(const char *name)
{
	for (size_t i = 1; name && i < ARRAY_SIZE(verdicts); i++)
		if (!strcmp(verdicts[i], name))
			return (uint8_t)i;
	return 0;
}
