/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Notifications of Cilium's datapath: every kind and version released so far
 * (bpf/lib/{common,drop,trace,dbg,policy_log,trace_sock,pcap}.h of Cilium 1.7 to 1.20; host byte order).
 *
 * Independent of rings, sockets and outputs.
 */
#ifndef CILIUM_NOTIFY_H
#define CILIUM_NOTIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;
struct err;

/* First byte of a payload. The agent sends 129 and above. */
enum cilium_type {
	CILIUM_DROP = 1, CILIUM_DEBUG = 2, CILIUM_CAPTURE = 3, CILIUM_TRACE = 4, CILIUM_POLICY = 5,
	CILIUM_RECORDER = 6,
	CILIUM_SOCK = 7, CILIUM_L7 = 129, CILIUM_AGENT = 130, CILIUM__MAX,
};

#define CILIUM_FLAG_IPV6 1	/* in drop and trace */
#define CILIUM_FLAG_L3 2	/* packet starts at its IP header */
#define CILIUM_FLAG_VXLAN 4
#define CILIUM_FLAG_GENEVE 8

#define CILIUM_REASON_ENCRYPTED 0x80

struct cilium_packet {
	const uint8_t *data;	/* points into the payload; NULL = none */
	size_t len;
	uint32_t orig_len;	/* on the wire */
	uint16_t cap_len;	/* length field of the datapath */
	uint8_t flags;		/* CILIUM_FLAG_* */
};

struct cilium_drop {
	uint32_t src_identity, dst_identity, dst_id;
	uint16_t line;
	uint8_t file;
	int8_t ext_error;
	uint32_t ifindex;
	uint64_t ip_trace_id;
};

struct cilium_trace {
	uint32_t src_identity, dst_identity;
	uint16_t dst_id;
	uint8_t reason;		/* CILIUM_REASON_ENCRYPTED may be set */
	uint32_t ifindex;
	uint8_t orig_ip[16];	/* IPv4 in the first four bytes unless CILIUM_FLAG_IPV6 */
	uint64_t ip_trace_id;
};

struct cilium_policy {
	uint32_t remote_identity;
	int32_t verdict;	/* < 0: negated drop reason, 0: allowed, > 0: proxy port */
	uint16_t dst_port;
	uint8_t proto;
	uint8_t bits;		/* CILIUM_POLICY_* */
	uint8_t auth_type;
	uint32_t cookie;
};

#define CILIUM_POLICY_DIR(bits) ((bits) & 3)	/* 1 ingress, 2 egress */
#define CILIUM_POLICY_IPV6 4
#define CILIUM_POLICY_MATCH(bits) ((bits) >> 3 & 7)
#define CILIUM_POLICY_AUDITED 0x40
#define CILIUM_POLICY_L3 0x80

struct cilium_sock {
	uint8_t point;
	uint8_t proto;		/* 0 unknown, 1 TCP, 2 UDP */
	bool ipv6;
	uint8_t dst_ip[16];
	uint16_t dst_port;
	uint64_t cookie, cgroup_id;
};

struct cilium_recorder {
	uint64_t ts_ns;		/* boot clock */
	uint32_t cap_len, len;
};

struct cilium_notify {
	uint8_t type;		/* enum cilium_type, or any other number */
	uint8_t subtype;
	uint16_t source;	/* endpoint whose program ran */
	uint32_t hash;
	uint8_t version;
	uint32_t arg[3];	/* debug: three; capture: two */
	struct cilium_packet pkt;
	union {
		struct cilium_drop drop;
		struct cilium_trace trace;
		struct cilium_policy policy;
		struct cilium_sock sock;
		struct cilium_recorder recorder;
	};
};

/*
 * Decodes @len bytes, with or without ring padding; @ret borrows from @data. Agent types yield their type only (gob.h
 * decodes the rest). -EBADMSG with the client's message if bytes are missing, -ENOSYS for an unknown type; @ret->type
 * alone is valid then.
 */
int cilium_notify_decode(const void *data, size_t len, struct cilium_notify *ret, struct err *err);

/*
 * Encodes the newest layout of a kind with its packet (pkt.data, pkt.len, at most 65535 bytes); ignores version and
 * pkt.cap_len. 0, -ENOSYS for kinds that current datapaths do not send, -ENOMEM.
 */
int cilium_encode(const struct cilium_notify *n, struct buf *out);

/* ---- agent records (types 129 and 130): a type byte and a gob stream ---- */

/* Kinds of agent notifications that sonde sends. */
#define CILIUM_AGENT_MESSAGE 1
#define CILIUM_AGENT_STARTED 2

/* Appends a notification; @json: its text, a JSON object. */
void cilium_gob_put_agent(struct buf *out, uint32_t type, const char *json);

struct cilium_call_end {
	char addr[46];			/* text; "" = unknown */
	bool ipv6;
	uint16_t port;
	uint32_t identity;
};

/* An answered request. Strings are borrowed and not terminated. */
struct cilium_call {
	struct cilium_call_end asks, answers;
	bool server;			/* recorded at the server */
	int code;			/* HTTP status; 0 = none */
	const char *method, *url;
	size_t method_len, url_len;
	char timestamp[40];		/* RFC 3339 */
};

/* Appends an access-log record. */
void cilium_gob_put_call(struct buf *out, const struct cilium_call *c);

#endif
