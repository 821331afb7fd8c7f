// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The processes that follow flows own the tables, but the kernel shows their maps to any process that may load
 * programs: a map of this name and shape is a flow table.
 */
#include "probes/net/flow/net_flow_find.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/macros.h"
#include "base/opt.h"
#include "base/str.h"
#include "event/core.h"
#include "event/event.h"
#include "probes/net/net_event.h"
#include "probes/net/flow/net_flow_table_wire.h"
#include "probes/net/net_ns.h"

#define BATCH 256
#define MAP_NAME "net_flows"
#define TUPLES_MAX 4 /* of one flow: more translations than a router makes */

/* ---- text ---- */

static bool parse_proto(const char *word, uint8_t *ret)
{
	uint64_t n;

	if (xlat_value(&ip_proto_xlat, word, &n) < 0)
		return false;
	*ret = (uint8_t)n;
	return true;
}

/* "10.0.0.1:80", "[::1]:80", or an address alone. */
static bool parse_end(const char *word, struct ipaddr *ip, uint16_t *port)
{
	const char *colon = strrchr(word, ':'), *end = strchr(word, ']');
	char addr[64];
	uint64_t n;

	*port = 0;
	if (ipaddr_parse(word, ip) == 0)
		return true;
	if (!colon || str_to_u64(colon + 1, 10, &n) < 0 || n > UINT16_MAX)
		return false;
	if (*word == '[' ? end != colon - 1 : end != NULL)
		return false;
	snprintf(addr, sizeof(addr), "%.*s", (int)(*word == '[' ? end - word - 1 : colon - word),
		 *word == '[' ? word + 1 : word);
	*port = (uint16_t)n;
	return ipaddr_parse(addr, ip) == 0;
}

/* "tcp 10.0.0.1:4711 -> 10.0.0.2:80"; protocol and ends in any order, "->" optional. 0 or -EINVAL. */
static int net_tuple_parse(const char *text, struct net_tuple *ret)
{
	struct net_tuple t = { 0 };
	char copy[256], *save = NULL;
	unsigned ends = 0;

	if (strlen(text) >= sizeof(copy))
		return -EINVAL;
	strcpy(copy, text);
	for (char *word = strtok_r(copy, " \t,", &save); word; word = strtok_r(NULL, " \t,", &save)) {
		if (!strcmp(word, "->") || !strcmp(word, "<-") || (!t.proto && parse_proto(word, &t.proto)))
			continue;
		if (ends == 0 && parse_end(word, &t.src, &t.sport))
			ends++;
		else if (ends == 1 && parse_end(word, &t.dst, &t.dport))
			ends++;
		else
			return -EINVAL;
	}
	if (ends != 2 || !t.proto || t.src.family != t.dst.family || !t.sport != !t.dport)
		return -EINVAL;
	*ret = t;
	return 0;
}

/* ---- words ---- */

static void put_end(const char *dir, const struct ipaddr *ip, uint16_t port, struct buf *out)
{
	buf_printf(out, "%s host ", dir);
	ipaddr_text(ip, out);
	if (port)
		buf_printf(out, " and %s port %u", dir, port);
}

static void put_way(const struct net_tuple *t, bool back, struct buf *out)
{
	buf_add_char(out, '(');
	put_end("src", back ? &t->dst : &t->src, back ? t->dport : t->sport, out);
	buf_add_str(out, " and ");
	put_end("dst", back ? &t->src : &t->dst, back ? t->sport : t->dport, out);
	buf_add_char(out, ')');
}

/* Filter for the packets of both directions of @t, in the pcap-filter language. */
static void net_tuple_words(const struct net_tuple *t, struct buf *out)
{
	buf_printf(out, "(%s proto %u and (", t->src.family == SONDE_IPV4 ? "ip" : "ip6", t->proto);
	put_way(t, false, out);
	buf_add_str(out, " or ");
	put_way(t, true, out);
	buf_add_str(out, "))");
}

/* ---- what is known of it ---- */

