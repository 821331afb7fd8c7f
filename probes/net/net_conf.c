// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The options of the net probe, and its selection by --from, --to and --related-to. Addresses become part of the
 * packet filter, which runs in the kernel. The pcap-filter language cannot express a list with interfaces: user space
 * checks those per event.
 */
#include <errno.h>
#include <fnmatch.h>
#include <net/if.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/str.h"
#include "base/vec.h"
#include "cilium/notify.h"
#include "cilium/print.h"
#include "event/event.h"
#include "event/names.h"
#include "pktfilter/pktfilter.h"
#include "probes/net/count/net_count_wire.h"
#include "probes/net/flow/net_flow_wire.h"
#include "probes/net/net_conf.h"
#include "probes/net/net_event.h"
#include "probes/net/datapath/net_datapath_event.h"
#include "probes/net/net_wire.h"

/* ---- options ---- */

const struct net_conf net_conf_default = {
	.interval_ns = 1000000000,
	.flow = { .interval_ns = 5000000000, .idle_ns = 60000000000, .max = 65536, .dns = true },
	.count = { .max = 4096 },
};

const char *const net_attach_names[] = {
	[NET_ATTACH_AUTO] = "auto",
	[NET_ATTACH_TCX] = "tcx",
	[NET_ATTACH_CLSACT] = "clsact",
	NULL,
};
_Static_assert(ARRAY_SIZE(net_attach_names) == NET_ATTACH__MAX + 1, "each way to attach has a name");

#define ROW(member, ...) OPT_ROW(net_conf, member, __VA_ARGS__)

const struct opt net_conf_opts[] = {
	ROW(iface, "interface", 0, OPT_STRV, "NAME", "these interfaces"),
	ROW(from, "from", 0, OPT_STRV, "ADDR", "packets from this address, network or host name"),
	ROW(to, "to", 0, OPT_STRV, "ADDR", "packets to it"),
	ROW(related, "related-to", 0, OPT_STRV, "ADDR", "packets from it or to it"),
	ROW(snaplen, "snaplen", 0, OPT_STRV, "[KIND=]BYTES", "bytes to take of each packet, 0 = all",
	    .use = OPT_USE_BYTES, .zero_is = NET_SNAP_MAX),
	ROW(rate, "rate", 0, OPT_U32, "N", "events of a kind per interval", .use = OPT_USE_NONE),
	ROW(burst, "burst", 0, OPT_U32, "N", "burst size", .use = OPT_USE_NONE),
	ROW(interval_ns, "interval", 0, OPT_DURATION, "TIME", "interval of the rate", .use = OPT_USE_INTERVAL,
	    OPT_USE_WITH(net_conf, rate)),
	ROW(attach, "attach", 0, OPT_ENUM, "HOW", "tc attach mechanism", .names = net_attach_names),
	OPT_END
};
#undef ROW

#define NO_SIZE .use = OPT_USE_NONE
#define FLOW_BYTES (sizeof(struct net_flow) + sizeof(struct net_flow_key) + ENTRY_BYTES)
#define COUNT_BYTES (sizeof(struct net_count_key) + sizeof(struct net_count) + ENTRY_BYTES)
#define ENTRY_BYTES 64		/* kernel overhead beside key and value */

