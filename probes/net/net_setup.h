/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The options, converted for the BPF objects of the net probe.
 */
#ifndef NET_NET_SETUP_H
#define NET_NET_SETUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "probes/net/net_wire.h"

struct bpf_map;
struct bpf_object;
struct err;
struct net_conf;
struct probe;
struct probe_env;

/* Purpose of the programs at the interfaces. */
enum net_purpose { NET_FOR_PACKETS, NET_FOR_FLOWS, NET_FOR_RECORDER, NET_FOR_POLICY, NET_PURPOSE__MAX };

struct net_setup {
	enum net_purpose purpose;
	uint32_t snaplen[NET_KIND__MAX];
	uint32_t undecided_snaplen, stack_depth;
	unsigned kinds;			/* bits 1u << NET_KIND_*, NET_WANT_* */
	bool flows;			/* packets are counted into flows, not reported */
	bool sums;			/* drops, too */
	size_t n_spaces;		/* watched network namespaces */
	bool counting, silent;		/* packets are counted; and not reported */
	VEC(char *) ifaces;		/* globs, owned; none = all */
};

/* -EINVAL with a message for an invalid option value. */
int net_setup_init(struct net_setup *s, const struct net_conf *c, struct err *err);
void net_setup_fini(struct net_setup *s);

/*
 * The patterns as prefixes, for the kernel: calls @fn with each and its length in bits. False if a pattern is not a
 * prefix: then only user space can evaluate it.
 */
bool net_setup_prefixes(const struct net_setup *s, int (*fn)(void *ctx, const char name[static 16], uint32_t bits),
			void *ctx);

/* Selected by --interface. */
bool net_setup_iface(const struct net_setup *s, const char *name);

/*
 * Between open and load: common preparation, configuration and packet filter. @netns: namespace of the programs, 0 =
 * all.
 */
int net_setup_apply(const struct net_setup *s, struct probe *p, struct bpf_object *obj, uint32_t netns,
		    struct err *err);

/* Applies it to an object of all namespaces, which is loaded then, and watches the programs that were chosen. */
int net_setup_load(const struct net_setup *s, struct probe *p, struct bpf_object *obj, struct err *err);

/* After load: the selection of interfaces, for an object that includes net_select.bpf.h. */
int net_setup_ifaces(const struct net_setup *s, struct bpf_object *obj, struct err *err);

/* Number of arguments of @tracepoint ("btf_trace_..."); 0 if the kernel lacks it or its BTF. */
int net_setup_tp_args(struct probe_env *env, const char *tracepoint);

/* Before load: makes room in @map for the flow tables of all watched namespaces (net_flow_direction.bpf.h). */
int net_setup_turns(const struct net_setup *s, struct bpf_map *map);

/* The rate limits alone, for an object without packets. */
void net_setup_rates(const struct net_conf *c, struct bpf_object *obj);

#endif
