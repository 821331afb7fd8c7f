/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Configuration of the net probe: what its options fill and what a command sets.
 */
#ifndef NET_NET_H
#define NET_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/opt.h"

struct buf;
struct err;
struct event;
struct pktfilter;
struct registry;

/* How packets are got at: tcx links, or clsact filters, which are all that kernels before 6.6 have. */
enum net_attach { NET_ATTACH_AUTO, NET_ATTACH_TCX, NET_ATTACH_CLSACT, NET_ATTACH__MAX };

#define NET_WANT_SOCK (1u << 16)	/* of kinds: addresses of sockets where they are translated */

/* What flows are told, and when. */
struct net_flow_conf {
	bool on;		/* flows, not packets */
	unsigned level;		/* NET_AGGREGATE_* */
	uint64_t interval_ns;	/* between reports of one that lives */
	uint64_t idle_ns;	/* one that is silent for so long has ended */
	uint32_t max;		/* flows at a time and namespace */
	bool dns;		/* names out of DNS answers */
};

/* What is added up. */
struct net_count_conf {
	bool on;
	bool events;		/* and told of one by one too */
	uint64_t interval_ns;	/* between reports; 0 = one at the end */
	uint32_t max;		/* different counters */
	uint32_t client;	/* process that asked: no two share sums */
	const char *map;	/* another datapath's, pinned there, instead of our own */
	const char *names;	/* file with the numbers of that datapath */
	bool policy;		/* what the rules of running policies count, instead of our own */
};

/* Events of another datapath, out of the map that it pinned. */
struct net_map_conf {
	const char *path;	/* NULL = our own programs */
	const char *names;	/* file with the numbers of that datapath; NULL = Cilium's */
	bool take_over;		/* although somebody reads it */
};

/* The flight recorder: probes/net/recorder/net_recorder.h. */
struct net_recorder_conf {
	uint64_t keep_ns;	/* before a trigger; 0 = no recorder, packets are told of as they come */
	uint64_t after_ns;	/* and after it */
	uint64_t bytes;		/* of memory for packets, all CPUs together */
};

/* A rule file (src/policy). Text and name are the command's. */
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
	const struct pktfilter *filter;	/* the packet words, from and to included; NULL = every packet */
	unsigned kinds;			/* bits 1u << NET_KIND_*, NET_WANT_SOCK; 0 = all kinds of packets */
	unsigned verbose;		/* from 1 up kernel stacks of drops are taken */
	bool endpoints;			/* events of other datapaths may come: --from 12 is an endpoint */
	bool whole_packets;		/* default snaplen: everything (an output keeps packets) */
	unsigned direction;		/* NET_DIR_*: packets of this direction only; NET_DIR_NONE = both */
	bool once;			/* of what passes loopback twice, only what leaves */
	const char *words;		/* what @filter was compiled from; NULL = every packet */
	struct net_flow_conf flow;
	struct net_count_conf count;
	struct net_map_conf map;
	struct net_recorder_conf keep;
	struct net_policy_conf policy;	/* and then nothing but verdicts is told */
};

/* Zeroed but for defaults; a command starts from it. */
extern const struct net_conf net_conf_default;

/* The choices of users, for an agent; the commands have rows of their own. */
extern const struct opt net_conf_opts[];
extern const struct opt net_conf_command_opts[]; /* set by commands: how an agent receives them */
extern const char *const net_attach_names[];	 /* by enum net_attach, NULL-terminated */

/* conf_init and conf_fini of struct probe_ops: compiles and frees the packet filter of an agent's client. */
int net_conf_init(void *conf, const struct opt_strv *netns, const struct registry *reg, struct err *err);
void net_conf_fini(void *conf);

/*
 * The packet filter that stands for --from, --to and --related-to together with @words (NULL = none), in the
 * pcap-filter language. Empty when there is nothing to filter. -EINVAL with a sentence for a word that is
 * neither address, network nor interface.
 */
int net_conf_filter(const struct net_conf *c, const char *words, struct buf *out, struct err *err);

/* The part of --from, --to and --related-to that no packet filter can say: lists with interfaces. */
bool net_conf_pass(const struct net_conf *c, const struct event *ev);

/* The kinds that event type @name ("drop", "net.drop", "net.*") needs; 0 if it is none of this probe's. */
unsigned net_conf_kinds(const char *name);

#endif