const struct opt net_conf_command_opts[] = {
	OPT_ROW(net_conf, words, "words", 0, OPT_STR, "FILTER", "a packet filter"),
	OPT_ROW(net_conf, kinds, "kinds", 0, OPT_U32, "MASK", "kinds of events", NO_SIZE),
	OPT_ROW(net_conf, losses, "losses", 0, OPT_BOOL, NULL, "and losses by counters"),
	OPT_ROW(net_conf, verbose, "verbose", 0, OPT_U32, "N", "kernel stacks of drops from 1 up", NO_SIZE),
	OPT_ROW(net_conf, whole_packets, "whole-packets", 0, OPT_BOOL, NULL, "all bytes of packets by default",
		.use = OPT_USE_BYTES, .unit = NET_SNAP_MAX),
	OPT_ROW(net_conf, endpoints, "endpoints", 0, OPT_BOOL, NULL, "numbers are endpoints"),
	OPT_ROW(net_conf, direction, "direction", 0, OPT_U32, "N", "one direction only", NO_SIZE),
	OPT_ROW(net_conf, once, "once", 0, OPT_BOOL, NULL, "packets on loopback once"),
	OPT_ROW(net_conf, flow.on, "flows", 0, OPT_BOOL, NULL, "flows, not packets"),
	OPT_ROW(net_conf, flow.level, "flow-level", 0, OPT_U32, "N", "how flows are aggregated", NO_SIZE),
	OPT_ROW(net_conf, flow.interval_ns, "flow-report", 0, OPT_DURATION, "TIME", "between reports of a flow",
		.use = OPT_USE_INTERVAL, .zero_is = 1, OPT_USE_WITH(net_conf, flow.on)),
	OPT_ROW(net_conf, flow.sums, "flow-sums", 0, OPT_BOOL, NULL, "flows and their drops as sums"),
	OPT_ROW(net_conf, flow.dns, "flow-dns", 0, OPT_BOOL, NULL, "names by DNS"),
	OPT_ROW(net_conf, flow.idle_ns, "flow-idle", 0, OPT_DURATION, "TIME", "a silent flow has ended", NO_SIZE),
	OPT_ROW(net_conf, keep.keep_ns, "keep", 0, OPT_DURATION, "TIME", "time span of packets kept for a dump",
		NO_SIZE),
	OPT_ROW(net_conf, keep.after_ns, "keep-after", 0, OPT_DURATION, "TIME", "and time after its trigger",
		NO_SIZE),
	OPT_ROW(net_conf, keep.bytes, "keep-memory", 0, OPT_BYTES, "SIZE", "memory for them", .use = OPT_USE_MEMORY,
		.zero_is = NET_RECORDER_BYTES, OPT_USE_WITH(net_conf, keep.keep_ns)),
	OPT_ROW(net_conf, flow.max, "flow-max", 0, OPT_U32, "N", "flows at a time", .use = OPT_USE_MEMORY,
		.unit = FLOW_BYTES, OPT_USE_WITH(net_conf, flow.on)),
	OPT_ROW(net_conf, count.on, "count", 0, OPT_BOOL, NULL, "counters"),
	OPT_ROW(net_conf, count.events, "count-events", 0, OPT_BOOL, NULL, "and events beside them"),
	OPT_ROW(net_conf, count.policy, "count-policy", 0, OPT_BOOL, NULL,
		"counters of running policies, in place of its own"),
	OPT_ROW(net_conf, count.interval_ns, "count-interval", 0, OPT_DURATION, "TIME", "between reports",
		.use = OPT_USE_INTERVAL),
	OPT_ROW(net_conf, count.max, "count-max", 0, OPT_U32, "N", "different counters", .use = OPT_USE_MEMORY,
		.unit = COUNT_BYTES, .per_cpu = true, OPT_USE_WITH(net_conf, count.on)),
	OPT_ROW(net_conf, count.client, "count-client", 0, OPT_U32, "PID", "requesting process", NO_SIZE),
	OPT_END
};

#define COMPILE_NS 100000000ull /* processor time for a client's filter */

int net_conf_init(void *conf, const struct opt_strv *netns, _unused_ const struct registry *reg, struct err *err)
{
	struct net_conf *c = conf;
	struct pktfilter *filter = NULL;
	struct err e = { 0 };
	int r = c->words && *c->words ? pktfilter_compile(c->words, COMPILE_NS, &filter, &e) : 0;

	if (r == -ENOKEY)
		return err_set(err, -EINVAL, "the agent looks up no names, clients send addresses and numbers (%.*s)",
			       (int)strcspn(e.msg, "\n"), e.msg);
	if (r < 0)
		*err = e;

	c->netns = netns;
	c->filter = filter;
	return r;
}

void net_conf_fini(void *conf)
{
	struct net_conf *c = conf;

	pktfilter_free((struct pktfilter *)c->filter); /* made by net_conf_init() */
	c->filter = NULL;
}