struct found {
	struct net_tuple tuples[TUPLES_MAX];
	size_t n;
	uint64_t id;		/* id to find; 0 = search by the first tuple */
	const uint32_t *spaces; /* inodes of namespaces in which ids may exist */
	size_t n_spaces;
};

static bool same_ways(const struct net_tuple *a, const struct net_tuple *b)
{
	bool forward = ipaddr_equal(&a->src, &b->src) && ipaddr_equal(&a->dst, &b->dst) && a->sport == b->sport &&
		       a->dport == b->dport;
	bool back = ipaddr_equal(&a->src, &b->dst) && ipaddr_equal(&a->dst, &b->src) && a->sport == b->dport &&
		    a->dport == b->sport;

	return a->proto == b->proto && (forward || back);
}

static void add_tuple(struct found *f, const struct net_tuple *t)
{
	for (size_t i = 0; i < f->n; i++)
		if (same_ways(&f->tuples[i], t))
			return;
	if (f->n < TUPLES_MAX)
		f->tuples[f->n++] = *t;
}

static struct net_tuple tuple_of(const struct net_flow *f, const struct net_flow_end *src,
				 const struct net_flow_end *dst)
{
	struct net_tuple t = { .proto = f->proto, .sport = src->port, .dport = dst->port };

	ipaddr_set(&t.src, f->family, src->addr);
	ipaddr_set(&t.dst, f->family, dst->addr);
	if (f->proto == IPPROTO_ICMP || f->proto == IPPROTO_ICMPV6) /* the identifier of an echo is not a port */
		t.sport = t.dport = 0;
	return t;
}

static bool has_id(const struct found *f, uint32_t ifindex, const struct net_flow *flow)
{
	return FIND_ITEM(it, f->spaces, f->n_spaces, net_event_flow_id(*it, ifindex, flow) == f->id);
}

static void check_flow(struct found *f, const struct net_flow_key *key, const struct net_flow_entry *e)
{
	struct net_tuple seen, nat;
	struct net_flow flow;

	if (!ipaddr_bytes(e->family))
		return;
	net_flow_of(e, &flow);
	seen = tuple_of(&flow, &flow.src, &flow.dst);
	nat = tuple_of(&flow, &flow.nat_src, &flow.nat_dst);
	if (f->id ? !has_id(f, key->ifindex, &flow) : !same_ways(&f->tuples[0], &seen) &&
						      !(flow.nat && same_ways(&f->tuples[0], &nat)))
		return;
	add_tuple(f, &seen);
	if (flow.nat)
		add_tuple(f, &nat);
}

/* ---- tables in the kernel ---- */

static void walk_map(struct found *f, int fd)
{
	LIBBPF_OPTS(bpf_map_batch_opts, o);
	_cleanup_free_ struct net_flow_key *keys = calloc(BATCH, sizeof(*keys));
	_cleanup_free_ struct net_flow_entry *flows = calloc(BATCH, sizeof(*flows));
	uint32_t at = 0, n;
	void *from = NULL;
	int r = 0;

	while (keys && flows && r == 0) {
		n = BATCH;
		r = bpf_map_lookup_batch(fd, from, &at, keys, flows, &n, &o);
		if (r < 0 && r != -ENOENT)
			return;
		for (uint32_t i = 0; i < n; i++)
			check_flow(f, &keys[i], &flows[i]);
		from = &at;
	}
}

/* 0, or the error if the kernel does not show its maps. */
static int walk_maps(struct found *f)
{
	uint32_t id = 0;

	while (bpf_map_get_next_id(id, &id) == 0) {
		_cleanup_close_ int fd = bpf_map_get_fd_by_id(id);
		struct bpf_map_info info = { 0 };
		uint32_t len = sizeof(info);

		if (fd < 0 && errno == ENOENT)
			continue; /* removed meanwhile */
		if (fd < 0)
			return -errno;
		if (bpf_map_get_info_by_fd(fd, &info, &len) < 0 || strcmp(info.name, MAP_NAME) != 0 ||
		    info.key_size != sizeof(struct net_flow_key) || info.value_size != sizeof(struct net_flow_entry))
			continue;
		walk_map(f, fd);
	}
	return errno == EPERM ? -EPERM : 0;
}

