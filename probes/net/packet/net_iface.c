// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * rtnetlink: RTM_NEWLINK, RTM_DELLINK, RTM_NEWADDR, RTM_DELADDR; formats: include/uapi/linux/rtnetlink.h, if_link.h,
 * if_addr.h. The dump is requested after the groups are joined, so no change is missed in between.
 */
#include "probes/net/packet/net_iface.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/map.h"
#include "probes/net/packet/net_point.h"

#define RECV_BYTES 65536	/* a dump's datagrams are at most 32 KiB */

enum dump { DUMP_LINKS, DUMP_ADDRS, DUMP__MAX };

struct net_watch {
	const struct net_watch_ops *ops;
	void *ctx;
	struct mnl_socket *nl;
	unsigned seq;
	unsigned due; /* bits 1u << enum dump still to request */
	bool dumping;
	bool listing;		/* the current dump is one of links: it lists all that exist */
	bool torn;		/* the kernel reported a change during the dump (NLM_F_DUMP_INTR) */
	struct map links;	/* ifindex -> u64 number of the last link dump that showed it */
	uint64_t round;
	char *buf;		/* RECV_BYTES */
};

DEFINE_CLEANUP(struct net_watch *, net_iface_close)

void net_iface_close(struct net_watch *w)
{
	if (!w)
		return;
	if (w->nl)
		mnl_socket_close(w->nl);
	map_fini(&w->links);
	free(w->buf);
	free(w);
}

int net_iface_open(const struct net_watch_ops *ops, void *ctx, struct net_watch **ret)
{
	_cleanup_(net_iface_closep) struct net_watch *w = calloc(1, sizeof(*w));

	if (!w)
		return -ENOMEM;
	map_init(&w->links, sizeof(uint32_t), sizeof(uint64_t));
	w->ops = ops;
	w->ctx = ctx;
	w->due = (1u << DUMP__MAX) - 1;
	w->buf = malloc(RECV_BYTES);
	w->nl = w->buf ? mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | SOCK_NONBLOCK) : NULL;
	if (!w->nl)
		return w->buf ? -errno : -ENOMEM;
	if (mnl_socket_bind(w->nl, RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR, MNL_SOCKET_AUTOPID) < 0)
		return -errno;
	w->seq = (unsigned)time(NULL);
	*ret = TAKE_PTR(w);
	return 0;
}

int net_iface_fd(const struct net_watch *w)
{
	return mnl_socket_get_fd(w->nl);
}

/* ---- links ---- */

/* Copies a validated string attribute; truncates longer ones. */
static void copy_str(char dst[static 16], const struct nlattr *a)
{
	if (mnl_attr_validate(a, MNL_TYPE_NUL_STRING) >= 0)
		snprintf(dst, 16, "%s", mnl_attr_get_str(a));
}

static void read_kind(struct net_link *l, const struct nlattr *info)
{
	const struct nlattr *a;

	if (mnl_attr_validate(info, MNL_TYPE_NESTED) < 0)
		return;
	mnl_attr_for_each_nested(a, info)
		if (mnl_attr_get_type(a) == IFLA_INFO_KIND)
			copy_str(l->kind, a);
}

static void on_new_link(struct net_watch *w, const struct nlmsghdr *h, const struct ifinfomsg *m)
{
	struct net_link l = { .ifindex = (uint32_t)m->ifi_index, .type = m->ifi_type, .flags = m->ifi_flags };
	const struct nlattr *a;

	mnl_attr_for_each(a, h, sizeof(*m)) {
		if (mnl_attr_get_type(a) == IFLA_IFNAME)
			copy_str(l.name, a);
		else if (mnl_attr_get_type(a) == IFLA_LINKINFO)
			read_kind(&l, a);
	}
	map_put(&w->links, &l.ifindex, &w->round);
	w->ops->link(w->ctx, &l, l.flags & IFF_UP);
}

static void on_del_link(struct net_watch *w, uint32_t ifindex)
{
	if (map_remove(&w->links, &ifindex))
		w->ops->gone(w->ctx, ifindex);
}

static void on_link(struct net_watch *w, const struct nlmsghdr *h)
{
	const struct ifinfomsg *m = mnl_nlmsg_get_payload(h);

	if (mnl_nlmsg_get_payload_len(h) < sizeof(*m))
		return;
	/* a bridge announces its ports with the same message in another family */
	if (m->ifi_family != AF_UNSPEC)
		return;
	if (h->nlmsg_type == RTM_NEWLINK)
		on_new_link(w, h, m);
	else
		on_del_link(w, (uint32_t)m->ifi_index);
}

