// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Looks up one connection in the kernel's connection tracking, by ctnetlink: linux/netfilter/nfnetlink_conntrack.h.
 * The kernel finds it by either of its tuples.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <string.h>
#include <sys/socket.h>

#include "base/cleanup.h"
#include "probes/net/flow/net_flow_find.h"

static void close_socket(struct mnl_socket *s)
{
	mnl_socket_close(s);
}
DEFINE_CLEANUP(struct mnl_socket *, close_socket)

static void put_tuple(struct nlmsghdr *h, const struct net_tuple *t)
{
	bool v4 = t->src.family == SONDE_IPV4;
	struct nlattr *tuple = mnl_attr_nest_start(h, CTA_TUPLE_ORIG), *part;

	part = mnl_attr_nest_start(h, CTA_TUPLE_IP);
	mnl_attr_put(h, v4 ? CTA_IP_V4_SRC : CTA_IP_V6_SRC, v4 ? 4 : 16, t->src.addr);
	mnl_attr_put(h, v4 ? CTA_IP_V4_DST : CTA_IP_V6_DST, v4 ? 4 : 16, t->dst.addr);
	mnl_attr_nest_end(h, part);
	part = mnl_attr_nest_start(h, CTA_TUPLE_PROTO);
	mnl_attr_put_u8(h, CTA_PROTO_NUM, t->proto);
	mnl_attr_put_u16(h, CTA_PROTO_SRC_PORT, htons(t->sport));
	mnl_attr_put_u16(h, CTA_PROTO_DST_PORT, htons(t->dport));
	mnl_attr_nest_end(h, part);
	mnl_attr_nest_end(h, tuple);
}

/* ---- the answer ---- */

static void take_address(const struct nlattr *a, struct ipaddr *ret)
{
	size_t len = mnl_attr_get_payload_len(a);

	if (len != 4 && len != 16)
		return;
	ret->family = len == 4 ? SONDE_IPV4 : SONDE_IPV6;
	memcpy(ret->addr, mnl_attr_get_payload(a), len);
}

static void take_part(const struct nlattr *part, bool ip, struct net_tuple *ret)
{
	const struct nlattr *a;

	mnl_attr_for_each_nested(a, part) {
		uint16_t type = mnl_attr_get_type(a);

		if (ip && (type == CTA_IP_V4_SRC || type == CTA_IP_V6_SRC))
			take_address(a, &ret->src);
		else if (ip && (type == CTA_IP_V4_DST || type == CTA_IP_V6_DST))
			take_address(a, &ret->dst);
		else if (!ip && type == CTA_PROTO_NUM && mnl_attr_validate(a, MNL_TYPE_U8) >= 0)
			ret->proto = mnl_attr_get_u8(a);
		else if (!ip && type == CTA_PROTO_SRC_PORT && mnl_attr_validate(a, MNL_TYPE_U16) >= 0)
			ret->sport = ntohs(mnl_attr_get_u16(a));
		else if (!ip && type == CTA_PROTO_DST_PORT && mnl_attr_validate(a, MNL_TYPE_U16) >= 0)
			ret->dport = ntohs(mnl_attr_get_u16(a));
	}
}

static void take_tuple(const struct nlattr *tuple, struct net_tuple *ret)
{
	const struct nlattr *part;

	mnl_attr_for_each_nested(part, tuple) {
		if (mnl_attr_get_type(part) == CTA_TUPLE_IP)
			take_part(part, true, ret);
		else if (mnl_attr_get_type(part) == CTA_TUPLE_PROTO)
			take_part(part, false, ret);
	}
}

static int on_entry(const struct nlmsghdr *h, void *ctx)
{
	struct net_tuple *both = ctx;
	const struct nlattr *a;

	mnl_attr_for_each(a, h, sizeof(struct nfgenmsg)) {
		if (mnl_attr_get_type(a) == CTA_TUPLE_ORIG)
			take_tuple(a, &both[0]);
		else if (mnl_attr_get_type(a) == CTA_TUPLE_REPLY)
			take_tuple(a, &both[1]);
	}
	return MNL_CB_OK;
}

/* Its two tuples: as sent, and as the reply is expected. */
static int query(const struct net_tuple *t, struct net_tuple ret[2])
{
	_cleanup_(close_socketp) struct mnl_socket *s = mnl_socket_open2(NETLINK_NETFILTER, SOCK_CLOEXEC);
	char buf[8192]; /* MNL_SOCKET_BUFFER_SIZE calls sysconf() each time */
	struct nlmsghdr *h = mnl_nlmsg_put_header(buf);
	struct nfgenmsg *g;
	ssize_t n;

	if (!s || mnl_socket_bind(s, 0, MNL_SOCKET_AUTOPID) < 0)
		return -errno;
	h->nlmsg_type = NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_GET;
	h->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	h->nlmsg_seq = 1;
	g = mnl_nlmsg_put_extra_header(h, sizeof(*g));
	*g = (struct nfgenmsg){ .nfgen_family = t->src.family == SONDE_IPV4 ? AF_INET : AF_INET6,
				.version = NFNETLINK_V0 };
	put_tuple(h, t);
	if (mnl_socket_sendto(s, h, h->nlmsg_len) < 0)
		return -errno;
	n = mnl_socket_recvfrom(s, buf, sizeof(buf));
	if (n < 0 || mnl_cb_run(buf, (size_t)n, 1, mnl_socket_get_portid(s), on_entry, ret) < 0)
		return -errno;
	return ret[0].src.family && ret[1].src.family ? 0 : -ENOENT;
}

/* ---- translations ---- */

static struct net_tuple turned(const struct net_tuple *t)
{
	return (struct net_tuple){ .src = t->dst, .dst = t->src, .sport = t->dport, .dport = t->sport,
				   .proto = t->proto };
}

static bool same(const struct net_tuple *a, const struct net_tuple *b)
{
	return ipaddr_equal(&a->src, &b->src) && ipaddr_equal(&a->dst, &b->dst) && a->sport == b->sport &&
	       a->dport == b->dport;
}

/* @t is one of four: as sent, its reply, as it leaves the translation, and the reply to that. */
int net_ct_find(const struct net_tuple *t, struct net_tuple *ret)
{
	struct net_tuple both[2] = { 0 }, back = turned(t), out, in;

	if (query(t, both) < 0) {
		memset(both, 0, sizeof(both));
		if (query(&back, both) < 0)
			return -ENOENT;
	}
	out = turned(&both[1]); /* the sent packet, translated */
	in = turned(&both[0]);	/* the reply, as it reaches the sender */
	if (same(&both[0], &out))
		return -ENOENT;	/* nothing is translated */
	if (same(t, &both[0]))
		*ret = out;
	else if (same(t, &out))
		*ret = both[0];
	else if (same(t, &both[1]))
		*ret = in;
	else if (same(t, &in))
		*ret = both[1];
	else
		return -ENOENT;
	return 0;
}