/* ---- namespaces ---- */

static int query_conntrack(void *ctx)
{
	struct found *f = ctx;
	struct net_tuple other;

	for (size_t i = 0, n = f->n; i < n; i++)
		if (net_ct_find(&f->tuples[i], &other) == 0)
			add_tuple(f, &other);
	return 0;
}

static void query_netns(struct found *f, const char *name)
{
	_cleanup_close_ int fd = net_ns_open(name, NULL);

	if (fd >= 0)
		net_ns_call(fd, query_conntrack, f);
}

static void ask_all_spaces(struct found *f)
{
	_cleanup_free_ uint32_t *inodes = NULL;
	char text[16];
	size_t n = 0;

	if (net_ns_all(&inodes, &n) < 0)
		return;
	for (size_t i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "%" PRIu32, inodes[i]);
		query_netns(f, text);
	}
}

static void ask_spaces(struct found *f, const struct net_ns_words *names)
{
	for (size_t i = 0; i < names->len; i++)
		if (!strcmp(names->items[i], NET_NS_ALL)) {
			ask_all_spaces(f);
			return;
		}
	for (size_t i = 0; i < names->len; i++)
		query_netns(f, names->items[i]);
	if (!names->len)
		query_conntrack(f);
}

/* Another namespace may translate the translated tuple again: queries all until none adds a tuple. */
static int follow(struct found *f, const struct opt_strv *netns, struct err *err)
{
	_cleanup_(net_ns_words_fini) struct net_ns_words names = { 0 };
	int r = netns ? net_ns_globs(netns, &names, err) : 0;
	size_t before = 0;

	while (r >= 0 && f->n != before) {
		before = f->n;
		ask_spaces(f, &names);
	}
	return r;
}

static int by_id(struct found *f, uint64_t id, struct err *err)
{
	_cleanup_free_ uint32_t *spaces = NULL;
	int r = net_ns_all(&spaces, &f->n_spaces);

	if (r < 0)
		return err_errno(err, r, "cannot list the network namespaces");
	f->id = id;
	f->spaces = spaces;
	r = walk_maps(f);
	f->spaces = NULL;
	f->id = 0;
	if (r < 0)
		return err_errno(err, r, "cannot read the flow tables in the kernel");
	if (f->n)
		return 0;
	return err_set(err, -EINVAL, "no running `sonde flows` follows a flow 0x%llx (any more); its ends do as "
		       "well: \"tcp 10.0.0.1:4711 -> 10.0.0.2:80\"", (unsigned long long)id);
}

int net_flow_find(const char *text, bool live, const struct opt_strv *netns, struct buf *ret_words, struct err *err)
{
	struct found f = { 0 };
	uint64_t id = 0;
	int r = 0;

	if (net_tuple_parse(text, &f.tuples[0]) == 0)
		f.n = 1;
	else if (str_to_u64(text, 0, &id) < 0 || !id)
		return err_set(err, -EINVAL, "a flow is named by its id (0x...) or as \"tcp 10.0.0.1:4711 -> "
			       "10.0.0.2:80\", not \"%s\"", text);
	if (id && !live)
		return err_set(err, -EINVAL, "flow 0x%llx: an id is looked up in a running `sonde flows`; for a file "
			       "name its ends", (unsigned long long)id);
	if (id)
		r = by_id(&f, id, err);
	else if (live)
		walk_maps(&f); /* without the right to query, the filter covers its own ends only */
	if (r < 0)
		return r;
	if (live)
		r = follow(&f, netns, err);
	if (r < 0)
		return r;
	for (size_t i = 0; i < f.n; i++) {
		if (i)
			buf_add_str(ret_words, " or ");
		net_tuple_words(&f.tuples[i], ret_words);
	}
	return buf_error(ret_words);
}
