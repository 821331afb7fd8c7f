/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The pcap filter of packet commands, from their options and trailing words. The kernel evaluates it where possible;
 * user space evaluates the rest, and all of it for files.
 */
#ifndef CMD_PACKET_FILTER_H
#define CMD_PACKET_FILTER_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/opt.h"

struct event;
struct filter;
struct run_conf;

struct packet_filter {
	struct pktfilter *filter;	/* NULL = everything */
	struct buf text;		/* its source, with names replaced by numbers */
	const struct net_conf *net;	/* interfaces in --from and related options, which a packet filter cannot
					 * express */
	bool live;			/* the kernel decides, except for records marked otherwise */
};

/* @net is borrowed. -EINVAL with a sentence for an invalid expression. Close it even after a failure. */
int packet_filter_open(const struct net_conf *net, const struct opt_strv *words, bool live, struct packet_filter *ret,
		      struct err *err);

/* Options of the packet commands, over a struct net_conf. */
extern const struct opt packet_opts[];

/* --flow, for a row over a member that packet_filter_open_flow() takes. */
#define PACKET_FLOW_ROW(s, m) \
	OPT_ROW(s, m, "flow", 0, OPT_STR, "FLOW", "this flow: an id, or \"tcp A:PORT -> B:PORT\"", \
		.more = "both directions and both sides of a translation; ids are those of sonde flows")

/* The same for one flow: @flow is an id or endpoints (probes/net/flow/net_flow_find.h); NULL = all. */
int packet_filter_open_flow(const struct net_conf *net, const struct opt_strv *words, const char *flow,
			   const struct run_conf *run, bool live, struct packet_filter *ret, struct err *err);
void packet_filter_close(struct packet_filter *w);

/* Sets filter, words and namespaces of @net, all borrowed. Returns the words as one text; NULL without words. */
const char *packet_filter_use(struct packet_filter *w, const struct run_conf *run, struct net_conf *net);

/*
 * Adds the kinds of events that the filter @f names (evt.type = drop) to @net; 0 = it names no type. For
 * run_ops.needs.
 */
void packet_filter_kinds(const struct filter *f, struct net_conf *net);

/* A predicate for struct run_ops; @ctx: struct packet_filter. */
bool packet_filter_match(void *ctx, const struct event *ev);

/* Does an output store packets, and so need all their bytes? */
bool packet_filter_kept(const struct run_conf *run);

/* --explain-filter: to standard output. Returns an exit status. */
int packet_filter_explain(const struct packet_filter *w, const struct run_conf *run);

#endif
