/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Configuration of the net probe: its options and the values that commands set.
 */
#ifndef NET_NET_CONF_H
#define NET_NET_CONF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/opt.h"

struct event;
struct registry;

/* tc attach mechanism: tcx links, or clsact filters, the only one before Linux 6.6. */
enum net_attach { NET_ATTACH_AUTO, NET_ATTACH_TCX, NET_ATTACH_CLSACT, NET_ATTACH__MAX };

/* Hooks as they are reported when they do not work (probe_env_hook_failed()). */
#define NET_HOOK_DROPS "drops (kfree_skb)"
#define NET_HOOK_PACKETS "packets (tc)"				/* of all namespaces that were asked for */
#define NET_HOOK_SOME "packets (tc) of some network namespaces"	/* the others are watched */

#define NET_WANT_SOCK (1u << 16) /* of kinds: socket addresses at the hooks that translate them */
#define NET_WANT_MIB (1u << 17)	 /* losses by counters of network namespaces */

/* Reports of flows. */
struct net_flow_conf {
	bool on;		/* flows, not packets */
	bool sums;		/* nor drops one by one; live flows with all packets, each interval */
	unsigned level;		/* NET_AGGREGATE_* */
	uint64_t interval_ns;	/* between reports of a live flow */
	uint64_t idle_ns;	/* silence after which a flow has ended */
	uint32_t max;		/* flows at a time and namespace */
	bool dns;		/* names from DNS answers */
};

/* Counters. */
struct net_count_conf {
	bool on;
	bool events;		/* reports events one by one too */
	uint64_t interval_ns;	/* between reports; 0 = one at the end */
	uint32_t max;		/* different counters */
	uint32_t client;	/* requesting process: each has sums of its own */
	const char *map;	/* pinned map of another datapath, in place of our own */
	const char *names;	/* file with the numbers of that datapath */
	bool policy;		/* counters of running policies, in place of our own */
};

/* Events of another datapath, from its pinned map. */
struct net_map_conf {
	const char *path;	/* NULL = our own programs */
	const char *names;	/* file with the numbers of that datapath; NULL = Cilium's */
	bool take_over;		/* even if another process reads it */
};

#define NET_RECORDER_BYTES (64u << 20) /* default of bytes */

/* The flight recorder: probes/net/recorder/net_recorder.h. */
struct net_recorder_conf {
	uint64_t keep_ns;	/* before a trigger; 0 = no recorder, packets are reported as they come */
	uint64_t after_ns;	/* and after it */
	uint64_t bytes;		/* memory for packets, all CPUs together */
};

/* A rule file (src/policy). The command owns text and name. */
struct net_policy_conf {
	const char *text;	/* NULL = no rules */
	const char *name;	/* of the file, for messages */
	unsigned report;	/* NET_REPORT_* */
};

struct net_conf {
	/* what users choose */
	struct opt_strv iface;		/* --interface: globs or comma lists; none = all */
	struct opt_strv snaplen;	/* --snaplen: N, or KIND=N with KIND trace or drop */
	uint32_t rate, burst;		/* --rate: events of a kind per interval; 0 = no limit */
	uint64_t interval_ns;		/* of --rate; 0 = one second */
	struct opt_strv from, to, related;	/* --from --to --related-to: addresses, networks, interfaces */
	unsigned attach;		/* --attach: enum net_attach */

	/* set by the command; borrowed */
	const struct opt_strv *netns;	/* --netns: attach there; NULL or none = the current namespace */
	const struct pktfilter *filter; /* the packet filter, from and to included; NULL = every packet */
	unsigned kinds;			/* bits 1u << NET_KIND_*, NET_WANT_*; 0 = all kinds of packets */
	bool losses;			/* as NET_WANT_MIB, unless packets or processes are selected */
	unsigned verbose;		/* from 1 up, drops carry kernel stacks */
	bool endpoints;			/* other datapaths' events are possible: --from 12 is an endpoint */
	bool whole_packets;		/* default snaplen: everything (an output keeps packets) */
	unsigned direction;		/* NET_DIR_*: packets of this direction only; NET_DIR_NONE = both */
	bool once;			/* packets that pass loopback twice: report only the outgoing pass */
	const char *words;		/* source of @filter; NULL = every packet */
	struct net_flow_conf flow;
	struct net_count_conf count;
	struct net_map_conf map;
	struct net_recorder_conf keep;
	struct net_policy_conf policy; /* reports verdicts only */
};

/* All zero except for defaults; commands start from a copy. */
extern const struct net_conf net_conf_default;

/* The choices of users, for an agent; the commands have rows of their own. */
extern const struct opt net_conf_opts[];
extern const struct opt net_conf_command_opts[]; /* set by commands: how an agent receives them */
extern const char *const net_attach_names[];	 /* by enum net_attach, NULL-terminated */

/* conf_init and conf_fini of struct probe_ops: compiles and frees the packet filter of an agent's client. */
int net_conf_init(void *conf, const struct opt_strv *netns, const struct registry *reg, struct err *err);
void net_conf_fini(void *conf);

/*
 * The packet filter for --from, --to and --related-to combined with @words (NULL = none), in the pcap-filter
 * language. Empty if it would pass everything. -EINVAL with a message for a word that is neither address, network nor
 * interface.
 */
int net_conf_filter(const struct net_conf *c, const char *words, struct buf *out, struct err *err);

/* Evaluates the part of --from, --to and --related-to that a packet filter cannot express: lists with interfaces. */
bool net_conf_pass(const struct net_conf *c, const struct event *ev);

/* The kinds that event type @name ("drop", "net.drop", "net.*") needs; 0 for types of other probes. */
unsigned net_conf_kinds(const char *name);

#endif