/* ---- selection ---- */

enum end { END_FROM, END_TO, END_EITHER, END__MAX };

static const struct opt_strv *list_of(const struct net_conf *c, enum end end)
{
	switch (end) {
	case END_FROM: return &c->from;
	case END_TO: return &c->to;
	case END_EITHER: return &c->related;
	case END__MAX: break;
	}
	return NULL;
}

static bool is_address(const char *text)
{
	struct ipnet net;

	return ipaddr_ipnet_parse(text, &net) >= 0;
}

static bool names_iface(const struct opt_strv *list)
{
	return vec_find(it, list, !is_address(*it));
}

/* A word other than an address is an interface of any namespace; only impossible interface names are refused. */
static int check_word(const struct net_conf *c, const char *text, struct err *err)
{
	uint64_t n;

	if (is_address(text))
		return 0;
	if (str_to_u64(text, 10, &n) == 0 && c->endpoints)
		return n <= UINT16_MAX ? 0 : err_set(err, -EINVAL, "%s: endpoint ids end at 65535", text);
	if (str_to_u64(text, 10, &n) == 0)
		return err_set(err, -EINVAL,
			       "%s: endpoint ids exist where Cilium runs (--cilium); "
			       "expected an address, a network or an interface",
			       text);
	if (!*text || strlen(text) >= IF_NAMESIZE || strpbrk(text, "/: \t"))
		return err_set(err, -EINVAL, "'%s' is neither an address nor a network nor an interface", text);
	return 0;
}

static void put_list(const struct opt_strv *list, const char *dir, struct buf *out)
{
	if (out->len)
		buf_add_str(out, " and ");
	buf_add_char(out, '(');
	for (size_t i = 0; i < list->len; i++)
		buf_printf(out, "%s%s%s %s", i ? " or " : "", dir, strchr(list->items[i], '/') ? "net" : "host",
			   list->items[i]);
	buf_add_char(out, ')');
}

int net_conf_filter(const struct net_conf *c, const char *words, struct buf *out, struct err *err)
{
	static const char *const dirs[END__MAX] = { [END_FROM] = "src ", [END_TO] = "dst ", [END_EITHER] = "" };

	if (words && *words)
		buf_printf(out, "(%s)", words);
	for (enum end end = 0; end < END__MAX; end++) {
		const struct opt_strv *list = list_of(c, end);

		for (size_t i = 0; i < list->len; i++)
			if (check_word(c, list->items[i], err) < 0)
				return -EINVAL;
		if (list->len && !names_iface(list))
			put_list(list, dirs[end], out);
	}
	return buf_error(out);
}

/* ---- per event ---- */

static bool match_address(const char *text, const struct event *ev, enum end end)
{
	struct ipnet net;

	if (ipaddr_ipnet_parse(text, &net) < 0)
		return false;
	return (end != END_TO && ipaddr_ipnet_contains(&net, &ev->keys.conn.saddr)) ||
	       (end != END_FROM && ipaddr_ipnet_contains(&net, &ev->keys.conn.daddr));
}

/* Interface and direction of an event; 0 and NET_DIR_NONE = unknown. */
static uint32_t iface_of(const struct event *ev, uint8_t *ret_dir)
{
	const struct net_flow_event *f = ev->body;
	const struct net_event *b = ev->body;
	bool is_flow = ev->desc == &net_flow_desc;

	*ret_dir = is_flow ? f->dir : b->dir;
	return is_flow ? f->ifindex : b->ifindex;
}

/* "From" an interface means incoming there; a drop has no direction and matches either way. */
static bool match_iface(const char *text, const struct event *ev, enum end end)
{
	uint8_t dir;
	uint32_t ifindex = iface_of(ev, &dir);
	const char *name = event_names_get(ev->names, SONDE_NAME_IFACE, names_iface_key(ev->keys.netns, ifindex));

	if (!name || strcmp(name, text))
		return false;
	return end == END_EITHER || dir == NET_DIR_NONE || dir == (end == END_FROM ? NET_DIR_IN : NET_DIR_OUT);
}

