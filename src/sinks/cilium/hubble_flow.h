/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An event as a flow of Hubble's (flow.proto): put together from fields, sections and Cilium's notifications, and
 * written as the JSON form of protobuf. Inside src/sinks only.
 */
#ifndef SINKS_HUBBLE_FLOW_H
#define SINKS_HUBBLE_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"
#include "sinks/cilium/cilium_map.h"
#include "sinks/time_text.h"

struct json;

enum { HUBBLE_INGRESS = 1, HUBBLE_EGRESS = 2 };		/* TrafficDirection */

struct hubble_end {
	uint32_t id, identity;		/* endpoint, security identity */
	bool local;			/* the event's process is here */
	struct value name;		/* of its address, by DNS */
};

/* 0 and NULL = unknown, left out. */
struct hubble_flow {
	const char *type, *verdict;	/* FlowType, Verdict */
	uint8_t event_type, sub_type;	/* as on Cilium's monitor */
	uint8_t direction;		/* of the connection: HUBBLE_* */
	bool knows_reply, is_reply, encrypted;
	bool knows_sub_type;
	uint8_t drop_code;
	const char *point, *trace_reason, *sock_point, *capture_point;
	uint32_t ifindex, proxy_port, policy_match;
	struct conn conn;
	struct ipaddr xlated;		/* the source on the other side of a translation */
	uint8_t tcp_flags, icmp_type, icmp_code;
	bool has_mac;
	uint8_t smac[6], dmac[6];
	struct hubble_end src, dst;
	uint64_t cookie, cgroup_id;
	struct value reason, func;	/* the kernel's own words for a drop */
	char summary[64];		/* of the packet */
};

struct hubble_type;

/* Zeroed at the start. */
struct hubble_map {
	struct cilium_map cilium;
	VEC(struct hubble_type) types;	/* event types seen, with their fields */
};

void hubble_flow_fini(struct hubble_map *m);

/* 1 when @ev is a flow, 2 when events were lost (*ret_lost, and *ret_cpu), 0 when it is neither; or -ENOMEM. */
int hubble_flow_event(struct hubble_map *m, const struct event *ev, struct hubble_flow *ret, uint64_t *ret_lost,
		      int64_t *ret_cpu);

/* The members of a flow, into the open object. @time is kept by the caller; @node may be NULL. */
void hubble_put_flow(struct json *j, struct time_text *time, const struct event *ev, const struct hubble_flow *f,
		     const char *node);

/* "node_name" and "time", the members that a flow and the object around it share. */
void hubble_put_where(struct json *j, struct time_text *time, const struct event *ev, const char *node);

#endif
