/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events of other datapaths (include/sonde/foreign_wire.h): their drops and traces are net.drop and net.trace like
 * our own, the other kinds have types of their own. Each event keeps its original notification (SEC_NOTIFY); rarely
 * used fields are read from there.
 */
#ifndef NET_DATAPATH_EVENT_H
#define NET_DATAPATH_EVENT_H

#include <stdbool.h>
#include <stdint.h>

struct cilium_notify;
struct event;

/* Body of the types below; net.drop and net.trace have struct net_event. */
struct net_datapath_event_event {
	uint32_t hash;
	uint32_t len, cap_len;	/* of the packet, if it has one */
	int32_t verdict;	/* policy */
	uint16_t endpoint;	/* endpoint whose program ran; recorder: the rule */
	uint8_t kind, code;	/* type and subtype */
	uint8_t hook;		/* NET_SOCK_*, for our own events */
	uint8_t own;		/* policy: by a rule file of ours, and the next fields are set */
	uint8_t pad;
	uint32_t ifindex;
	uint64_t rule;		/* key of SONDE_NAME_POLICY_RULE */
};

extern const struct event_desc net_debug_desc, net_capture_desc, net_policy_desc, net_recorder_desc, net_sock_desc,
	net_l7_desc, net_agent_desc, net_other_desc;

/* Decodes the notification of an event. False if it has none, or if it is invalid. */
bool net_datapath_event_notify(const struct event *ev, struct cilium_notify *ret);
/* The bytes of the notification, NULL if the event has none. */
const uint8_t *net_datapath_event_bytes(const struct event *ev, uint32_t *ret_len);

#endif