/* Removes links that a complete dump did not list: their message was lost. */
static void drop_unseen(struct net_watch *w)
{
	void *key, *val;
	size_t pos = 0;

	while (map_next(&w->links, &pos, &key, &val)) {
		uint32_t ifindex = *(uint32_t *)key;

		if (*(uint64_t *)val == w->round)
			continue;
		on_del_link(w, ifindex);
		pos = 0; /* the table changed */
	}
}

/* ---- addresses ---- */

static void on_addr(struct net_watch *w, const struct nlmsghdr *h)
{
	const struct ifaddrmsg *m = mnl_nlmsg_get_payload(h);
	const struct nlattr *a, *local = NULL, *address = NULL;
	struct net_addr_key key = { 0 };
	size_t len;

	if (mnl_nlmsg_get_payload_len(h) < sizeof(*m) || (m->ifa_family != AF_INET && m->ifa_family != AF_INET6))
		return;
	mnl_attr_for_each(a, h, sizeof(*m)) {
		if (mnl_attr_get_type(a) == IFA_LOCAL)
			local = a;
		else if (mnl_attr_get_type(a) == IFA_ADDRESS)
			address = a;
	}
	/* on point-to-point links IFA_ADDRESS is the other end */
	local = local ? local : address;
	len = m->ifa_family == AF_INET ? 4 : 16;
	if (!local || mnl_attr_get_payload_len(local) != len)
		return;
	key.family = len == 4 ? SONDE_IPV4 : SONDE_IPV6;
	memcpy(key.addr, mnl_attr_get_payload(local), len);
	w->ops->addr(w->ctx, &key, h->nlmsg_type == RTM_NEWADDR);
}

/* ---- the socket ---- */

static int ask_dump(struct net_watch *w, enum dump what)
{
	char buf[256];
	struct nlmsghdr *h = mnl_nlmsg_put_header(buf);

	h->nlmsg_type = what == DUMP_LINKS ? RTM_GETLINK : RTM_GETADDR;
	h->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	h->nlmsg_seq = ++w->seq;
	mnl_nlmsg_put_extra_header(h, what == DUMP_LINKS ? sizeof(struct ifinfomsg) : sizeof(struct ifaddrmsg));
	if (mnl_socket_sendto(w->nl, h, h->nlmsg_len) < 0)
		return -errno;
	w->due &= ~(1u << what);
	w->dumping = true;
	w->listing = what == DUMP_LINKS;
	w->round += w->listing;
	w->torn = false;
	return 0;
}

static int next_dump(struct net_watch *w)
{
	for (unsigned what = 0; what < DUMP__MAX && !w->dumping; what++)
		if (w->due & 1u << what)
			return ask_dump(w, what);
	return 0;
}

static void on_done(struct net_watch *w, const struct nlmsghdr *h)
{
	if (h->nlmsg_seq != w->seq)
		return;
	w->dumping = false;
	if (w->torn)
		w->due = (1u << DUMP__MAX) - 1;
	else if (w->listing && h->nlmsg_type == NLMSG_DONE)
		drop_unseen(w);
}

static void on_message(struct net_watch *w, const struct nlmsghdr *h)
{
	if (h->nlmsg_flags & NLM_F_DUMP_INTR && h->nlmsg_seq == w->seq)
		w->torn = true;
	switch (h->nlmsg_type) {
	case NLMSG_DONE:
	case NLMSG_ERROR: on_done(w, h); break;
	case RTM_NEWLINK:
	case RTM_DELLINK: on_link(w, h); break;
	case RTM_NEWADDR:
	case RTM_DELADDR: on_addr(w, h); break;
	default: break;
	}
}

static void dump_again(struct net_watch *w)
{
	w->due = (1u << DUMP__MAX) - 1;
	w->dumping = false;
}

int net_iface_run(struct net_watch *w)
{
	for (;;) {
		const struct nlmsghdr *h;
		ssize_t n;
		int len, r = next_dump(w);

		if (r < 0)
			return r;
		n = mnl_socket_recvfrom(w->nl, w->buf, RECV_BYTES);
		if (n < 0 && errno == ENOBUFS) {
			dump_again(w);
			continue;
		}
		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -errno;
		len = (int)n;
		for (h = (const void *)w->buf; mnl_nlmsg_ok(h, len); h = mnl_nlmsg_next(h, &len))
			on_message(w, h);
	}
}
