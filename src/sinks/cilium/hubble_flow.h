/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An event as a Hubble flow (flow.proto), built from fields, sections and Cilium notifications, and written in
 * protobuf's JSON mapping; hubble_pb.h has the bytes.
 */
#ifndef SINKS_HUBBLE_FLOW_H
#define SINKS_HUBBLE_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#include "event/event.h"
#include "sinks/cilium/cilium_map.h"
#include "sinks/time_text.h"

enum { HUBBLE_INGRESS = 1, HUBBLE_EGRESS = 2 };		/* TrafficDirection */

struct hubble_end {
	uint32_t id, identity;		/* of endpoint; security identity */
	bool local;			/* the event's process is at this end */
	struct value name;		/* from DNS */
};

/* 0 and NULL = unknown: omitted. */
struct hubble_flow {
	const char *type, *verdict;	/* FlowType, Verdict */
	uint8_t event_type, sub_type;	/* numbers of Cilium's monitor */
	uint8_t direction;		/* of the connection: HUBBLE_* */
	bool knows_reply, is_reply, encrypted;
	bool knows_sub_type;
	uint8_t drop_code;
	const char *point, *trace_reason, *sock_point, *capture_point;
	uint32_t ifindex, proxy_port, policy_match;
	struct conn conn;
	struct ipaddr xlated;		/* the source before or after translation */
	uint8_t tcp_flags, icmp_type, icmp_code;
	bool has_mac;
	uint8_t smac[6], dmac[6];
	struct hubble_end src, dst;
	uint64_t cookie, cgroup_id;
	struct value reason, func;	/* the kernel's drop reason and function */
	char summary[64];		/* of the packet */
};

struct hubble_type;

/* Starts zeroed. */
struct hubble_map {
	struct cilium_map cilium;
	VEC(struct hubble_type) types;	/* known event types with their fields */
};

void hubble_flow_fini(struct hubble_map *m);

/* 1 if @ev is a flow, 2 if events were lost (*ret_lost, *ret_cpu), 0 if neither; or -ENOMEM. */
int hubble_flow_event(struct hubble_map *m, const struct event *ev, struct hubble_flow *ret, uint64_t *ret_lost,
		      int64_t *ret_cpu);

#define HUBBLE_WORKLOAD "Process"	/* kind of a workload that is the process of an end */

/* Text of a flow, for both forms. */
bool hubble_flow_end_is_known(const struct hubble_end *e);
/* Name of the end's process; false if unknown. */
bool hubble_flow_comm(const struct event *ev, const struct hubble_end *e, const char **ret, size_t *ret_len);
/* Pod or namespace of that process (SONDE_NAME_POD*); NULL = none. */
const char *hubble_flow_pod(const struct event *ev, const struct hubble_end *e, uint32_t space);
/* Appends the labels of an end, each with a NUL behind it. */
void hubble_flow_labels(const struct event *ev, const struct hubble_end *e, struct buf *out);
/* Appends the flow's summary, with the kernel's reason and function of a drop. */
void hubble_flow_summary(struct buf *out, const struct hubble_flow *f);

/*
 * Writes one line, a GetFlowsResponse: the flow @f, or @lost events of @cpu if it is NULL. The caller keeps @time;
 * @node may be NULL.
 */
void hubble_put_response(struct buf *out, struct time_text *time, const struct event *ev, const struct hubble_flow *f,
			 uint64_t lost, int64_t cpu, const char *node);

#endif