/* The endpoints of another datapath's event, as Cilium's client compares them; false if it has none. */
static bool endpoints_of(const struct event *ev, uint16_t *ret_src, uint16_t *ret_dst)
{
	struct cilium_notify n;
	uint32_t len = 0;
	const uint8_t *data = net_datapath_event_bytes(ev, &len);

	*ret_src = *ret_dst = 0;
	if (!net_datapath_event_notify(ev, &n))
		return false;
	if (n.type == CILIUM_L7)
		return cilium_l7_ends(data, len, ret_src, ret_dst);
	if (n.type == CILIUM_AGENT || n.type == CILIUM_SOCK)
		return false;
	*ret_src = n.source;
	if (n.type == CILIUM_DROP)
		*ret_dst = (uint16_t)n.drop.dst_id;
	else if (n.type == CILIUM_TRACE)
		*ret_dst = n.trace.dst_id;
	else if (n.type == CILIUM_POLICY)
		*ret_dst = (uint16_t)n.policy.remote_identity;
	return true;
}

static bool match_endpoint(const char *text, const struct event *ev, enum end end)
{
	uint16_t src, dst;
	uint64_t id;

	if (str_to_u64(text, 10, &id) < 0 || !endpoints_of(ev, &src, &dst))
		return false;
	return (end != END_TO && src == id) || (end != END_FROM && dst == id);
}

/* Evaluates patterns that the kernel cannot (wildcards elsewhere than at the end). */
static bool match_patterns(const struct opt_strv *lists, const struct event *ev)
{
	uint8_t dir;
	uint32_t ifindex = iface_of(ev, &dir);
	const char *name = event_names_get(ev->names, SONDE_NAME_IFACE, names_iface_key(ev->keys.netns, ifindex));
	bool simple = true;

	for (size_t i = 0; i < lists->len; i++) {
		const char *word = lists->items[i];

		for (size_t len; *word; word += len + (word[len] == ',')) {
			char glob[64];

			len = strcspn(word, ",");
			snprintf(glob, sizeof(glob), "%.*s", (int)len, word);
			if (name && !fnmatch(glob, name, 0))
				return true;
			simple &= !strpbrk(glob, "?[") && strcspn(glob, "*") + 1 >= strlen(glob);
		}
	}
	return simple;
}

bool net_conf_pass(const struct net_conf *c, const struct event *ev)
{
	bool ours = ev->desc == &net_trace_desc || ev->desc == &net_drop_desc || ev->desc == &net_xdp_desc ||
		    ev->desc == &net_flow_desc;

	if (!ours && !event_section(ev, SEC_NOTIFY))
		return true;
	if (ours && !match_patterns(&c->iface, ev))
		return false;
	for (enum end end = 0; end < END__MAX; end++) {
		const struct opt_strv *list = list_of(c, end);
		bool pass = !list->len || !names_iface(list);

		for (size_t i = 0; !pass && i < list->len; i++)
			pass = match_address(list->items[i], ev, end) || match_endpoint(list->items[i], ev, end) ||
			       (ours && match_iface(list->items[i], ev, end));
		if (!pass)
			return false;
	}
	return true;
}

unsigned net_conf_kinds(const char *name)
{
	static const char *const kinds[NET_KIND__MAX] = {
		[NET_KIND_TRACE] = "trace", [NET_KIND_DROP] = "drop", [NET_KIND_XDP] = "xdp",
		[NET_KIND_REFUSED] = "refused",
	};

	if (!strcmp(name, "*") || !strcmp(name, "net") || !strcmp(name, "net.*"))
		return (1u << NET_KIND__MAX) - 1;
	if (!strncmp(name, "net.", 4))
		name += 4;
	if (!strcmp(name, "trace-sock"))
		return NET_WANT_SOCK;
	if (!strcmp(name, "mib"))
		return NET_WANT_MIB;
	for (int k = 0; k < NET_KIND__MAX; k++)
		if (!strcmp(name, kinds[k]))
			return 1u << k;
	return 0;
}
